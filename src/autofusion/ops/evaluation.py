"""Evaluation of one node in numpy: the oracle's float64 pass, constant folding and host steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np

from autofusion.ir import Attribute, DType, Graph, Node
from autofusion.ops.control import evaluate_control
from autofusion.ops.element_types import CODES
from autofusion.ops.faults import EVALUATION_FAILED, fault
from autofusion.ops.precision import is_float, widen_array
from autofusion.ops.reference import evaluate_by_reference
from autofusion.ops.rows import find_operator

_TYPE_ATTRIBUTES = ("to", "dtype", "output_dtype")
_NARROW_CODES = tuple(CODES[dtype] for dtype in (DType.FLOAT, DType.FLOAT16, DType.BFLOAT16))


def evaluate(
    node: Node,
    operands: Sequence[np.ndarray | None],
    *,
    widen: bool = False,
    captured: Mapping[str, np.ndarray] | None = None,
) -> tuple[np.ndarray, ...]:
    """The results of `node`, one array per output place, for `operands` given one per input place.

    Works in the operands' own precision; two-byte floats are computed in float32 and rounded once.
    With `widen` the caller carries every float tensor in float64 and gets float64 back: what
    attributes say of float types (Cast, ConstantOfShape) is read as float64 too.
    `captured` holds the outer values that nested graphs read.  A value of a sequence type is a list of
    arrays, here and in all operands and results.
    Raises ModelError where the operator has no implementation or fails on these operands.
    """
    given = [*operands, *[None] * (len(node.inputs) - len(operands))]
    executed = widen_attributes(node) if widen else node
    with np.errstate(all="ignore"):
        found = _evaluate(executed, given, widen, captured or {})
    return tuple(_finish(value, widen) for value in found)


def _finish(value: np.ndarray, widen: bool) -> np.ndarray:
    if isinstance(value, list):
        items = cast(list[np.ndarray], value)
        return cast(np.ndarray, [_finish(item, widen) for item in items])
    array = np.asarray(value)
    return widen_array(array) if widen else array


def widen_attributes(node: Node) -> Node:
    """`node` with float64 in place of every shorter float type that its attributes name."""
    changes: dict[str, Attribute] = {}
    for name, value in node.attributes.items():
        if isinstance(value, np.ndarray) and is_float(value.dtype):
            changes[name] = value.astype(np.float64)
        elif name in _TYPE_ATTRIBUTES and value in _NARROW_CODES:
            changes[name] = CODES[DType.DOUBLE]
    return replace(node, attributes={**node.attributes, **changes}) if changes else node


def _evaluate(
    node: Node, operands: Sequence[np.ndarray | None], widen: bool, captured: Mapping[str, np.ndarray]
) -> Sequence[np.ndarray]:
    if node.subgraphs():
        return evaluate_control(node, operands, partial(_run_nested, widen=widen, captured=captured))
    row = None if node.opaque else find_operator(node.op, node.domain)
    if row is None or row.evaluate is None:
        named = iter(evaluate_by_reference(node, operands))
        return [next(named) if name else np.zeros(0) for name in node.outputs]
    try:
        return row.evaluate(node, operands)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise fault(EVALUATION_FAILED, node, f"failed on its operands: {error}") from error


def _run_nested(
    graph: Graph, feeds: Mapping[str, np.ndarray], *, widen: bool, captured: Mapping[str, np.ndarray]
) -> Sequence[np.ndarray]:
    constants = {name: widen_array(array) if widen else array for name, array in graph.constants.items()}
    known = {**captured, **constants, **feeds}
    for node in graph.topological():
        if node.body is not None:
            known.update(zip(node.outputs, _run_nested(node.body, {}, widen=widen, captured=known), strict=True))
            continue
        operands = [known[name] if name else None for name in node.inputs]
        results = evaluate(node, operands, widen=widen, captured=known)
        known.update(zip(node.outputs, results, strict=False))
    return [known[name] for name in graph.outputs]
