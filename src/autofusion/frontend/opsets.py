"""Operator-set imports of a model or function."""

from __future__ import annotations

from collections.abc import Iterable

import onnx.defs
from onnx import OperatorSetIdProto

from autofusion.frontend.faults import OPSET, fault
from autofusion.frontend.frames import normalize_domain
from autofusion.ops.schema import NEWEST_OPSET

OLDEST_OPSET = 7


def newest_opset() -> int:
    """The newest version of the main domain that can be read."""
    return min(NEWEST_OPSET, onnx.defs.onnx_opset_version())


def read_opsets(imports: Iterable[OperatorSetIdProto], where: str) -> dict[str, int]:
    """Version by domain, "" for the main one; raises ModelError for a version outside the known ones."""
    opsets: dict[str, int] = {}
    for entry in imports:
        domain = normalize_domain(entry.domain)
        if opsets.setdefault(domain, entry.version) != entry.version:
            raise fault(OPSET, f"{where} imports domain {domain!r} in versions {opsets[domain]} and {entry.version}")
    version = opsets.get("")
    if version is not None and not OLDEST_OPSET <= version <= newest_opset():
        raise fault(
            OPSET,
            f"{where} is written in opset {version}; opsets {OLDEST_OPSET} to {newest_opset()} can be read",
            "export the model in another opset, or convert it with onnx.version_converter",
        )
    return opsets
