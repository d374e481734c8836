"""The operator Attention of opset 23 and later as kernel `attention` computes it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from autofusion.fusion.attention.core import Core, Term
from autofusion.fusion.attention.nodes import refuse
from autofusion.fusion.reasons import Reason, shape_unknown
from autofusion.ir import Dim, DType, Node, Shape
from autofusion.ir.dims import floor_divide
from autofusion.ops.operands import integer, number
from autofusion.ops.table import Known

_MASK, _PAST_KEY, _PAST_VALUE, _VALID_ROWS = 3, 4, 5, 6


def read_operator(node: Node, scope: Known) -> Core | Reason:
    """The arithmetic of `node`, or why the kernel does something else."""
    for place, name in enumerate(("q", "k", "v")):
        if len(_shape(node, place, scope)) not in (3, 4):
            return shape_unknown(name, node.input(place))
    refusal = _refuse_words(node)
    if refusal is not None:
        return refusal
    q, k = _shape(node, 0, scope), _shape(node, 1, scope)
    rank = len(q)
    heads, key_heads = integer(node, "q_num_heads"), integer(node, "kv_num_heads")
    if rank == 3 and (heads < 1 or key_heads < 1):
        return refuse("heads", str(heads), "a number", f"{node.name} does not say how many heads its rows have", node)
    scores = _scores_shape(node, q, k, heads, scope)
    if scores is None:
        return shape_unknown("past_key", node.input(_PAST_KEY))
    size = q[-1] if rank == 4 else floor_divide(q[-1], heads)
    if "scale" not in node.attributes and not isinstance(size, int):
        return shape_unknown("q", node.input(0))
    default = 1.0 if not isinstance(size, int) else 1 / float(np.sqrt(size))
    core = Core(
        q=node.input(0),
        k=node.input(1),
        v=node.input(2),
        y=node.outputs[0],
        scores=scores,
        scale=number(node, "scale", default),
        causal=bool(integer(node, "is_causal")),
        has_key_rows=True,
        heads=heads if rank == 3 else 0,
        key_heads=key_heads if rank == 3 else 0,
        past_key=node.input(_PAST_KEY),
        past_value=node.input(_PAST_VALUE),
        present_key=node.outputs[1] if len(node.outputs) > 1 else "",
        present_value=node.outputs[2] if len(node.outputs) > 2 else "",
        parts={"y": node},
    )
    return _add_mask(core, node, scope)


def _shape(node: Node, place: int, scope: Known) -> Shape:
    return scope.value(node.input(place)).shape or ()


def _refuse_words(node: Node) -> Reason | None:
    """Why attributes or further results of `node` are beyond the kernel."""
    if number(node, "softcap", 0.0) != 0:
        return refuse("softcap", str(node.attributes["softcap"]), "0", f"{node.name} caps its scores", node)
    if node.input(_VALID_ROWS):
        return refuse("operand", node.input(_VALID_ROWS), "none", f"{node.name} has keys of several lengths", node)
    for name in ("left_window_size", "right_window_size"):
        if integer(node, name, -1) != -1:
            return refuse(name, str(node.attributes[name]), "-1", f"{node.name} has a sliding window", node)
    if len(node.outputs) > 3 and node.outputs[3]:
        return refuse("results", node.outputs[3], "none", f"{node.name} hands on its scores", node)
    return None


def _scores_shape(node: Node, q: Shape, k: Shape, heads: int, scope: Known) -> Shape | None:
    rows: Dim = k[-2]
    if node.input(_PAST_KEY):
        past = scope.value(node.input(_PAST_KEY)).shape
        if past is None or len(past) != 4:
            return None
        rows = past[2] + rows
    count: Dim = q[1] if len(q) == 4 else heads
    return (q[0], count, q[-2], rows)


def _add_mask(core: Core, node: Node, scope: Known) -> Core | Reason:
    """The mask as `added`, or as `keep` where it is of truth values; rows without any key give 0."""
    name = node.input(_MASK)
    mask = scope.value(name)
    if not name:
        return core
    if mask.shape is None:
        return shape_unknown("mask", name)
    if not mask.shape or mask.shape[-1] != core.scores[-1]:
        return refuse("mask", f"{mask.shape[-1:]}", f"{core.scores[-1]}", f"{name!r} says nothing of some keys", node)
    term = Term(name, core.scores)
    guarded = replace(core, guard=not _keeps_some(scope.constant(name), core))
    if mask.dtype is DType.BOOL:
        return replace(guarded, keep=term, keep_mode="add", fill=-np.inf)
    return replace(guarded, added=(term,))


def _keeps_some(mask: np.ndarray | None, core: Core) -> bool:
    """True where every row certainly has a key."""
    if mask is None:
        return False
    allowed = mask if mask.dtype == np.bool_ else ~np.isneginf(mask)
    if not core.causal:
        return bool(allowed.any(axis=-1).all())
    # The first key is one that no causal row drops.
    return bool(allowed[..., 0].all())
