"""Files of fusion switches: both forms, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from autofusion.cli.switch_file import gather_switches, read_switch_file
from autofusion.errors import UsageError


def written(folder: Path, text: str) -> Path:
    path = folder / "s.cfg"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ('{"Switch": {"GraphFusion": {"A": "off", "ALL": "on"}}}', {"A": False, "ALL": True}),
        ('{"Switch": {"GraphFusion": {"A": "on"}, "UBFusion": {"A": "off", "B": "on"}}}', {"A": False, "B": True}),
        ('{"Switch": {}}', {}),
        ("A:off\n\n  B : on \nConv+BN:off\n", {"A": False, "B": True, "Conv+BN": False}),
    ],
)
def test_reads_both_forms(tmp_path: Path, text: str, states: dict[str, bool]) -> None:
    assert read_switch_file(written(tmp_path, text)) == states


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("", "AF218", "the file of switches 's.cfg' is empty"),
        (" \n", "AF218", "the file of switches 's.cfg' is empty"),
        ("A:off\nA:on\n", "AF217", "'A' occurs twice"),
        ("A:maybe", "AF217", "'A:maybe' is not NAME:on or NAME:off"),
        (":on", "AF217", "':on' is not NAME:on or NAME:off"),
        ("{", "AF217", "it is no JSON: Expecting property name"),
        ('{"GraphFusion": {}}', "AF217", "it has no object 'Switch'"),
        ('{"Switch": {"Graph": {}}}', "AF217", "'Graph' is none of the objects GraphFusion and UBFusion"),
        ('{"Switch": {"GraphFusion": []}}', "AF217", "'GraphFusion' is none of the objects"),
        ('{"Switch": {"GraphFusion": {"A": "off", "A": "on"}}}', "AF217", "a key occurs twice in one object"),
        ('{"Switch": {"GraphFusion": {"A": true}}}', "AF217", "'A' is True, neither 'on' nor 'off'"),
    ],
)
def test_refuses(tmp_path: Path, text: str, code: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_switch_file(written(tmp_path, text))
    found = caught.value.diagnostic
    assert found.code == code
    assert message in found.message
    assert found.help


def test_refuses_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read the file of switches 'no\.cfg': No such file"):
        read_switch_file(tmp_path / "no.cfg")
    (tmp_path / "s.cfg").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="it is no text in UTF-8"):
        read_switch_file(tmp_path / "s.cfg")


def test_warns_of_what_has_no_effect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = '{"Switch": {"UBFusion": {"ALL": "off", "A": "off"}}, "Priority": {}}'
    assert read_switch_file(written(tmp_path, text)) == {"A": False}
    shown = capsys.readouterr().err
    assert "ALL of UBFusion in s.cfg has no effect" in shown
    assert "Priority in s.cfg has no effect" in shown


def test_the_option_comes_before_the_file(tmp_path: Path) -> None:
    switches = gather_switches({"A": True}, written(tmp_path, "A:off"), "--optimization_switch")
    assert list(switches.items()) == [("--optimization_switch", {"A": True}), ("s.cfg", {"A": False})]
    assert gather_switches({}, None, "--optimization_switch") == {}
