"""What is known of values, those inside fused nodes included."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from autofusion.ir import Graph, Node, Value
from autofusion.ops.table import Known


class Surroundings:
    """Values and constants as `outer` knows them, and those in the bodies of `nodes`."""

    def __init__(self, outer: Known, nodes: Iterable[Node]) -> None:
        self._outer = outer
        self._bodies = [body for node in nodes for body in _find_bodies(node)]

    def value(self, name: str) -> Value:
        """Type, shape and content of a value."""
        known = self._outer.value(name)
        if known.shape is not None:
            return known
        inner = (body.values[name] for body in self._bodies if name in body.values)
        return next((value for value in inner if value.shape is not None), known)

    def constant(self, name: str) -> np.ndarray | None:
        """The array of a constant."""
        array = self._outer.constant(name)
        if array is not None:
            return array
        return next((body.constants[name] for body in self._bodies if name in body.constants), None)


def _find_bodies(node: Node) -> Iterator[Graph]:
    if node.body is None:
        return
    yield node.body
    for inner in node.body:
        yield from _find_bodies(inner)
