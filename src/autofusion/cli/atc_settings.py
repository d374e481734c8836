"""From the flags of `atc` as typed to checked settings, warnings included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autofusion.cli.atc_options import OPTIONS, AtcOption, Treatment
from autofusion.cli.atc_values import (
    check_framework,
    check_target,
    invalid_value,
    parse_output_types,
    parse_outputs,
    read_output,
    read_precision_mode,
)
from autofusion.cli.gears import Gear, read_gears
from autofusion.cli.values import parse_shapes, parse_switches, split_names
from autofusion.diagnostics import Diagnostic, Severity
from autofusion.errors import UsageError

if TYPE_CHECKING:
    from autofusion.plan import Size


@dataclass(frozen=True)
class Choices:
    """How a model is to be compiled.

    `shapes` are the extents that fix the inputs, `gears` the only shapes that they may have, `switches` those of
    --optimization_switch, which win over those of `switch_file`; `blacklist` and `whitelist` name fusions,
    `no_fusion_ops` operator types; `skip_file` is the file of nodes to skip, `scope` names or globs of the only nodes
    that may fuse, `rule_file` has manual rules.  `outputs` are the values to compute instead of the model's outputs.
    `output_types` has the element type for each output as ONNX spells it; its key "" stands for all.  `precision` is
    a mode, `keep_file` names nodes left out of it.  `exact` leaves plain sums alone.  `operator_bank` and `graph_bank`
    are files or folders of tuning banks, of which the choices for `bank_target` and for any instruction set count.
    """

    shapes: Mapping[str, tuple[Size, ...]]
    gears: tuple[Gear, ...]
    fusion: bool
    level: int
    switches: Mapping[str, bool]
    switch_file: Path | None
    blacklist: tuple[str, ...]
    whitelist: tuple[str, ...]
    no_fusion_ops: tuple[str, ...]
    skip_file: Path | None
    scope: tuple[str, ...]
    rule_file: Path | None
    pattern_directories: tuple[Path, ...]
    outputs: tuple[str, ...]
    output_types: Mapping[str, str]
    precision: str
    keep_file: Path | None
    exact: bool
    operator_bank: Path | None
    graph_bank: Path | None
    bank_target: str


@dataclass(frozen=True)
class Conversion:
    """What mode 0 is to do; `output` is the artifact's path, with or without suffix."""

    model: Path
    output: Path
    choices: Choices
    verify: bool
    auto_disable: bool
    show_report: bool
    show_info: bool


@dataclass(frozen=True)
class Export:
    """What mode 1 is to write to `json`: an ONNX model, with the inferred shapes if `infer`, or an artifact."""

    source: Path
    json: Path
    is_model: bool
    infer: bool
    shapes: Mapping[str, tuple[Size, ...]]
    pattern_directories: tuple[Path, ...]


@dataclass(frozen=True)
class Check:
    """What mode 3 is to check, and the file of its report."""

    model: Path
    choices: Choices
    report: Path


@dataclass(frozen=True)
class Inspection:
    """What mode 6 is to show."""

    artifact: Path


Settings = Conversion | Export | Check | Inspection


def read_settings(flags: Mapping[str, str]) -> Settings:
    """The settings that `flags` mean; raises UsageError for the first that is wrong, missing or refused."""
    for name, value in flags.items():
        _check_value(OPTIONS[name], value)
        _check_refusal(OPTIONS[name], value)
    match _mode(flags):
        case 0:
            return _read_conversion(flags)
        case 1:
            return _read_export(flags)
        case 3:
            return _read_check(flags)
        case 6:
            return Inspection(Path(_required(flags, "om", "mode 6 shows an artifact")))
        case mode:
            message = f"mode {mode} is not available" + (f": {_ABSENT_MODES[mode]}" if mode in _ABSENT_MODES else "")
            remedy = (
                "mode 0 converts an ONNX model, 1 writes JSON, 3 checks a model, 6 shows what an .om says of itself"
            )
            raise UsageError(Diagnostic("AF211", message, help=remedy))


