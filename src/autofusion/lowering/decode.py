"""First stage of lowering: every graph node as kernel calls on row-major operands.

A fused node is decoded from its body.  The body's nodes are walked in order; a node that a
kernel computes opens a call, and the call takes in the nodes after it for as long as each is the only
reader of the result so far.  What no kernel computes becomes a host step.  Calls of one fused node
that one call can do are joined in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from autofusion.ir import MANUAL, Node
from autofusion.lowering.absorb import absorb_node
from autofusion.lowering.activations import ACTIVATION_OPERATORS, find_gate
from autofusion.lowering.attention import emit_attention
from autofusion.lowering.elementwise import (
    BITWISE,
    COMPARISONS,
    LOGIC,
    open_arithmetic,
    open_bitwise,
    open_cast,
    open_comparison,
    open_is_infinite,
    open_is_nan,
    open_limits,
    open_logic,
    open_mean,
    open_modulo,
    open_not,
    open_power,
    open_select,
    open_sign_change,
)
from autofusion.lowering.embedding import open_embedding
from autofusion.lowering.flatten import flatten_node
from autofusion.lowering.host import emit_host
from autofusion.lowering.joins import join_calls
from autofusion.lowering.lines import (
    REDUCTIONS,
    open_any_reduction,
    open_argument,
    open_cumulate,
    open_rank,
    open_softmax,
)
from autofusion.lowering.lookups import (
    open_gather,
    open_gather_blocks,
    open_gather_elements,
    open_range,
    open_resize,
    open_scatter,
    open_triangle,
)
from autofusion.lowering.moves import (
    open_concat,
    open_constant_of_shape,
    open_depth,
    open_pad,
    open_slice,
    open_strided,
    open_tile,
)
from autofusion.lowering.norms import open_channel_norm, open_row_norm
from autofusion.lowering.phases import open_transposed
from autofusion.lowering.pointwise import (
    BINARY_OPERATORS,
    FUNCTIONS,
    activation_call,
    open_activation,
    open_function,
    open_normalization,
    open_rounding,
    open_slopes,
)
from autofusion.lowering.pools import open_global_pool, open_pool
from autofusion.lowering.products import open_conv, open_gemm, open_matmul, refuse_operands
from autofusion.lowering.programs import PROGRAMMED, open_program, open_programmed
from autofusion.lowering.prologue import merge_prologues
from autofusion.lowering.records import NO_EPILOGUE, Call, Epilogue
from autofusion.lowering.rotary import emit_rotary
from autofusion.lowering.transposed import fold_transposed
from autofusion.lowering.views import VIEWS, emit_content, open_view
from autofusion.lowering.workspace import Owner, Workspace
from autofusion.passes import ROUNDING_DOMAIN

Open = Callable[[Node, Workspace], "list[Call] | str"]
"""A node's kernel calls, of which the last may take in more, or why there are none."""

