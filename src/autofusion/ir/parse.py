"""Reading of the text form that `ir.text` writes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import numpy as np

from autofusion.diagnostics import Diagnostic, Span
from autofusion.errors import ModelError
from autofusion.ir.dims import Dim, parse_dim
from autofusion.ir.graph import Graph
from autofusion.ir.node import Attribute, Node
from autofusion.ir.text import digest_array
from autofusion.ir.types import DType, Value

_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<digest>\#[0-9a-f]{16})
      | (?P<number>-?(?:inf\b|nan\b|\d+(?:\.\d*)?(?:e[+-]?\d+)?))
      | (?P<mark>->|::|//|[(){}\[\]<>=,:@?*+%-])
      | (?P<word>[A-Za-z_](?:[A-Za-z0-9_./-]|:(?=[A-Za-z0-9_./-]))*)""",
    re.VERBOSE,
)


def parse_graph(text: str, constants: Mapping[str, np.ndarray] | None = None) -> Graph:
    """The graph that `dump_graph` wrote.

    `constants` supplies the arrays that the text gives by digest only, under any names.
    Raises ModelError AF190 with line and column where the text is malformed.
    """
    arrays = {digest_array(array): array for array in (constants or {}).values()}
    reader = _Reader(text, arrays)
    graph = reader.read_graph()
    reader.expect_end()
    return graph


