"""All operators of a model file, and those among them that nothing can run, without reading any weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from onnx import NodeProto

from autofusion.diagnostics import Diagnostic
from autofusion.errors import ModelError
from autofusion.frontend.attributes import kind_of
from autofusion.frontend.frames import normalize_domain
from autofusion.frontend.operators import find_version, foreign_operator
from autofusion.frontend.opsets import read_opsets
from autofusion.frontend.reader import parse_model
from autofusion.frontend.storage import Storage
from autofusion.ops import find_operator
from autofusion.ops.custom import Operators
from autofusion.ops.reference import has_implementation

Keys = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class OperatorUse:
    """One node; `fault` says why nothing can run its operator, None where something can."""

    node: str
    op: str
    fault: Diagnostic | None


def scan_operators(path: Path, operators: Operators = MappingProxyType({})) -> tuple[OperatorUse, ...]:
    """Every node of the model, of its control-flow graphs and of its local functions, but Constants and calls.

    `operators` are declared ones, which can be run.  Raises ModelError where the file is no model at all.
    """
    proto = parse_model(Storage(path))
    functions = frozenset((normalize_domain(item.domain), item.name) for item in proto.functions)
    uses = list(_scan(proto.graph.node, "", read_opsets(proto.opset_import, "the model"), functions, operators))
    for function in proto.functions:
        label = f"{function.domain}::{function.name}"
        opsets = read_opsets(function.opset_import, f"local function {label!r}")
        uses += _scan(function.node, f"{label}/", opsets, functions, operators)
    return tuple(uses)


def _scan(
    nodes: Iterable[NodeProto], prefix: str, opsets: Mapping[str, int], functions: Keys, operators: Operators
) -> Iterator[OperatorUse]:
    for node in nodes:
        domain = normalize_domain(node.domain)
        label = prefix + (node.name or next(iter(node.output), node.op_type))
        if (domain, node.op_type) not in functions and (domain, node.op_type) != ("", "Constant"):
            yield OperatorUse(label, node.op_type, _find_fault(node, label, opsets, operators))
        for attribute in node.attribute:
            if kind_of(attribute) == attribute.GRAPH:
                yield from _scan(attribute.g.node, f"{label}/", opsets, functions, operators)


def _find_fault(node: NodeProto, label: str, opsets: Mapping[str, int], operators: Operators) -> Diagnostic | None:
    try:
        version = find_version(node, label, opsets)
    except ModelError as error:
        return error.diagnostic
    domain = normalize_domain(node.domain)
    if (domain, node.op_type) in operators:
        return None
    if not domain or find_operator(node.op_type, domain) is not None or has_implementation(node, version):
        return None
    return foreign_operator(node, label, version).diagnostic
