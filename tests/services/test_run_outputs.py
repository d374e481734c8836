"""Outputs as files."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from autofusion.artifact import TensorInfo
from autofusion.errors import ArtifactError, UsageError
from autofusion.services.run_inputs import read_inputs
from autofusion.services.run_outputs import check_output_file, save_outputs


@pytest.mark.parametrize("name", ["out", "out.npz"])
def test_an_archive_comes_back_whatever_the_names(name: str, tmp_path: Path) -> None:
    arrays = {"file": np.arange(3), "a/b:0": np.zeros((0, 2)), "s": np.array(["x", "yz"], object)}
    save_outputs(tmp_path / name, arrays)
    with np.load(tmp_path / name) as archive:
        assert sorted(archive.files) == sorted(arrays)
        assert all(np.array_equal(archive[name], array) for name, array in arrays.items())


def test_one_array_comes_back(tmp_path: Path) -> None:
    save_outputs(tmp_path / "y.npy", {"y": np.array([[1, 2]], np.float32)})
    assert np.load(tmp_path / "y.npy").tolist() == [[1, 2]]


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_types_that_numpy_lacks_come_back_as_an_input(suffix: str, tmp_path: Path) -> None:
    array = np.arange(3).astype(ml_dtypes.bfloat16)
    save_outputs(tmp_path / f"x{suffix}", {"x": array})
    read = read_inputs([f"x={tmp_path}/x{suffix}"], [TensorInfo("x", "bfloat16", (3,))])["x"]
    assert read.dtype == array.dtype
    assert np.array_equal(read, array)


@pytest.mark.parametrize(
    ("name", "outputs", "reason"),
    [
        ("y.npy", ["y", "z"], "a .npy file holds one array, and the model has 2 outputs"),
        ("y.txt", ["y"], "outputs are saved as .npy or .npz"),
        ("y", ["y", "a\0b"], "output 'a\\x00b' cannot be the name of an array in an archive"),
        ("y.npz", ["z" * 65_532], f"output {'z' * 60!r} cannot be the name of an array in an archive"),
    ],
)
def test_files_that_cannot_take_the_outputs(name: str, outputs: list[str], reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_output_file(Path(name), outputs)
    assert caught.value.diagnostic.code == "AF214"
    assert caught.value.diagnostic.message == f"value {name!r} of --output is invalid: {reason}"


def test_the_longest_name_is_read_back(tmp_path: Path) -> None:
    name = "z" * 65_531
    check_output_file(tmp_path / "y.npz", [name])
    save_outputs(tmp_path / "y.npz", {name: np.ones(2)})
    with np.load(tmp_path / "y.npz") as archive:
        assert archive.files == [name]


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(ArtifactError, match="AF516: no space is left to write"):
        save_outputs(tmp_path / "y.npy", {"y": np.zeros(3)})
    assert list(tmp_path.iterdir()) == []
