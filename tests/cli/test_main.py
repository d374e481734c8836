"""The group: its commands, their help, and how little that imports."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from autofusion.cli.main import group
from autofusion.version import VERSION
from cli.transcript import transcribe
from conftest import CheckGolden

ROOT = Path(__file__).parents[2]
NAMES = group.list_commands(click.Context(group))


def test_help_lists_every_command(check_golden: CheckGolden) -> None:
    check_golden("cli/help.txt", transcribe("--help"))


def test_an_unknown_command_is_a_usage_error() -> None:
    assert "exit 2\n" in transcribe("compil", "net.onnx")
    assert "No such command 'compil'. Did you mean 'compile'?" in transcribe("compil", "net.onnx")
    assert transcribe("reprot", "net.om").count("Did you mean") == 1
    assert "Did you mean" not in transcribe("qqq")


def test_shows_the_version() -> None:
    assert transcribe("--version").endswith(f"autofusion, version {VERSION}\n")


@pytest.mark.parametrize("name", NAMES)
def test_a_command_is_one_module(name: str) -> None:
    command = importlib.import_module(f"autofusion.cli.commands.{name}").command
    assert command.name == name
    assert len(command.get_short_help_str(100)) <= 45


ATC = "from autofusion.cli.atc import main; main()"


@pytest.mark.parametrize("words", [["-m", "autofusion"], ["-c", ATC]])
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONPROFILEIMPORTTIME": "1"}
    command = [sys.executable, *words, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "autofusion" in imported
    assert imported & {"numpy", "onnx", "networkx", "jinja2", "rich", "google", "ml_dtypes"} == set()
