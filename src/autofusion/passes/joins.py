"""Concats that put together what was cut apart, and the Concats and Splits of one part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autofusion.ir import Dim, Graph, Node
from autofusion.ir.scope import GraphScope
from autofusion.ops.operands import integer
from autofusion.passes.redirect import hand_on
from autofusion.passes.slices import FAR, Cut, read_cuts
from autofusion.passes.sweep import sweep


def merge_joins(graph: Graph) -> int:
    """Let a Concat read what its operands are all the parts of, in order; returns the Concats and Splits changed.

    Parts are the results of one Split or adjacent Slices with step 1, along the axis of the Concat.  Operands
    without elements go; a Concat of one operand and a Split into one go altogether.
    """
    return sweep(graph, _merge)


def _merge(node: Node, scope: GraphScope) -> int:
    if node.op == "Split" and len(node.outputs) == 1:
        return hand_on(scope, node, node.inputs[0])
    if node.op != "Concat":
        return 0
    inputs = _join_parts(_drop_empty(node, scope), node, scope)
    if len(inputs) == 1:
        return hand_on(scope, node, inputs[0])
    if len(inputs) == len(node.inputs):
        return 0
    scope.graph.update(replace(node, inputs=tuple(inputs)))
    return 1


def _drop_empty(node: Node, scope: GraphScope) -> list[str]:
    """The operands without those whose extent along the axis is 0, but for the first where all are."""
    kept = [name for name in node.inputs if _extent(name, integer(node, "axis"), scope) != 0]
    return kept or [node.inputs[0]]


def _extent(name: str, axis: int, scope: GraphScope) -> Dim | None:
    shape = scope.value(name).shape
    return None if shape is None or not -len(shape) <= axis < len(shape) else shape[axis]


def _join_parts(operands: Sequence[str], node: Node, scope: GraphScope) -> list[str]:
    """`operands` with the source in the place of each run that is the whole of it."""
    joined: list[str] = []
    place = 0
    while place < len(operands):
        source, count = _find_whole(operands[place:], integer(node, "axis"), scope)
        joined.append(source)
        place += count
    return joined


def _find_whole(operands: Sequence[str], axis: int, scope: GraphScope) -> tuple[str, int]:
    """What the first operands are all the parts of, and how many they are: else the first operand itself, 1."""
    producer = scope.graph.producer(operands[0])
    if producer is None or producer.domain or producer.opaque:
        return operands[0], 1
    source, count = producer.inputs[0] if producer.inputs else "", len(producer.outputs)
    if producer.op == "Split":
        whole = tuple(operands[:count]) == producer.outputs and _is_axis(producer, axis, scope)
        return (source, count) if whole else (operands[0], 1)
    if producer.op != "Slice":
        return operands[0], 1
    return _find_slices(operands, source, axis, scope)


def _is_axis(split: Node, axis: int, scope: GraphScope) -> bool:
    rank = scope.value(split.inputs[0]).rank
    own = integer(split, "axis")
    return own == axis or (rank is not None and own % rank == axis % rank)


def _find_slices(operands: Sequence[str], source: str, axis: int, scope: GraphScope) -> tuple[str, int]:
    extent = _extent(source, axis, scope)
    reached: Dim = 0
    for count, name in enumerate(operands, start=1):
        cut = _read_part(name, source, axis, scope)
        if extent is None or cut is None or cut.start != reached:
            break
        reached = cut.end
        if reached == extent:
            return source, count
    return operands[0], 1


def _read_part(name: str, source: str, axis: int, scope: GraphScope) -> Cut | None:
    """What `name` takes of `source` along `axis`, None where it is no Slice of that axis alone with step 1.

    Bounds count from the front; the end is the extent where the Slice takes all the rest.
    """
    producer = scope.graph.producer(name)
    if producer is None or producer.op != "Slice" or producer.domain or producer.opaque:
        return None
    shape = scope.value(source).shape
    cuts = read_cuts(producer, scope) if producer.inputs[0] == source else None
    if shape is None or cuts is None or list(cuts) != [axis % len(shape)]:
        return None
    (cut,) = cuts.values()
    extent = shape[axis]
    if cut.step != 1 or not isinstance(cut.start, int):
        return None
    if isinstance(extent, int) and isinstance(cut.end, int):
        start, end, _ = slice(cut.start, cut.end).indices(extent)
        return Cut(start, max(start, end), 1)
    if cut.start < 0:
        return None
    if cut.end == extent or (isinstance(cut.end, int) and cut.end >= FAR):
        return Cut(cut.start, extent, 1)
    return cut if isinstance(cut.end, int) and cut.end >= cut.start else None
