"""The C kernel library: finding the variant for this processor, loading it, and calling it."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from autofusion.artifact.weights import find_address
from autofusion.runtime.records import RECORD
from autofusion.runtime.refusals import artifact_error

if TYPE_CHECKING:
    from autofusion.errors import ArtifactError

LIBRARY_FOLDER = os.path.join(os.path.dirname(__file__), "lib")
"""Where the build puts `libautofusion-<isa>.so`."""

ABI_VERSION = 6
"""Version of the structs shared with C; a library of another version is refused."""

X86_VARIANTS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
"""Instruction sets on x86-64 by the level that `af_cpu_level` reports, from `FIRST_LEVEL` up."""

FIRST_LEVEL = 2

ALIGNMENT = 64
"""Alignment in bytes of the arena and of the weights."""


class _Binding(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("bytes", ctypes.c_int64), ("writable", ctypes.c_int64))


class _ContextRecord(ctypes.Structure):
    _fields_ = (
        ("steps", ctypes.c_void_p),
        ("step_count", ctypes.c_int64),
        ("arena", ctypes.c_void_p),
        ("arena_bytes", ctypes.c_int64),
        ("weights", ctypes.c_void_p),
        ("weights_bytes", ctypes.c_int64),
        ("bindings", ctypes.POINTER(_Binding)),
        ("binding_count", ctypes.c_int64),
        ("threads", ctypes.c_int64),
    )


class Context:
    """Records with the memory that they work on; one run at a time may use it.

    Args:
        records: What `encode_plan` returns; must not change afterwards.
        arena: Writable bytes, aligned to 64, for inner buffers and scratch.
        weights: Bytes of the constants, aligned to 64, never written.
        bindings: The arrays of `Space.BINDING` by slot, C-contiguous; results need writable ones.
        threads: How many threads may share a step, at least 1; the scratch memory must have been sized for as many.
    """

    def __init__(
        self,
        records: np.ndarray,
        arena: np.ndarray,
        weights: np.ndarray,
        bindings: Sequence[np.ndarray],
        threads: int,
    ) -> None:
        if records.dtype != RECORD or not records.flags.c_contiguous:
            raise ValueError("the records are no contiguous array of RECORD")
        self._kept = (records, arena, weights)
        self._arrays = dict(enumerate(_expect_contiguous(array) for array in bindings))
        self._bindings = (_Binding * max(1, len(bindings)))()
        for slot, array in self._arrays.items():
            self._bindings[slot] = _Binding(array.ctypes.data, array.nbytes, array.flags.writeable)
        self.record = _ContextRecord(
            records.ctypes.data,
            len(records),
            _expect_contiguous(arena).ctypes.data,
            arena.nbytes,
            _expect_contiguous(weights).ctypes.data,
            weights.nbytes,
            self._bindings,
            len(bindings),
            threads,
        )

    def bind(self, slot: int, array: np.ndarray) -> None:
        """Exchange the array at `slot` for another of as many bytes, writable where the old one was.

        Raises ValueError where it does not fit; a checked context stays valid.
        """
        old = self._bindings[slot]
        address = find_address(array)
        if array.nbytes != old.bytes or (old.writable and not array.flags.writeable) or address % 4:
            raise ValueError(f"an array of {array.nbytes} bytes does not fit binding {slot} of {old.bytes} bytes")
        self._arrays[slot] = _expect_contiguous(array)
        old.data = address

    def release(self) -> None:
        """Let go of the arrays of the bindings; every slot must be bound again before the next run."""
        self._arrays.clear()


class Native:
    """A loaded variant of the library; `isa` is its instruction set. Every method may be called from many threads."""

    def __init__(self, library: ctypes.CDLL, isa: str) -> None:
        self.isa = isa
        self._check = library.af_check
        self._check.argtypes = (ctypes.POINTER(_ContextRecord), ctypes.c_char_p, ctypes.c_size_t)
        self._run = library.af_run
        self._run.argtypes = (ctypes.POINTER(_ContextRecord), ctypes.c_int64, ctypes.c_int64)

    def check(self, context: Context) -> None:
        """Validate every record and the memory; raises ArtifactError (AF525) naming the first record at fault."""
        message = ctypes.create_string_buffer(256)
        if self._check(ctypes.byref(context.record), message, len(message)) != 0:
            raise artifact_error(
                "AF525",
                f"the plan is damaged: {message.value.decode('ascii', 'replace')}",
                help="compile the model again with this version",
            )

    def run(self, context: Context, first: int, last: int) -> int | None:
        """Run the steps `first` up to, not including, `last` of a context that `check` has accepted.

        Steps without a native kernel are passed over.  Returns the number of the first step that meets an index
        outside of its axis, after which none is run; None where all were.
        Raises IndexError where there are no such steps.
        """
        code: int = self._run(ctypes.byref(context.record), first, last)
        if code < 0:
            raise IndexError(f"steps {first} to {last} of {context.record.step_count}")
        return code - 1 if code else None


def load_library(folder: str | os.PathLike[str] = LIBRARY_FOLDER, isa: str | None = None) -> Native:
    """The best variant of the library in `folder` that this processor runs, or the one named `isa`.

    Raises ArtifactError: AF521 where the platform has no native backend, AF522 where the library was
    not built, AF523 where it cannot be loaded or is of another version.
    """
    variants = _list_variants()
    if isa is None:
        level: int = _open_library(folder, variants[0]).af_cpu_level()
        isa = variants[min(max(level - FIRST_LEVEL, 0), len(variants) - 1)]
    return Native(_open_library(folder, isa), isa)


def _list_variants() -> tuple[str, ...]:
    machine = platform.machine().lower()
    if sys.platform == "linux" and machine in ("x86_64", "amd64"):
        return X86_VARIANTS
    if sys.platform == "linux" and machine in ("aarch64", "arm64"):
        return ("aarch64",)
    raise artifact_error(
        "AF521",
        f"native kernels run on Linux on x86-64 and aarch64, not on {sys.platform} on {machine}",
        help="compile the model with --backend=reference",
    )


def _open_library(folder: str | os.PathLike[str], isa: str) -> ctypes.CDLL:
    name = f"libautofusion-{isa}.so"
    path = os.path.join(folder, name)
    if not os.path.isfile(path):
        raise artifact_error(
            "AF522",
            f"the kernel library {name} is not in {folder}",
            help="install the package, or build the library in a checkout with: python hatch_build.py",
        )
    try:
        library = ctypes.CDLL(path)
        version = library.af_abi_version()
    except (OSError, AttributeError) as error:
        raise _refuse_library(name, str(error)) from error
    if version != ABI_VERSION:
        raise _refuse_library(name, f"it has version {version}, not {ABI_VERSION}")
    return library


def _refuse_library(name: str, reason: str) -> ArtifactError:
    return artifact_error(
        "AF523",
        f"the kernel library {name} cannot be used: {reason}",
        help="install the package again, or build the library in a checkout with: python hatch_build.py",
    )


def _expect_contiguous(array: np.ndarray) -> np.ndarray:
    if not array.flags.c_contiguous:
        raise ValueError("an array is not contiguous")
    return array
