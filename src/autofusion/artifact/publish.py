"""Writing of several files that appear together, complete, or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import BinaryIO

from autofusion.diagnostics import Diagnostic
from autofusion.errors import ArtifactError

Writer = Callable[[BinaryIO], None]
"""Writes the whole content of a file."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def publish_files(files: Mapping[Path, Writer]) -> None:
    """Put `files`, all of one folder, in place.

    Each is written to a temporary file beside its target and flushed to the disk; only when all
    are, they are renamed.  Whatever fails before that leaves the folder as it was.  A symbolic
    link at a target is replaced, not followed; a device, pipe or socket never is, nor a link to one.

    Raises:
        ArtifactError: AF515 where the folder or a target cannot be written, AF516 where space runs out.
    """
    for target in files:
        with _translate_errors(target):
            if target.is_dir():
                raise IsADirectoryError("it is a folder")
            if target.exists() and not target.is_file():
                raise FileExistsError("it is no file but a device, pipe or socket")
    temporary = {target: target.with_name(f".{target.name:.100}.{secrets.token_hex(4)}.tmp") for target in files}
    try:
        for target, write in files.items():
            with _translate_errors(target), temporary[target].open("xb") as stream:
                write(stream)
                stream.flush()
                os.fsync(stream.fileno())
        for target, file in temporary.items():
            with _translate_errors(target):
                file.replace(target)
    finally:
        for file in temporary.values():
            with contextlib.suppress(OSError, ValueError):
                file.unlink(missing_ok=True)
    for folder in {target.parent for target in files}:
        _flush_folder(folder)


def _flush_folder(folder: Path) -> None:
    # The files are complete already; not every file system lets a folder be flushed.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def _translate_errors(target: Path) -> Generator[None]:
    try:
        yield
    except ValueError as error:
        raise _refuse(target, str(error)) from error
    except OSError as error:
        if error.errno in _FULL:
            raise ArtifactError(
                Diagnostic(
                    "AF516",
                    f"no space is left to write {str(target)!r}",
                    help="free some space or choose another folder; no file was changed",
                )
            ) from error
        raise _refuse(target, error.strerror or str(error)) from error


def _refuse(target: Path, reason: str) -> ArtifactError:
    return ArtifactError(
        Diagnostic(
            "AF515",
            f"cannot write {str(target)!r}: {reason[:1].lower() + reason[1:]}",
            help="choose an output path in an existing folder that you may write to",
        )
    )
