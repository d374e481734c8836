"""Loading folders: one order, one definition of a name, faults as errors with places that tell no folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from autofusion.diagnostics import Span
from autofusion.errors import PatternError
from autofusion.patternlang import find_builtin_patterns, load_patterns
from autofusion.patternlang.document import read_document

BODY = """summary = "s"
display = "Sample"
op      = "SampleFusionOp"
kernel  = "chain"
[[form]]
match = '''
a = Exp(x)
b = Neg(a)
'''
"""


def write(folder: Path, *names: str, body: str = BODY) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / f"{name}.toml").write_text(f'schema = 1\nname = "{name}"\n{body}', encoding="utf-8")


def test_built_in_patterns() -> None:
    patterns = load_patterns([find_builtin_patterns()])
    assert patterns == load_patterns([find_builtin_patterns()])
    assert {pattern.name for pattern in patterns} >= {
        "conv_bn_act",
        "conv_pool",
        "conv_pool_fc",
        "matmul_bias_act",
        "silu",
    }
    assert {(pattern.role, pattern.stage) for pattern in patterns} == {("normalize", 0), ("fuse", 1), ("fuse", 2)}
    assert [pattern.path for pattern in patterns] == sorted(pattern.path for pattern in patterns)


def test_folder_by_folder_and_by_path(tmp_path: Path) -> None:
    write(tmp_path / "second", "b", "a")
    write(tmp_path / "first" / "inner", "d")
    write(tmp_path / "first", "c", "z")
    patterns = load_patterns([tmp_path / "second", tmp_path / "first"])
    assert [pattern.name for pattern in patterns] == ["a", "b", "c", "d", "z"]


def test_places_do_not_tell_where_the_folder_lies(tmp_path: Path) -> None:
    write(tmp_path / "mine" / "fuse", "a")
    (pattern,) = load_patterns([tmp_path / "mine"])
    assert pattern.path == "mine/fuse/a.toml"
    assert pattern.forms[0].statements[1].span == Span("mine/fuse/a.toml", 10, 1)
    assert pattern.forms[0].statements[1].text == "b = Neg(a)"


def test_a_name_is_defined_once(tmp_path: Path) -> None:
    write(tmp_path / "one", "a")
    write(tmp_path / "two", "a")
    with pytest.raises(PatternError) as caught:
        load_patterns([tmp_path / "one", tmp_path / "two"])
    diagnostic = caught.value.diagnostic
    assert (diagnostic.code, diagnostic.span) == ("AF417", Span("two/a.toml", 2, 1))
    assert diagnostic.message == "pattern 'a' is defined in one/a.toml already"


def test_the_first_fault_is_raised_and_the_others_noted(tmp_path: Path) -> None:
    write(tmp_path / "bad", "a", body=BODY.replace("Exp", "Exq").replace("Neg", "Neq"))
    with pytest.raises(PatternError) as caught:
        load_patterns([tmp_path / "bad"])
    diagnostic = caught.value.diagnostic
    assert (diagnostic.code, diagnostic.span) == ("AF404", Span("bad/a.toml", 9, 5))
    assert diagnostic.notes == ("bad/a.toml:10:5: unknown operator 'Neq'",)


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(PatternError, match="is no folder of patterns") as caught:
        load_patterns([tmp_path / "absent"])
    assert caught.value.diagnostic.help == "name a folder that exists"


def test_a_file_in_the_place_of_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("schema = 1\n", encoding="utf-8")
    with pytest.raises(PatternError, match="is no folder of patterns") as caught:
        load_patterns([path])
    assert caught.value.diagnostic.help == "name the folder that holds the pattern files, not one of them"


def test_a_folder_without_pattern_files(tmp_path: Path) -> None:
    with pytest.raises(PatternError, match="there is no pattern file in"):
        load_patterns([tmp_path])


def test_places_of_keys_and_strings() -> None:
    text = """# a comment = 1
name = "n"
where = [  # "not this"
  "a",
  'b c',   # and "not" this
  "d", "e",
]
[[form]]
match = '''
x = 1
[[form]]
y = 2
'''
[[form]]
match = '''z'''
[emit]
attrs = { one = "p.q", two = 'r' }
"""
    document = read_document(text, "f.toml")
    where = [document.item_source(place, "", "where").start for place in range(4)]
    assert [(span.line, span.column) for span in where] == [(4, 4), (5, 4), (6, 4), (6, 9)]
    assert document.source("n", "name").start == Span("f.toml", 2, 9)
    assert document.source("x = 1\n", "form", 0, "match").start == Span("f.toml", 10, 1)
    assert document.source("z", "form", 1, "match").start == Span("f.toml", 15, 12)
    assert document.source("r", "emit", "attrs", "two").start == Span("f.toml", 17, 31)
    assert document.span("emit", "attrs", "two") == Span("f.toml", 17, 24)
    assert document.span("form", 1) == Span("f.toml", 14, 1)
    assert document.span("nothing") == Span("f.toml", 1, 1)
    assert document.is_block("form", 1, "match")
    assert not document.is_block("name")
