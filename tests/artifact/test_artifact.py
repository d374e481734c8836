"""An artifact reads back as what was written, has the same bytes anywhere, and is a plain ZIP file."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from autofusion.artifact import ArtifactContents, digests, join_weights, read_artifact, write_artifact
from autofusion.artifact.container import read_container, write_container
from autofusion.artifact.digests import BLOCK, BlockCheck, digest_pieces
from autofusion.errors import InternalError
from autofusion.plan import Buffer, Step, Tensor
from autofusion.version import VERSION

Contents = Callable[..., ArtifactContents]


def test_contents_read_back_equal(artifact: Path, contents: Contents) -> None:
    written, read = contents(), read_artifact(artifact)
    assert written.plan == read.plan
    assert written.graph == read.graph
    assert written.report == read.report
    assert join_weights(written.plan.tensors, written.weights).tolist() == read.weights.tolist()
    assert written.options == read.manifest.options
    assert (read.manifest.tool, read.manifest.backend, read.manifest.format) == (VERSION, "reference", 1)
    assert (read.manifest.source_name, read.manifest.source_sha256) == ("net.onnx", "ab" * 32)
    assert [(info.name, info.dtype, info.shape) for info in read.manifest.outputs] == [
        ("y", "float32", ("batch*3",)),
        ("k", "float32", (3,)),
        ("s", "string", (2,)),
    ]


def test_an_artifact_shows_what_it_is(artifact: Path) -> None:
    text = repr(read_artifact(artifact))
    assert text.startswith(
        f"Artifact({artifact.name!r}, reference, x float32[batch, 3] -> y float32[batch*3], k float32[3]"
    )
    assert text.endswith(" steps)")


def test_weights_are_mapped_aligned_and_read_only(artifact: Path) -> None:
    weights = read_artifact(artifact).weights
    assert weights.ctypes.data % 4096 == 0
    assert not weights.flags.writeable
    assert not weights.flags.owndata


def test_bytes_depend_on_the_contents_alone(tmp_path: Path, contents: Contents) -> None:
    (tmp_path / "folder").mkdir()
    first = write_artifact(tmp_path / "a.om", contents())
    second = write_artifact(tmp_path / "folder" / "b.om", contents())
    assert first.read_bytes() == second.read_bytes()
    assert str(tmp_path).encode() not in first.read_bytes()
    other = write_artifact(tmp_path / "c.om", replace(contents(), options={"level": 3}))
    assert first.read_bytes() != other.read_bytes()


def test_it_is_a_zip_file(artifact: Path) -> None:
    with zipfile.ZipFile(artifact) as file:
        assert file.testzip() is None
        infos = {info.filename: info for info in file.infolist()}
        assert list(infos) == ["weights.bin", "manifest.json", "plan.json", "graph.onnx", "report.json"]
        assert {info.compress_type for info in infos.values()} == {zipfile.ZIP_STORED}
        manifest = json.loads(file.read("manifest.json"))
        assert manifest["entries"]["graph.onnx"]["bytes"] == infos["graph.onnx"].file_size
        weights = file.read("weights.bin")
    assert artifact.read_bytes()[65536 : 65536 + len(weights)] == weights


@pytest.mark.parametrize("processors", [1, 2, 5])
@pytest.mark.parametrize("ahead", [0, 3, 100])
@pytest.mark.parametrize("rest", [0, 17])
def test_blocks_are_checked_by_any_number_of_threads(
    monkeypatch: pytest.MonkeyPatch, processors: int, ahead: int, rest: int
) -> None:
    monkeypatch.setattr(digests, "count_processors", lambda: processors)
    data = np.random.default_rng(0).integers(0, 256, 9 * BLOCK + rest, np.uint8)
    whole = memoryview(data.data)
    pieces = [whole[:5], whole[5:5], whole[5 : 2 * BLOCK], whole[2 * BLOCK : 7 * BLOCK + 1], whole[7 * BLOCK + 1 :]]
    found = digest_pieces(pieces)
    assert found == tuple(f"{zlib.crc32(whole[at : at + BLOCK]):08x}" for at in range(0, len(data), BLOCK))
    assert BlockCheck(whole, found, ahead).finish() is None
    for place in range(0, len(data), BLOCK):
        data[place] ^= 1
        assert BlockCheck(whole, found, ahead).finish() == place // BLOCK
        data[place] ^= 1
    for damaged in ("0x00000", "nonsense", found[3].upper() + " "):
        assert BlockCheck(whole, (*found[:3], damaged, *found[4:]), ahead).finish() == 3
    with pytest.raises(ValueError, match=f"{len(found)} MiB, the manifest says {len(found) - 1}"):
        BlockCheck(whole, found[1:])
    assert BlockCheck(memoryview(b""), ()).finish() is None


def test_large_entries_take_the_64_bit_form(tmp_path: Path) -> None:
    entries = {"weights.bin": [memoryview(b"w" * 500), memoryview(b"x")], "b": [memoryview(b"yy")], "c": []}
    path = tmp_path / "large.zip"
    with path.open("wb") as file:
        write_container(file, entries, large=100)
    data = path.read_bytes()
    found = read_container(memoryview(data))
    assert [data[e.offset : e.offset + e.size] for e in found.values()] == [b"w" * 500 + b"x", b"yy", b""]
    assert found["weights.bin"].offset == 65536
    with zipfile.ZipFile(path) as archive:
        assert archive.read("weights.bin") == b"w" * 500 + b"x"
        assert archive.read("b") == b"yy"
    for length in range(len(data) - 400, len(data)):
        with pytest.raises(ValueError):
            read_container(memoryview(data[:length]))


def test_model_without_weights(tmp_path: Path, contents: Contents) -> None:
    plan = contents().plan
    copy = plan._replace(
        outputs=("x",),
        buffers={"x": Buffer("x", "float", ("batch", 3), "input")},
        tensors=(),
        steps=(),
    )
    read = read_artifact(write_artifact(tmp_path / "a.om", replace(contents(copy), weights=())))
    assert read.weights.size == 0
    assert read.plan == copy


def test_an_impossible_plan_is_not_written(tmp_path: Path, contents: Contents) -> None:
    plan = contents().plan
    wrong = plan._replace(steps=(*plan.steps, Step("warp", "n", "Warp", ("x",), ("y",))))
    with pytest.raises(InternalError, match=r"AF911.*kernel 'warp'"):
        write_artifact(tmp_path / "a.om", contents(wrong))
    shifted = plan._replace(tensors=(Tensor("k", "float", (4,), 0, 16), plan.tensors[1]))
    with pytest.raises(InternalError, match=r"AF911.*tensor 'k' does not fit"):
        write_artifact(tmp_path / "a.om", contents(shifted))
    assert list(tmp_path.iterdir()) == []


def test_pieces_of_weights_are_not_copied(contents: Contents) -> None:
    from autofusion.artifact.weights import lay_out_weights

    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    (piece,) = lay_out_weights([Tensor("k", "float", (2, 3), 0, 24)], [array])
    assert np.shares_memory(np.frombuffer(piece, np.uint8), array)
