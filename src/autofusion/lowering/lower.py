"""Lowering, on one page: a graph of plain and fused nodes becomes a plan and its weights."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from autofusion.decisions import StoredWeight
from autofusion.diagnostics import Diagnostic
from autofusion.errors import ModelError
from autofusion.ir import MANUAL, DType, Graph, Shape
from autofusion.lowering.assemble import assemble
from autofusion.lowering.decode import decode_node
from autofusion.lowering.depth_first import join_depthwise
from autofusion.lowering.excitation import join_excitations
from autofusion.lowering.layout import assign_layouts
from autofusion.lowering.limits import find_limits
from autofusion.lowering.narrowed import narrow_exact, narrow_weights
from autofusion.lowering.packed import pack_weights
from autofusion.lowering.pooled import join_pools
from autofusion.lowering.records import Backend, Lowered
from autofusion.lowering.reshaped import reshape_results
from autofusion.lowering.scope import Scope
from autofusion.lowering.sharing import share_images
from autofusion.lowering.shuffles import fold_shuffles
from autofusion.lowering.workspace import Workspace
from autofusion.tuning import Bank


def lower(
    graph: Graph,
    *,
    backend: Backend,
    barred: Collection[str] = (),
    exact: bool = False,
    gears: Sequence[Mapping[str, int]] = (),
    storage: DType | None = None,
    kept: Mapping[str, str] = MappingProxyType({}),
    halves: Sequence[DType] = (),
    bank: Bank | None = None,
) -> Lowered:
    """The plan of `graph` for a backend.

    "reference": row-major buffers and unpacked weights, for the numpy definitions of the kernels.
    "native": layouts and packed weights as the C kernels take them; kernels for float32 and float64 alone.
    Nodes that `barred` names share no step with others.
    `exact` forbids algorithms with larger rounding errors than plain sums; `gears` are the only extents to run with.
    With `storage`, a type of two bytes, float32 weights are stored in it where that loses nothing but digits, but for
    those of the ONNX nodes in `kept`, which says of each who wants it so.  Weights that a type of `halves` holds
    without any change are stored in it, which needs no word.
    What `bank` says of a layer holds, if that is possible and exact enough, whatever the cost model says.
    Operators without a kernel become host steps.  Raises ModelError for an input whose shape is not
    known and for graphs nested too deeply.
    """
    workspace = Workspace(graph, backend)
    _check_inputs(graph, workspace.scope)
    for node in graph.topological():
        decode_node(node, workspace)
    fused = {node.name for node in graph if node.pattern not in ("", MANUAL)}
    apart = {*barred, *(node.name for node in graph if node.pattern == MANUAL)}
    draft = join_excitations(reshape_results(workspace.finish()), fused, apart)
    if backend == "native":
        draft = fold_shuffles(assign_layouts(draft))
        grouped = {node.name for node in graph if node.pattern}
        draft = share_images(join_depthwise(join_pools(draft, grouped, bank), fused, bank))
        draft = pack_weights(draft, exact=exact, halves=halves, bank=bank)
    draft, kept_halves = narrow_exact(draft, halves)
    stored: tuple[StoredWeight, ...] = ()
    if storage is not None:
        draft, stored = narrow_weights(draft, storage, kept)
    lowered = assemble(draft, (node.name for node in graph.topological()))
    plan = lowered.plan._replace(limits=find_limits(graph, gears), gears=tuple(gears))
    return replace(lowered, plan=plan, stored=stored, halves=kept_halves)


def _check_inputs(graph: Graph, scope: Scope) -> None:
    for name in graph.inputs:
        if scope.shape(name) is None:
            raise ModelError(
                Diagnostic(
                    "AF171",
                    f"the shape of input {name!r} is not known: {_describe_shape(graph.value(name).shape)}",
                    help=f"give it when compiling, such as --input_shape={name}:1,3,224,224",
                )
            )


def _describe_shape(shape: Shape | None) -> str:
    if shape is None:
        return "the model declares no rank"
    return f"no other input gives the symbols of [{', '.join(map(str, shape))}] alone"
