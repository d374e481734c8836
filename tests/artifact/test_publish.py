"""Files appear together and complete, or the folder stays as it was."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from autofusion.artifact import ArtifactContents, read_artifact, write_artifact
from autofusion.artifact.publish import publish_files
from autofusion.errors import ArtifactError

Contents = Callable[..., ArtifactContents]


def content_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() if path.is_file() else b"folder" for path in folder.iterdir()}


def test_report_files_appear_beside_the_artifact(tmp_path: Path, contents: Contents) -> None:
    beside = {".fusion.txt": b"text", ".fusion.json": b"{}", "_fusion_result.json": b"[]"}
    assert write_artifact(tmp_path / "net.v1.om", contents(), beside) == tmp_path / "net.v1.om"
    assert sorted(content_of(tmp_path)) == [
        "net.v1.fusion.json",
        "net.v1.fusion.txt",
        "net.v1.om",
        "net.v1_fusion_result.json",
    ]
    assert (tmp_path / "net.v1.fusion.txt").read_bytes() == b"text"


def test_an_older_artifact_in_use_is_replaced(artifact: Path, contents: Contents) -> None:
    old = read_artifact(artifact)
    before = old.weights.tobytes()
    artifact.with_suffix(".fusion.txt").write_text("old")
    write_artifact(artifact, contents(), {".fusion.txt": b"new"})
    assert old.weights.tobytes() == before
    assert artifact.with_suffix(".fusion.txt").read_text() == "new"


def test_mode_follows_the_umask(tmp_path: Path, contents: Contents) -> None:
    old = os.umask(0o027)
    try:
        assert write_artifact(tmp_path / "net.om", contents()).stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(old)


def test_a_link_is_replaced_not_followed(tmp_path: Path, contents: Contents) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "net.om").symlink_to("precious")
    write_artifact(tmp_path / "net.om", contents())
    assert (tmp_path / "precious").read_text() == "precious"
    assert not (tmp_path / "net.om").is_symlink()


@pytest.mark.parametrize("link", [False, True])
def test_what_is_no_file_is_left_alone(tmp_path: Path, link: bool) -> None:
    os.mkfifo(tmp_path / "pipe")
    target = tmp_path / "link" if link else tmp_path / "pipe"
    if link:
        target.symlink_to("pipe")
    with pytest.raises(ArtifactError, match=r"AF515.*it is no file but a device, pipe or socket"):
        publish_files({tmp_path / "other": lambda file: None, target: lambda file: None})
    assert (tmp_path / "pipe").is_fifo()
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("target", ["missing/net.om", "file/net.om", "folder", "n" * 300, "a\0b"])
def test_impossible_targets_change_nothing(tmp_path: Path, contents: Contents, target: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("file")
    before = content_of(tmp_path)
    with pytest.raises(ArtifactError) as caught:
        write_artifact(tmp_path / target, contents(), {".txt": b"text"})
    assert caught.value.diagnostic.code == "AF515"
    assert before == content_of(tmp_path)


def test_a_folder_at_a_report_file_changes_nothing(artifact: Path, contents: Contents) -> None:
    artifact.with_suffix(".txt").mkdir()
    artifact.write_bytes(b"old")
    before = content_of(artifact.parent)
    with pytest.raises(ArtifactError, match=r"AF515.*it is a folder"):
        write_artifact(artifact, contents(), {".txt": b"text"})
    assert before == content_of(artifact.parent)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_changes_nothing(tmp_path: Path, contents: Contents) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ArtifactError, match=r"AF515.*permission denied"):
        write_artifact(tmp_path / "net.om", contents())


@pytest.mark.parametrize("interruption", [OSError(28, "No space left on device"), KeyboardInterrupt(), RuntimeError()])
def test_a_failure_half_way_changes_nothing(tmp_path: Path, interruption: BaseException) -> None:
    (tmp_path / "a").write_bytes(b"old")

    def fail(file: BinaryIO) -> None:
        file.write(b"half")
        raise interruption

    expected = ArtifactError if isinstance(interruption, OSError) else type(interruption)
    with pytest.raises(expected) as caught:
        publish_files({tmp_path / "a": lambda file: file.write(b"new") and None, tmp_path / "b": fail})
    assert content_of(tmp_path) == {"a": b"old"}
    if isinstance(caught.value, ArtifactError):
        assert caught.value.diagnostic.code == "AF516"


def test_a_full_disk_changes_nothing(tmp_path: Path) -> None:
    # A limit on file sizes fails like a full disk does; it is a limit of the process, hence the child.
    script = """
import sys
from pathlib import Path
from autofusion.artifact.publish import publish_files
from autofusion.errors import ArtifactError
try:
    publish_files({Path(sys.argv[1]) / "net.om": lambda file: file.write(bytes(1 << 20)) and None})
except ArtifactError as error:
    print(error.diagnostic.code)
"""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))

    done = subprocess.run(
        [sys.executable, "-B", "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        preexec_fn=limit,
        check=True,
    )
    assert done.stdout == "AF516\n"
    assert content_of(tmp_path) == {}
