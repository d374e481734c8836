"""A model file for other programs to run: with other outputs, and with declared operators as local functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import onnx
from onnx import ModelProto, NodeProto

from autofusion.frontend.cut import cut_outputs
from autofusion.ops.custom import CustomOperator, Operators
from autofusion.ops.custom_function import build_function, write_attribute

_FUNCTIONS_IR_VERSION = 8
"""The first version of the file format that has local functions."""


def change_model(model: Path, outputs: Sequence[str], operators: Operators) -> ModelProto:
    """The model in file `model`, its external data left in the files, with what `operators` declare as functions.

    `outputs` names the values to compute instead of its own, () for those.
    """
    proto = onnx.load(str(model), load_external_data=False)  # pyright: ignore[reportUnknownMemberType]
    if outputs:
        cut_outputs(proto.graph, outputs)
    used: dict[str, CustomOperator] = {}
    for nodes in (proto.graph.node, *(function.node for function in proto.functions)):
        for node in _walk(nodes):
            operator = operators.get((node.domain, node.op_type))
            if operator is not None:
                used[operator.key] = operator
                _complete_call(node, operator)
    if used:
        proto.functions.extend(map(build_function, used.values()))
        proto.ir_version = max(proto.ir_version, _FUNCTIONS_IR_VERSION)
    return proto


def _walk(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for attribute in node.attribute:
            yield from _walk(attribute.g.node)


def _complete_call(node: NodeProto, operator: CustomOperator) -> None:
    """Write out what a call may leave away: the reference implementation of ONNX takes whole calls only."""
    node.input.extend([""] * (len(operator.inputs) - len(node.input)))
    given = {attribute.name for attribute in node.attribute}
    for item in operator.attributes.values():
        if item.default is not None and item.name not in given:
            node.attribute.append(write_attribute(item.name, item.default))
