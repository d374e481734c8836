"""The outputs of a run as a file: one array as `.npy`, or all of them as `.npz`."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np

from autofusion.artifact.publish import publish_files
from autofusion.diagnostics import Diagnostic
from autofusion.errors import UsageError

_LONGEST_NAME = 65_535 - len(".npy")
_SHOWN = 60


def check_output_file(path: Path, outputs: Sequence[str]) -> None:
    """Raise UsageError AF214 unless `path` is `.npy` for the one output, or `.npz` or without suffix.

    Members of an archive have no NUL in their names, nor more than 65,535 bytes.
    """
    unfit = [name for name in outputs if "\0" in name or len(name.encode()) > _LONGEST_NAME]
    remedy = "name a .npz file, which takes any number of arrays"
    if path.suffix == ".npy" and len(outputs) != 1:
        reason = f"a .npy file holds one array, and the model has {len(outputs)} outputs"
    elif path.suffix not in ("", ".npy", ".npz"):
        reason = "outputs are saved as .npy or .npz"
    elif path.suffix != ".npy" and unfit:
        reason = f"output {unfit[0][:_SHOWN]!r} cannot be the name of an array in an archive"
        remedy = "rename the output in the model, or name a .npy file where it is the only one"
    else:
        return
    message = f"value {str(path)!r} of --output is invalid: {reason}"
    raise UsageError(Diagnostic("AF214", message, help=remedy))


def save_outputs(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write `arrays`, strings as text: as `.npy` where the path ends so and there is one, else as an archive.

    Raises ArtifactError AF515, AF516 where that fails; then no file is left behind.
    """
    write = partial(_write_array, next(iter(arrays.values()))) if path.suffix == ".npy" else partial(_write_all, arrays)
    publish_files({path: write})


def _write_all(arrays: Mapping[str, np.ndarray], file: BinaryIO) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, _plain(array), allow_pickle=False)


def _write_array(array: np.ndarray, file: BinaryIO) -> None:
    np.lib.format.write_array(file, _plain(array), allow_pickle=False)


def _plain(array: np.ndarray) -> np.ndarray:
    """`array` as numpy stores it without further packages: text for strings, bare bytes for types that it lacks."""
    if array.dtype.kind == "O":
        return array.astype(str)
    return array.view(f"V{array.dtype.itemsize}") if array.dtype.kind == "V" else array