OPENERS: Mapping[str, Open] = {
    "Conv": open_conv,
    "ConvTranspose": open_transposed,
    "MatMul": open_matmul,
    "Gemm": open_gemm,
    "MaxPool": open_pool,
    "AveragePool": open_pool,
    "GlobalMaxPool": open_global_pool,
    "GlobalAveragePool": open_global_pool,
    "BatchNormalization": open_normalization,
    "LayerNormalization": open_row_norm,
    "RMSNormalization": open_row_norm,
    "GroupNormalization": open_channel_norm,
    "InstanceNormalization": open_channel_norm,
    "PRelu": open_slopes,
    **dict.fromkeys(ACTIVATION_OPERATORS - {"PRelu"}, open_activation),
    **dict.fromkeys(BINARY_OPERATORS, open_arithmetic),
    **dict.fromkeys(FUNCTIONS, open_function),
    **dict.fromkeys(("Neg", "Abs"), open_sign_change),
    **dict.fromkeys(VIEWS, open_view),
    **dict.fromkeys(("Transpose", "Split", "Expand"), open_strided),
    "Slice": open_slice,
    "Pow": open_power,
    "Mean": open_mean,
    "Clip": open_limits,
    "Tile": open_tile,
    "DepthToSpace": open_depth,
    "SpaceToDepth": open_depth,
    "ConstantOfShape": open_constant_of_shape,
    "Concat": open_concat,
    "Pad": open_pad,
    "Where": open_select,
    **dict.fromkeys(COMPARISONS, open_comparison),
    **dict.fromkeys(LOGIC, open_logic),
    **dict.fromkeys(BITWISE, open_bitwise),
    "Mod": open_modulo,
    "Not": open_not,
    "IsNaN": open_is_nan,
    "IsInf": open_is_infinite,
    **dict.fromkeys(("Cast", "CastLike"), open_cast),
    **dict.fromkeys(("Softmax", "LogSoftmax"), open_softmax),
    **dict.fromkeys(REDUCTIONS, open_any_reduction),
    **dict.fromkeys(("ArgMax", "ArgMin"), open_argument),
    "CumSum": open_cumulate,
    "TopK": open_rank,
    "Gather": open_gather,
    "GatherElements": open_gather_elements,
    "GatherND": open_gather_blocks,
    **dict.fromkeys(("ScatterElements", "ScatterND"), open_scatter),
    "Range": open_range,
    "Trilu": open_triangle,
    "Resize": open_resize,
    **dict.fromkeys(PROGRAMMED, open_programmed),
}


@dataclass(frozen=True)
class _Piece:
    """What is emitted at one place of a node list: calls, or a host step and its reason."""

    calls: tuple[Call, ...] = ()
    host: Node | None = None
    reason: str = ""


def decode_node(node: Node, workspace: Workspace) -> None:
    """Append the steps of one graph node, plain or fused; those of a manual group are the steps of its parts."""
    owner = Owner(node.name, node.op)
    if node.pattern != MANUAL or node.body is None:
        _decode_part(owner, node, workspace)
        return
    for part in node.body.topological():
        _decode_part(owner, part, workspace)


def _decode_part(owner: Owner, node: Node, workspace: Workspace) -> None:
    if emit_content(owner, node, workspace) or emit_attention(owner, node, workspace):
        return
    if emit_rotary(owner, node, workspace):
        return
    nodes = flatten_node(node)
    if node.body is not None:
        call = open_embedding(nodes, node.results, workspace)
        if call is not None:
            _emit_call(owner, call, workspace)
            return
        nodes = fold_transposed(nodes, node.results, workspace)
        nodes = merge_prologues(nodes, node.results, workspace.scope, lambda part: _has_kernel(part, workspace))
    pieces = _Body(nodes, node.results, workspace).pieces(owner)
    if node.body is not None and all(piece.host is None for piece in pieces):
        calls = [call for piece in pieces for call in piece.calls]
        pieces = [_Piece(tuple(join_calls(calls, node.results, workspace)))]
    if node.body is not None and [len(piece.calls) for piece in pieces] != [1]:
        call = open_program(nodes, node.results, workspace)
        pieces = [_Piece((call,))] if isinstance(call, Call) else pieces
    for piece in pieces:
        if piece.host is not None:
            emit_host(owner, piece.host, workspace, piece.reason)
        for call in piece.calls:
            _emit_call(owner, call, workspace)


def _has_kernel(node: Node, workspace: Workspace) -> bool:
    return node.op in OPENERS and not isinstance(OPENERS[node.op](node, workspace), str)


