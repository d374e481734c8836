"""If, Loop, Scan and SequenceMap: evaluation of nested graphs, and what their results are known to be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from autofusion.ir import Dim, Graph, Node, Value
from autofusion.ops.conversion import keep_opaque
from autofusion.ops.faults import NOT_EVALUABLE, WRONG_ARITY, fault
from autofusion.ops.operands import integer, integers, numbers_of, resolve_axis, result
from autofusion.ops.precision import optional, required
from autofusion.ops.table import Operator, Scope

Run = Callable[[Graph, Mapping[str, np.ndarray]], Sequence[np.ndarray]]
"""Evaluate a nested graph: its inputs by name -> its outputs in order."""


def evaluate_control(node: Node, operands: Sequence[np.ndarray | None], run: Run) -> Sequence[np.ndarray]:
    """Results of a node with nested graphs, which `run` evaluates."""
    match node.op:
        case "If":
            chosen = "then_branch" if required(operands, 0).reshape(()) else "else_branch"
            return run(_graph(node, chosen), {})
        case "Loop":
            return _evaluate_loop(node, operands, run)
        case "Scan" if node.opaque:
            return _evaluate_batched_scan(node, operands, run)
        case "Scan":
            return _evaluate_scan(node, operands, run)
        case "SequenceMap":
            return _evaluate_map(node, operands, run)
        case _:
            raise fault(NOT_EVALUABLE, node, "has nested graphs and no implementation")


def _graph(node: Node, name: str) -> Graph:
    graph = node.attributes.get(name)
    if not isinstance(graph, Graph):
        raise fault(WRONG_ARITY, node, f"nested graph {name!r} is missing")
    return graph


def _evaluate_loop(node: Node, operands: Sequence[np.ndarray | None], run: Run) -> Sequence[np.ndarray]:
    body = _graph(node, "body")
    limit, condition = optional(operands, 0), optional(operands, 1)
    carried = [required(operands, index) for index in range(2, len(node.inputs))]
    stacks: list[list[np.ndarray]] = [[] for _ in body.outputs[1 + len(carried) :]]
    going = condition is None or bool(condition.reshape(()))
    trip = 0
    while going and (limit is None or trip < int(limit.reshape(()))):
        arrays = [np.array(trip, np.int64), np.array(going), *carried]
        found = run(body, dict(zip(body.inputs, arrays, strict=True)))
        going = bool(found[0].reshape(()))
        carried = list(found[1 : 1 + len(carried)])
        for stack, array in zip(stacks, found[1 + len(carried) :], strict=True):
            stack.append(array)
        trip += 1
    names = body.outputs[1 + len(carried) :]
    return [*carried, *(_stack(body, name, rows, 0) for name, rows in zip(names, stacks, strict=True))]


def _evaluate_scan(node: Node, operands: Sequence[np.ndarray | None], run: Run) -> Sequence[np.ndarray]:
    body = _graph(node, "body")
    count = integer(node, "num_scan_inputs")
    states = [required(operands, index) for index in range(len(node.inputs) - count)]
    axes = integers(node, "scan_input_axes") or (0,) * count
    reverse = integers(node, "scan_input_directions") or (0,) * count
    scanned: list[np.ndarray] = []
    for place in range(count):
        array = np.moveaxis(required(operands, len(states) + place), axes[place], 0)
        scanned.append(array[::-1] if reverse[place] else array)
    names = body.outputs[len(states) :]
    stacks: list[list[np.ndarray]] = [[] for _ in names]
    for step in range(scanned[0].shape[0]):
        arrays = [*states, *(array[step] for array in scanned)]
        found = run(body, dict(zip(body.inputs, arrays, strict=True)))
        states = list(found[: len(states)])
        for stack, array in zip(stacks, found[len(states) :], strict=True):
            stack.append(array)
    out_axes = integers(node, "scan_output_axes") or (0,) * len(names)
    out_reverse = integers(node, "scan_output_directions") or (0,) * len(names)
    rows = [stack[::-1] if backward else stack for stack, backward in zip(stacks, out_reverse, strict=True)]
    results = zip(names, rows, out_axes, strict=True)
    return [*states, *(_stack(body, name, parts, axis) for name, parts, axis in results)]


def _evaluate_batched_scan(node: Node, operands: Sequence[np.ndarray | None], run: Run) -> Sequence[np.ndarray]:
    """Scan as it was in opset 8: along axis 1 of every sample by itself, up to the sample's length; zeros follow."""
    lengths, given = optional(operands, 0), [required(operands, index) for index in range(1, len(node.inputs))]
    count = integer(node, "num_scan_inputs")
    states, longest = len(given) - count, given[-1].shape[1]
    directions = integers(node, "directions") or (0,) * count
    attributes = {"body": _graph(node, "body"), "num_scan_inputs": count, "scan_input_directions": directions}
    single = replace(node, inputs=node.inputs[1:], attributes=attributes)
    samples: list[list[np.ndarray]] = []
    for index in range(given[-1].shape[0]):
        length = longest if lengths is None else int(lengths[index])
        parts = [array[index] if place < states else array[index, :length] for place, array in enumerate(given)]
        found = _evaluate_scan(single, parts, run)
        samples.append([*found[:states], *(_pad_rows(array, longest) for array in found[states:])])
    return [np.stack(column) for column in zip(*samples, strict=True)]


