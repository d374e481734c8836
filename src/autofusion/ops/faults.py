"""Contradictions between a node and what is known of its values, as errors that name both."""

from __future__ import annotations

from collections.abc import Sequence

from autofusion.diagnostics import Diagnostic
from autofusion.errors import ModelError
from autofusion.ir import Dim, Node, Value

TOO_LARGE = "AF123"
WRONG_ARITY = "AF150"
MISSING_ATTRIBUTE = "AF151"
BAD_ATTRIBUTE = "AF152"
SHAPES_CONTRADICT = "AF153"
TYPES_CONTRADICT = "AF154"
WRONG_RANK = "AF155"
NOT_EVALUABLE = "AF156"
EVALUATION_FAILED = "AF157"


def fault(code: str, node: Node, problem: str, remedy: str = "") -> ModelError:
    """The error to raise for `problem` of `node`; the message begins with operator and node name."""
    return ModelError(Diagnostic(code, f"{node.op} node {node.name!r}: {problem}", help=remedy))


def describe(value: Value) -> str:
    """`'name' float [2, 3]`, with `?` where nothing is known."""
    dtype = value.dtype.value if value.dtype else "?"
    return f"{value.name!r} {dtype} {describe_shape(value.shape)}"


def describe_shape(shape: Sequence[Dim] | None) -> str:
    """`[2, seq]`, or `?` for an unknown rank."""
    return "?" if shape is None else "[" + ", ".join(str(dim) for dim in shape) + "]"
