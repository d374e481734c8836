"""Options and fixtures of all tests: golden files, the zoo."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"

CheckGolden = Callable[[str, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write what the tests produced into tests/golden/")
    parser.addoption("--zoo", metavar="FOLDER", help="a folder of skeletons that tests/test_zoo.py runs beside its own")
    parser.addoption("--libraries", metavar="NAME,...", help="kernel libraries that tests/runtime runs on (all)")


@pytest.fixture
def check_golden(request: pytest.FixtureRequest) -> CheckGolden:
    """Compare text with the file `tests/golden/NAME`; with --update-golden write it instead."""

    def check(name: str, actual: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(actual, encoding="utf-8")
            return
        if not path.exists():
            pytest.fail(f"no golden file {path}; write it with --update-golden")
        expected = path.read_text(encoding="utf-8")
        if expected != actual:
            lines = difflib.unified_diff(expected.splitlines(), actual.splitlines(), str(path), "actual", lineterm="")
            pytest.fail("\n".join(lines), pytrace=False)

    return check
