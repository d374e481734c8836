"""Commands in process, as text that a golden file can hold."""

from __future__ import annotations

from collections.abc import Mapping

from click.testing import CliRunner

from autofusion.cli.main import group

VARIABLES = ("GE_FUSION_DISABLE_LIST", "GE_GRAPH_FUSION_LOG", "ASCEND_GLOBAL_LOG_LEVEL", "NO_COLOR")


def transcribe(*words: str, env: Mapping[str, str] | None = None) -> str:
    """Run `autofusion WORDS` and return command, exit code, stdout and stderr; variables that matter are unset."""
    clean: dict[str, str | None] = dict.fromkeys(VARIABLES)
    result = CliRunner().invoke(group, list(words), env={**clean, **(env or {})}, prog_name="autofusion")
    settings = "".join(f"{name}={value} " for name, value in (env or {}).items())
    command = " ".join(f'"{word}"' if set(word) & set(" ;|") else word for word in words)
    parts = [f"$ {settings}autofusion {command}\n", f"exit {result.exit_code}\n"]
    for name, text in (("stdout", result.stdout), ("stderr", result.stderr)):
        if text:
            parts.append(f"--- {name}\n{text}")
    return "".join(parts)
