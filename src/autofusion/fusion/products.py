"""Matrix products that read one value as rows, and which of them one product could do.

A product multiplies the rows of a value by a constant matrix of rank 2: a MatMul or Gemm.
"""

from __future__ import annotations

from collections.abc import Sequence

from autofusion.fusion.scope import Scope
from autofusion.ir import CAPTURED, Node
from autofusion.ops.operands import integer, number
from autofusion.plan import MAX_RESULTS

_EPILOGUES = frozenset(
    {
        "Relu",
        "LeakyRelu",
        "Sigmoid",
        "Tanh",
        "HardSigmoid",
        "HardSwish",
        "Elu",
        "SiLU",
        "Gelu",
        "Swish",
        "Clip",
        "PRelu",
    }
    | {"Add", "BatchNormalization"}
)
"""Operators that a product does for its only reader."""


def multiplies_rows(scope: Scope, node: Node, value: str) -> bool:
    """True where `node` is a bare product of the rows of `value` and a constant matrix."""
    if node.domain or node.opaque or node.op not in ("MatMul", "Gemm") or node.inputs.count(value) != 1:
        return False
    rows, matrix = scope.value(value), scope.constant(node.input(1))
    if node.input(0) != value or matrix is None or matrix.ndim != 2 or integer(node, "transA"):
        return False
    is_matrix = rows.dtype is not None and rows.dtype.is_float and rows.rank is not None and rows.rank >= 2
    return is_matrix and _adds_in_kernel(scope, node)


def find_stray_reader(scope: Scope, node: Node, value: str) -> Node | None:
    """The first operator in `node`, at any depth, that reads `value` other than as rows of a product; None for none."""
    if value not in node.inputs:
        return None
    if node.body is None:
        return None if multiplies_rows(scope, node, value) else node
    found = (find_stray_reader(scope, inner, value) for inner in node.body.topological())
    return next((stray for stray in found if stray is not None), None)


def has_bias(scope: Scope, nodes: Sequence[Node]) -> bool | None:
    """Whether a product, alone or with the Add behind it, has a bias along its columns; None where it is none such."""
    product, *added = nodes
    if not added:
        return _is_bias(scope, product, product.input(2)) if product.input(2) else False
    if len(added) > 1 or added[0].op != "Add" or added[0].domain or product.input(2):
        return None
    others = [name for name in added[0].inputs if name != product.outputs[0]]
    return True if len(others) == 1 and _is_bias(scope, product, others[0]) else None


def find_group(scope: Scope, value: str) -> tuple[Node, ...]:
    """The nodes that read `value`, where all of them are products that become one node; () otherwise."""
    uses = scope.graph.consumers(value)
    readers = tuple({use.node.name: use.node for use in uses}.values())
    if not readers or value in scope.graph.outputs or any(use.index == CAPTURED for use in uses):
        return ()
    if any(find_stray_reader(scope, reader, value) is not None for reader in readers):
        return ()
    return readers if len(readers) == 1 or _are_parts(scope, readers) or _is_gated(scope, readers) else ()


def ends_product(scope: Scope, value: str) -> bool:
    """True where one node alone reads `value`, and a product with a constant weight, biased or not, gives it."""
    node = scope.graph.producer(value)
    if node is None or only_reader(scope, value) is None:
        return False
    if node.op == "Add" and not node.domain:
        return any(
            scope.constant(other) is not None and ends_product(scope, name)
            for name, other in (node.inputs, node.inputs[::-1])
        )
    return node.op in ("MatMul", "Gemm", "Conv") and not node.domain and scope.constant(node.input(1)) is not None


def only_reader(scope: Scope, value: str) -> Node | None:
    """The node that alone reads `value`, once; None where something else does too."""
    uses = scope.graph.consumers(value)
    if len(uses) != 1 or value in scope.graph.outputs or uses[0].index == CAPTURED:
        return None
    return uses[0].node


def _adds_in_kernel(scope: Scope, product: Node) -> bool:
    """True where Gemm has no third operand, or a bias along the columns, or an addend of the result's own shape."""
    addend = product.input(2)
    if not addend or _is_bias(scope, product, addend):
        return True
    shape = scope.value(addend).shape
    is_whole = shape is not None and shape == scope.value(product.outputs[0]).shape
    return is_whole and number(product, "beta", 1.0) == 1.0


def _is_bias(scope: Scope, product: Node, name: str) -> bool | None:
    """True for a constant along the columns of `product`, None for anything else."""
    array, result = scope.constant(name), scope.value(product.outputs[0])
    if array is None or not result.shape or array.ndim > len(result.shape):
        return None
    is_row = array.size == 1 or (array.shape[-1] == array.size and array.size == result.shape[-1])
    return True if is_row else None


def _are_parts(scope: Scope, readers: Sequence[Node]) -> bool:
    """True for products with nothing but a bias behind them, all or none of them with one."""
    if len(readers) > MAX_RESULTS or any(reader.body is not None for reader in readers):
        return False
    chains = [_bare_chain(scope, reader) for reader in readers]
    return len({has_bias(scope, chain) for chain in chains}) == 1 and not any(
        (reader := only_reader(scope, chain[-1].outputs[0])) is not None and reader.op in _EPILOGUES for chain in chains
    )


def _bare_chain(scope: Scope, product: Node) -> list[Node]:
    """The product and the Add of its bias, where one follows."""
    added = only_reader(scope, product.outputs[0])
    return [product, added] if added is not None and has_bias(scope, [product, added]) else [product]


def _is_gated(scope: Scope, readers: Sequence[Node]) -> bool:
    """True for two products, of which one with an activation is multiplied by the other."""
    if len(readers) != 2 or any(reader.body is not None for reader in readers):
        return False
    ends = [only_reader(scope, _bare_chain(scope, reader)[-1].outputs[0]) for reader in readers]
    return any(
        gate is not None
        and product is not None
        and gate.op in _EPILOGUES
        and product.op == "Mul"
        and only_reader(scope, gate.outputs[0]) is product
        for gate, product in (ends, ends[::-1])
    )
