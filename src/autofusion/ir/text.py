"""The text form of a graph: what dumps show and `ir.parse` reads back.

    graph main(x: float[batch, 3]) -> (y: float[batch, 4]) {
      opset "" 23
      constant w: float[3, 4] = #0f1e2d3c4b5a6978
      y: float[batch, 4] = MatMul(x, w) @ MatMul_0
    }

Constants of up to `INLINE_ELEMENTS` elements are written out, larger ones by a digest of
their bytes.  A fused node is followed by its pattern and its body.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator

import numpy as np

from autofusion.ir.graph import Graph
from autofusion.ir.node import Attribute, Node
from autofusion.ir.types import DType, Value

INLINE_ELEMENTS = 16
_PLAIN = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_./-]|:(?=[A-Za-z0-9_./-]))*")
_RESERVED = frozenset({"_", "graph", "constant", "opset", "default", "tensor", "inf", "nan", "true", "false"})


def dump_graph(graph: Graph) -> str:
    """`graph` as text, one node a line, bodies and nested graphs indented."""
    return "\n".join(_graph_lines(graph)) + "\n"


def spell_name(name: str) -> str:
    """A value or node name as the text form writes it: quoted unless it is plain."""
    return name if _PLAIN.fullmatch(name) and name not in _RESERVED else json.dumps(name)


def spell_type(value: Value) -> str:
    """Type and shape: `float[batch, 3]`, `float` where the rank is unknown, `?` for an unknown type."""
    text = "?" if value.dtype is None else value.dtype.value
    if value.shape is not None:
        text += f"[{', '.join(map(str, value.shape))}]"
    if value.content is not None:
        text += f" {{{', '.join(map(str, value.content))}}}"
    return text


def digest_array(array: np.ndarray) -> str:
    """Sixteen hexadecimal digits over type, shape and elements."""
    state = hashlib.sha256(f"{array.dtype}{array.shape}".encode())
    if array.dtype.kind == "O":
        state.update(repr(array.tolist()).encode())
    else:
        state.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return state.hexdigest()[:16]


def _graph_lines(graph: Graph) -> Iterator[str]:
    inputs = ", ".join(_typed(graph, name) for name in graph.inputs)
    outputs = ", ".join(_typed(graph, name) for name in graph.outputs)
    yield f"graph {spell_name(graph.name)}({inputs}) -> ({outputs}) {{"
    for domain, version in sorted(graph.opsets.items()):
        yield f"  opset {json.dumps(domain)} {version}"
    for keyword, table in (("constant", graph.constants), ("default", graph.defaults)):
        for name, array in sorted(table.items()):
            yield f"  {keyword} {spell_name(name)}: {_array_type(array)} = {_array_text(array)}"
    for node in graph.topological():
        for line in _node_lines(graph, node):
            yield "  " + line
    yield "}"


def _node_lines(graph: Graph, node: Node) -> Iterator[str]:
    results = ", ".join(_typed(graph, name) if name else "_" for name in node.outputs)
    operands = ", ".join(spell_name(name) if name else "_" for name in node.inputs)
    operator = f"{spell_name(node.domain)}::{node.op}" if node.domain else node.op
    head = f"{results} = {operator}"
    lines = [head]
    if node.attributes:
        lines = _attribute_lines(head, node)
    lines[-1] += f"({operands}) @ {spell_name(node.name)}"
    if node.opset or node.opaque:
        lines[-1] += f" {'opaque ' if node.opaque else ''}v{node.opset}"
    if node.origin:
        lines[-1] += f" from {', '.join(map(json.dumps, node.origin))}"
    if node.body is not None:
        lines[-1] += f" by {spell_name(node.pattern)} {json.dumps(node.display)}"
        bound = ", ".join(f"{key} = {spell_name(name)}" for key, name in sorted(node.bindings.items()))
        lines[-1] += f" bind {{{bound}}} body"
        lines += ["  " + line for line in _graph_lines(node.body)]
    yield from lines


def _attribute_lines(head: str, node: Node) -> list[str]:
    """The attribute list, on the node's own line unless it holds nested graphs."""
    lines = [head + "<"]
    for place, (key, attribute) in enumerate(sorted(node.attributes.items())):
        if place:
            lines[-1] += ", "
        first, *rest = _attribute_text(attribute)
        lines[-1] += f"{key} = {first}"
        lines += ["  " + line for line in rest]
    lines[-1] += ">"
    return lines


def _attribute_text(attribute: Attribute) -> list[str]:
    if isinstance(attribute, Graph):
        return list(_graph_lines(attribute))
    if isinstance(attribute, np.ndarray):
        return [f"tensor {_array_type(attribute)} {_elements(attribute.ravel().tolist())}"]
    if isinstance(attribute, tuple):
        return [_elements(attribute)]
    return [_scalar(attribute)]


def _typed(graph: Graph, name: str) -> str:
    return f"{spell_name(name)}: {spell_type(graph.value(name))}"


def _array_type(array: np.ndarray) -> str:
    return spell_type(Value("", DType.of(array), tuple(array.shape)))


def _array_text(array: np.ndarray) -> str:
    return _elements(array.ravel().tolist()) if array.size <= INLINE_ELEMENTS else f"#{digest_array(array)}"


def _elements(items: Iterable[object]) -> str:
    return f"[{', '.join(map(_scalar, items))}]"


def _scalar(item: object) -> str:
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, bytes):
        return json.dumps(item.decode("utf-8", "surrogateescape"))
    return json.dumps(item) if isinstance(item, str) else repr(item)
