"""Why a pattern did not apply: a closed set of codes, each with its arguments and a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Code(StrEnum):
    """The reason codes; the comment gives the arguments."""

    OPERATOR = "OPERATOR"  # got, want
    ARITY = "ARITY"  # operator, place
    OPERAND = "OPERAND"  # name, got, want
    MULTI_READER = "MULTI_READER"  # value, readers
    GRAPH_OUTPUT = "GRAPH_OUTPUT"  # value
    EXTRA_OUTPUT = "EXTRA_OUTPUT"  # value
    NESTED_GRAPH = "NESTED_GRAPH"  # value, reader
    CONTROL_FLOW = "CONTROL_FLOW"  # value
    NOT_CONSTANT = "NOT_CONSTANT"  # name
    OVERRIDABLE = "OVERRIDABLE"  # name
    DTYPE = "DTYPE"  # name, got, want
    SHAPE_UNKNOWN = "SHAPE_UNKNOWN"  # name
    BROADCAST = "BROADCAST"  # axis, got, want
    ATTRIBUTE = "ATTRIBUTE"  # name, got, want
    CONSTANT_VALUE = "CONSTANT_VALUE"  # got, want
    TRAINING_MODE = "TRAINING_MODE"
    AXIS = "AXIS"  # got, want
    CYCLE = "CYCLE"  # value
    OPSET = "OPSET"  # version
    UNKNOWN_OP = "UNKNOWN_OP"  # operator
    KERNEL_LIMIT = "KERNEL_LIMIT"  # what, got, want
    MEMORY = "MEMORY"  # bytes
    DISABLED = "DISABLED"  # by
    LEVEL = "LEVEL"  # needed level
    TAKEN_BY = "TAKEN_BY"  # pattern


@dataclass(frozen=True)
class Reason:
    """A code with its arguments, the sentence that says it, the node and value at fault, and a remedy.

    `str` gives the short form, such as `MULTI_READER(conv1_out, Add_17)`.
    """

    code: Code
    arguments: tuple[str, ...] = ()
    detail: str = ""
    node: str = ""
    value: str = ""
    help: str = ""

    def __str__(self) -> str:
        return f"{self.code}({', '.join(self.arguments)})" if self.arguments else str(self.code)


def spell_shape(shape: Sequence[object]) -> str:
    """A shape as the text form of the IR writes it."""
    return f"[{', '.join(map(str, shape))}]"


def shape_unknown(name: str, value: str) -> Reason:
    """The reason for a shape that is not known: `name` is the pattern's word, `value` the model's."""
    return Reason(
        Code.SHAPE_UNKNOWN,
        (name,),
        f"the shape of {value!r} is unknown",
        value=value,
        help="give the model's inputs their shapes",
    )