class _Reader:
    """A recursive-descent reader over the tokens of one text."""

    def __init__(self, text: str, arrays: Mapping[str, np.ndarray]) -> None:
        self._text = text
        self._arrays = arrays
        self._place = 0
        self._tokens: list[tuple[str, str, int]] = []
        at = 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise self._malformed(f"unexpected character {text[at]!r}", at)
            if match.lastgroup != "space":
                self._tokens.append((str(match.lastgroup), match.group(), at))
            at = match.end()

    def expect_end(self) -> None:
        if self._place < len(self._tokens):
            raise self._unexpected("the end")

    def read_graph(self) -> Graph:
        self._take("graph")
        name = self._name()
        inputs = self._typed_list()
        self._take("->")
        outputs = self._typed_list()
        graph = Graph(name, [value.name for value in inputs], [value.name for value in outputs])
        for value in (*inputs, *outputs):
            graph.set_value(value)
        self._take("{")
        while not self._accept("}"):
            self._statement(graph)
        return graph

    def _statement(self, graph: Graph) -> None:
        if self._accept("opset"):
            domain = json.loads(self._kind("string"))
            graph.opsets[domain] = int(self._kind("number"))
        elif self._accept("constant"):
            value = self._typed()
            self._take("=")
            graph.add_constant(value.name, self._array(value))
        elif self._accept("default"):
            value = self._typed()
            self._take("=")
            graph.defaults[value.name] = self._array(value)
        else:
            self._node(graph)

    def _node(self, graph: Graph) -> None:
        results = [self._result()]
        while self._accept(","):
            results.append(self._result())
        self._take("=")
        domain, op = "", self._name()
        if self._accept("::"):
            domain, op = op, self._name()
        attributes: dict[str, Attribute] = {}
        if self._accept("<"):
            while not self._accept(">"):
                key = self._name()
                self._take("=")
                attributes[key] = self._attribute()
                self._accept(",")
        operands: list[str] = []
        self._take("(")
        while not self._accept(")"):
            operands.append(self._name())
            self._accept(",")
        self._take("@")
        name = self._name()
        opaque = self._accept("opaque")
        opset = self._version()
        origin: list[str] = []
        if self._accept("from"):
            origin.append(json.loads(self._kind("string")))
            while self._accept(","):
                origin.append(json.loads(self._kind("string")))
        pattern, display, bindings, body = self._fusion()
        node = Node(
            name,
            op,
            tuple("" if operand == "_" else operand for operand in operands),
            tuple(value.name for value in results),
            attributes,
            domain,
            opset,
            opaque,
            tuple(origin),
            body,
            pattern,
            display,
            bindings,
        )
        graph.add(node, [value for value in results if value.name])

    def _fusion(self) -> tuple[str, str, dict[str, str], Graph | None]:
        if not self._accept("by"):
            return "", "", {}, None
        pattern, display = self._name(), json.loads(self._kind("string"))
        bindings: dict[str, str] = {}
        self._take("bind")
        self._take("{")
        while not self._accept("}"):
            key = self._name()
            self._take("=")
            bindings[key] = self._name()
            self._accept(",")
        self._take("body")
        return pattern, display, bindings, self.read_graph()

    def _result(self) -> Value:
        return Value("") if self._accept("_") else self._typed()

    def _typed_list(self) -> list[Value]:
        values: list[Value] = []
        self._take("(")
        while not self._accept(")"):
            values.append(self._typed())
            self._accept(",")
        return values

    def _typed(self) -> Value:
        name = self._name()
        self._take(":")
        dtype = None if self._accept("?") else DType(self._kind("word"))
        shape = self._dims("[", "]") if self._peek() == "[" else None
        content = self._dims("{", "}") if self._peek() == "{" and shape is not None and len(shape) <= 1 else None
        return Value(name, dtype, shape, content)

    def _dims(self, opening: str, closing: str) -> tuple[Dim, ...]:
        self._take(opening)
        dims: list[Dim] = []
        depth, parts = 0, list[str]()
        while depth or self._peek() != closing:
            text = self._next()[1]
            depth += (text == "(") - (text == ")")
            if text == "," and not depth:
                dims.append(parse_dim(" ".join(parts)))
                parts.clear()
            else:
                parts.append(text)
        self._take(closing)
        return (*dims, parse_dim(" ".join(parts))) if parts else tuple(dims)

    def _attribute(self) -> Attribute:
        if self._peek() == "graph":
            return self.read_graph()
        if self._accept("tensor"):
            dtype, shape = DType(self._kind("word")), self._dims("[", "]")
            return np.array(self._items(), dtype.numpy).reshape([int(str(dim)) for dim in shape])
        if self._peek() == "[":
            return tuple(self._items())  # pyright: ignore[reportReturnType]
        return self._scalar()

    def _array(self, value: Value) -> np.ndarray:
        kind, text, at = self._tokens[self._place]
        if kind == "digest":
            self._place += 1
            if text[1:] not in self._arrays:
                raise self._malformed(f"no array given for {text} of constant {value.name!r}", at)
            return self._arrays[text[1:]]
        assert value.dtype is not None
        assert value.shape is not None
        items = self._items()
        return np.array(items, value.dtype.numpy).reshape([int(str(dim)) for dim in value.shape])

    def _items(self) -> list[int | float | str]:
        items: list[int | float | str] = []
        self._take("[")
        while not self._accept("]"):
            items.append(self._scalar())
            self._accept(",")
        return items

    def _scalar(self) -> int | float | str:
        kind, text, _ = self._next()
        if kind == "string":
            return json.loads(text)
        if text in ("true", "false"):
            return text == "true"
        if text in ("inf", "nan"):
            return float(text)
        if kind != "number":
            self._place -= 1
            raise self._unexpected("a value")
        return float(text) if re.search(r"[.enf]", text) else int(text)

    def _version(self) -> int:
        text = self._peek()
        if not re.fullmatch(r"v\d+", text):
            return 0
        self._place += 1
        return int(text[1:])

    def _name(self) -> str:
        kind, text, _ = self._next()
        if kind == "string":
            return json.loads(text)
        if kind != "word":
            self._place -= 1
            raise self._unexpected("a name")
        return text

    def _kind(self, kind: str) -> str:
        found, text, _ = self._next()
        if found != kind:
            self._place -= 1
            raise self._unexpected(f"a {kind}")
        return text

    def _peek(self) -> str:
        return self._tokens[self._place][1] if self._place < len(self._tokens) else ""

    def _next(self) -> tuple[str, str, int]:
        if self._place == len(self._tokens):
            raise self._unexpected("more text")
        self._place += 1
        return self._tokens[self._place - 1]

    def _accept(self, text: str) -> bool:
        if self._peek() != text:
            return False
        self._place += 1
        return True

    def _take(self, text: str) -> None:
        if not self._accept(text):
            raise self._unexpected(repr(text))

    def _unexpected(self, wanted: str) -> ModelError:
        at = self._tokens[self._place][2] if self._place < len(self._tokens) else len(self._text)
        return self._malformed(f"expected {wanted}, found {self._peek() or 'the end'!r}", at)

    def _malformed(self, message: str, at: int) -> ModelError:
        line = self._text.count("\n", 0, at) + 1
        column = at - (self._text.rfind("\n", 0, at) + 1) + 1
        return ModelError(Diagnostic("AF190", f"malformed graph text: {message}", span=Span("<text>", line, column)))
