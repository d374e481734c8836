"""The table of codes against the source, and the pages that are written from tables."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from autofusion.diagnostics.codes import AREAS, CODES, cann_code

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "autofusion"
TABLES = {"codes.py", "codes_model.py", "codes_use.py", "codes_pattern.py", "codes_manual.py", "codes_artifact.py"}
SPEC = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")


def used_codes() -> dict[str, str]:
    """Every code in a string literal of the source, with one of its files."""
    files = [path for path in sorted(SOURCE.rglob("*.py")) if path.name not in TABLES]
    return {code: path.name for path in files for code in re.findall(r'"(AF\d{3})"', path.read_text("utf-8"))}


def test_every_code_is_in_the_table_and_the_reverse() -> None:
    used = used_codes()
    assert {code: place for code, place in used.items() if code not in CODES} == {}
    assert [code for code in CODES if code not in used] == []


def test_rows_are_whole() -> None:
    assert list(CODES) == sorted(CODES)
    for row in CODES.values():
        assert row.code[2] in AREAS
        assert row.title
        assert row.meaning.endswith(".")
        assert row.remedy.endswith(".")
        assert re.fullmatch(r"(E\d{5})?", row.cann)


def test_no_code_has_two_rows() -> None:
    rows = [code for name in TABLES for code in re.findall(r'"(AF\d{3})",', _table(name).read_text("utf-8"))]
    assert sorted(rows) == list(CODES)


def _table(name: str) -> Path:
    return SOURCE / "diagnostics" / name


def test_knows_cann_s_codes() -> None:
    assert [cann_code(code) for code in ("AF209", "AF125", "AF201", "AF000")] == ["E10007", "E16002", "", ""]


@pytest.mark.parametrize("page", ["codes.md", "atc-options.md"])
def test_generated_pages_are_current(page: str) -> None:
    assert SPEC is not None
    assert SPEC.loader is not None
    generate = importlib.util.module_from_spec(SPEC)
    SPEC.loader.exec_module(generate)
    assert (ROOT / "docs" / page).read_text("utf-8") == generate.PAGES[page](), "run: python docs/generate.py"
