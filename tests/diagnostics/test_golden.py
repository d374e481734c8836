"""Every code as its user meets it: the command, the exit code, the whole message and the remedy."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autofusion.cli.errors import explain_error
from autofusion.diagnostics import Diagnostic
from autofusion.diagnostics.codes import CODES
from autofusion.diagnostics.text import render_text
from autofusion.errors import AutofusionError
from cli.transcript import transcribe
from conftest import GOLDEN, CheckGolden
from diagnostics import scenarios_artifact, scenarios_manual, scenarios_model, scenarios_pattern, scenarios_use
from diagnostics.scenarios import Scenario

SCENARIOS: dict[str, Scenario] = {
    **scenarios_model.SCENARIOS,
    **scenarios_use.SCENARIOS,
    **scenarios_pattern.SCENARIOS,
    **scenarios_manual.SCENARIOS,
    **scenarios_artifact.SCENARIOS,
}


def provoke(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> str:
    """Exit code, where there is one, and what is shown."""
    try:
        outcome = scenario(monkeypatch)
    except AutofusionError as error:
        diagnostic, exit_code = explain_error(error)
        return f"exit {exit_code}\n{render_text(diagnostic)}"
    return render_text(outcome) if isinstance(outcome, Diagnostic) else transcribe(*outcome)


def masked(text: str, folder: Path) -> str:
    text = text.replace(str(folder), "FOLDER")
    text = re.sub(r"graph-autofusion \S+, Python .*", "graph-autofusion VERSION", text)
    text = re.sub(r"note: command: .*", "note: command: COMMAND", text)
    text = re.sub(r"(as demanded \(errors: \d\)): .*", r"\1: SUMMARY", text)
    return re.sub(r"\d+\.\d+x", "N.NNx", text)


def test_every_code_has_a_scenario() -> None:
    assert sorted(SCENARIOS) == list(CODES)


def test_no_golden_is_left_over() -> None:
    assert {path.stem for path in (GOLDEN / "diagnostics").glob("AF*.txt")} == set(CODES)


@pytest.mark.parametrize("code", sorted(SCENARIOS))
def test_a_code_reads_well(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, check_golden: CheckGolden
) -> None:
    monkeypatch.chdir(tmp_path)
    text = masked(provoke(SCENARIOS[code], monkeypatch), tmp_path)
    # Words that are no flags are told as CANN tells them, before there is anything to number.
    assert code in text or code in ("AF201", "AF202", "AF203")
    check_golden(f"diagnostics/{code}.txt", text)


@pytest.mark.parametrize("code", [code for code in CODES if code < "AF3" or code >= "AF4"])
def test_every_message_names_a_remedy(code: str) -> None:
    text = (GOLDEN / "diagnostics" / f"{code}.txt").read_text("utf-8")
    assert "  = help: " in text[max(text.rfind(code), 0) :] or code == "AF206"
    assert "Traceback" not in text
