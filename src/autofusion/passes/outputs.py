"""Conversion of outputs to other element types."""

from __future__ import annotations

from collections.abc import Mapping

from autofusion.diagnostics import Diagnostic
from autofusion.errors import UsageError
from autofusion.ir import DType, Graph, Node, Value
from autofusion.ir.scope import GraphScope
from autofusion.ops import canonicalize, find_operator
from autofusion.ops.element_types import CODES
from autofusion.passes.redirect import rename_result

UNSUITABLE_TYPE = "AF134"


def cast_outputs(graph: Graph, types: Mapping[str, DType]) -> int:
    """Let every output that is a key of `types` have that element type, by a Cast before it; returns the Casts added.

    Outputs keep their names.  Raises UsageError AF134 where an output is no number, or is computed by no node.
    """
    outputs = graph.outputs
    wanted = {name: dtype for name, dtype in types.items() if graph.value(name).dtype is not dtype}
    for name, dtype in wanted.items():
        _check(graph, name, dtype)
        graph.outputs = tuple(output for output in graph.outputs if output != name)
        _cast(graph, name, dtype)
    graph.outputs = outputs
    return len(wanted)


def _check(graph: Graph, name: str, dtype: DType) -> None:
    known = graph.value(name).dtype
    if known in (None, DType.STRING, DType.COMPLEX64, DType.COMPLEX128):
        kind = "of unknown type" if known is None else known.value
        raise _unsuitable(f"output {name!r} is {kind} and cannot be converted to {dtype.value}")
    if graph.producer(name) is None:
        raise _unsuitable(f"output {name!r} is computed by no node and cannot be converted to {dtype.value}")


def _cast(graph: Graph, name: str, dtype: DType) -> None:
    scope, source = GraphScope(graph), graph.value(name)
    plain = scope.fresh(f"{name}_{source.dtype.value if source.dtype else ''}")
    rename_result(graph, name, plain)
    node = Node(scope.fresh(f"{name}_cast"), "Cast", (plain,), (name,), {"to": CODES[dtype]})
    row = find_operator("Cast")
    for part in canonicalize(node, row.version if row else 0, scope):
        graph.add(part, [Value(name, dtype, source.shape)])


def _unsuitable(message: str) -> UsageError:
    return UsageError(Diagnostic(UNSUITABLE_TYPE, message, help="leave the output out of the option"))
