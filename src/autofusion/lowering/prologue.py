"""What a product or a pool can do for the nodes that feed it: padding, transposed operands, a factor.

Works on the nodes of one body and gives fewer of them.  A MatMul may come out with the attributes
`transA`, `transB` and `alpha`, which Gemm has and `open_matmul` reads as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from autofusion.ir import Node
from autofusion.lowering.constants import read_float, read_integer, read_integers, read_scalar, read_text
from autofusion.lowering.scope import Scope

Merge = Callable[[Node, int, Node, Scope], "Node | None"]
"""A reader with the node ahead of its operand at a place done as well; None where it cannot."""


def merge_prologues(
    nodes: Sequence[Node], results: Collection[str], scope: Scope, has_kernel: Callable[[Node], bool]
) -> tuple[Node, ...]:
    """`nodes` with every Pad, Transpose and factor that its only reader can do moved into that reader.

    `results` are values that something else reads; `has_kernel` tells of a changed reader whether a kernel
    computes it, for on the host it would be no ONNX node.
    """
    made = {name: node for node in nodes for name in node.results}
    reads: dict[str, int] = {}
    for name in (name for node in nodes for name in node.inputs if name):
        reads[name] = reads.get(name, 0) + 1
    gone: set[str] = set()
    merged: list[Node] = []
    for node in nodes:
        while (found := _merge_one(node, made, reads, results, scope)) is not None and has_kernel(found[0]):
            node, ahead = found  # noqa: PLW2901
            gone.add(ahead.name)
        merged.append(node)
    return tuple(node for node in merged if node.name not in gone)


def _merge_one(
    node: Node, made: Mapping[str, Node], reads: Mapping[str, int], results: Collection[str], scope: Scope
) -> tuple[Node, Node] | None:
    merge = _MERGES.get(node.op)
    if merge is None or node.domain or node.opaque:
        return None
    for place, name in enumerate(node.inputs[:2]):
        ahead = made.get(name)
        if ahead is None or ahead.domain or ahead.opaque or reads[name] > 1 or name in results:
            continue
        changed = merge(node, place, ahead, scope)
        if changed is not None:
            return replace(changed, origin=ahead.origin + node.origin), ahead
    return None


def _with_input(node: Node, place: int, name: str, **attributes: int | float | str | tuple[int, ...]) -> Node:
    inputs = (*node.inputs[:place], name, *node.inputs[place + 1 :])
    return replace(node, inputs=inputs, attributes={**node.attributes, **attributes})


def _merge_padding(node: Node, place: int, ahead: Node, scope: Scope) -> Node | None:
    if ahead.op != "Pad" or place or read_text(node, "auto_pad", "NOTSET") not in ("NOTSET", "VALID", ""):
        return None
    cells = _read_image_padding(ahead, scope)
    rank = scope.value(ahead.input(0)).rank
    if cells is None or rank is None:
        return None
    none = [0] * len(cells)
    own = none if read_text(node, "auto_pad", "NOTSET") == "VALID" else read_integers(node, "pads", none)
    pads = tuple(one + other for one, other in zip(own, cells, strict=True))
    if node.op == "AveragePool":
        counts = read_integer(node, "count_include_pad", 0)
        if read_integer(node, "ceil_mode", 0) or (not counts and any(own)):
            return None
        return _with_input(node, place, ahead.input(0), auto_pad="NOTSET", pads=pads, count_include_pad=1)
    return _with_input(node, place, ahead.input(0), auto_pad="NOTSET", pads=pads)


def _read_image_padding(pad: Node, scope: Scope) -> list[int] | None:
    """Begins, then ends, of the image axes of a Pad with zeros; None where it is another one."""
    pads, rank = scope.constant(pad.input(1)), scope.value(pad.input(0)).rank
    axes = scope.constant(pad.input(3))
    if read_text(pad, "mode", "constant") != "constant" or pads is None or rank is None:
        return None
    if (pad.input(2) and read_scalar(scope, pad.input(2)) != 0) or (pad.input(3) and axes is None):
        return None
    padded = list(range(rank)) if axes is None else [int(axis) % rank for axis in axes.reshape(-1)]
    whole = [0] * (2 * rank)
    for index, cells in enumerate(pads.reshape(-1).tolist()):
        axis = padded[index % len(padded)]
        whole[axis if index < len(padded) else rank + axis] = int(cells)
    begins, ends = whole[:rank], whole[rank:]
    if any(begins[:2]) or any(ends[:2]) or min(whole) < 0:
        return None
    return begins[2:] + ends[2:]


def _merge_operand(node: Node, place: int, ahead: Node, scope: Scope) -> Node | None:
    if ahead.op == "Transpose":
        return _merge_transpose(node, place, ahead, scope)
    if ahead.op not in ("Mul", "Div"):
        return None
    factor_place = 1 if read_scalar(scope, ahead.input(1)) is not None else 0
    factor = read_scalar(scope, ahead.input(factor_place))
    source = scope.value(ahead.input(1 - factor_place))
    if factor is None or (ahead.op == "Div" and (factor_place == 0 or not factor)):
        return None
    if source.shape is None or source.shape != scope.shape(ahead.outputs[0]):
        return None
    alpha = read_float(node, "alpha", 1.0) * (factor if ahead.op == "Mul" else 1 / factor)
    if not math.isfinite(alpha):
        return None
    return _with_input(node, place, source.name, alpha=alpha)


def _merge_transpose(node: Node, place: int, ahead: Node, scope: Scope) -> Node | None:
    rank = scope.value(ahead.input(0)).rank
    if rank is None or rank < 2:
        return None
    axes = list(range(rank))
    if read_integers(ahead, "perm", axes[::-1]) != [*axes[:-2], axes[-1], axes[-2]]:
        return None
    flag = "transB" if place else "transA"
    return _with_input(node, place, ahead.input(0), **{flag: 1 - read_integer(node, flag, 0)})


_MERGES: Mapping[str, Merge] = {
    "Conv": _merge_padding,
    "AveragePool": _merge_padding,
    "MatMul": _merge_operand,
    "Gemm": _merge_operand,
}
