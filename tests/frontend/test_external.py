from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import onnx
import pytest

from autofusion.errors import ModelError
from autofusion.frontend import read_model
from frontend.models import assert_same, model, node, random, run_graph, run_runtime, save, tensor

X = {"x": random(7, 2, 3)}


def product() -> onnx.ModelProto:
    weights = {"w": random(1, 3, 400), "b": random(2, 400)}
    return model(
        [node("MatMul", "x w", "m"), node("Add", "m b", "y")], [tensor("x", [2, 3])], [tensor("y", [2, 400])], weights
    )


def point_to(proto: onnx.TensorProto, location: str, **entries: object) -> bytes:
    """Let the tensor lie in `location`; returns the bytes that belong there."""
    raw = proto.raw_data
    proto.ClearField("raw_data")
    proto.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        proto.external_data.add(key=key, value=str(value))
    return raw


def refusal(path: Path) -> str:
    with pytest.raises(ModelError) as caught:
        read_model(path)
    return str(caught.value)


@pytest.mark.parametrize("gap", [64, 3], ids=["aligned", "unaligned"])
def test_weights_at_offsets_of_one_file(tmp_path: Path, gap: int) -> None:
    proto, blob = product(), bytearray(gap)
    for item in proto.graph.initializer:
        blob += point_to(item, "weights/all.bin", offset=len(blob), length=4 * int(np.prod(item.dims)))
        blob += bytes(gap)
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "all.bin").write_bytes(blob)
    path = save(proto, tmp_path)
    found = read_model(path)
    assert_same(run_runtime(path, X), run_graph(found.graph, X))
    assert all(array.flags.aligned and not array.flags.writeable for array in found.graph.constants.values())
    both = hashlib.sha256(path.read_bytes() + blob).hexdigest()
    assert both == found.digest


def test_aligned_weights_are_mapped_not_read(tmp_path: Path) -> None:
    proto = product()
    (tmp_path / "w.bin").write_bytes(bytes(16) + point_to(proto.graph.initializer[0], "w.bin", offset=16))
    array = read_model(save(proto, tmp_path)).graph.constants["w"]
    assert not array.flags.owndata
    np.testing.assert_array_equal(random(1, 3, 400), array)


def test_without_length_the_tensor_takes_the_rest(tmp_path: Path) -> None:
    proto = product()
    (tmp_path / "w.bin").write_bytes(point_to(proto.graph.initializer[0], "w.bin"))
    np.testing.assert_array_equal(random(1, 3, 400), read_model(save(proto, tmp_path)).graph.constants["w"])


def test_the_embedded_weights_are_those_of_the_file(tmp_path: Path) -> None:
    path = save(product(), tmp_path)
    found = read_model(path)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == found.digest
    assert_same(run_runtime(path, X), run_graph(found.graph, X))


def test_a_linked_model_has_its_data_beside_the_link_or_the_target(tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshot"
    blobs.mkdir()
    snapshot.mkdir()
    proto = product()
    (blobs / "1234").write_bytes(point_to(proto.graph.initializer[0], "model.data"))
    save(proto, blobs, "5678")
    (snapshot / "model.onnx").symlink_to(blobs / "5678")
    (snapshot / "model.data").symlink_to(blobs / "1234")
    np.testing.assert_array_equal(random(1, 3, 400), read_model(snapshot / "model.onnx").graph.constants["w"])


@pytest.mark.parametrize("location", ["../outside.bin", "{absolute}", "link.bin", "sub/../../outside.bin"])
def test_data_outside_the_folder_is_refused(tmp_path: Path, location: str) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    proto = product()
    outside = tmp_path / "outside.bin"
    location = location.format(absolute=outside)
    outside.write_bytes(point_to(proto.graph.initializer[0], location))
    (folder / "link.bin").symlink_to(outside)
    link = f", a link to '{outside}'" if location == "link.bin" else ""
    message = f"AF112: external data of tensor 'w' lies outside the model's folder: {location!r}{link}"
    assert message == refusal(save(proto, folder))


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ({"location": "no.bin"}, "AF113: external data file 'no.bin' of tensor 'w' does not exist"),
        ({"location": "."}, "AF113: external data file '.' of tensor 'w' does not exist"),
        ({"location": ""}, "AF112: external data of tensor 'w' names no file"),
        ({"offset": "-16"}, "AF114: external data of tensor 'w' has the offset '-16', which is no size"),
        ({"length": "many"}, "AF114: external data of tensor 'w' has the length 'many', which is no size"),
        ({"offset": 16}, "AF111: tensor 'w' is float [3, 400] and takes 4800 bytes, but the file has 4784"),
        ({"length": 4804}, "AF114: tensor 'w' takes bytes 0 to 4804 of 'w.bin', which has 4800"),
        ({"length": 4796}, "AF111: tensor 'w' is float [3, 400] and takes 4800 bytes, but the file has 4796"),
        ({"offset": 9999}, "AF114: tensor 'w' takes bytes 9999 to 9999 of 'w.bin', which has 4800"),
        ({"autofusion.embedded": "0:4800"}, "AF111: the bytes of tensor 'w' lie outside the model file"),
        (
            {"autofusion.embedded": "0:48"},
            "AF111: tensor 'w' is float [3, 400] and takes 4800 bytes, but the file has 48",
        ),
        ({"autofusion.embedded": "x"}, "AF114: tensor 'w' gives its place in the file by no numbers"),
    ],
)
def test_impossible_places_are_refused(tmp_path: Path, entries: dict[str, object], problem: str) -> None:
    proto = product()
    del proto.graph.initializer[1]
    del proto.graph.node[1]
    proto.graph.output[0].name = "m"
    location = str(entries.get("location", "w.bin"))
    rest = {key: value for key, value in entries.items() if key != "location"}
    (tmp_path / "w.bin").write_bytes(point_to(proto.graph.initializer[0], location, **rest))
    assert problem == refusal(save(proto, tmp_path))


def test_a_device_is_no_data_file(tmp_path: Path) -> None:
    proto = product()
    point_to(proto.graph.initializer[0], "pipe")
    os.mkfifo(tmp_path / "pipe")
    assert refusal(save(proto, tmp_path)) == "AF113: external data file 'pipe' of tensor 'w' does not exist"
