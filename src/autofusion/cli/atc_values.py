"""Reading the values of single flags of `atc`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from autofusion.diagnostics import Diagnostic
from autofusion.errors import UsageError
from autofusion.report.cann_types import OUTPUT_TYPES


def invalid_value(name: str, value: str, reason: str, remedy: str = "") -> UsageError:
    """The error to raise for a value of the flag `name`."""
    return UsageError(Diagnostic("AF214", f"value {value!r} of --{name} is invalid: {reason}", help=remedy))


def check_framework(value: str | None, model: Path) -> None:
    """Raise UsageError AF209 unless `value` is 5, or left out for a file called *.onnx."""
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


def read_output(value: str) -> Path:
    """The path of an artifact; raises UsageError where it names a folder, or its folder does not exist."""
    path = Path(value)
    if value.endswith("/") or path.is_dir():
        message = f"--output {value!r} names a folder, not a file"
        raise UsageError(Diagnostic("AF212", message, help="add the artifact's name without .om"))
    if not path.parent.is_dir():
        message = f"cannot write {value!r}: there is no folder {str(path.parent)!r}"
        raise UsageError(Diagnostic("AF208", message, help="make the folder first, or name one that exists"))
    return path


def check_target(value: str) -> None:
    """Raise UsageError AF213 for any value of --soc_version but cpu."""
    if value.strip().lower() == "cpu":
        return
    raise UsageError(
        Diagnostic(
            "AF213",
            f"--soc_version={value} is no target of this compiler: its artifacts run on x86-64 and aarch64 processors",
            help="leave --soc_version out, or pass cpu; for an Ascend chip use the atc that comes with CANN",
        )
    )


def parse_outputs(text: str) -> tuple[str, ...]:
    """The values that `node:0;value` names; raises UsageError AF214 where it names none."""
    names = tuple(part.strip() for part in text.split(";") if part.strip())
    if not names:
        raise invalid_value("out_nodes", text, "it names no value", 'write --out_nodes="node:0;value"')
    return names


def parse_output_types(text: str) -> dict[str, str]:
    """ONNX types by output: `FP16` is {"": "float16"}, for all, `node:0:FP16;value:FP32` has one for each.

    Raises UsageError AF214 for what is no such list, or no type that an output may have.
    """
    types: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, _, kind = (piece.strip() for piece in part.rpartition(":"))
        if kind not in OUTPUT_TYPES:
            remedy = f'write FP16, or "node:0:FP16" for one output; types are {", ".join(OUTPUT_TYPES)}'
            raise invalid_value("output_type", text, f"{kind!r} is no type that an output can have", remedy)
        types[name] = OUTPUT_TYPES[kind]
    if not types:
        raise invalid_value("output_type", text, "it names no type", "write FP32")
    return types


def read_precision_mode(flags: Mapping[str, str]) -> str:
    """The precision mode that the flags ask for.

    Raises UsageError AF210 for a mode of CANN that there is not here, AF219 for --precision_mode_v2 beside it.
    """
    mode = flags.get("precision_mode", MODES[0])
    if "precision_mode" in flags and "precision_mode_v2" in flags:
        message = "--precision_mode and --precision_mode_v2 exclude each other"
        raise UsageError(Diagnostic("AF219", message, help="pass one of them"))
    if mode not in MODES:
        message = f"--precision_mode={mode} is not supported: operators are not computed in two-byte floats"
        remedy = f"pass {', '.join(MODES[1:3])}, which store weights in two bytes, or {MODES[0]}"
        raise UsageError(Diagnostic("AF210", message, help=remedy))
    return mode


MODES = ("must_keep_origin_dtype", "allow_fp32_to_fp16", "allow_fp32_to_bf16", "force_fp32")
"""The precision modes, those of `autofusion.precision`, whose import would take long."""
