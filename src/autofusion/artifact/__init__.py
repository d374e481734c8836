"""The `.om` container: a ZIP of stored entries that holds the plan, the weights, the fused graph and the report."""

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
