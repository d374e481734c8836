"""Compilation of the C kernel library, one variant per instruction set, into a folder.

Used when the package is built and in a checkout; needs the standard library alone and imports nothing of the package.
"""

from __future__ import annotations

import hashlib
import importlib.util
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

SOURCES = Path(__file__).with_name("csrc")
LIBRARIES = Path(__file__).with_name("lib")

SYSTEM_COMPILERS = ("cc", "gcc", "clang")

FLAGS = (
    "-O3",
    "-std=gnu11",
    "-ffp-contract=fast",
    "-fPIC",
    "-fvisibility=hidden",
    "-pthread",
    "-Wall",
    "-Wextra",
)

ZIG_LIBC = "gnu.2.17"
"""The C library that `zig cc` links for: the oldest in use, so that the result loads everywhere."""

STAMP = "sources.sha256"
"""File beside the libraries that tells what they were built from."""


@dataclass(frozen=True)
class Compiler:
    """A C compiler: how it is called, and whether it is the one of the package `ziglang`."""

    command: tuple[str, ...]
    is_zig: bool = False


def find_system_compiler(preferred: str = "") -> Compiler | None:
    """The compiler called `preferred` (as in the variable CC) or the first system compiler on PATH, else None."""
    if preferred:
        return Compiler(tuple(shlex.split(preferred)))
    found = next((path for path in map(shutil.which, SYSTEM_COMPILERS) if path), None)
    return Compiler((found,)) if found else None


def find_compiler(preferred: str = "") -> Compiler:
    """`find_system_compiler`, else the compiler of the package `ziglang`.

    Raises RuntimeError where neither is there.
    """
    system = find_system_compiler(preferred)
    if system:
        return system
    if importlib.util.find_spec("ziglang"):
        return Compiler((sys.executable, "-m", "ziglang", "cc"), is_zig=True)
    names = ", ".join(SYSTEM_COMPILERS)
    raise RuntimeError(f"no C compiler: none of {names} is on PATH; install one, or run: pip install ziglang")


def list_variants() -> tuple[str, ...]:
    """Instruction sets to build for on this machine, none where the kernels do not run natively."""
    machine = platform.machine().lower()
    if sys.platform != "linux":
        return ()
    if machine in ("x86_64", "amd64"):
        return ("x86-64-v2", "x86-64-v3", "x86-64-v4")
    return ("aarch64",) if machine in ("aarch64", "arm64") else ()


def build_libraries(compiler: Compiler, folder: Path = LIBRARIES) -> list[Path]:
    """Compile every variant of this machine into `folder`, unless it holds them already, and return their paths.

    Raises RuntimeError with the compiler's own words where it fails.
    """
    paths = [folder / f"libautofusion-{isa}.so" for isa in list_variants()]
    stamp = _digest_build(compiler)
    stamp_file = folder / STAMP
    if stamp_file.is_file() and stamp_file.read_text("ascii") == stamp and all(path.is_file() for path in paths):
        return paths
    folder.mkdir(parents=True, exist_ok=True)
    stamp_file.unlink(missing_ok=True)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(partial(_link, compiler), list_variants(), paths))
    stamp_file.write_text(stamp, "ascii")
    return paths


def compile_command(
    compiler: Compiler, isa: str, extra: Sequence[str] = (), sources: Sequence[Path] | None = None
) -> list[str]:
    """The command that compiles `sources`, or else all, for one instruction set, with the options in `extra`."""
    sources = sorted(SOURCES.glob("*.c")) if sources is None else sources
    return [*compiler.command, *FLAGS, *_choose_target(compiler, isa), *extra, *map(str, sources)]


def _choose_target(compiler: Compiler, isa: str) -> list[str]:
    is_arm = isa == "aarch64"
    if compiler.is_zig:
        architecture, processor = ("aarch64", "generic") if is_arm else ("x86_64", isa.replace("-", "_"))
        return ["-target", f"{architecture}-linux-{ZIG_LIBC}", f"-mcpu={processor}", "-g0"]
    return ["-march=armv8-a+simd"] if is_arm else [f"-march={isa}"]


def _link(compiler: Compiler, isa: str, path: Path) -> None:
    # A process may have the old file mapped: put the new one beside it, then in its place.
    fresh = path.with_suffix(".new")
    command = [*compile_command(compiler, isa, ["-shared", "-s", "-Wl,-z,nodelete", "-o", str(fresh)]), "-lm"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise RuntimeError(f"cannot run the C compiler: {error}") from error
    if result.returncode:
        raise RuntimeError(f"compiling for {isa} failed: {shlex.join(command)}\n{result.stderr}")
    fresh.replace(path)


def _digest_build(compiler: Compiler) -> str:
    digest = hashlib.sha256(repr((compiler, FLAGS, list_variants())).encode())
    for path in sorted(SOURCES.iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
