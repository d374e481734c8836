"""Lowering, on one page: a graph of plain and fused nodes becomes a plan and its weights."""

from __future__ import annotations

from autofusion.ir import Graph
from autofusion.lowering.assemble import assemble
from autofusion.lowering.decode import decode_node
from autofusion.lowering.layout import assign_layouts
from autofusion.lowering.packed import pack_weights
from autofusion.lowering.records import Backend, Lowered
from autofusion.lowering.workspace import Workspace


def lower(graph: Graph, *, backend: Backend) -> Lowered:
    """The plan of `graph` for a backend.

    "reference": row-major buffers and unpacked weights, for the numpy definitions of the kernels.
    "native": layouts and packed weights as the C kernels take them; kernels for float32 only.
    Operators without a kernel become host steps.  Raises ModelError for nested graphs.
    """
    workspace = Workspace(graph, backend)
    for node in graph.topological():
        decode_node(node, workspace)
    draft = workspace.finish()
    if backend == "native":
        draft = pack_weights(assign_layouts(draft))
    return assemble(draft, (node.name for node in graph.topological()))
