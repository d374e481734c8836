"""Reading softmax(scale * q k + masks) v out of the nodes that spell it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from autofusion.fusion.attention.nodes import Made, index_results, key_of, read_factor, refuse
from autofusion.fusion.reasons import Reason
from autofusion.ir import Node, Shape
from autofusion.ops.operands import integer
from autofusion.ops.table import Known

MAX_DEPTH = 10
"""How many nodes may stand between the first product and the softmax, more than the kernel has words for."""


@dataclass(frozen=True)
class Term:
    """A mask `value`, which meets scores of the shape `scores`."""

    value: str
    scores: Shape


@dataclass(frozen=True)
class Core:
    """The arithmetic of attention between its operands and its result `y`, all by name.

    `scores` is the shape of the product of q and k.  k comes as [..., size, keys], with `has_key_rows` as
    [..., keys, size].  The other words are those of kernel `attention`; `added` has its bias and mask, `scale`
    what was found between the products, `heads` and `key_heads` are known where the operands are rows of all
    heads, [batch, rows, heads * size].
    """

    q: str
    k: str
    v: str
    y: str
    scores: Shape
    scale: float = 1.0
    added: tuple[Term, ...] = ()
    keep: Term | None = None
    keep_mode: str = ""
    keep_drops: bool = False
    fill: float = 0.0
    causal: bool = False
    guard: bool = False
    has_key_rows: bool = False
    heads: int = 0
    key_heads: int = 0
    past_key: str = ""
    past_value: str = ""
    present_key: str = ""
    present_value: str = ""
    parts: Mapping[str, Node] = field(default_factory=dict[str, Node])

    @property
    def taken(self) -> frozenset[str]:
        """The keys of the nodes that say this."""
        return frozenset(key_of(node) for node in self.parts.values())


@dataclass(frozen=True)
class _Fill:
    """A Where on the scores: what it puts in, where, and how many sums came before it."""

    keep: Term
    drops: bool
    fill: float
    place: int
    is_sum: bool = False


@dataclass(frozen=True)
class _Scores:
    """The product of q and k so far, what was done to it, in order."""

    product: Node
    shape: Shape
    scale: float = 1.0
    added: tuple[Term, ...] = ()
    fills: tuple[_Fill, ...] = ()
    parts: Mapping[str, Node] = field(default_factory=dict[str, Node])

    def with_part(self, name: str, node: Node) -> _Scores:
        """With one more node."""
        return replace(self, parts={**self.parts, f"{name}_{len(self.parts)}": node})


def read_core(nodes: Iterable[Node], scope: Known) -> Core | Reason:
    """The one attention that `nodes` hold, or what keeps them from being what kernel `attention` computes."""
    known = tuple(node for node in nodes if not node.domain and not node.opaque)
    made = index_results(known)
    weights = [node for node in known if node.op == "Softmax"]
    if len(weights) != 1:
        return refuse("softmax", str(len(weights)), "1", "one Softmax makes the weights of an attention")
    scores = _read_scores(weights[0].input(0), made, scope)
    if isinstance(scores, Reason):
        return scores
    rank = len(scores.shape)
    if rank not in (3, 4):
        return refuse("rank", str(rank), "3 or 4", f"{scores.product.name} has rank {rank}", scores.product)
    if integer(weights[0], "axis", -1) not in (-1, rank - 1) or scope.value(weights[0].input(0)).shape != scores.shape:
        return refuse("softmax", "other rows", "rows of keys", f"{weights[0].name} runs along other rows", weights[0])
    weighted, guard = _read_guard(weights[0], known, scope)
    products = [node for node in known if node.op == "MatMul" and node.input(0) == weighted]
    if len(products) != 1:
        return refuse("products", str(len(products)), "1", f"one product reads the weights {weighted!r}", weights[0])
    sized = _place_fills(scores)
    if isinstance(sized, Reason):
        return sized
    return replace(
        sized,
        v=products[0].input(1),
        y=products[0].outputs[0],
        guard=bool(guard),
        parts={**scores.parts, "qk": scores.product, "p": weights[0], **guard, "y": products[0]},
    )


def _read_guard(weights: Node, nodes: tuple[Node, ...], scope: Known) -> tuple[str, dict[str, Node]]:
    """The value that replaces NaN among the weights, and the nodes that do it; the weights where there are none."""
    value = weights.outputs[0]
    test = next((node for node in nodes if node.op == "IsNaN" and node.input(0) == value), None)
    if test is None:
        return value, {}
    chosen = next((node for node in nodes if node.op == "Where" and node.input(0) == test.outputs[0]), None)
    if chosen is None or chosen.input(2) != value or read_factor(chosen.input(1), scope) != 0:
        return value, {}
    return chosen.outputs[0], {"test": test, "guard": chosen}


def _read_scores(value: str, made: Made, scope: Known, depth: int = 0) -> _Scores | Reason:
    node, shape = made.get(value), scope.value(value).shape
    if node is None or shape is None or depth == MAX_DEPTH:
        return refuse("scores", value, "a product", f"{value!r} comes from no product of the match")
    match node.op:
        case "MatMul":
            return _Scores(node, shape)
        case "Mul" | "Div":
            return _read_scale(node, made, scope, depth)
        case "Add":
            return _read_sum(node, made, scope, depth)
        case "Where":
            return _read_fill(node, made, scope, depth)
        case "Reshape":
            inner = _read_scores(node.input(0), made, scope, depth + 1)
            return inner if isinstance(inner, Reason) else inner.with_part("shape", node)
        case _:
            return refuse("scores", node.op, "a product", f"{node.name} stands between the products", node)


def _read_scale(node: Node, made: Made, scope: Known, depth: int) -> _Scores | Reason:
    factor, place = _find_factor(node, scope)
    if factor is None:
        return refuse("scale", node.op, "one number", f"{node.name} scales by more than one number", node)
    inner = _read_scores(node.input(place), made, scope, depth + 1)
    if isinstance(inner, Reason):
        return inner
    if inner.added or inner.fills:
        return refuse("scale", "after a mask", "before", f"{node.name} scales the masks as well", node)
    return replace(inner, scale=inner.scale * factor).with_part("scale", node)


def _find_factor(node: Node, scope: Known) -> tuple[float | None, int]:
    """The number that a Mul or Div multiplies by, and the place of the other operand."""
    second = read_factor(node.input(1), scope)
    if node.op == "Div":
        return (None if second is None or second == 0 else 1 / second), 0
    return (second, 0) if second is not None else (read_factor(node.input(0), scope), 1)


def _read_sum(node: Node, made: Made, scope: Known, depth: int) -> _Scores | Reason:
    shape = scope.value(node.outputs[0]).shape or ()
    inner: _Scores | Reason = refuse("scores", node.op, "a product", f"{node.name} adds to no product", node)
    for place in (0, 1):
        inner = _read_scores(node.input(place), made, scope, depth + 1)
        if not isinstance(inner, Reason):
            fill = _read_made_mask(node.input(1 - place), made, scope, shape, len(inner.added))
            if fill is not None:
                mask = made[node.input(1 - place)]
                return replace(inner, fills=(*inner.fills, fill)).with_part("add", node).with_part("mask", mask)
            term = Term(node.input(1 - place), shape)
            return replace(inner, added=(*inner.added, term)).with_part("add", node)
    return inner


def _read_made_mask(value: str, made: Made, scope: Known, shape: Shape, place: int) -> _Fill | None:
    """The truth values behind an additive mask that is made of them here, 0 where they keep and a number elsewhere."""
    node = made.get(value)
    if node is None or node.op != "Where":
        return None
    first, second = read_factor(node.input(1), scope), read_factor(node.input(2), scope)
    if first is None or second is None or 0 not in (first, second):
        return None
    drops = first != 0
    return _Fill(Term(node.input(0), shape), drops, first if drops else second, place, is_sum=True)


def _read_fill(node: Node, made: Made, scope: Known, depth: int) -> _Scores | Reason:
    shape = scope.value(node.outputs[0]).shape or ()
    for scores, other in ((1, 2), (2, 1)):
        fill = read_factor(node.input(other), scope)
        inner = _read_scores(node.input(scores), made, scope, depth + 1) if fill is not None else None
        if inner is not None and not isinstance(inner, Reason) and fill is not None:
            found = _Fill(Term(node.input(0), shape), scores == 2, fill, len(inner.added))
            return replace(inner, fills=(*inner.fills, found)).with_part("fill", node)
    return refuse("mask", node.op, "one number", f"{node.name} puts in more than one number", node)


def _place_fills(scores: _Scores) -> Core | Reason:
    """The masks in the places that the kernel has for them."""
    product = scores.product
    core = Core(product.input(0), product.input(1), "", "", scores.shape, scores.scale, scores.added)
    if len(scores.added) > 2:
        return refuse("masks", str(len(scores.added)), "2", "the kernel adds two masks", product)
    if len(scores.fills) == 0:
        return core
    fill, *others = scores.fills
    if others:
        return refuse("masks", str(len(scores.fills)), "1", "the kernel takes one truth value an element", product)
    mode = "add" if fill.is_sum else "first" if fill.place == 0 else "last"
    if mode == "last" and fill.place < len(scores.added):
        return refuse("masks", "between sums", "first or last", "a Where stands between two sums", product)
    return replace(core, keep=fill.keep, keep_mode=mode, keep_drops=fill.drops, fill=fill.fill)
