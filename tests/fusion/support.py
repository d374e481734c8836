"""Small graphs for the tests of matching, and the built-in and home-made patterns that are tried on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from autofusion.fusion import Controls, FusionResult, fuse
from autofusion.ir import Attribute, DType, Graph, Node, Shape, Value, symbol
from autofusion.ops import find_operator, schema_of
from autofusion.patternlang import Pattern, find_builtin_patterns, load_patterns

Extents = Sequence[int | str]


@cache
def everything() -> tuple[Pattern, ...]:
    return load_patterns([find_builtin_patterns()])


@cache
def builtin() -> tuple[Pattern, ...]:
    """The built-in patterns but the one that takes what the others leave, so that this can be looked at."""
    return tuple(pattern for pattern in everything() if pattern.name != "pointwise")


def pattern_of(folder: Path, text: str, name: str = "sample") -> tuple[Pattern, ...]:
    """The pattern that `text` describes, after a header that fits the file `name`."""
    head = f'schema = 1\nname = "{name}"\nsummary = "s"\n'
    if "[emit]" not in text:
        head += 'display = "Sample"\nop = "SampleFusionOp"\nkernel = "chain"\n'
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.toml").write_text(head + text, encoding="utf-8")
    return load_patterns([folder])


class Net:
    """A graph under construction; values are typed by hand, as shape inference would."""

    def __init__(self, outer: Net | None = None, dtype: DType = DType.FLOAT) -> None:
        self.graph = Graph("main")
        self._outer = outer
        self._dtype = dtype

    def input(self, name: str, shape: Extents | None) -> str:
        self.graph.inputs += (name,)
        self.graph.set_value(Value(name, self._dtype, read_shape(shape)))
        return name

    def const(self, name: str, shape: Extents | np.ndarray) -> str:
        array = shape if isinstance(shape, np.ndarray) else make_array(name, tuple(map(int, shape)), self._dtype)
        self.graph.add_constant(name, array)
        return name

    def op(
        self,
        op: str,
        inputs: str,
        output: str,
        shape: Extents | None = None,
        attributes: Mapping[str, Attribute] | None = None,
        dtype: DType | None = None,
    ) -> str:
        """Add a node named after its first result; `shape` None: that of its first operand."""
        operands = tuple("" if name == "_" else name for name in inputs.split())
        results = tuple(output.split())
        known = self.graph.value(operands[0]).shape if shape is None else read_shape(shape)
        node = Node(
            results[0].upper(), op, operands, results, fill_defaults(op, attributes or {}), origin=(results[0],)
        )
        self.graph.add(node, [Value(name, dtype or self._dtype, known) for name in results])
        return results[0]

    def output(self, *names: str) -> Graph:
        self.graph.outputs = names
        return self.graph

    def conv(self, x: str, y: str, channels: int = 4, inputs: int = 4, bias: str = "") -> str:
        """A 1x1 convolution with a weight of its own."""
        weight = self.const(f"{y}_w", (channels, inputs, 1, 1))
        shape = self.graph.value(x).shape
        result = None if shape is None else (shape[0], channels, *shape[2:])
        operands = f"{x} {weight} {bias}".strip()
        self.op("Conv", operands, y)
        self.graph.set_value(Value(y, self._dtype, result))
        return y

    def norm(self, x: str, y: str, channels: int = 4, training: int = 0) -> str:
        names = [self.const(f"{y}_{part}", (channels,)) for part in ("scale", "beta", "mean", "var")]
        return self.op("BatchNormalization", " ".join([x, *names]), y, attributes={"training_mode": training})


def read_shape(shape: Extents | None) -> Shape | None:
    if shape is None:
        return None
    return tuple(symbol(extent) if isinstance(extent, str) else extent for extent in shape)


def make_array(name: str, shape: tuple[int, ...], dtype: DType = DType.FLOAT) -> np.ndarray:
    """Values between 0.5 and 1.5 that depend on the name alone."""
    seed = sum(map(ord, name))
    return (0.5 + np.random.default_rng(seed).random(shape)).astype(dtype.numpy)


def fill_defaults(op: str, given: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """The attributes of the canonical form."""
    row = find_operator(op)
    schema = schema_of(op, "", row.version if row is not None else None)
    assert schema is not None
    defaults = {rule.name: rule.default for rule in schema.attributes.values() if rule.default is not None}
    return {**defaults, **given}


def run(graph: Graph, patterns: Sequence[Pattern] | None = None, controls: Controls | None = None) -> FusionResult:
    return fuse(graph, builtin() if patterns is None else patterns, controls)


def displays(result: FusionResult) -> list[str]:
    """Display names of the outermost fused nodes."""
    return [fusion.display for fusion in result.fusions if fusion.inside is None]


def ops(graph: Graph) -> list[str]:
    return sorted(node.op for node in graph)


def reasons(result: FusionResult) -> dict[str, str]:
    """Reason by anchor."""
    return {miss.anchor: str(miss.reason) for miss in result.misses}
