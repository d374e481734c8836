"""Name scopes while a model is read: a graph, a control-flow graph inside it, one call of a local function."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field, replace

from onnx import AttributeProto, NodeProto

FunctionKey = tuple[str, str, str]
"""Domain, name and overload of a local function."""


@dataclass(frozen=True)
class Frame:
    """How the names written in one graph or function map to those of the IR.

    `names` holds every value that is visible, by the name that the file gives it, "" for an
    operand that the call left out.  `opsets` are the versions that nodes are written in.
    `attributes` are the values of the function's attributes, each with the frame it was written in.
    In a call of a function `label` precedes node names and `stem` value names; elsewhere both are "".
    """

    names: MutableMapping[str, str]
    opsets: Mapping[str, int]
    attributes: Mapping[str, tuple[AttributeProto, Frame]] = field(
        default_factory=dict[str, tuple[AttributeProto, "Frame"]]
    )
    label: str = ""
    stem: str = ""

    def nest(self) -> Frame:
        """The frame of a control-flow graph: what it defines itself does not show outside."""
        return replace(self, names=ChainMap({}, self.names))

    def find_attribute(self, proto: AttributeProto) -> tuple[AttributeProto, Frame] | None:
        """The attribute as written, or the value of the function attribute it refers to; None where that has none."""
        return self.attributes.get(proto.ref_attr_name) if proto.ref_attr_name else (proto, self)


@dataclass(frozen=True)
class RawNode:
    """A node of the file, function calls expanded, with operands and results named as in the IR.

    `name` is its ONNX name after the names of the calls it came from, "" where it has none.
    `captured` are the outer values that its control-flow graphs read.
    """

    proto: NodeProto
    frame: Frame
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    captured: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """What messages call the node."""
        return self.name or (self.outputs[0] if self.outputs else self.proto.op_type)


def normalize_domain(domain: str) -> str:
    """`domain` with the main domain's long name shortened to ""."""
    return "" if domain == "ai.onnx" else domain
