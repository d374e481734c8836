"""Whether a node's operator exists in the version that its domain is imported in."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

import onnx.defs
from onnx import NodeProto

from autofusion.errors import ModelError
from autofusion.frontend.faults import OPSET, UNKNOWN_OPERATOR, fault
from autofusion.frontend.frames import normalize_domain
from autofusion.ops import schema_of

_LIKENESS = 0.75


def find_version(proto: NodeProto, label: str, opsets: Mapping[str, int]) -> int:
    """The version that the node called `label` is written in.

    Raises ModelError where its domain is not imported, or where the main domain has no such operator.
    """
    op, domain = proto.op_type, normalize_domain(proto.domain)
    version = opsets.get(domain)
    if version is None:
        raise fault(
            OPSET,
            f"node {label!r} is {op!r} of domain {domain or 'ai.onnx'!r}, which is not imported",
            "add the domain to the model's opset_import",
        )
    if domain:
        return version
    schema = schema_of(op, "", version)
    if schema is None or (schema.deprecated and _is_gone(op)):
        raise _unknown_operator(op, label, version)
    return version


def foreign_operator(proto: NodeProto, label: str, version: int) -> ModelError:
    """The error to raise for an operator of another domain that nothing can run."""
    domain, op = normalize_domain(proto.domain), proto.op_type
    problem = (
        f"node {label!r} has the operator {op!r} of domain {domain!r} (version {version}), "
        "which ONNX does not have and the model does not define"
    )
    schemas = onnx.defs.get_all_schemas()
    known = {schema.name: schema.domain or "ai.onnx" for schema in schemas if schema.domain in ("", domain)}
    remedy = (
        "replace the node, or define its operator as a local function of the model or in a folder for --pattern_dir"
    )
    close = difflib.get_close_matches(op, known, 1, cutoff=_LIKENESS)
    nearest = f"; the nearest name is {close[0]!r} of domain {known[close[0]]!r}" if close else ""
    return fault(UNKNOWN_OPERATOR, problem, remedy + nearest)


def _is_gone(op: str) -> bool:
    """True where the operator has no version any more; a deprecated version with a successor is still converted."""
    newest = schema_of(op)
    return newest is None or newest.deprecated


def _unknown_operator(op: str, label: str, version: int) -> ModelError:
    known = {schema.name: schema.since_version for schema in onnx.defs.get_all_schemas() if not schema.domain}
    problem = f"node {label!r} has the operator {op!r}, which ONNX does not have in opset {version}"
    if op in known:
        remedy = (
            f"it exists since opset {known[op]}" if known[op] > version else "it was removed; export the model again"
        )
        return fault(UNKNOWN_OPERATOR, problem, remedy)
    remedy = "replace the node, or define its operator as a local function of the model"
    close = difflib.get_close_matches(op, known, 1)
    return fault(UNKNOWN_OPERATOR, problem, remedy + (f"; the nearest name is {close[0]!r}" if close else ""))
