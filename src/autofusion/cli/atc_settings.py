"""From the flags of `atc` as typed to checked settings, warnings included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autofusion.cli.atc_options import OPTIONS, AtcOption, Treatment
from autofusion.cli.values import parse_shapes
from autofusion.diagnostics import Diagnostic, Severity
from autofusion.errors import UsageError

if TYPE_CHECKING:
    from autofusion.plan import Size


@dataclass(frozen=True)
class Conversion:
    """What mode 0 is to do.

    `output` is the artifact's path, with or without suffix, `shapes` the extents that fix the inputs,
    `disabled` names fusions that --optimization_switch turns off, `float_outputs` demands outputs of type float32.
    """

    model: Path
    output: Path
    shapes: Mapping[str, tuple[Size, ...]]
    fusion: bool
    disabled: tuple[str, ...]
    float_outputs: bool
    show_report: bool
    show_info: bool


@dataclass(frozen=True)
class Inspection:
    """What mode 6 is to show."""

    artifact: Path


Settings = Conversion | Inspection


def read_settings(flags: Mapping[str, str]) -> Settings:
    """The settings that `flags` mean; raises UsageError for the first that is wrong, missing or refused."""
    for name, value in flags.items():
        _check_kind(OPTIONS[name], value)
        _check_refusal(OPTIONS[name], value)
    mode = _number(flags.get("mode", "0"), "mode")
    if mode == 6:
        return Inspection(Path(_required(flags, "om", "mode 6 shows an artifact")))
    if mode != 0:
        message = f"mode {mode} is not available"
        remedy = "mode 0 converts an ONNX model, mode 6 shows what an .om says of itself"
        raise UsageError(Diagnostic("AF211", message, help=remedy))
    return _read_conversion(flags)


def find_warnings(flags: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """A warning for each option that is accepted without effect."""
    return tuple(_warnings(flags))


def _read_conversion(flags: Mapping[str, str]) -> Conversion:
    model = Path(_required(flags, "model", "it names the ONNX model"))
    _check_framework(flags.get("framework"), model)
    output = _read_output(_required(flags, "output", "it says where the artifact goes"))
    _check_target(flags.get("soc_version", "cpu"))
    _check_choice(flags, "input_format", ("NCHW", "NCDHW", "ND"), "an ONNX model has its channels first")
    _check_choice(flags, "output_type", ("FP32",), "outputs keep the type that the model gives them")
    _check_choice(flags, "display_model_info", ("0", "1"), "0 and 1 are known")
    log = _check_choice(flags, "log", ("debug", "info", "warning", "error", "null"), "there is no such level")
    level = _check_choice(flags, "oo_level", ("O1", "O3"), "O1 and O3 are known")
    return Conversion(
        model=model,
        output=output,
        shapes=parse_shapes(flags["input_shape"]) if flags.get("input_shape") else {},
        fusion=level != "O1",
        disabled=_parse_switches(flags.get("optimization_switch", "")),
        float_outputs="output_type" in flags,
        show_report=log in ("debug", "info"),
        show_info=flags.get("display_model_info") == "1",
    )


def _warnings(flags: Mapping[str, str]) -> Iterator[Diagnostic]:
    for name, value in flags.items():
        option = OPTIONS[name]
        if option.treatment is Treatment.INERT and not _is_usual(option, value):
            yield Diagnostic("AF206", f"--{name} has no effect: {option.reason}", severity=Severity.WARNING)
    if "~" in flags.get("input_shape", ""):
        message = "--input_shape: the bounds of a range are not enforced, its extent stays open"
        yield Diagnostic("AF206", message, severity=Severity.WARNING)


def _check_kind(option: AtcOption, value: str) -> None:
    if option.kind == "integer" and not value.isdecimal():
        raise _invalid(option.name, value, "it is no whole number")
    if option.kind == "boolean" and value.lower() not in _BOOLEANS:
        raise _invalid(option.name, value, "it is neither true nor false")


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


def _check_framework(value: str | None, model: Path) -> None:
    if value is None and model.suffix.lower() == ".onnx":
        return
    if value is not None and int(value) == 5:
        return
    known = "0(Caffe) or 1(MindSpore) or 3(TensorFlow) or 5(Onnx)"
    if value is None:
        message = f"--framework is missing and {model.name!r} does not end in .onnx; of {known} only 5 is read here"
    else:
        message = f"value {value} of --framework is not supported: of {known} only 5 is read here"
    raise UsageError(Diagnostic("AF209", message, help="export the model to ONNX and pass --framework=5"))


def _read_output(value: str) -> Path:
    path = Path(value)
    if value.endswith("/") or path.is_dir():
        message = f"--output {value!r} names a folder, not a file"
        raise UsageError(Diagnostic("AF212", message, help="add the artifact's name without .om"))
    if not path.parent.is_dir():
        raise UsageError(Diagnostic("AF208", f"cannot write {value!r}: there is no folder {str(path.parent)!r}"))
    return path


def _check_target(value: str) -> None:
    if value.strip().lower() == "cpu":
        return
    raise UsageError(
        Diagnostic(
            "AF213",
            f"--soc_version={value} is no target of this compiler: its artifacts run on x86-64 and aarch64 processors",
            help="leave --soc_version out, or pass cpu; for an Ascend chip use the atc that comes with CANN",
        )
    )


def _check_choice(flags: Mapping[str, str], name: str, choices: tuple[str, ...], reason: str) -> str:
    """The value of a flag, "" where it was not given."""
    value = flags.get(name, "")
    if name in flags and value not in choices:
        raise _invalid(name, value, reason, f"--{name} may be {', '.join(choices)}")
    return value


def _parse_switches(text: str) -> tuple[str, ...]:
    """The names that `NameA:off;NameB:on` turns off."""
    switches: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, colon, state = (piece.strip() for piece in part.rpartition(":"))
        if not (name and colon) or state not in ("on", "off"):
            raise _invalid("optimization_switch", text, f"{part!r} is not NAME:on or NAME:off")
        switches[name] = state
    return tuple(name for name, state in switches.items() if state == "off")


def _number(text: str, name: str) -> int:
    if not text.isdecimal():
        raise _invalid(name, text, "it is no whole number")
    return int(text)


def _invalid(name: str, value: str, reason: str, remedy: str = "") -> UsageError:
    return UsageError(Diagnostic("AF214", f"value {value!r} of --{name} is invalid: {reason}", help=remedy))


_BOOLEANS = ("1", "t", "true", "y", "yes", "0", "f", "false", "n", "no")
