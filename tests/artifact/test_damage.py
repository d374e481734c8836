"""Damaged artifacts are refused with a code; what is not refused does no harm."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from autofusion.artifact import Artifact, ArtifactContents, read_artifact
from autofusion.artifact.container import read_container, write_container
from autofusion.errors import ArtifactError

Contents = Callable[..., ArtifactContents]


def refuse(path: Path, data: bytes) -> ArtifactError:
    path.write_bytes(data)
    with pytest.raises(ArtifactError) as caught:
        read_artifact(path)
    assert path.name in caught.value.diagnostic.message
    return caught.value


def content(artifact: Artifact) -> tuple[object, ...]:
    manifest = artifact.manifest
    return artifact.plan, artifact.weights.tobytes(), artifact.graph, artifact.report, manifest


def code_or_content(path: Path, whole: tuple[object, ...]) -> str | None:
    """The code that the artifact is refused with, or None where it still says what it should."""
    try:
        read = read_artifact(path)
    except ArtifactError as error:
        return error.diagnostic.code
    assert whole == content(read)
    return None


def entries_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def pack(entries: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    write_container(buffer, {name: [memoryview(data)] for name, data in entries.items()})
    return buffer.getvalue()


def test_every_truncation_is_refused(artifact: Path, tmp_path: Path) -> None:
    data = artifact.read_bytes()
    lengths = [*range(0, len(data), 97), len(data) - 1]
    path = tmp_path / "cut.om"
    path.write_bytes(data)
    codes: set[str | None] = set()
    for length in sorted(lengths, reverse=True):
        os.truncate(path, length)
        codes.add(code_or_content(path, ()))
    assert codes == {"AF511"}


def test_flipped_bits_are_refused_or_harmless(artifact: Path, tmp_path: Path) -> None:
    data = artifact.read_bytes()
    whole = content(read_artifact(artifact))
    places = read_container(memoryview(data))
    inside = [range(place.offset, place.offset + place.size) for place in places.values()]
    path = tmp_path / "flipped.om"
    path.write_bytes(data)
    codes: list[str | None] = []
    # All bytes but the long padding in front of the weights, of which a few will do.
    for index in [*range(41), *range(41, 65536, 4999), *range(65536, len(data))]:
        with path.open("r+b") as file:
            file.seek(index)
            file.write(bytes([data[index] ^ 0x10]))
        codes.append(code_or_content(path, whole))
        with path.open("r+b") as file:
            file.seek(index)
            file.write(data[index : index + 1])
        assert codes[-1] is not None or not any(index in span for span in inside)
    assert set(codes) == {None, "AF511", "AF513"}


def test_flipped_weights_are_harmless_only_unverified(artifact: Path) -> None:
    data = bytearray(artifact.read_bytes())
    data[65536] ^= 1
    error = refuse(artifact, bytes(data))
    assert error.diagnostic.code == "AF513"
    assert "weights.bin do not fit their digest in MiB 0" in error.diagnostic.message
    assert read_artifact(artifact, verify_weights=False).weights[0] == data[65536]


@pytest.mark.parametrize("data", [b"", b"PK", b"\x08\x0a" * 100, b"PK\5\6" + bytes(18), bytes(100000)])
def test_other_files_are_refused(tmp_path: Path, data: bytes) -> None:
    assert refuse(tmp_path / "other.om", data).diagnostic.code == "AF511"


@pytest.mark.parametrize("name", ["missing.om", "missing/net.om", ".", "a\0b"])
def test_unreadable_paths_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ArtifactError) as caught:
        read_artifact(tmp_path / name)
    assert caught.value.diagnostic.code == "AF510"


def test_compressed_entries_are_refused(artifact: Path, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in entries_of(artifact.read_bytes()).items():
            file.writestr(name, data)
    error = refuse(tmp_path / "deflated.om", buffer.getvalue())
    assert "is compressed" in error.diagnostic.message


def test_unaligned_weights_are_refused(artifact: Path, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, data in entries_of(artifact.read_bytes()).items():
            file.writestr(name, data)
    error = refuse(tmp_path / "unaligned.om", buffer.getvalue())
    assert "weights.bin does not start at a multiple of 65536" in error.diagnostic.message


@pytest.mark.parametrize("name", ["../plan.json", "/etc/passwd", "a\\b", "..", "x:y", "", ".hidden", "nul\0l"])
def test_path_tricks_are_refused(artifact: Path, tmp_path: Path, name: str) -> None:
    entries = {**entries_of(artifact.read_bytes()), name: b"data"}
    error = refuse(tmp_path / "tricks.om", pack(entries))
    assert "has a name that no artifact uses" in error.diagnostic.message


def test_duplicate_entries_are_refused(artifact: Path, tmp_path: Path) -> None:
    data = pack({**entries_of(artifact.read_bytes()), "plan.jsox": b"{}"})
    error = refuse(tmp_path / "duplicate.om", data.replace(b"plan.jsox", b"plan.json"))
    assert "entry 'plan.json' occurs twice" in error.diagnostic.message


def test_overlapping_entries_are_refused(artifact: Path, tmp_path: Path) -> None:
    data = bytearray(artifact.read_bytes())
    places = read_container(memoryview(bytes(data)))
    directory = data.index(b"PK\1\2")
    second = data.index(b"PK\1\2", directory + 1)
    data[second + 42 : second + 46] = places["weights.bin"].header.to_bytes(4, "little")
    error = refuse(tmp_path / "overlap.om", bytes(data))
    assert "does not start where the one before it ends" in error.diagnostic.message


@pytest.mark.parametrize("where", ["front", "back"])
def test_bytes_around_the_zip_are_refused(artifact: Path, tmp_path: Path, where: str) -> None:
    data = artifact.read_bytes()
    refuse(tmp_path / "around.om", b"#!" + data if where == "front" else data + b"\n")


@pytest.mark.parametrize("missing", ["manifest.json", "weights.bin", "plan.json", "graph.onnx", "report.json"])
def test_missing_entries_are_refused(artifact: Path, tmp_path: Path, missing: str) -> None:
    entries = entries_of(artifact.read_bytes())
    del entries[missing]
    assert refuse(tmp_path / "missing.om", pack(entries)).diagnostic.code == "AF511"


def test_additional_entries_are_refused(artifact: Path, tmp_path: Path) -> None:
    entries = {**entries_of(artifact.read_bytes()), "code.so": b"\x7fELF"}
    assert "its entries are not" in refuse(tmp_path / "more.om", pack(entries)).diagnostic.message


@pytest.mark.parametrize(
    ("old", "new", "code", "reason"),
    [
        (b'"format":1', b'"format":2', "AF512", "format version is 2; this program reads 1"),
        (b'"format":1', b'"format":0', "AF512", "format version is 0"),
        (b'"format":1', b'"format":"1"', "AF511", "no format version"),
        (b'"tool"', b'"fool"', "AF511", "lacks or should not have"),
        (b'"method":"crc32"', b'"method":"none"', "AF511", "manifest.blocks.method"),
        (b'"digests":["', b'"digests":["00000000","', "AF513", "has 1 MiB, the manifest says 2"),
        (b'"name":"y"', b'"name":"z"', "AF514", "other inputs or outputs than the manifest"),
        (b'"backend":"reference"', b'"backend":"native"', "AF514", "than the manifest"),
        (b'"graph.onnx":{"bytes":', b'"graph.onnx":{"bytes":1', "AF513", "graph.onnx has"),
        (b"{", b"\xff", "AF511", ""),
        (b"{", b"[" * 100000, "AF511", "nested too deeply"),
    ],
)
def test_wrong_manifests_are_refused(
    artifact: Path, tmp_path: Path, old: bytes, new: bytes, code: str, reason: str
) -> None:
    entries = entries_of(artifact.read_bytes())
    assert old in entries["manifest.json"]
    entries["manifest.json"] = entries["manifest.json"].replace(old, new, 1)
    error = refuse(tmp_path / "manifest.om", pack(entries))
    assert error.diagnostic.code == code
    assert reason in error.diagnostic.message


def test_a_forged_plan_is_refused_by_its_digest(artifact: Path, tmp_path: Path) -> None:
    entries = entries_of(artifact.read_bytes())
    entries["plan.json"] = entries["plan.json"].replace(b"2", b"3")
    assert refuse(tmp_path / "forged.om", pack(entries)).diagnostic.code == "AF513"


@pytest.mark.parametrize("name", ["report", "graph"])
def test_forged_entries_are_refused_where_somebody_asks_for_them(artifact: Path, tmp_path: Path, name: str) -> None:
    entries = entries_of(artifact.read_bytes())
    entry = {"report": "report.json", "graph": "graph.onnx"}[name]
    entries[entry] = entries[entry][:-1] + bytes([entries[entry][-1] ^ 1])
    path = tmp_path / "forged.om"
    path.write_bytes(pack(entries))
    read = read_artifact(path)
    with pytest.raises(ArtifactError, match=rf"AF513.*{entry} do not fit their digest"):
        getattr(read, name)


def test_plans_are_checked_after_their_digest(
    tmp_path: Path, contents: Contents, monkeypatch: pytest.MonkeyPatch
) -> None:
    from autofusion.artifact import writer

    plan = contents().plan
    wrong = plan._replace(symbols=())
    monkeypatch.setattr(writer, "check_plan", lambda _plan, _bytes: None)
    path = writer.write_artifact(tmp_path / "wrong.om", contents(wrong))
    with pytest.raises(ArtifactError, match=r"AF514.*'batch', which is no symbol"):
        read_artifact(path)
