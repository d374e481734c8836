"""What a row of the operator table says, and how the other stages ask.

A row states for one ONNX operator: its canonical form (the newest one), how an older form becomes
it, how types, shapes and small integer contents follow from the operands, and how one node is
evaluated.  Families of rows live in one module each; `ops.rows` collects them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from autofusion.ir import Node, Value


class Known(Protocol):
    """What reading one node may ask of its surroundings."""

    def value(self, name: str) -> Value:
        """Type, shape and content as known so far; an untyped `Value` for anything unknown."""
        ...

    def constant(self, name: str) -> np.ndarray | None:
        """The array of a constant value, else None."""
        ...


class Scope(Known, Protocol):
    """What converting or inferring one node may ask of its surroundings, and add to them."""

    def define_constant(self, stem: str, array: np.ndarray) -> str:
        """Add a constant and return the name it got."""
        ...

    def fresh(self, stem: str) -> str:
        """An unused name for a value or node."""
        ...


Convert = Callable[[Node, int, Scope], Sequence[Node]]
"""Node in the form of an opset version -> equivalent nodes in canonical form (topological order)."""

Infer = Callable[[Node, Scope], Sequence[Value]]
"""Node in canonical form -> its results, as far as they are known; raises ModelError on a contradiction."""

Evaluate = Callable[[Node, Sequence[np.ndarray | None]], Sequence[np.ndarray]]
"""Node in canonical form and its operands -> its results, computed in the operands' own precision."""


@dataclass(frozen=True)
class Operator:
    """One row.

    `version` is the oldest opset, 7 or later, that has the canonical form; later ones differ from it in nothing but
    attributes that are at their default and in the element types that are taken.
    `commutative` says that the first two operands may be exchanged; `pointwise` that every result element
    depends on one element of each (broadcast) operand.
    Without `convert` older forms differ in nothing that matters; without `infer` the shape stays what `onnx`
    infers; without `evaluate` the ONNX reference implementation is used.
    """

    name: str
    version: int
    domain: str = ""
    commutative: bool = False
    pointwise: bool = False
    convert: Convert | None = None
    infer: Infer | None = None
    evaluate: Evaluate | None = None