def _pad_rows(array: np.ndarray, rows: int) -> np.ndarray:
    return np.concatenate([array, np.zeros((rows - len(array), *array.shape[1:]), array.dtype)])


def _evaluate_map(node: Node, operands: Sequence[np.ndarray | None], run: Run) -> Sequence[np.ndarray]:
    """Results are sequences; operands after the first may be, and then give one item a turn."""
    body = _graph(node, "body")
    given = [required(operands, index) for index in range(len(node.inputs))]
    rows: list[list[np.ndarray]] = [[] for _ in body.outputs]
    for turn in range(len(given[0])):
        arrays = [operand[turn] if isinstance(operand, list) else operand for operand in given]
        for row, array in zip(rows, run(body, dict(zip(body.inputs, arrays, strict=True))), strict=True):
            row.append(array)
    return cast(Sequence[np.ndarray], rows)


def _stack(body: Graph, name: str, rows: Sequence[np.ndarray], axis: int) -> np.ndarray:
    """The rows side by side along a new axis; none at all make an empty tensor of the declared extents."""
    if rows:
        return np.stack(rows, axis)
    value = body.value(name)
    extents = [extent if isinstance(extent, int) else 0 for extent in value.shape or ()]
    return np.zeros([0, *extents], value.dtype.numpy if value.dtype else np.float32)


def _infer_if(node: Node, scope: Scope) -> Sequence[Value]:
    branches = [_graph(node, name) for name in ("then_branch", "else_branch")]
    for branch in branches:
        if len(branch.outputs) != len(node.outputs):
            raise fault(WRONG_ARITY, node, f"a branch has {len(branch.outputs)} outputs for {len(node.outputs)}")
    chosen = numbers_of(node.input(0), scope)
    if chosen:
        branches = branches[:1] if chosen[0] else branches[1:]
    pairs = zip(*(branch.outputs for branch in branches), strict=True)
    return [_agree([branch.value(name) for branch, name in zip(branches, names, strict=True)]) for names in pairs]


def _agree(values: Sequence[Value]) -> Value:
    """What holds of every one of `values`."""
    first = values[0]
    same_type = all(value.dtype == first.dtype for value in values)
    same_shape = all(value.shape == first.shape for value in values)
    return result(first.shape if same_shape else None, first.dtype if same_type else None)


def _infer_loop(node: Node, scope: Scope) -> Sequence[Value]:
    """Carried values keep their shape where the body hands back what it was given; stacked ones count the trips."""
    body = _graph(node, "body")
    carried = len(node.inputs) - 2
    if len(body.inputs) != carried + 2 or len(body.outputs) != len(node.outputs) + 1:
        raise fault(WRONG_ARITY, node, "inputs and outputs of the body do not fit those of the node")
    values: list[Value] = []
    for before, name, after in zip(node.inputs[2:], body.inputs[2:], body.outputs[1 : 1 + carried], strict=True):
        start, inner, end = scope.value(before), body.value(name), body.value(after)
        stable = inner.shape is not None and start.shape == inner.shape == end.shape
        values.append(result(start.shape if stable else None, end.dtype or start.dtype))
    values.extend(result(dtype=body.value(name).dtype) for name in body.outputs[1 + carried :])
    return values


def _convert_scan(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    """Scan of opset 8 walks through the samples of a batch, each of a length of its own, and has no newer form."""
    return [node] if version >= 9 else keep_opaque(node)


def _infer_scan(node: Node, scope: Scope) -> Sequence[Value]:
    """States keep their shape; stacked results take the extent of the scanned axis."""
    body = _graph(node, "body")
    count = integer(node, "num_scan_inputs")
    states = len(node.inputs) - count
    if len(body.inputs) != len(node.inputs) or len(body.outputs) != len(node.outputs):
        raise fault(WRONG_ARITY, node, "inputs and outputs of the body do not fit those of the node")
    length = _scan_length(node, states, scope)
    values = [result(scope.value(name).shape, scope.value(name).dtype) for name in node.inputs[:states]]
    axes = integers(node, "scan_output_axes") or (0,) * (len(body.outputs) - states)
    for name, axis in zip(body.outputs[states:], axes, strict=True):
        row = body.value(name)
        if row.shape is None or length is None:
            values.append(result(dtype=row.dtype))
            continue
        place = resolve_axis(node, axis, len(row.shape) + 1)
        values.append(result((*row.shape[:place], length, *row.shape[place:]), row.dtype))
    return values


def _scan_length(node: Node, states: int, scope: Scope) -> Dim | None:
    shape = scope.value(node.inputs[states]).shape
    if shape is None:
        return None
    axes = integers(node, "scan_input_axes")
    return shape[resolve_axis(node, axes[0] if axes else 0, len(shape))]


def _infer_map(node: Node, scope: Scope) -> Sequence[Value]:
    """Types of sequences are not told."""
    return [result() for _ in node.outputs]


ROWS = (
    Operator("If", 7, infer=_infer_if),
    Operator("Loop", 11, infer=_infer_loop),
    Operator("Scan", 9, convert=_convert_scan, infer=_infer_scan),
    Operator("SequenceMap", 17, infer=_infer_map),
)
