"""Tuning banks as values and as files: what is found, what comes back, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autofusion.errors import ArtifactError, UsageError
from autofusion.tuning import (
    Bank,
    Choice,
    Key,
    digest_bank,
    join_banks,
    read_bank,
    render_bank,
    write_bank,
)

TILES = Choice("winograd", 4, "stored")
MADE = Choice("winograd", 2, "made")
DIRECT = Choice("direct")
FULL = Bank(
    "b.json",
    {
        Key("operators", "any", "conv b"): TILES,
        Key("operators", "any", "conv a"): MADE,
        Key("operators", "x86-64-v3", "conv a"): DIRECT,
        Key("graph", "any", "conv_pool a"): Choice("apart"),
        Key("graph", "any", "conv_depthwise a"): Choice("joined"),
    },
)


@pytest.mark.parametrize(
    ("target", "layer", "found"),
    [
        ("any", "conv a", ("any", MADE)),
        ("x86-64-v3", "conv a", ("x86-64-v3", DIRECT)),
        ("x86-64-v3", "conv b", ("any", TILES)),
        ("aarch64", "conv a", ("any", MADE)),
        ("any", "conv c", None),
        ("any", "conv_pool a", None),
    ],
)
def test_the_choice_for_the_instruction_set_wins(target: str, layer: str, found: tuple[str, Choice] | None) -> None:
    bank = Bank(FULL.name, FULL.choices, target)
    expected = None if found is None else (Key("operators", found[0], layer), found[1])
    assert bank.find("operators", layer) == expected


def test_comes_back_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text("an earlier file", "utf-8")
    write_bank(path, FULL)
    assert read_bank(path) == FULL
    assert [file.name for file in tmp_path.iterdir()] == ["b.json"]


def test_the_text_is_the_same_whatever_the_order() -> None:
    turned = Bank("other", dict(reversed(FULL.choices.items())))
    assert render_bank(turned) == render_bank(FULL)
    assert digest_bank(turned) == digest_bank(FULL)
    assert digest_bank(FULL.narrow([Key("operators", "any", "conv a")])) != digest_bank(FULL)
    text = json.loads(render_bank(FULL))
    assert list(text) == ["graph", "operators", "version"]
    assert list(text["operators"]["any"]) == ["conv a", "conv b"]
    assert text["operators"]["any"]["conv b"] == {"algorithm": "winograd", "filters": "stored", "tile": 4}


def test_of_several_the_later_one_wins() -> None:
    key = Key("operators", "any", "conv a")
    joined = join_banks([FULL, Bank("c", {key: DIRECT}, "ignored")], "aarch64")
    assert joined == Bank("b.json,c", {**FULL.choices, key: DIRECT}, "aarch64")
    assert join_banks([]) is None


def test_a_folder_is_all_of_its_files_in_order(tmp_path: Path) -> None:
    key = Key("operators", "any", "conv a")
    write_bank(tmp_path / "2.json", Bank("", {key: TILES}))
    write_bank(tmp_path / "1.json", FULL)
    (tmp_path / "notes.txt").write_text("no bank", "utf-8")
    assert read_bank(tmp_path) == Bank(tmp_path.name, {**FULL.choices, key: TILES})


def test_sections_are_read_apart(tmp_path: Path) -> None:
    write_bank(tmp_path / "b.json", FULL)
    graph, operators = (read_bank(tmp_path / "b.json", [section]).choices for section in ("graph", "operators"))
    assert {key.section for key in graph} == {"graph"}
    assert {**graph, **operators} == FULL.choices


def entry(section: str = "operators", **settings: object) -> str:
    return json.dumps({"version": 1, section: {"any": {"conv a": settings}}})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "AF218: the tuning bank 'b.json' is empty"),
        ("{", "AF217: the tuning bank 'b.json' cannot be used: it is no JSON: Expecting property name"),
        ("[" * 100_000, "AF217: the tuning bank 'b.json' cannot be used: nested too deeply"),
        ("[]", "AF217: the tuning bank 'b.json' cannot be used: it is no object"),
        ("{}", "AF217: the tuning bank 'b.json' cannot be used: it has no version, which is a number"),
        ('{"version": true}', "AF217: the tuning bank 'b.json' cannot be used: it has no version"),
        ('{"version": 2}', "AF234: the tuning bank 'b.json' has version 2, this compiler reads version 1"),
        ('{"version": 1, "ops": {}}', "AF217: .* it has 'ops', which is none of operators, graph"),
        ('{"version": 1, "version": 1}', "AF217: .* a key occurs twice in one object"),
        ('{"version": 1, "graph": []}', "AF217: .* 'graph' is no object"),
        ('{"version": 1, "graph": {"any": 1}}', "AF217: .* 'any' of 'graph' is no object"),
        ('{"version": 1, "graph": {"any": {"a": 1}}}', "AF217: .* the entry of 'a' is no object"),
        (entry(), "AF217: .* the entry of 'conv a' has no algorithm, which is a text"),
        (entry(algorithm="fft"), "AF235: the tuning bank 'b.json' has the algorithm 'fft' for 'conv a'"),
        (entry("graph", algorithm="direct"), "AF235: the tuning bank 'b.json' has the algorithm 'direct' for 'conv a'"),
        (entry(algorithm="direct", tile=2), "AF217: .* the entry of 'conv a' does not have algorithm and nothing else"),
        (entry(algorithm="winograd", tile=2), "AF217: .* does not have algorithm, tile, filters and nothing else"),
        (entry(algorithm="winograd", tile="2", filters="made"), "AF217: .* tile of 'conv a' is '2', not a number"),
        (entry(algorithm="winograd", tile=True, filters="made"), "AF217: .* tile of 'conv a' is True, not a number"),
        (entry(algorithm="winograd", tile=2, filters="kept"), "AF217: .* filters of 'conv a' are 'kept', not stored"),
    ],
)
def test_what_is_wrong_with_a_file(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=message):
        read_bank(path)


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"AF218: cannot read the tuning bank 'b\.json'"):
        read_bank(tmp_path / "b.json")
    with pytest.raises(UsageError, match=r"AF218: the folder .* has no tuning bank: no file of it ends in \.json"):
        read_bank(tmp_path)
    with pytest.raises(ArtifactError, match="AF515"):
        write_bank(tmp_path, FULL)
