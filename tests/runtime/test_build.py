"""Choice of a compiler and compilation of the kernel library."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autofusion.runtime.build import (
    Compiler,
    build_libraries,
    compile_command,
    find_compiler,
    find_system_compiler,
    list_variants,
)

FAKE_COMPILER = """\
import sys
from pathlib import Path

Path(__file__).with_name("calls").open("a").write("call\\n")
Path(sys.argv[sys.argv.index("-o") + 1]).write_text("library")
"""


@pytest.fixture
def fake_compiler(tmp_path: Path) -> Compiler:
    script = tmp_path / "fake.py"
    script.write_text(FAKE_COMPILER)
    return Compiler((sys.executable, str(script)))


def test_a_preferred_compiler_is_taken() -> None:
    assert Compiler(("ccache", "gcc-12")) == find_system_compiler("ccache gcc-12")


def test_the_first_compiler_on_the_path_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}" if name in ("gcc", "clang") else None)
    assert Compiler(("/usr/bin/gcc",)) == find_compiler()


def test_the_packaged_compiler_is_taken_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if name == "ziglang" else None)
    assert Compiler((sys.executable, "-m", "ziglang", "cc"), is_zig=True) == find_compiler()


def test_no_compiler_at_all_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match=r"none of cc, gcc, clang is on PATH; .*pip install ziglang"):
        find_compiler()


def test_the_packaged_compiler_builds_for_old_systems() -> None:
    zig = compile_command(Compiler(("zig",), is_zig=True), "x86-64-v3")
    assert zig[zig.index("-target") + 1] == "x86_64-linux-gnu.2.17"
    assert {"-g0", "-mcpu=x86_64_v3"} <= set(zig)
    assert "-march=x86-64-v3" in compile_command(Compiler(("cc",)), "x86-64-v3")
    arm = compile_command(Compiler(("zig",), is_zig=True), "aarch64")
    assert arm[arm.index("-target") + 1] == "aarch64-linux-gnu.2.17"
    assert "-mcpu=generic" in arm


@pytest.mark.parametrize(
    ("machine", "variants"),
    [("x86_64", ("x86-64-v2", "x86-64-v3", "x86-64-v4")), ("aarch64", ("aarch64",)), ("riscv64", ())],
)
def test_variants_are_those_of_the_machine(
    monkeypatch: pytest.MonkeyPatch, machine: str, variants: tuple[str, ...]
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert variants == list_variants()
    for isa in variants:
        command = compile_command(Compiler(("cc",)), isa)
        assert ("-march=armv8-a+simd" if machine == "aarch64" else f"-march={isa}") in command


def test_libraries_are_built_once(fake_compiler: Compiler, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    for _ in range(2):
        paths = build_libraries(fake_compiler, tmp_path / "lib")
        assert [f"libautofusion-{isa}.so" for isa in list_variants()] == [path.name for path in paths]
        assert len(paths) == len(calls.read_text().splitlines())
    paths[0].unlink()
    build_libraries(fake_compiler, tmp_path / "lib")
    assert 2 * len(paths) == len(calls.read_text().splitlines())


def test_what_the_compiler_says_is_reported(tmp_path: Path) -> None:
    failing = Compiler((sys.executable, "-c", "import sys; sys.exit('no such option')"))
    with pytest.raises(RuntimeError, match=r"(?s)compiling for .* failed: .*no such option"):
        build_libraries(failing, tmp_path)
    with pytest.raises(RuntimeError, match="cannot run the C compiler"):
        build_libraries(Compiler(("/nowhere/cc",)), tmp_path)


@pytest.mark.parametrize("isa", list_variants())
def test_sources_compile_without_warnings(isa: str) -> None:
    compiler = find_system_compiler()
    if compiler is None:
        pytest.skip("there is no system compiler")
    command = compile_command(compiler, isa, ["-Werror", "-fsyntax-only"])
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.stderr == ""
    assert result.returncode == 0
