"""The settings of `atc` as options of the compiler."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from autofusion.cli.atc_settings import Choices
from autofusion.cli.environment import disabled_fusions
from autofusion.cli.keep_file import read_precision
from autofusion.cli.output import warn_of_kept_types, warn_of_passes, warn_of_target
from autofusion.cli.skip_file import read_skip_file
from autofusion.cli.switch_file import gather_switches
from autofusion.cli.values import OPEN
from autofusion.decisions import Section
from autofusion.diagnostics import Diagnostic
from autofusion.errors import UsageError
from autofusion.frontend import Model
from autofusion.fusion import Controls, read_rules
from autofusion.ir import DType
from autofusion.options import EVERY_OUTPUT, CompileOptions
from autofusion.plan import Size
from autofusion.precision import Mode
from autofusion.tuning import Bank, join_banks, read_bank


def make_options(choices: Choices) -> CompileOptions:
    """What to compile with; GE_FUSION_DISABLE_LIST adds to the fusions that are turned off."""
    disabled = dict.fromkeys(disabled_fusions(), "GE_FUSION_DISABLE_LIST")
    disabled |= dict.fromkeys(choices.blacklist, "--fusion_blacklist")
    skipped = read_skip_file(choices.skip_file)
    controls = Controls(
        auto_fusion=choices.fusion,
        level=choices.level,
        disabled=disabled,
        whitelist=dict.fromkeys(choices.whitelist, "--fusion_whitelist") or None,
        no_fusion_ops=skipped.types | dict.fromkeys(choices.no_fusion_ops, "--no_fusion_ops"),
        switches=gather_switches(choices.switches, choices.switch_file, "--optimization_switch"),
        skip_nodes=skipped.names,
        scope=dict.fromkeys(choices.scope, "--fusion_scope"),
        rules=() if choices.rule_file is None else read_rules(choices.rule_file),
    )
    warn_of_passes(controls)
    warn_of_kept_types(choices.precision, choices.keep_file is not None, "--keep_dtype")
    bank = _read_bank(choices)
    warn_of_target(bank, "--bank_target")
    return CompileOptions(
        controls=controls,
        exact=choices.exact,
        shapes=choices.shapes,
        gears=choices.gears,
        pattern_directories=choices.pattern_directories,
        outputs=choices.outputs,
        output_types={name or EVERY_OUTPUT: DType(text) for name, text in choices.output_types.items()},
        precision=read_precision(cast(Mode, choices.precision), choices.keep_file),
        bank=bank,
    )


def _read_bank(choices: Choices) -> Bank | None:
    given: tuple[tuple[Path | None, Section], ...] = (
        (choices.graph_bank, "graph"),
        (choices.operator_bank, "operators"),
    )
    return join_banks([read_bank(path, [section]) for path, section in given if path], choices.bank_target)


def check_open_extents(model: Model, shapes: Mapping[str, tuple[Size, ...]]) -> None:
    """Raise UsageError AF132 where --input_shape asks for an open extent that the model fixes.

    The artifact would take that one extent alone, which is not what CANN makes of -1 or a range.
    """
    for name, shape in shapes.items():
        for axis, (given, declared) in enumerate(zip(shape, model.input_dims[name] or (), strict=False)):
            if declared.isdecimal() and (given == OPEN or "~" in str(given)):
                message = f"extent {axis} of input {name!r} is {declared} in the model and cannot be left open"
                remedy = f"pass {declared} in --input_shape, or export the model with a dynamic axis there"
                raise UsageError(Diagnostic("AF132", message, help=remedy))
