"""The `.om` container: a ZIP of stored entries that holds the plan, the weights, the fused graph and the report."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autofusion.artifact.manifest import Manifest, TensorInfo
    from autofusion.artifact.reader import Artifact, read_artifact
    from autofusion.artifact.weights import join_weights
    from autofusion.artifact.writer import SUFFIX, ArtifactContents, write_artifact

__all__ = [
    "SUFFIX",
    "Artifact",
    "ArtifactContents",
    "Manifest",
    "TensorInfo",
    "join_weights",
    "read_artifact",
    "write_artifact",
]

_HOMES: Mapping[str, str] = {
    "SUFFIX": "writer",
    "Artifact": "reader",
    "ArtifactContents": "writer",
    "Manifest": "manifest",
    "TensorInfo": "manifest",
    "join_weights": "weights",
    "read_artifact": "reader",
    "write_artifact": "writer",
}


def __getattr__(name: str) -> object:
    """Import a name where it is first used: who only reads artifacts does not wait for what writes them."""
    if name not in _HOMES:
        raise AttributeError(f"module 'autofusion.artifact' has no attribute {name!r}")
    return getattr(importlib.import_module(f"autofusion.artifact.{_HOMES[name]}"), name)
