"""Last change to a draft: float32 weights in two bytes an element, widened by the kernels that read them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from autofusion.decisions import StoredWeight
from autofusion.ir import DType
from autofusion.lowering.halves import find_half
from autofusion.lowering.packing import PANEL
from autofusion.lowering.records import Draft
from autofusion.plan import Buffer, Step

PLACES: Mapping[str, tuple[int, ...]] = {
    "conv": (1,),
    "conv_depthwise": (1, 3),
    "conv_pool": (1,),
    "conv_transpose": (1,),
    "excite": (1, 3),
    "filter": (0,),
    "matmul": (1,),
    "embedding": (0, 2, 4),
    "gather": (0,),
}
"""The operands of each kernel that are weights: filters, matrices and tables."""

SMALLEST: Mapping[DType, float] = {DType.FLOAT16: 2.0**-14, DType.BFLOAT16: 2.0**-126}
"""The smallest number of each type that has all its digits."""

CHUNK = 1 << 22
"""Elements that are measured at a time."""


def narrow_exact(draft: Draft, types: Sequence[DType]) -> tuple[Draft, tuple[StoredWeight, ...]]:
    """The draft with those weights in two bytes an element that one of `types` holds without any change.

    Beside it what became of each weight, none without types.
    """
    narrowed: dict[DType, dict[str, np.ndarray]] = {storage: {} for storage in types}
    rows: list[StoredWeight] = []
    for name, readers in _find_weights(draft).items() if types else ():
        array = draft.constants[name]
        reason = _find_stranger(name, draft)
        small = None if reason else find_half(array, types)
        if small is not None:
            narrowed[DType.of(small)][name] = small
        elif not reason:
            names = " and ".join(storage.value for storage in types)
            reason = f"{names} cannot hold its numbers: they were folded or transformed, or are float32 in the model"
        stored = array if small is None else small
        dtype = DType.of(stored).value
        rows.append(StoredWeight(name, _find_nodes(readers), dtype, array.nbytes, stored.nbytes, 0.0, reason))
    for storage, arrays in narrowed.items():
        draft = _store(draft, arrays, storage)
    return draft, tuple(rows)


def narrow_weights(draft: Draft, storage: DType, kept: Mapping[str, str]) -> tuple[Draft, tuple[StoredWeight, ...]]:
    """The draft with float32 weights in `storage`, and what became of each.

    Biases and other vectors stay float32, and so do weights of the ONNX nodes in `kept`, those with a reader that takes
    float32 alone, and those in which a column (of a table: a row) holds a number too large for the type, or none that
    has all its digits.  A reference plan widens them again in steps of its own.
    """
    narrowed: dict[str, np.ndarray] = {}
    stored: list[StoredWeight] = []
    for name, readers in _find_weights(draft).items():
        array = draft.constants[name]
        nodes = _find_nodes(readers)
        reason = _find_keeper(nodes, kept) or _find_stranger(name, draft)
        columns = _columns(array, readers[0], draft)
        reason = reason or _refuse_values(columns, storage)
        small = None if reason else array.astype(storage.numpy)
        if small is not None:
            narrowed[name] = small
        rounding = 0.0 if small is None else _measure_rounding(columns, _columns(small, readers[0], draft))
        size = array.nbytes if small is None else small.nbytes
        dtype = DType.FLOAT if small is None else storage
        stored.append(StoredWeight(name, nodes, dtype.value, array.nbytes, size, rounding, reason))
    return _store(draft, narrowed, storage), tuple(stored)


@dataclass(frozen=True)
class _Reader:
    step: Step
    place: int


def _find_weights(draft: Draft) -> dict[str, list[_Reader]]:
    """Float32 constants that some kernel reads as a weight, in the order of their first use."""
    found: dict[str, list[_Reader]] = {}
    for step in draft.steps:
        for place in PLACES.get(step.kernel, ()):
            name = step.inputs[place] if place < len(step.inputs) else ""
            array = draft.constants.get(name)
            if array is None or draft.buffers[name].role != "constant" or array.dtype != np.float32:
                continue
            if step.kernel != "embedding" or step.inputs[place + 1]:
                found.setdefault(name, []).append(_Reader(step, place))
    return found


def _find_nodes(readers: Iterable[_Reader]) -> tuple[str, ...]:
    """The ONNX nodes that read a weight."""
    return tuple(dict.fromkeys(origin for reader in readers for origin in reader.step.origin))


def _find_keeper(nodes: tuple[str, ...], kept: Mapping[str, str]) -> str:
    return next((f"{kept[node]} keeps the type of {node}" for node in nodes if node in kept), "")


def _find_stranger(name: str, draft: Draft) -> str:
    """Who reads the constant in float32, "" where nobody does."""
    if name in draft.outputs:
        return "it is an output of the model"
    for step in draft.steps:
        for place, operand in enumerate(step.inputs):
            root = draft.buffers[operand].alias or operand if operand else ""
            if root == name and (operand != name or not _widens(step, place, draft)):
                return f"kernel {step.kernel} of {step.node} reads it in float32"
    return ""


def _widens(step: Step, place: int, draft: Draft) -> bool:
    """True where the kernel takes two-byte elements there; a reference plan has a step that widens them first."""
    if place not in PLACES.get(step.kernel, ()):
        return False
    if step.kernel == "embedding":
        return bool(step.inputs[place + 1])
    return draft.backend == "reference" or step.kernel != "matmul" or bool(step.attributes.get("packed"))


def _columns(array: np.ndarray, reader: _Reader, draft: Draft) -> np.ndarray:
    """The weight as [group, row, column], whose columns have a scale of their own each."""
    if reader.step.kernel in ("embedding", "gather"):
        return array.reshape(array.shape[0] if array.ndim else 1, -1, 1)
    if reader.step.kernel == "excite":
        return array.reshape(len(array), -1, 1) if reader.place == 1 else array.reshape(1, len(array), -1)
    extents = [int(extent) for extent in draft.buffers[reader.step.inputs[reader.place]].shape or ()]
    if array.ndim == 1 and reader.step.kernel == "matmul":
        return array.reshape(-1, max(extents[0], 1), PANEL)
    if array.ndim == 1 and reader.step.kernel == "conv_transpose":
        return array.reshape(1, -1, PANEL)
    if array.ndim == 1:
        depth = extents[1] if reader.step.attributes.get("winograd") else math.prod(extents[1:])
        return array.reshape(-1, max(depth, 1), PANEL)
    if reader.step.kernel == "conv_transpose":
        return array.swapaxes(0, 1).reshape(array.shape[1], -1, 1)
    if reader.step.kernel != "matmul":
        return array.reshape(array.shape[0], -1, 1)
    turned = array.swapaxes(-1, -2) if reader.step.attributes["trans_b"] else array
    return turned.reshape(-1, *turned.shape[-2:])


def _chunks(columns: np.ndarray) -> Iterator[slice]:
    step = max(CHUNK // max(math.prod(columns.shape[1:]), 1), 1)
    return (slice(first, first + step) for first in range(0, len(columns), step))


def _refuse_values(columns: np.ndarray, storage: DType) -> str:
    """Why the values do not fit into the type, "" where they do."""
    for part in _chunks(columns):
        sizes = np.abs(columns[part]).max(axis=1, initial=0.0)
        if not np.isfinite(sizes).all():
            return "it holds NaN or an infinity"
        with np.errstate(over="ignore"):
            if not np.isfinite(sizes.astype(storage.numpy).astype(np.float32)).all():
                return f"{sizes.max():.3g} is too large for {storage.value}"
        poor = sizes[(sizes > 0) & (sizes < SMALLEST[storage])]
        if poor.size:
            return f"a column or row has no value above {poor.max():.3g}, which is too small for {storage.value}"
    return ""


def _measure_rounding(columns: np.ndarray, small: np.ndarray) -> float:
    worst = 0.0
    for part in _chunks(columns):
        sizes = np.abs(columns[part]).max(axis=1, initial=0.0)
        differences = np.abs(columns[part] - small[part].astype(np.float32)).max(axis=1, initial=0.0)
        shares = np.divide(differences, sizes, out=np.zeros_like(sizes), where=sizes > 0)
        worst = max(worst, float(shares.max(initial=0.0)))
    return worst


def _store(draft: Draft, narrowed: Mapping[str, np.ndarray], storage: DType) -> Draft:
    if draft.backend == "native":
        buffers = {name: draft.buffers[name]._replace(dtype=storage.value) for name in narrowed}
        return replace(draft, buffers={**draft.buffers, **buffers}, constants={**draft.constants, **narrowed})
    buffers: dict[str, Buffer] = dict(draft.buffers)
    constants = dict(draft.constants)
    steps: list[Step] = []
    for name, array in narrowed.items():
        stored = f"{name}:{storage.value}"
        while stored in buffers:
            stored += "_"
        buffers[stored] = buffers[name]._replace(name=stored, dtype=storage.value)
        buffers[name] = buffers[name]._replace(role="inner")
        constants[stored] = array
        del constants[name]
        reader = next(step for step in draft.steps if name in step.inputs)
        steps.append(Step("convert", reader.node, reader.op, (stored,), (name,), {"to": "float32"}, reader.origin))
    return replace(draft, buffers=buffers, constants=constants, steps=(*steps, *draft.steps))
