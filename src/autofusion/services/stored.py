"""Weights of two bytes an element: whether they are the model's, rounded once, and what that costs its outputs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autofusion import passes
from autofusion.artifact import join_weights
from autofusion.ir import DType
from autofusion.lowering import Lowered
from autofusion.plan import Plan, Tensor
from autofusion.plan.dtypes import STRING
from autofusion.report.verification import StorageCost, StoredWeights
from autofusion.runtime import Session, open_session
from autofusion.services.comparison import Case, compare_tensor
from autofusion.services.examine import Examiner

HALVES = tuple(dtype.value for dtype in passes.HALVES)


def compare_stored(examiner: Examiner, plan: Plan, weights: np.ndarray, wide: Lowered) -> StoredWeights:
    """Judge `plan`, whose `weights` are in part of two bytes an element; `wide` is the same with float32 weights.

    Every constant must be that of `wide`, rounded once where its type says so, bit by bit, and the outputs those of
    the plan of `wide` on the rounded weights.  What the rounding of weights costs is measured, not judged.
    """
    held = {tensor.name: tensor for tensor in plan.tensors}
    wrong: dict[str, int] = {}
    rounded: list[np.ndarray] = []
    dtypes: list[str] = []
    for tensor, array in zip(wide.plan.tensors, wide.weights, strict=True):
        stored = held.pop(tensor.name, None) or _pop_narrowed(tensor.name, held)
        differing, values = _compare(stored, weights, tensor, array)
        rounded.append(values)
        if differing:
            wrong[tensor.name] = differing
        elif stored is not None and stored.dtype != tensor.dtype:
            dtypes.append(stored.dtype)
    wrong |= {name: max(int(np.prod(tensor.shape)), 1) for name, tensor in held.items()}
    narrow = open_session(plan, weights, threads=examiner.threads)
    widened = open_session(wide.plan, join_weights(wide.plan.tensors, rounded), threads=examiner.threads)
    costs = tuple(row for case in examiner.inputs for row in _measure(examiner, narrow, widened, case))
    return StoredWeights(tuple(sorted(set(dtypes))), len(dtypes), wrong, costs)


def _pop_narrowed(name: str, held: dict[str, Tensor]) -> Tensor | None:
    """The tensor of a reference plan, which keeps the name for what it widens."""
    return next((held.pop(f"{name}:{dtype}") for dtype in HALVES if f"{name}:{dtype}" in held), None)


def _compare(stored: Tensor | None, weights: np.ndarray, tensor: Tensor, array: np.ndarray) -> tuple[int, np.ndarray]:
    """How many elements are wrong, and the values in the type of `array`, the model's."""
    if stored is None or STRING in (stored.dtype, tensor.dtype):
        return int(stored is None or stored.dtype != tensor.dtype), array
    is_narrowed = stored.dtype in HALVES and tensor.dtype == DType.FLOAT.value
    if (stored.dtype != tensor.dtype and not is_narrowed) or stored.shape != tensor.shape:
        return max(array.size, 1), array
    dtype = DType(stored.dtype).numpy
    with np.errstate(over="ignore"):
        expected = np.ascontiguousarray(array, dtype).reshape(-1)
    found = weights[stored.offset : stored.offset + stored.bytes].view(dtype)
    differing = np.count_nonzero(_bits(found) != _bits(expected))
    return int(differing), found.astype(array.dtype).reshape(array.shape)


def _bits(array: np.ndarray) -> np.ndarray:
    return array.view(np.dtype(f"u{array.dtype.itemsize}")) if array.dtype.itemsize in (1, 2, 4, 8) else array


def _measure(examiner: Examiner, narrow: Session, widened: Session, case: Case) -> Iterator[StorageCost]:
    expectation = examiner.expect(narrow, case)
    ours, same = narrow.run(expectation.feeds), widened.run(expectation.feeds)
    for name, array in ours.items():
        exact = expectation.exact[name]
        computed = compare_tensor(name, array, same[name], _widen(same[name]), expectation.case)
        yield StorageCost(*_measure_cost(array, exact), computed)


def _measure_cost(ours: np.ndarray, exact: np.ndarray) -> tuple[float, float]:
    """The largest difference, and its share of the largest value."""
    if ours.shape != exact.shape or not ours.size:
        return 0.0, 0.0
    difference = np.abs(_widen(ours) - _widen(exact))
    worst, scale = (float(np.where(np.isfinite(part), part, 0.0).max()) for part in (difference, np.abs(_widen(exact))))
    return worst, worst / scale if scale else 0.0


def _widen(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)