def find_warnings(flags: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """A warning for each option that is accepted without effect."""
    return tuple(Diagnostic("AF206", message, severity=Severity.WARNING) for message in _warnings(flags))


_ABSENT_MODES = {
    5: "it reads graph dumps of CANN",
    7: "an .om of this compiler is a ZIP file already",
    30: "it makes models for devices of Ascend",
}


def _warnings(flags: Mapping[str, str]) -> Iterator[str]:
    mode = _mode(flags)
    for name, value in flags.items():
        option = OPTIONS[name]
        if _is_usual(option, value):
            continue
        if option.treatment is Treatment.INERT:
            yield f"--{name} has no effect: {option.reason}"
        elif option.modes and mode not in option.modes:
            known = ", ".join(map(str, option.modes))
            yield f"--{name} has no effect in mode {mode}: it belongs to mode {known}"


def _read_conversion(flags: Mapping[str, str]) -> Conversion:
    model = _read_model_path(flags)
    output = read_output(_required(flags, "output", "it says where the artifact goes"))
    choices = _read_choices(flags)
    show_report, show_info = flags.get("log") in ("debug", "info"), flags.get("display_model_info") == "1"
    verify, auto_disable = flags.get("verify") == "on", flags.get("auto_disable") == "on"
    return Conversion(model, output, choices, verify, auto_disable, show_report, show_info)


def _read_export(flags: Mapping[str, str]) -> Export:
    source = Path(_required(flags, "om", "mode 1 writes an artifact or an ONNX model as JSON"))
    target = Path(_required(flags, "json", "it says where the JSON goes"))
    is_model = "framework" in flags or source.suffix.lower() == ".onnx"
    if is_model:
        check_framework(flags.get("framework"), source)
    return Export(source, target, is_model, flags.get("dump_mode") == "1", _read_shapes(flags), _read_folders(flags))


def _read_check(flags: Mapping[str, str]) -> Check:
    model = _read_model_path(flags)
    return Check(model, _read_choices(flags), Path(flags.get("check_report") or "check_result.json"))


def _read_model_path(flags: Mapping[str, str]) -> Path:
    model = Path(_required(flags, "model", "it names the ONNX model"))
    check_framework(flags.get("framework"), model)
    return model


def _read_choices(flags: Mapping[str, str]) -> Choices:
    check_target(flags.get("soc_version", "cpu"))
    if flags.get("input_format") in ("NHWC", "NDHWC"):
        remedy = "leave --input_format out, or pass NCHW, NCDHW or ND"
        raise invalid_value("input_format", flags["input_format"], "an ONNX model has its channels first", remedy)
    shapes = _read_shapes(flags)
    return Choices(
        shapes=shapes,
        gears=read_gears(flags, shapes, flags.get("input_format", "NCHW")),
        fusion=flags.get("oo_level") != "O1" and flags.get("auto_fusion") != "off",
        level=int(flags.get("fusion_level", "2")),
        switches=parse_switches(flags.get("optimization_switch", "")),
        switch_file=Path(flags["fusion_switch_file"]) if "fusion_switch_file" in flags else None,
        blacklist=split_names((flags.get("fusion_blacklist", ""),)),
        whitelist=split_names((flags.get("fusion_whitelist", ""),)),
        no_fusion_ops=split_names((flags.get("no_fusion_ops", ""),)),
        skip_file=Path(flags["skip_node_names_cfg"]) if "skip_node_names_cfg" in flags else None,
        scope=split_names((flags.get("fusion_scope", ""),)),
        rule_file=Path(flags["fusion_rules"]) if "fusion_rules" in flags else None,
        pattern_directories=_read_folders(flags),
        outputs=parse_outputs(flags["out_nodes"]) if "out_nodes" in flags else (),
        output_types=parse_output_types(flags["output_type"]) if "output_type" in flags else {},
        precision=read_precision_mode(flags),
        exact=flags.get("op_select_implmode", "").startswith("high_precision"),
        keep_file=Path(flags["keep_dtype"]) if "keep_dtype" in flags else None,
        operator_bank=Path(flags["op_bank_path"]) if "op_bank_path" in flags else None,
        graph_bank=Path(flags["mdl_bank_path"]) if "mdl_bank_path" in flags else None,
        bank_target=flags.get("bank_target", "any"),
    )


def _read_shapes(flags: Mapping[str, str]) -> Mapping[str, tuple[Size, ...]]:
    return parse_shapes(flags["input_shape"]) if flags.get("input_shape") else {}


def _read_folders(flags: Mapping[str, str]) -> tuple[Path, ...]:
    return tuple(map(Path, split_names((flags.get("pattern_dir", ""),))))


def _mode(flags: Mapping[str, str]) -> int:
    return int(flags.get("mode", "0"))


def _check_value(option: AtcOption, value: str) -> None:
    if option.kind == "integer" and not value.isdecimal():
        raise invalid_value(option.name, value, "it is no whole number")
    if option.kind == "boolean" and value.lower() not in _BOOLEANS:
        raise invalid_value(option.name, value, "it is neither true nor false", f"pass --{option.name}=true or false")
    if option.choices and value not in option.choices:
        remedy = f"--{option.name} may be {', '.join(option.choices)}"
        raise invalid_value(option.name, value, "there is no such value", remedy)


def _check_refusal(option: AtcOption, value: str) -> None:
    if option.treatment is not Treatment.REFUSED or _is_usual(option, value):
        return
    message = f"--{option.name}={value} is not supported: {option.reason}"
    raise UsageError(Diagnostic("AF210", message, help=option.help))


def _is_usual(option: AtcOption, value: str) -> bool:
    return value in option.usual or (option.kind == "boolean" and value.lower() in option.usual)


def _required(flags: Mapping[str, str], name: str, purpose: str) -> str:
    value = flags.get(name, "").strip()
    if value:
        return value
    state = "is empty" if name in flags else "is missing"
    raise UsageError(Diagnostic("AF207", f"--{name} {state}: {purpose}", help=f"pass --{name}=..."))


_BOOLEANS = ("1", "t", "true", "y", "yes", "0", "f", "false", "n", "no")