class _Body:
    """The nodes of one graph node, and who reads what among them."""

    def __init__(self, nodes: Sequence[Node], results: Sequence[str], workspace: Workspace) -> None:
        self._nodes = nodes
        self._results = frozenset(results)
        self._workspace = workspace
        self._taken: set[int] = set()
        self._readers: dict[str, list[int]] = {}
        for index, node in enumerate(nodes):
            for name in node.inputs:
                if name:
                    self._readers.setdefault(name, []).append(index)

    def pieces(self, owner: Owner) -> list[_Piece]:
        """What to emit, in order: each call where its last node stood."""
        ending: dict[int, _Piece] = {}
        for index, node in enumerate(self._nodes):
            if index in self._taken or emit_content(owner, node, self._workspace):
                continue
            calls, chain = self._open(index)
            if isinstance(calls, str):
                ending[index] = _Piece(host=node, reason=calls)
                continue
            last, chain = self._extend(calls[-1], chain)
            self._taken.update(chain)
            ending[max(chain)] = _Piece((*calls[:-1], last))
        return [ending[index] for index in sorted(ending)]

    def _open(self, index: int) -> tuple[list[Call] | str, list[int]]:
        node = self._nodes[index]
        gated = self._find_gate(node.input(0), index)
        if gated is not None and not refuse_operands(self._workspace, node.input(0)):
            epilogue, product = gated
            result = self._workspace.scope.value(self._nodes[product].outputs[0])
            call = activation_call(node.input(0), result, epilogue, self._origins(index, product))
            return [call], [index, product]
        opener = OPENERS.get(node.op)
        if node.opaque:
            return f"{node.op} of opset {node.opset} has no canonical form", []
        if node.domain == ROUNDING_DOMAIN:
            return open_rounding(node, self._workspace), [index]
        if node.domain or opener is None:
            return f"no kernel for {node.op}", []
        return opener(node, self._workspace), [index]

    def _extend(self, call: Call, chain: list[int]) -> tuple[Call, list[int]]:
        while True:
            name = call.result.name
            readers = self._readers.get(name, [])
            gated = self._find_gate(name, min(readers, default=-1))
            if name in self._results:
                return call, chain
            if gated is not None and len(readers) == 2 and call.epilogue == NO_EPILOGUE:
                epilogue, product = gated
                added = [min(readers), product]
                result = replace(call.result, name=self._nodes[product].outputs[0])
                call = call.activated(epilogue, result, self._origins(*added))
            else:
                longer = None
                if len(readers) == 1 and readers[0] not in self._taken:
                    longer = absorb_node(call, self._nodes[readers[0]], self._workspace.scope)
                if longer is None:
                    return call, chain
                call, added = longer, readers
            chain = [*chain, *added]

    def _find_gate(self, name: str, gate: int) -> tuple[Epilogue, int] | None:
        """The activation `name * gate(name)` and the place of its Mul, for the gate at index `gate`."""
        if gate < 0 or self._nodes[gate].inputs[:1] != (name,):
            return None
        gated = self._nodes[gate].outputs[0]
        epilogue = find_gate(self._nodes[gate], self._workspace.scope)
        if epilogue is None or gated in self._results or len(self._readers.get(gated, [])) != 1:
            return None
        product = self._readers[gated][0]
        node = self._nodes[product]
        if product in self._taken or node.op != "Mul" or node.domain or sorted(node.inputs) != sorted((name, gated)):
            return None
        return (epilogue, product)

    def _origins(self, *indices: int) -> tuple[str, ...]:
        return tuple(name for index in indices for name in self._nodes[index].origin)


def _emit_call(owner: Owner, call: Call, workspace: Workspace) -> None:
    if call.kernel == "alias":
        workspace.alias(owner, call.operands[0], call.result, call.absorbed)
        return
    settings = dict(call.settings)
    if call.epilogue is not None:
        settings |= call.epilogue.settings()
    for value in call.results:
        workspace.scope.define_value(value)
    operands = _folded_operands(call, workspace)
    results = tuple(value.name for value in call.results)
    workspace.emit(owner, call.kernel, operands, results, settings, call.absorbed)


def _folded_operands(call: Call, workspace: Workspace) -> tuple[str, ...]:
    product, dtype = call.product, call.result.dtype
    if product is None or dtype is None:
        return call.operands
    operands = list(call.operands)
    for index, array in ((1, product.weight), (2, product.bias)):
        if array is not None:
            stem = f"{operands[index]}:folded" if operands[index] else f"{call.result.name}:bias"
            operands[index] = workspace.add_constant(stem, array.astype(dtype.numpy))
    return tuple(operands)
