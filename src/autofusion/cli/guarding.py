"""Compiling with or without verification before anything is written, and what is shown of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from autofusion.cli.output import show_data, warn_of_bank

if TYPE_CHECKING:
    from autofusion.compiler import Compilation
    from autofusion.options import CompileOptions
    from autofusion.services.guard import Guarded

Function = TypeVar("Function", bound=Callable[..., Any])


def guard_options(function: Function) -> Function:
    """--verify and --auto-disable, passed on as `verify` and `auto_disable`."""
    left_out = "Leave a fusion out that puts results beyond their limits, and compile again; implies --verify."
    function = click.option("--auto-disable", "--auto_disable", is_flag=True, help=left_out)(function)
    verified = "Verify before anything is written; where that fails, nothing is."
    return click.option("--verify", is_flag=True, help=verified)(function)


def compile_checked(
    model: Path, options: CompileOptions, *, verify: bool, auto_disable: bool, as_json: bool = False
) -> tuple[Compilation, dict[str, object]]:
    """Compile `model`, with `verify` or `auto_disable` under guard; raises VerificationError AF603 where that fails.

    What the guard found is shown as text, or given as JSON values; where it fails it is shown in either form.
    """
    from autofusion.compiler import compile_model

    if not (verify or auto_disable):
        compilation = compile_model(model, options)
        warn_of_bank(compilation.report)
        return compilation, {}
    from autofusion.services.guard import compile_guarded

    guarded = compile_guarded(model, options, auto_disable=auto_disable)
    if as_json:
        found = _describe(guarded)
        if not guarded.verdict.ok:
            show_json(found)
    else:
        found = {}
        _show(guarded)
    guarded.refuse()
    warn_of_bank(guarded.compilation.report)
    return guarded.compilation, found


def show_json(data: dict[str, object]) -> None:
    """Write `data` to stdout."""
    show_data(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def _describe(guarded: Guarded) -> dict[str, object]:
    return {"verification": guarded.verdict.to_dict(), "disabled": [asdict(fault) for fault in guarded.disabled]}


def _show(guarded: Guarded) -> None:
    from autofusion.report.verification_text import render_verdict, render_verification

    for fault in guarded.disabled:
        show_data(f"auto_disable: {fault.pattern} ({fault.name}) is left out, {fault.node} was at fault\n")
    if guarded.verdict.ok:
        show_data(f"{render_verdict(guarded.verdict)}\n")
    else:
        show_data(render_verification(guarded.verdict))
