"""Nodes of the IR: frozen records that name their operands by value name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Union, cast

import numpy as np

if TYPE_CHECKING:
    from autofusion.ir.graph import Graph

Attribute = Union[int, float, str, tuple[int, ...], tuple[float, ...], tuple[str, ...], np.ndarray, "Graph"]


class NestedGraph:
    """What `ir.graph.Graph` is to a node that holds one as an attribute."""


FUSED_DOMAIN = "autofusion"
"""Domain of nodes made by fusion; their meaning is their body."""

MANUAL = "manual rule"
"""`Node.pattern` of a group that a manual rule made; no pattern can be called so."""


@dataclass(frozen=True, eq=False)
class Node:
    """One operator application in canonical form.

    `inputs` and `outputs` are value names, "" where an optional place is empty.
    `opset` is the operator version the canonical form follows; a node that could not be
    converted keeps the version it was written in and has `opaque` set.
    `origin` lists the ONNX node names it came from.  A fused node has a `body`, the
    subgraph it replaced: `body.inputs == distinct non-empty inputs` and
    `body.outputs == outputs`, under the same value names; `pattern` is the pattern that
    made it and `bindings` maps statement names of the pattern to names of body nodes.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict[str, "Attribute"])
    domain: str = ""
    opset: int = 0
    opaque: bool = False
    origin: tuple[str, ...] = ()
    body: Graph | None = None
    pattern: str = ""
    display: str = ""
    bindings: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def operands(self) -> tuple[str, ...]:
        """Distinct non-empty inputs in order of first use."""
        return tuple(dict.fromkeys(name for name in self.inputs if name))

    @property
    def results(self) -> tuple[str, ...]:
        """Non-empty outputs."""
        return tuple(name for name in self.outputs if name)

    def input(self, index: int) -> str:
        """The value at place `index`, "" where it is absent or left out at the end."""
        return self.inputs[index] if index < len(self.inputs) else ""

    def subgraphs(self) -> tuple[tuple[str, Graph], ...]:
        """Nested control-flow graphs by attribute name (a fused node's body is not one)."""
        graphs = ((key, value) for key, value in self.attributes.items() if isinstance(value, NestedGraph))
        return tuple(cast("Iterator[tuple[str, Graph]]", graphs))
