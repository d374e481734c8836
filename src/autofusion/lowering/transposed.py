"""Normalizations that follow a transposed convolution, moved into its weight and bias."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from autofusion.ir import Node
from autofusion.lowering.absorb import read_normalization
from autofusion.lowering.constants import fits, read_integer
from autofusion.lowering.folds.transposed_scale import fold_transposed_scale
from autofusion.lowering.workspace import Workspace


def fold_transposed(nodes: Sequence[Node], results: Collection[str], workspace: Workspace) -> tuple[Node, ...]:
    """`nodes` of a body, each ConvTranspose with the inference BatchNormalization that alone reads it in one node.

    `results` are values that something else reads.
    """
    made = {name: index for index, node in enumerate(nodes) for name in node.results if node.op == "ConvTranspose"}
    reads = [name for node in nodes for name in node.inputs]
    folded = list[Node | None](nodes)
    for index, node in enumerate(nodes):
        source = made.get(node.input(0))
        if node.op != "BatchNormalization" or node.domain or source is None:
            continue
        if node.input(0) in results or reads.count(node.input(0)) > 1:
            continue
        changed = _fold(nodes[source], node, workspace)
        if changed is not None:
            folded[source], folded[index] = None, changed
    return tuple(node for node in folded if node is not None)


def _fold(conv: Node, norm: Node, workspace: Workspace) -> Node | None:
    scope = workspace.scope
    weight, group = scope.constant(conv.input(1)), read_integer(conv, "group", 1)
    bias = scope.constant(conv.input(2)) if conv.input(2) else None
    if conv.domain or conv.opaque or norm.opaque or weight is None or (conv.input(2) and bias is None):
        return None
    channels = weight.shape[1] * group
    factors = read_normalization(norm, scope, channels)
    if factors is None or weight.dtype.kind != "f":
        return None
    scale, shift = factors
    with np.errstate(all="ignore"):
        scaled = fold_transposed_scale(weight.astype(np.float64), group, scale)
        moved = shift if bias is None else bias.astype(np.float64) * scale + shift
    if not fits(scaled, weight.dtype) or not fits(moved, weight.dtype):
        return None
    operands = [
        workspace.add_constant(f"{norm.outputs[0]}:{name}", array.astype(weight.dtype))
        for name, array in (("weight", scaled), ("bias", moved))
    ]
    return replace(conv, inputs=(conv.inputs[0], *operands), outputs=norm.outputs[:1], origin=conv.origin + norm.origin)
