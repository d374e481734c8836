"""Queries, keys and values from where they lie in memory to the products of an attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from autofusion.fusion.attention.nodes import Made, key_of, read_factor
from autofusion.ir import Dim, Node, Shape
from autofusion.ir.dims import multiply
from autofusion.ops.operands import integer, integers
from autofusion.ops.strided import RESHAPING, VIEWING, Strided, apply_view, permute, reshape, undo_view, whole
from autofusion.ops.table import Known

ROWS_AXIS = 2
"""The axis of [batch, heads, rows, size] along which past keys and values stand ahead of the new ones."""

SWAP = (0, 1, 3, 2)


@dataclass(frozen=True)
class Link:
    """A node on the way from a root to a product: result `place` follows from operand `operand`."""

    node: Node
    place: int
    operand: int

    @property
    def source(self) -> str:
        """The value that the node reads on this way."""
        return self.node.inputs[self.operand]


@dataclass(frozen=True)
class Side:
    """One operand of attention: elements of `root` through `view`, [batch, heads, rows, size], times `factor`.

    Every head is used `copies` times in a row.  The rows of `past`, where there is one, stand ahead of these;
    `present` is the value of both.  `taken` are the keys of the nodes on the way.
    """

    root: str
    view: Strided
    factor: float = 1.0
    copies: int = 1
    past: str = ""
    present: str = ""
    taken: frozenset[str] = frozenset()


def climb(value: str, made: Made, scope: Known, *, scales: bool) -> list[Link]:
    """The longest way from `value` up that one operand of attention may take, the node nearest to `value` first.

    Through views, repeated heads, one join with past rows, and with `scales` products with a number.
    """
    links: list[Link] = []
    is_joined = False
    while value in made:
        node = made[value]
        operand = _find_operand(node, scope, scales=scales, joins=not is_joined)
        if operand is None:
            break
        is_joined |= node.op == "Concat"
        links.append(Link(node, node.outputs.index(value), operand))
        value = node.inputs[operand]
    return links


def _find_operand(node: Node, scope: Known, *, scales: bool, joins: bool) -> int | None:
    """The operand through which the way goes on."""
    if node.opaque:
        return None
    if node.op == "RepeatKV":
        return 0
    if node.domain:
        return None
    if node.op in VIEWING:
        return 0
    if node.op == "Concat" and joins and len(node.inputs) == 2:
        rank = scope.value(node.outputs[0]).rank
        return 1 if rank == 4 and integer(node, "axis") == ROWS_AXIS else None
    if scales and node.op in ("Mul", "Div"):
        if read_factor(node.input(1), scope) is not None:
            return 0
        return 1 if node.op == "Mul" and read_factor(node.input(0), scope) is not None else None
    return None


@dataclass(frozen=True)
class _State:
    """What a way has come to: `view`, then `shape` over its elements; the rest as in `Side`."""

    view: Strided
    shape: Shape
    factor: float = 1.0
    copies: int = 1
    past: str = ""
    present: str = ""
    is_swapped: bool = False

    @property
    def is_fixed(self) -> bool:
        """True once heads were repeated or rows joined: then the axes keep their places, but for the last two."""
        return self.copies > 1 or bool(self.past)

    def settled(self) -> Strided | None:
        """The view with `shape`."""
        return reshape(self.view, self.shape)


def read_side(value: str, links: Sequence[Link], scope: Known, heads: Shape, *, is_key: bool) -> Side | None:
    """Operand `value` of a product by way of `links`; None where that is no view of the root.

    `heads` splits axis 0 of an operand of rank 3 in batch and heads.  A key comes as [..., size, rows].
    """
    state = _follow(value, links, scope, heads)
    if state is None:
        return None
    if state.is_fixed:
        view = state.settled() if len(state.shape) == 4 and state.is_swapped == is_key else None
        return None if view is None else _make_side(value, links, state, view)
    shape = state.shape if len(state.shape) == 4 else (*heads, *state.shape[1:])
    view = reshape(state.view, shape) if len(shape) == 4 else None
    if view is None:
        return None
    return _make_side(value, links, state, permute(view, SWAP) if is_key else view)


def read_rows(value: str, links: Sequence[Link], scope: Known, heads: int) -> Side | None:
    """Operand `value` of the operator Attention: [batch, heads, rows, size], or rows of `heads` heads each."""
    state = _follow(value, links, scope, ())
    if state is None or state.is_swapped:
        return None
    if len(state.shape) == 4:
        view = state.settled()
    else:
        view = None if state.is_fixed else _split_rows(state.view, state.shape, heads)
    return None if view is None else _make_side(value, links, state, view)


def read_shape(value: str, links: Sequence[Link], scope: Known, shape: Shape) -> Side | None:
    """Value `value` by way of `links` as `shape`; None where no strides say that."""
    state = _follow(value, links, scope, ())
    view = None if state is None or state.is_fixed else reshape(state.view, shape)
    return None if state is None or view is None else _make_side(value, links, state, view)


def _split_rows(view: Strided, shape: Shape, heads: int) -> Strided | None:
    """Rows of all heads, [batch, rows, heads * size], as [batch, heads, rows, size]."""
    if len(shape) != 3 or not heads:
        return None
    batch, rows, width = shape
    split = reshape(view, (batch, rows, heads, width // heads))
    return None if split is None else permute(split, (0, 2, 1, 3))


def _make_side(value: str, links: Sequence[Link], state: _State, view: Strided) -> Side:
    root = links[-1].source if links else value
    taken = frozenset(key_of(link.node) for link in links)
    return Side(root, view, state.factor, state.copies, state.past, state.present, taken)


def _follow(value: str, links: Sequence[Link], scope: Known, heads: Shape) -> _State | None:
    root = scope.value(links[-1].source if links else value).shape
    state = None if root is None else _State(whole(root), root)
    for link in reversed(links):
        if state is None:
            return None
        state = _take(state, link, scope, heads)
    return state


def _take(state: _State, link: Link, scope: Known, heads: Shape) -> _State | None:
    node = link.node
    shape = scope.value(node.outputs[link.place]).shape
    if node.op in ("Mul", "Div"):
        factor = read_factor(node.inputs[1 - link.operand], scope)
        same = scope.value(link.source).shape == shape
        if factor is None or not same or (node.op == "Div" and factor == 0):
            return None
        return replace(state, factor=state.factor * (1 / factor if node.op == "Div" else factor))
    if node.op == "RepeatKV":
        copies = integer(node, "copies", 1)
        is_plain = state.copies == 1 and len(state.shape) == 4 and not state.is_swapped
        return replace(state, copies=copies) if is_plain else None
    if node.op == "Concat":
        # A number that scales the new rows alone cannot be moved behind the join.
        if state.is_fixed or state.factor != 1 or len(state.shape) != 4:
            return None
        return replace(state, past=node.inputs[0], present=node.outputs[0])
    if state.is_fixed:
        return _take_fixed(state, node, scope.value(link.source).shape == shape)
    if node.op in RESHAPING:
        # Consecutive shapes are one: what no strides can say in between they may say at the end.
        return None if shape is None else replace(state, shape=shape)
    settled = state.settled()
    if settled is None and node.op == "Transpose" and integers(node, "perm") == (0, 2, 1) and len(heads) == 2:
        return _swap_split(state, heads)
    view = None if settled is None else apply_view(node, settled, link.place, scope)
    return None if view is None else replace(state, view=view, shape=view.shape)


def _swap_split(state: _State, heads: Shape) -> _State | None:
    """The last two axes of [batch and heads, rows, size] exchanged where axis 0 is a view only as two."""
    merged, rows, size = state.shape
    split = reshape(state.view, (*heads, rows, size))
    return None if split is None else replace(state, view=permute(split, SWAP), shape=(merged, size, rows))


def _take_fixed(state: _State, node: Node, has_same_shape: bool) -> _State | None:
    """Past a join or repeated heads: what leaves the axes in place, or swaps the last two.

    The view keeps the order [batch, heads, rows, size]; only whether the last two are swapped counts.
    """
    if node.op in RESHAPING and has_same_shape:
        return state
    if node.op == "Transpose" and integers(node, "perm") == SWAP:
        return replace(state, is_swapped=not state.is_swapped)
    return None


def descend(value: str, made_from: Made, scope: Known) -> list[Node]:
    """The nodes that read the result of an attention one after the other and leave all its elements: first one first.

    `made_from` has nodes by the one value that they read on this way.
    """
    nodes: list[Node] = []
    while value in made_from:
        node = made_from[value]
        if node.domain or node.opaque or (node.op not in RESHAPING and node.op != "Transpose"):
            break
        nodes.append(node)
        value = node.outputs[0]
    return nodes


def read_result(y: str, nodes: Sequence[Node], scope: Known, shape: Shape, heads: int = 0) -> Strided | None:
    """Where [batch, heads, rows, size] of result `y` lies in the result of the last of `nodes`.

    `shape` is those extents; with `heads` y has rows of that many heads each.  None where no view says it.
    """
    stored = scope.value(nodes[-1].outputs[0] if nodes else y).shape
    if stored is None:
        return None
    view, target = whole(stored), stored
    for node in reversed(nodes):
        source = scope.value(node.input(0)).shape
        if source is None:
            return None
        if node.op != "Transpose":
            target = source
            continue
        settled = reshape(view, target)
        undone = None if settled is None else undo_view(node, settled, scope)
        if undone is None:
            return None
        view, target = undone, undone.shape
    if not heads:
        return reshape(view, shape)
    batch, _, rows, size = shape
    split = reshape(view, (batch, rows, heads, size))
    return None if split is None else permute(split, (0, 2, 1, 3))


def spread(view: Strided, axis: int, extent: Dim) -> Strided | None:
    """`view` with one place of `axis` repeated `extent` times; None where it has another extent."""
    if view.shape[axis] == extent:
        return view
    if view.shape[axis] != 1:
        return None
    shape = (*view.shape[:axis], extent, *view.shape[axis + 1 :])
    return Strided(shape, (*view.strides[:axis], 0, *view.strides[axis + 1 :]), view.offset)


def count_heads(side: Side) -> Dim:
    """The heads of a side, each as often as it is used."""
    return multiply(side.view.shape[1], side.copies)
