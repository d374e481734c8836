"""Rotary position embedding as its kernel takes it, with the views round it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autofusion.fusion.attention.masks import fits_extent
from autofusion.fusion.attention.nodes import index_results, key_of, refuse
from autofusion.fusion.attention.sides import Link, climb, descend, read_result, read_rows, read_shape
from autofusion.fusion.reasons import Reason, shape_unknown
from autofusion.ir import Dim, Node, Shape
from autofusion.ops.operands import integer
from autofusion.ops.strided import Strided
from autofusion.ops.table import Known

OPERATORS = ("Rotary", "RotaryEmbedding")
"""The normal form, and the operator of opset 23."""


@dataclass(frozen=True)
class Rotation:
    """One call of kernel `rotary`.

    `tables` are cos and sin with the shapes in which the kernel takes them; with `positions` those of the rows of
    them that [batch, rows] positions name.  `root` is read by way of `x_view`,
    `result` written by way of `y_view`; both views are of the `extents` batch, heads, rows, size.
    """

    node: Node
    root: str
    result: str
    tables: tuple[tuple[str, Shape], ...]
    extents: Shape
    x_view: Strided
    y_view: Strided
    width: int
    interleaved: bool
    positions: str
    taken: frozenset[str]


def find_rotation(nodes: Iterable[Node]) -> Node | None:
    """The one rotation among `nodes`, None where there is none or more."""
    found = [node for node in nodes if is_rotation(node)]
    return found[0] if len(found) == 1 else None


def is_rotation(node: Node) -> bool:
    """True for the normal form and for the operator."""
    return not node.opaque and (node.op == "Rotary" or (node.op == "RotaryEmbedding" and not node.domain))


def read_rotation(nodes: Iterable[Node], scope: Known) -> Rotation | Reason:
    """The one kernel call that `nodes` are together, or what keeps them from being one."""
    known = tuple(nodes)
    node = find_rotation(known)
    if node is None:
        return refuse("rotation", "none", "1", "no node turns heads by cos and sin of its own")
    others = [other for other in known if other is not node]
    way = climb(node.input(0), index_results(others), scope, scales=False)
    after = descend(node.outputs[0], {other.input(0): other for other in others}, scope)
    rotation = read_way(node, way, after, scope)
    if isinstance(rotation, Reason):
        return rotation
    left = next((other for other in known if key_of(other) not in rotation.taken), None)
    if left is not None:
        return refuse("nodes", left.op, "a view", f"{left.name} is no part of a rotation", left)
    return rotation


def read_way(node: Node, way: Sequence[Link], after: Sequence[Node], scope: Known) -> Rotation | Reason:
    """The kernel call of `node` whose operand comes by `way` and whose result goes through the nodes `after`."""
    shape = scope.value(node.input(0)).shape
    heads = integer(node, "num_heads")
    extents = None if shape is None else _find_extents(shape, heads)
    if extents is None:
        return shape_unknown("x", node.input(0))
    is_rows = len(shape or ()) == 3 and heads > 0
    x = node.input(0)
    side = read_rows(x, way, scope, heads) if is_rows else read_shape(x, way, scope, extents)
    y_view = read_result(node.outputs[0], after, scope, extents, heads if is_rows else 0)
    width = _find_width(node, extents[3])
    if side is None or y_view is None or side.view.shape != extents or width is None:
        return refuse("views", "other strides", "four strides", f"no four strides address what {node.name} takes", node)
    positions = node.input(3) if node.op == "RotaryEmbedding" else ""
    tables: list[tuple[str, Shape]] = []
    for name in node.inputs[1:3]:
        known = _table_shape(node, name, scope)
        table = None if known is None else _fit_table(known, extents, width)
        if table is None:
            return refuse("angles", name, "one a pair", f"{name!r} does not broadcast to the pairs", node)
        tables.append((name, table))
    return Rotation(
        node=node,
        root=side.root,
        result=after[-1].outputs[0] if after else node.outputs[0],
        tables=tuple(tables),
        extents=extents,
        x_view=side.view,
        y_view=y_view,
        width=width,
        interleaved=bool(integer(node, "interleaved")),
        positions=positions,
        taken=frozenset({key_of(node), *side.taken, *map(key_of, after)}),
    )


def _find_extents(shape: Shape, heads: int) -> Shape | None:
    """Batch, heads, rows, size: those of rank 4 as they are, rows of heads split, fewer axes behind ones."""
    if len(shape) == 3 and heads > 0:
        return (shape[0], heads, shape[1], shape[2] // heads)
    if not 1 <= len(shape) <= 4:
        return None
    return (*(1,) * (4 - len(shape)), *shape)


def _find_width(node: Node, size: Dim) -> int | None:
    width = integer(node, "width") if node.op == "Rotary" else integer(node, "rotary_embedding_dim")
    found = width or size
    return found if isinstance(found, int) and found % 2 == 0 else None


def _table_shape(node: Node, name: str, scope: Known) -> Shape | None:
    """The shape of cos or sin over [batch, heads, rows, pairs]; the operator has one for all heads of a row."""
    shape = scope.value(name).shape
    if shape is None or node.op == "Rotary":
        return shape
    if not node.input(3):
        return (shape[0], 1, *shape[1:]) if len(shape) == 3 else None
    positions = scope.value(node.input(3)).shape
    if positions is None or len(positions) != 2 or len(shape) != 2:
        return None
    return (positions[0], 1, positions[1], shape[1])


def _fit_table(shape: Shape, extents: Shape, width: int) -> Shape | None:
    """`shape`, where it broadcasts to [batch, heads, rows, width or half of it]."""
    padded = (*(1,) * (4 - len(shape)), *shape)
    if len(padded) != 4 or padded[3] not in (width, width // 2):
        return None
    return shape if all(map(fits_extent, padded[:3], extents[:3])) else None
