"""A model or an artifact's fused graph as JSON, field by field as CANN's tool writes its ModelDef.

Floats are texts, enumerations are names, bytes are escaped as in C, fields that are not set are left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO

from autofusion.artifact import read_artifact
from autofusion.artifact.publish import publish_files
from autofusion.frontend import read_model, write_graph
from autofusion.frontend.model_def import Json, describe_model
from autofusion.patternlang import load_operators
from autofusion.plan import Size
from autofusion.version import VERSION


def write_model_json(
    source: Path,
    target: Path,
    shapes: Mapping[str, tuple[Size, ...]] | None = None,
    *,
    infer: bool = False,
    pattern_directories: Sequence[Path] = (),
) -> int:
    """Write the ONNX model `source` as JSON to `target`; returns the number of operators in it.

    The graph is as read: in canonical form, local functions expanded.  Shapes of inner values stand in it only
    if `infer`.  `shapes` fixes the extents of inputs; `pattern_directories` declare operators.  Raises what reading
    raises, and ArtifactError AF515 or AF516.
    """
    model = read_model(source, shapes=shapes or {}, operators=load_operators(pattern_directories))
    data = write_graph(model.graph, weights=False, producer_version=VERSION)
    attributes = {"producer": model.producer} if model.producer else {}
    return _save(target, describe_model(data, attributes, shapes=infer))


def write_artifact_json(source: Path, target: Path) -> int:
    """Write the fused graph of the artifact `source` as JSON to `target`; returns the number of operators in it.

    Raises ArtifactError where the artifact cannot be read or the file not be written.
    """
    artifact = read_artifact(source, verify_weights=False)
    manifest = artifact.manifest
    attributes = {
        "atc_version": manifest.tool,
        "soc_version": "cpu",
        "backend": manifest.backend,
        "source_sha256": manifest.source_sha256,
    }
    return _save(target, describe_model(artifact.graph, attributes, shapes=True))


def _save(target: Path, model: Json) -> int:
    text = json.dumps(model, indent=4, ensure_ascii=False, allow_nan=False) + "\n"
    publish_files({target: partial(_write, text.encode())})
    graphs = model["graph"]
    return sum(len(graph["op"]) for graph in graphs)


def _write(data: bytes, file: BinaryIO) -> None:
    file.write(data)
