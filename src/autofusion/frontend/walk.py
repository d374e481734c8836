"""Names that a GraphProto uses."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import GraphProto

from autofusion.frontend.attributes import kind_of
from autofusion.frontend.faults import NAME_TWICE, UNNAMED, fault


def require_unique_names(graph: GraphProto, where: str, *, overridable: bool) -> None:
    """Raise ModelError where an input, initialiser or result has no name, or one that is taken.

    With `overridable` an initialiser may be listed among the inputs as well.
    """
    inputs = [value.name for value in graph.input]
    tensors = initializer_names(graph)
    results = [value for node in graph.node for value in node.output if value]
    seen: set[str] = set()
    for kind, names in (("input", inputs), ("initialiser", tensors), ("value", results)):
        here: set[str] = set()
        for name in names:
            if not name:
                raise fault(UNNAMED, f"an {kind} of {where} has no name")
            listed = kind == "initialiser" and overridable and name in seen
            if name in here or (name in seen and not listed):
                remedy = "every value has one definition; rename one of the two, or export the model again"
                raise fault(NAME_TWICE, f"{kind} {name!r} of {where} is defined twice", remedy)
            here.add(name)
        seen |= here


def initializer_names(graph: GraphProto) -> list[str]:
    """Names of the dense and sparse initialisers."""
    return [tensor.name for tensor in graph.initializer] + [tensor.values.name for tensor in graph.sparse_initializer]


def defined_names(graph: GraphProto) -> dict[str, None]:
    """Names that `graph` gives to inputs, initialisers and results."""
    results = (value for node in graph.node for value in node.output if value)
    return dict.fromkeys([*(value.name for value in graph.input), *initializer_names(graph), *results])


def all_names(graph: GraphProto) -> Iterator[str]:
    """Names of all values and nodes of `graph` and of the control-flow graphs inside."""
    yield from defined_names(graph)
    for node in graph.node:
        yield node.name
        for attribute in node.attribute:
            if kind_of(attribute) == attribute.GRAPH:
                yield from all_names(attribute.g)
