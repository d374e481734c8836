"""Exceptions as output and exit codes."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from autofusion.cli.errors import Command, explain_error
from autofusion.diagnostics import Diagnostic
from autofusion.errors import InternalError, ModelError, UsageError
from conftest import CheckGolden

ROOT = Path(__file__).parents[2]


def command_that_raises(error: BaseException) -> click.Command:
    @click.command(cls=Command)
    @click.option("--format", default="text")
    def command(format: str) -> None:  # noqa: A002
        raise error

    return command


def run(error: BaseException, *words: str) -> tuple[int, str]:
    result = CliRunner().invoke(command_that_raises(error), list(words), env={"NO_COLOR": "1"})
    assert result.stdout == ""
    return result.exit_code, result.stderr


BROKEN = ModelError(Diagnostic("AF107", "node 'a' reads 'b', which nothing defines", help="export it again"))


def test_an_error_of_ours_is_shown_as_its_diagnostic() -> None:
    expected = "error[AF107]: node 'a' reads 'b', which nothing defines\n  = help: export it again\n"
    assert run(BROKEN) == (2, expected)


def test_an_error_is_json_where_the_output_is() -> None:
    code, text = run(BROKEN, "--format", "json")
    assert (code, json.loads(text)["code"]) == (2, "AF107")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError(Diagnostic("AF201", "x")), 2),
        (InternalError(Diagnostic("AF901", "x")), 70),
        (ZeroDivisionError("x"), 70),
        (OSError(errno.ENAMETOOLONG, "File name too long", "a" * 5000), 2),
        (MemoryError(), 2),
        (OSError(errno.ELOOP, "Too many levels of symbolic links", "loop"), 2),
        (OSError(errno.ENOSPC, "No space left on device", "net.om"), 2),
        (OSError(errno.EIO, "Input/output error"), 70),
        (KeyboardInterrupt(), 130),
    ],
)
def test_exit_codes(error: BaseException, code: int) -> None:
    assert run(error)[0] == code


def test_a_fault_of_ours_says_what_to_send_and_where(check_golden: CheckGolden) -> None:
    _, text = run(ZeroDivisionError("division by zero"))
    text = re.sub(r"(at ).*test_errors.py:\d+", r"\1PLACE", text)
    text = re.sub(r"graph-autofusion .*", "graph-autofusion VERSION", text)
    check_golden("cli/internal_error.txt", re.sub(r"command: .*", "command: COMMAND", text))
    assert "Traceback" not in text


def test_debug_shows_the_traceback_first() -> None:
    code, text = run(ZeroDivisionError("division by zero"), "--debug")
    assert code == 70
    assert text.startswith("Traceback (most recent call last):")
    assert "error[AF901]" in text


def test_an_interruption_is_one_word() -> None:
    assert run(KeyboardInterrupt())[1] == "interrupted\n"


def test_a_full_disk_is_no_fault_of_ours() -> None:
    diagnostic, _ = explain_error(OSError(errno.ENOSPC, "No space left on device", "net.om"))
    assert (diagnostic.code, diagnostic.message) == ("AF208", "cannot write net.om: no space left on device")


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="there is no such signal")
def test_ends_quietly_when_nobody_reads_on() -> None:
    script = "from autofusion.cli.atc import main; main()"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-c", script, "--help"], stdout=writer, stderr=subprocess.PIPE, env=environment, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, b"")


def test_atc_is_interrupted_cleanly(tmp_path: Path) -> None:
    script = (
        "import signal\n"
        # A shell starts what runs in the background with interrupts ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from autofusion.cli import atc\n"
        "atc.read_settings = lambda flags: signal.raise_signal(signal.SIGINT)\n"
        "raise SystemExit(atc.run_atc(['--model=a.onnx', '--output=a']))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, cwd=tmp_path, check=False
    )
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
    assert "ATC run failed" in done.stdout


def test_a_path_that_cannot_be_is_shown_in_part() -> None:
    diagnostic, _ = explain_error(OSError(errno.ENAMETOOLONG, "File name too long", "a" * 5000))
    assert diagnostic.message == f"cannot use '{'a' * 100}...': file name too long"
