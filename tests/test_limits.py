"""Limits of the source text: file sizes, docstrings, no promises, no state, no printing, no environment."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "autofusion"
MAX_LINES = 400
SUFFIXES = {".py", ".c", ".h", ".toml"}
FILES = sorted(
    path
    for folder in ("src", "tests", "patterns", "examples", "benchmarks")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in SUFFIXES and path.is_file()
)
MODULES = sorted(PACKAGE.rglob("*.py"))
# Spelt apart so that this file passes its own test.
PROMISES = re.compile(rf"\b({'|'.join(['TO' + 'DO', 'FIX' + 'ME', 'X' * 3])})\b")
CONSTRUCTORS = {
    "list",
    "dict",
    "set",
    "bytearray",
    "defaultdict",
    "deque",
    "Counter",
    "OrderedDict",
    "WeakValueDictionary",
}
MUTATORS = {"add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update"}

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def name_file(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def read_tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def public_definitions(scope: ast.Module | ast.ClassDef) -> Iterator[Definition]:
    """Public classes and functions of a module, and public methods of public classes."""
    for node in scope.body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from public_definitions(node)


def find_undocumented(tree: ast.Module) -> list[str]:
    missing = [] if ast.get_docstring(tree) else ["the module"]
    return missing + [f"{node.lineno}: {node.name}" for node in public_definitions(tree) if not ast.get_docstring(node)]


def is_mutable(value: ast.expr | None) -> bool:
    match value:
        case ast.List() | ast.Dict() | ast.Set() | ast.ListComp() | ast.DictComp() | ast.SetComp():
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in CONSTRUCTORS
        case _:
            return False


def is_table(name: str) -> bool:
    return name == "__all__" or re.fullmatch(r"_*[A-Z][A-Z0-9_]*", name) is not None


def root_name(target: ast.expr) -> str:
    while isinstance(target, ast.Subscript | ast.Attribute):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def find_state(tree: ast.Module) -> list[str]:
    """Mutable values bound at module level under other names than tables have, and edits of tables and globals."""
    found: list[str] = []
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        found += [f"{node.lineno}: {name} is mutable" for name in names if is_mutable(value) and not is_table(name)]
    for node in ast.walk(tree):
        match node:
            case ast.Global(names=names):
                found.append(f"{node.lineno}: global {', '.join(names)}")
            case ast.Assign(targets=[ast.Subscript() as target]) | ast.AugAssign(target=ast.Subscript() as target):
                if is_table(root_name(target)):
                    found.append(f"{node.lineno}: {root_name(target)} is edited")
            case ast.Call(func=ast.Attribute(attr=verb, value=ast.Name(id=name))) if verb in MUTATORS and is_table(
                name
            ):
                found.append(f"{node.lineno}: {name} is edited")
            case _:
                pass
    return sorted(found, key=lambda line: int(line.partition(":")[0]))


def find_side_channels(tree: ast.Module) -> list[str]:
    """Calls of print and readings of the environment."""
    found: list[str] = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="print")):
                found.append(f"{node.lineno}: print")
            case ast.Attribute(value=ast.Name(id="os"), attr="environ" | "environb" | "getenv" | "putenv" as name):
                found.append(f"{node.lineno}: os.{name}")
            case ast.ImportFrom(module="os", names=names):
                found += [f"{node.lineno}: os.{alias.name}" for alias in names if alias.name in ("environ", "getenv")]
            case _:
                pass
    return sorted(found, key=lambda line: int(line.partition(":")[0]))


@pytest.mark.parametrize("path", FILES, ids=name_file)
def test_file_is_short_and_promises_nothing(path: Path) -> None:
    lines = path.read_text("utf-8").splitlines()
    promises = [f"{number}: {line.strip()}" for number, line in enumerate(lines, 1) if PROMISES.search(line)]
    assert promises == []
    assert len(lines) <= MAX_LINES


@pytest.mark.parametrize("path", MODULES, ids=name_file)
def test_public_names_are_documented(path: Path) -> None:
    assert find_undocumented(read_tree(path)) == []


@pytest.mark.parametrize("path", MODULES, ids=name_file)
def test_modules_keep_no_state(path: Path) -> None:
    assert find_state(read_tree(path)) == []


@pytest.mark.parametrize("path", [path for path in MODULES if path.parent != PACKAGE / "cli"], ids=name_file)
def test_only_the_command_line_prints_and_reads_the_environment(path: Path) -> None:
    assert find_side_channels(read_tree(path)) == []


@pytest.mark.parametrize(
    ("find", "source", "found"),
    [
        (find_undocumented, '"""m"""\ndef f(): ...\ndef _g(): ...', ["2: f"]),
        (find_undocumented, 'class A:\n    """a"""\n    def f(self): ...', ["the module", "3: f"]),
        (find_state, "cache = {}", ["1: cache is mutable"]),
        (find_state, "seen: set[str] = set()", ["1: seen is mutable"]),
        (find_state, "_TABLE = {}\n__all__ = ['a']", []),
        (find_state, "TABLE = {}\ndef f(): TABLE['a'] = 1", ["2: TABLE is edited"]),
        (find_state, "TABLE = []\ndef f(): TABLE.append(1)", ["2: TABLE is edited"]),
        (find_state, "def f():\n    global count", ["2: global count"]),
        (find_side_channels, "def f(): print(1)", ["1: print"]),
        (
            find_side_channels,
            "import os\nos.environ.get('A')\nfrom os import getenv",
            ["2: os.environ", "3: os.getenv"],
        ),
    ],
)
def test_the_limits_can_be_broken(find: object, source: str, found: list[str]) -> None:
    assert callable(find)
    assert found == find(ast.parse(source))
