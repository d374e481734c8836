"""Nodes as one call of kernel `attention`: what it computes, from which values, read and written where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from autofusion.fusion.attention.core import Core, Term, read_core
from autofusion.fusion.attention.masks import fit_term
from autofusion.fusion.attention.nodes import Made, index_results, key_of, refuse
from autofusion.fusion.attention.operator import read_operator
from autofusion.fusion.attention.sides import (
    Link,
    Side,
    climb,
    count_heads,
    descend,
    read_result,
    read_rows,
    read_side,
    spread,
)
from autofusion.fusion.reasons import Reason
from autofusion.ir import Dim, Node, Shape
from autofusion.ir.dims import modulo, multiply
from autofusion.ops.strided import Strided
from autofusion.ops.table import Known

SIDES = ("q", "k", "v")

Ways = Mapping[str, Sequence[Link]]
"""The ways of q, k and v from the core up."""


@dataclass(frozen=True)
class Reading:
    """One call of kernel `attention`.

    `extents` are batch, heads, key heads, queries, keys, size, value size, past.  `masks` and `keep` are values with
    the shapes in which the kernel takes them.  `result` is stored by way of `y_view`.  `taken` has the keys of the
    nodes that this stands for.
    """

    core: Core
    q: Side
    k: Side
    v: Side
    result: str
    views: tuple[Strided, Strided, Strided, Strided]
    extents: tuple[Dim, ...]
    scale: float
    masks: tuple[tuple[str, Shape], ...]
    keep: tuple[str, Shape] | None
    taken: frozenset[str]

    @property
    def operands(self) -> frozenset[str]:
        """The values that the kernel reads."""
        masks = [value for value, _ in (*self.masks, *((self.keep,) if self.keep is not None else ()))]
        return frozenset({self.q.root, self.k.root, self.v.root, *masks, *self.past} - {""})

    @property
    def past(self) -> tuple[str, str]:
        """The past keys and values, "" where there are none."""
        return self.core.past_key or self.k.past, self.core.past_value or self.v.past

    @property
    def present(self) -> tuple[str, str]:
        """The values that hold past and new keys, and values, "" where there are none."""
        return self.core.present_key or self.k.present, self.core.present_value or self.v.present


def find_core(nodes: Iterable[Node], scope: Known) -> Core | Reason:
    """The attention that `nodes` hold, spelt out or as the operator Attention."""
    known = tuple(nodes)
    operators = [node for node in known if node.op == "Attention" and not node.domain and not node.opaque]
    if operators:
        return read_operator(operators[0], scope)
    return read_core(known, scope)


def read_attention(nodes: Iterable[Node], scope: Known) -> Reading | Reason:
    """The one kernel call that `nodes` are together, or what keeps them from being one."""
    known = tuple(nodes)
    core = find_core(known, scope)
    if isinstance(core, Reason):
        return core
    made = index_results(node for node in known if key_of(node) not in core.taken)
    ways = {name: climb(value, made, scope, scales=name != "v") for name, value in operands_of(core).items()}
    reading = read_ways(core, ways, descend(core.y, index_readers(known), scope), scope)
    if isinstance(reading, Reason):
        return reading
    left = next((node for node in known if key_of(node) not in reading.taken), None)
    if left is not None:
        return refuse("nodes", left.op, "a view", f"{left.name} is no part of an attention", left)
    return reading


def operands_of(core: Core) -> Mapping[str, str]:
    """q, k and v by name."""
    return {"q": core.q, "k": core.k, "v": core.v}


def index_readers(nodes: Iterable[Node]) -> Made:
    """Nodes by the value that they read first."""
    return {node.input(0): node for node in nodes if node.input(0)}


def read_ways(core: Core, ways: Ways, after: Sequence[Node], scope: Known) -> Reading | Reason:
    """The kernel call of `core` with its operands by `ways` and its result by way of the nodes `after`."""
    for heads in split_heads(core, ways, after, scope):
        reading = read_split(core, ways, after, scope, heads)
        if reading is not None:
            return reading
    node = core.parts.get("y")
    return refuse("views", "other strides", "four strides", f"no four strides address what {core.y!r} takes", node)


def split_heads(core: Core, ways: Ways, after: Sequence[Node], scope: Known) -> Iterator[Shape]:
    """Batch and heads of the operands, best first; of rank 4 they are as they stand.

    Operands of rank 3 have them in one axis: split as a mask meets them, as they were before they were merged, or
    as a batch of one head each.
    """
    batched = core.scores[:-2]
    if len(batched) == 2:
        yield batched
        return
    merged = batched[0]
    terms = [*core.added, *((core.keep,) if core.keep is not None else ())]
    shapes = [term.scores for term in terms]
    nodes = [link.node for way in ways.values() for link in way[:1]]
    shapes += [scope.value(node.input(0)).shape or () for node in nodes if node.op == "Reshape"]
    shapes += [scope.value(node.outputs[0]).shape or () for node in after[:1]]
    for shape in dict.fromkeys(shape[:2] for shape in shapes if len(shape) == 4):
        if multiply(shape[0], shape[1]) == merged:
            yield shape
    yield merged, 1


def read_split(core: Core, ways: Ways, after: Sequence[Node], scope: Known, heads: Shape) -> Reading | None:
    """The same for one split of batch and heads; None where it is no kernel call."""
    sides = _read_sides(core, ways, scope, heads)
    if sides is None:
        return None
    q, k, v = sides
    rows, size = q.view.shape[2:]
    keys, value_size = k.view.shape[2], v.view.shape[3]
    batch, count = heads
    if k.view.shape[3] != size or v.view.shape[2] != keys:
        return None
    key_heads = _count_key_heads(k, v, count)
    if key_heads is None:
        return None
    past = _past_rows(core, k, v, scope, (batch, key_heads, size, value_size))
    y_view = read_result(core.y, after, scope, (batch, count, rows, value_size), core.heads)
    views = [_spread(side.view, batch, extent) for side, extent in ((q, count), (k, key_heads), (v, key_heads))]
    q_view, k_view, v_view = views
    if past is None or y_view is None or q_view is None or k_view is None or v_view is None:
        return None
    scores = (batch, count, rows, past + keys)
    fitted = [(term.value, fit_term(term, scores, scope)) for term in core.added]
    masks = tuple((value, shape) for value, shape in fitted if shape is not None)
    keep = _fit_keep(core.keep, scores, scope)
    if len(masks) != len(fitted) or (core.keep is not None and keep is None):
        return None
    taken = core.taken | q.taken | k.taken | v.taken | {key_of(node) for node in after}
    return Reading(
        core=core,
        q=q,
        k=k,
        v=v,
        result=after[-1].outputs[0] if after else core.y,
        views=(q_view, k_view, v_view, y_view),
        extents=(batch, count, key_heads, rows, keys, size, value_size, past),
        scale=core.scale * q.factor * k.factor,
        masks=masks,
        keep=keep,
        taken=taken,
    )


def _read_sides(core: Core, ways: Ways, scope: Known, heads: Shape) -> tuple[Side, Side, Side] | None:
    q, k, v = (read_operand(core, name, ways[name], scope, heads) for name in SIDES)
    return None if q is None or k is None or v is None or k.copies != v.copies else (q, k, v)


def read_operand(core: Core, name: str, way: Sequence[Link], scope: Known, heads: Shape) -> Side | None:
    """Operand `name` of `core`, one of `SIDES`, by `way`; None where that is no view that the kernel can take."""
    value = operands_of(core)[name]
    if core.has_key_rows:
        side = read_rows(value, way, scope, core.heads if name == "q" else core.key_heads)
    else:
        side = read_side(value, way, scope, heads, is_key=name == "k")
    if side is None or (name == "q" and (side.copies != 1 or side.past)) or (name == "v" and side.factor != 1):
        return None
    return side


def _count_key_heads(k: Side, v: Side, heads: Dim) -> Dim | None:
    """Key heads as both are stored; where only one has them all, the other repeats its one by a stride of 0."""
    stored, other = k.view.shape[1], v.view.shape[1]
    if stored != other:
        return heads if k.copies == 1 else None
    if k.copies > 1:
        return stored if count_heads(k) == heads else None
    return stored if modulo(heads, stored) == 0 else None


def _past_rows(core: Core, k: Side, v: Side, scope: Known, extents: tuple[Dim, Dim, Dim, Dim]) -> Dim | None:
    """The number of past rows, 0 without a past; None where one of both has none, or they are shaped in another way."""
    past_key, past_value = core.past_key or k.past, core.past_value or v.past
    if not past_key and not past_value:
        return 0
    shapes = scope.value(past_key).shape, scope.value(past_value).shape
    if not past_key or not past_value or shapes[0] is None or shapes[1] is None or len(shapes[0]) != 4:
        return None
    batch, heads, size, value_size = extents
    rows = shapes[0][2]
    return rows if shapes == ((batch, heads, rows, size), (batch, heads, rows, value_size)) else None


def _spread(view: Strided, batch: Dim, heads: Dim) -> Strided | None:
    wide = spread(view, 0, batch)
    return None if wide is None else spread(wide, 1, heads)


def _fit_keep(keep: Term | None, scores: Shape, scope: Known) -> tuple[str, Shape] | None:
    shape = None if keep is None else fit_term(keep, scores, scope)
    return None if keep is None or shape is None else (keep.value, shape)
