"""The variants of the kernel library that tests run on.

What this processor runs is loaded into Python; for another processor, and with sanitizers, it is a driver.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from autofusion.runtime.build import SOURCES, Compiler, compile_command, find_system_compiler
from autofusion.runtime.native import X86_VARIANTS, Native, load_library
from runtime.drivers import DRIVER, open_driver

SANITIZERS = {
    "sanitized": ("-O1", "-g1", "-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all"),
    "raced": ("-O1", "-g1", "-fsanitize=thread"),
}
"""Options of the compiler: faults of memory and arithmetic, and of threads."""
CROSS_COMPILER = "aarch64-linux-gnu-gcc"
DRIVEN = (f"-I{SOURCES}", "-DAF_GRAIN=1")
"""Options of drivers, in which threads share the smallest steps."""
EMULATORS = ("qemu-aarch64", "qemu-aarch64-static")
LIBRARIES = (*X86_VARIANTS, "aarch64", *SANITIZERS)


@dataclass(frozen=True)
class Library:
    """How a variant is opened: `open` takes a folder for what is compiled; `absent` says why it cannot be opened."""

    open: Callable[[Path], AbstractContextManager[Native]] | None = None
    absent: str = ""


@cache
def find_library(name: str) -> Library:
    """One of `LIBRARIES`."""
    if name in SANITIZERS:
        return _find_sanitized(SANITIZERS[name])
    is_arm = platform.machine().lower() in ("aarch64", "arm64")
    if name == "aarch64" and not is_arm:
        return _find_emulated()
    best = load_library().isa
    if (name == "aarch64") != is_arm or best < name:
        return Library(absent=f"this processor runs {best}")
    return Library(lambda folder: nullcontext(load_library(isa=name)))


def _find_emulated() -> Library:
    emulator = next((path for path in map(shutil.which, EMULATORS) if path), None)
    if emulator is None:
        return Library(absent=f"none of {', '.join(EMULATORS)} is on PATH")
    if not shutil.which(CROSS_COMPILER):
        return Library(absent=f"{CROSS_COMPILER} is not on PATH")
    build = partial(_build_driver, Compiler((CROSS_COMPILER,)), "aarch64", ("-static",))
    return Library(lambda folder: open_driver("aarch64", [emulator, str(build(folder))]))


def _find_sanitized(options: tuple[str, ...]) -> Library:
    compiler = find_system_compiler()
    if compiler is None:
        return Library(absent="there is no system compiler")
    if not _has_sanitizers(compiler, options):
        return Library(absent=f"{shlex.join(compiler.command)} has no sanitizers")
    isa = load_library().isa
    build = partial(_build_driver, compiler, isa, options)
    return Library(lambda folder: open_driver(isa, [str(build(folder))]))


def _has_sanitizers(compiler: Compiler, options: tuple[str, ...]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder, "program"))
        command = [*compiler.command, *options, "-x", "c", "-", "-o", program]
        built = subprocess.run(command, input=b"int main(void) { return 0; }", capture_output=True, check=False)
        return built.returncode == 0 and subprocess.run([program], capture_output=True, check=False).returncode == 0


def _build_driver(compiler: Compiler, isa: str, options: tuple[str, ...], folder: Path) -> Path:
    """The driver in `folder`; only what changed since it was built there is compiled."""
    headers = [path.read_bytes() for path in sorted(SOURCES.glob("*.h"))]
    label = hashlib.sha256(repr((compiler, isa, options)).encode()).hexdigest()[:8]
    place = folder / f"{isa}-{label}"
    place.mkdir(exist_ok=True)

    def compile_source(source: Path) -> Path:
        command = compile_command(compiler, isa, [*options, *DRIVEN, "-c"], [source])
        digest = hashlib.sha256(repr(command).encode() + b"".join([*headers, source.read_bytes()])).hexdigest()[:16]
        return _make(place, f"{source.stem}.{digest}.o", command)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_source, [*sorted(SOURCES.glob("*.c")), DRIVER]))
    digest = hashlib.sha256(repr(objects).encode()).hexdigest()[:16]
    return _make(place, f"program.{digest}", [*compile_command(compiler, isa, options, objects), "-lm"])


def _make(place: Path, name: str, command: Sequence[str]) -> Path:
    """The file `name` in `place`, which `command` makes where it is not there, instead of older ones."""
    path = place / name
    if path.is_file():
        return path
    fresh = place / f"{name}.{os.getpid()}"
    result = subprocess.run([*command, "-o", str(fresh)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    for older in place.glob(f"{name.split('.', maxsplit=1)[0]}.*"):
        if older != fresh:
            older.unlink(missing_ok=True)
    return fresh.replace(path)
