"""The whole road: where its results go, and that they depend on the model alone."""

from __future__ import annotations

import random
import zipfile
from pathlib import Path

import onnx
import pytest

from autofusion.compiler import compile_model, save_compilation
from autofusion.errors import ArtifactError
from hostile.models import MODELS


def save_model(model: onnx.ModelProto, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("output", ["", "/", "."])
def test_an_artifact_needs_a_name(output: str, tmp_path: Path) -> None:
    compilation = compile_model(save_model(MODELS["cnn"](), tmp_path))
    with pytest.raises(ArtifactError, match=r"AF515: cannot write '.+': it is a folder"):
        save_compilation(compilation, Path(output))


@pytest.mark.parametrize("name", MODELS)
def test_the_order_of_the_nodes_in_the_file_does_not_matter(name: str, tmp_path: Path) -> None:
    model = MODELS[name]()
    for index, node in enumerate(model.graph.node):
        node.name = f"node{index}"
    expected = save_compilation(compile_model(save_model(model, tmp_path / "a")), tmp_path / "a" / "net")
    nodes = list(model.graph.node)
    random.Random(1).shuffle(nodes)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    found = save_compilation(compile_model(save_model(model, tmp_path / "b")), tmp_path / "b" / "net")
    assert read_entries(found) == read_entries(expected)


def read_entries(artifact: Path) -> dict[str, bytes]:
    """Everything but the manifest, which has the digest of the model file."""
    with zipfile.ZipFile(artifact) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name != "manifest.json"}
