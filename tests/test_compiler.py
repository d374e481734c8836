"""The whole road: where its results go, and that they depend on the model alone."""

from __future__ import annotations

import random
import zipfile
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from autofusion.compiler import compile_model, save_compilation
from autofusion.errors import ArtifactError
from autofusion.runtime import load
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


POOLS = """<ir_version: 8, opset_import: ["" : 17]>
pools (float[n, 3, h, w] x, float[3, h, 1] k) => (float[n, 3, p, q] y, float[n, 3, h, w] z) {
    p = AveragePool <kernel_shape = [2, 2], strides = [2, 2]> (x)
    y = Concat <axis = 2> (p, p)
    z = Mul (x, k)
}"""


@pytest.mark.parametrize("extents", [(2, 4, 6), (2, 1, 4), (2, 4, 1), (2, 1, 1), (0, 4, 4), (0, 1, 1)])
def test_open_extents_may_leave_nothing_to_compute(extents: tuple[int, int, int], tmp_path: Path) -> None:
    path = save_model(onnx.parser.parse_model(POOLS), tmp_path)
    session = load(save_compilation(compile_model(path), tmp_path / "net"), threads=1)
    batch, height, width = extents
    feeds = {"x": np.ones((batch, 3, height, width), np.float32), "k": np.full((3, height, 1), 2, np.float32)}
    found = session.run(feeds)
    assert np.array_equal(found["y"], np.ones((batch, 3, height // 2 * 2, width // 2), np.float32))
    assert np.array_equal(found["z"], feeds["x"] * 2)
