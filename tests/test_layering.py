"""The import order of the package, read from its syntax trees, and what running an artifact may import."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "autofusion"
MODULES = sorted(PACKAGE.rglob("*.py"))


@dataclass(frozen=True)
class Rule:
    """What an area may import: `always`, and `deferred`, inside functions and for the type checker alone."""

    always: frozenset[str]
    deferred: frozenset[str] = frozenset()


def allow(always: str, deferred: str = "") -> Rule:
    return Rule(frozenset(always.split()), frozenset(deferred.split()))


BASE = "version record diagnostics errors cann_passes"
MIDDLE = f"{BASE} ir ops plan"
BACK = f"{MIDDLE} decisions frontend patternlang passes fusion tuning lowering artifact report"

# Area -> areas of this package. An area is a folder or module directly under it and may always import itself.
AREAS = {
    "version": allow(""),
    "cann_passes": allow(""),
    "decisions": allow(""),
    "record": allow(""),
    "diagnostics": allow("record"),
    "errors": allow("diagnostics"),
    "ir": allow(BASE),
    "ops": allow(f"{BASE} ir"),
    "plan": allow("record diagnostics errors"),
    "frontend": allow(MIDDLE),
    "patternlang": allow(MIDDLE),
    "passes": allow(MIDDLE),
    "fusion": allow(f"{MIDDLE} frontend patternlang passes"),
    "tuning": allow(f"{MIDDLE} decisions fusion artifact"),
    "lowering": allow(f"{MIDDLE} decisions frontend patternlang passes fusion tuning"),
    "report": allow(f"{BASE} decisions"),
    "artifact": allow(f"{BASE} plan"),
    "runtime": allow(f"{BASE} plan artifact", "ops ir"),
    "accounting": allow(BACK),
    "precision": allow(f"{MIDDLE} fusion"),
    "options": allow(f"{MIDDLE} passes fusion tuning precision"),
    "compiler": allow(f"{BACK} accounting options precision"),
    "services": allow(f"{BACK} accounting runtime options precision compiler"),
    "compat": allow(f"{BACK} runtime options precision compiler services"),
    "cli": allow(f"{BACK} runtime options precision compiler services compat"),
    "__init__": allow("version", f"{BACK} runtime options precision compiler services"),
    "__main__": allow("cli"),
}

# Area -> packages that are not in the standard library.
PACKAGES = {
    "version": allow(""),
    "cann_passes": allow(""),
    "decisions": allow(""),
    "record": allow(""),
    "diagnostics": allow(""),
    "errors": allow(""),
    "ir": allow("numpy ml_dtypes networkx"),
    "ops": allow("numpy ml_dtypes", "onnx"),
    "plan": allow("numpy"),
    "frontend": allow("numpy ml_dtypes onnx google"),
    "patternlang": allow("numpy"),
    "passes": allow("numpy"),
    "fusion": allow("numpy"),
    "tuning": allow(""),
    "lowering": allow("numpy"),
    "report": allow("", "jinja2"),
    "artifact": allow("numpy"),
    "runtime": allow("numpy"),
    "accounting": allow("numpy"),
    "precision": allow(""),
    "options": allow(""),
    "compiler": allow("numpy"),
    "services": allow("numpy", "onnx onnxruntime"),
    "compat": allow("numpy"),
    "cli": allow("numpy click", "rich"),
    "__init__": allow(""),
    "__main__": allow(""),
}


@dataclass(frozen=True)
class Import:
    """One imported module; `deferred` where importing the file does not import it."""

    module: str
    line: int
    deferred: bool


def area_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def find_imports(tree: ast.AST, deferred: bool = False) -> Iterator[Import]:
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.Import(names=names):
                yield from (Import(alias.name, node.lineno, deferred) for alias in names)
            case ast.ImportFrom(module="autofusion", level=0, names=names):
                yield from (Import(f"autofusion.{alias.name}", node.lineno, deferred) for alias in names)
            case ast.ImportFrom(module=module, level=0):
                yield Import(module or "", node.lineno, deferred)
            case ast.ImportFrom():
                yield Import("a relative name", node.lineno, deferred)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield from find_imports(node, True)
            case _:
                yield from find_imports(node, deferred)


def check_import(area: str, found: Import) -> str | None:
    """What is wrong with an import in `area`, or None."""
    top, _, rest = found.module.partition(".")
    if top in sys.stdlib_module_names:
        return None
    rules, name = (AREAS, rest.partition(".")[0]) if top == "autofusion" else (PACKAGES, top)
    rule = rules[area]
    if name in rule.always or (top == "autofusion" and name == area):
        return None
    if name not in rule.deferred:
        return f"{area} may not import {found.module}"
    return None if found.deferred else f"{area} may import {found.module} inside functions only"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_follow_the_order(path: Path) -> None:
    imports = find_imports(ast.parse(path.read_text("utf-8")))
    problems = [(found.line, check_import(area_of(path), found)) for found in imports]
    assert [f"{path.name}:{line}: {problem}" for line, problem in problems if problem] == []


@pytest.mark.parametrize(
    ("area", "source", "problem"),
    [
        ("passes", "import autofusion.ir", None),
        ("passes", "from autofusion.fusion import matcher", "passes may not import autofusion.fusion"),
        ("passes", "from autofusion import patternlang", "passes may not import autofusion.patternlang"),
        ("plan", "def f():\n    from autofusion.ir import Node", "plan may not import autofusion.ir"),
        ("fusion", "import networkx as nx", "fusion may not import networkx"),
        ("ops", "import onnx.helper", "ops may import onnx.helper inside functions only"),
        ("ops", "class A:\n    def f(self):\n        import onnx.helper", None),
        ("runtime", "if TYPE_CHECKING:\n    from autofusion.ops import rows", None),
        ("runtime", "from autofusion.ops import rows", "runtime may import autofusion.ops inside functions only"),
        ("ir", "from .graph import Graph", "ir may not import a relative name"),
    ],
)
def test_the_rules_can_be_broken(area: str, source: str, problem: str | None) -> None:
    (found,) = find_imports(ast.parse(source))
    assert problem == check_import(area, found)


def test_running_an_artifact_imports_numpy_alone() -> None:
    script = """
import sys
import autofusion, autofusion.runtime, autofusion.artifact, autofusion.plan
print(sorted({name.partition(".")[0] for name in sys.modules} & set(sys.argv[1].split())))
"""
    heavy = "onnx google networkx ml_dtypes click rich jinja2 onnxruntime"
    done = subprocess.run([sys.executable, "-c", script, heavy], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
