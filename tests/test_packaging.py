"""What the package declares against what it imports, and the wheel, which must work without the source tree."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from autofusion.errors import PACKAGES
from autofusion.version import VERSION

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

# Import name -> distribution, where they differ.
DISTRIBUTIONS = {"google": "protobuf"}
# Imported inside functions where they happen to be installed.
OPTIONAL = {"onnxruntime"}


def run(*command: object, cwd: Path, path: Path | None = None) -> str:
    """The output of a command that must succeed; `path` comes first among the places of Python packages."""
    environment = {**os.environ, "PYTHONPATH": str(path)} if path else dict(os.environ)
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def imported_packages() -> set[str]:
    """Top-level names that the package imports from outside the standard library."""
    found: set[str] = set()
    for path in (ROOT / "src" / "autofusion").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"autofusion"}


def test_declares_what_it_imports() -> None:
    declared = {re.split(r"[<>=!~ ]", requirement)[0].lower() for requirement in PROJECT["dependencies"]}
    imported = {DISTRIBUTIONS.get(name, name) for name in imported_packages() - OPTIONAL}
    assert declared == imported


def test_names_every_dependency_where_one_is_missing() -> None:
    assert {*PACKAGES.values(), "numpy"} == {re.split(r"[<>=!~ ]", text)[0] for text in PROJECT["dependencies"]}


def fail_without(package: str, code: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Run `code` as if `package` were not installed."""
    code = f"import sys\nsys.modules[{package!r}] = None\n{code}"
    return subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", ["autofusion.cli.main", "autofusion.cli.atc"])
def test_the_commands_say_what_to_install(command: str, tmp_path: Path) -> None:
    done = fail_without("click", f"from {command} import main\nmain()", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error[AF519]: package click is not installed")
    assert "pip install click" in done.stderr


def test_a_command_that_compiles_says_what_to_install(tmp_path: Path) -> None:
    code = "sys.argv = ['autofusion', 'compile', 'a.onnx', '-o', 'b']\nfrom autofusion.cli.main import main\nmain()"
    done = fail_without("onnx", code, tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error[AF519]: package onnx is not installed")


@pytest.mark.parametrize("package", ["onnx", "networkx"])
def test_compiling_in_python_says_what_to_install(package: str, tmp_path: Path) -> None:
    code = "import autofusion\ntry:\n    autofusion.compile('a.onnx', 'b')\n"
    code += "except autofusion.AutofusionError as error:\n    print(error.diagnostic.code, error.diagnostic.message)"
    assert f"AF519 package {package} is not installed" in fail_without(package, code, tmp_path).stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder, ROOT, cwd=folder)
    (path,) = folder.glob("*.whl")
    return path


def test_wheel_holds_libraries_and_patterns_but_no_sources(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    patterns = {path.relative_to(ROOT).as_posix() for path in (ROOT / "patterns").rglob("*.toml")}
    assert wheel.name.startswith(f"graph_autofusion-{VERSION}-py3-none-")
    assert {f"autofusion/{name}" for name in patterns} <= set(names)
    assert [name for name in names if name.endswith(".so")]
    assert [name for name in names if name.endswith((".c", ".h"))] == []


def test_wheel_compiles_and_runs_without_the_source_tree(wheel: Path, tmp_path: Path) -> None:
    package = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(package)
    run(sys.executable, ROOT / "examples" / "test_model" / "make_model.py", cwd=tmp_path)
    script = """
import numpy, autofusion
autofusion.compile("test_model.onnx", "test_model.om")
session = autofusion.load("test_model.om")
print(autofusion.__file__)
print(numpy.isfinite(session.run({"input": numpy.ones((1, 3, 224, 224), "f")})["output"]).all())
"""
    place, finite = run(sys.executable, "-c", script, cwd=tmp_path, path=package).splitlines()
    assert Path(place).is_relative_to(package)
    assert finite == "True"
