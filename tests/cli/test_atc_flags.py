"""Flags of `atc` as typed, and what they mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from autofusion.cli.atc_flags import parse_flags, render_help
from autofusion.cli.atc_options import OPTIONS, Treatment
from autofusion.cli.atc_settings import Conversion, Inspection, find_warnings, read_settings
from autofusion.errors import UsageError
from conftest import CheckGolden

FRAMEWORKS = "of 0(Caffe) or 1(MindSpore) or 3(TensorFlow) or 5(Onnx) only 5 is read here"
BASE = {"model": "net.onnx", "output": "net"}


def failure(flags: dict[str, str]) -> tuple[str, str, str]:
    with pytest.raises(UsageError) as caught:
        read_settings(flags)
    found = caught.value.diagnostic
    return found.code, found.message, found.help


def convert(**flags: str) -> Conversion:
    settings = read_settings({**BASE, **flags})
    assert isinstance(settings, Conversion)
    return settings


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        (["--model=a.onnx", "--framework", "5"], {"model": "a.onnx", "framework": "5"}),
        (["-model=a", "--soc-version=cpu"], {"model": "a", "soc_version": "cpu"}),
        (["--help"], {"help": ""}),
        (["--h", "-h"], {"help": ""}),
        (["--model=a", "--model=b"], {"model": "b"}),
        (['--input_shape="x:1,-1"'], {"input_shape": "x:1,-1"}),
        (["--input_shape", "x:-1"], {"input_shape": "x:-1"}),
        (["--output_type=a=b"], {"output_type": "a=b"}),
        (["--log="], {"log": ""}),
        (["--virtual_type", "-1"], {"virtual_type": "-1"}),
    ],
)
def test_reads_flags_as_cann_does(words: list[str], flags: dict[str, str]) -> None:
    assert parse_flags(words) == flags


@pytest.mark.parametrize(
    ("words", "code", "message", "remedy"),
    [
        (["--modle=a"], "AF201", "unknown command line flag 'modle'", "did you mean --mode or --model"),
        (["--zzz"], "AF201", "unknown command line flag 'zzz'", "'atc --help' lists them"),
        (["net.onnx"], "AF203", "Non-option parameter: net.onnx", "every option is --name=value"),
        (
            ["--output", "--model=a"],
            "AF202",
            "flag 'output' is missing its argument; flag description: " + OPTIONS["output"].reason,
            "",
        ),
    ],
)
def test_says_what_is_wrong_with_a_flag(words: list[str], code: str, message: str, remedy: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_flags(words)
    found = caught.value.diagnostic
    assert (found.code, found.message) == (code, message)
    assert found.help.startswith(remedy)


def test_help_names_every_option(check_golden: CheckGolden) -> None:
    check_golden("cli/atc_help.txt", render_help())
    assert all(f"--{name}" in render_help() for name in OPTIONS)
    assert max(map(len, render_help().splitlines())) <= 100


def test_reads_a_conversion() -> None:
    settings = convert(input_shape="x:1,-1,n;y:", log="debug", oo_level="O1", optimization_switch="A:off;B:on")
    assert settings.model == Path("net.onnx")
    assert settings.shapes == {"x": (1, -1, "n"), "y": ()}
    assert (settings.show_report, settings.fusion, settings.show_info) == (True, False, False)
    assert settings.disabled == ("A",)


def test_reads_an_inspection() -> None:
    assert read_settings({"mode": "6", "om": "net.om"}) == Inspection(Path("net.om"))


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        ({"output": "net"}, "AF207", "--model is missing: it names the ONNX model"),
        ({"model": "net.onnx", "output": ""}, "AF207", "--output is empty: it says where the artifact goes"),
        ({"mode": "6"}, "AF207", "--om is missing: mode 6 shows an artifact"),
        ({"mode": "1"}, "AF211", "mode 1 is not available"),
        ({"mode": "x"}, "AF214", "value 'x' of --mode is invalid: it is no whole number"),
        (
            {"model": "net.pb", "output": "net"},
            "AF209",
            f"--framework is missing and 'net.pb' does not end in .onnx; {FRAMEWORKS}",
        ),
        (
            {**BASE, "framework": "3"},
            "AF209",
            f"value 3 of --framework is not supported: {FRAMEWORKS}",
        ),
        ({**BASE, "output": "none/net"}, "AF208", "cannot write 'none/net': there is no folder 'none'"),
        ({**BASE, "output": "./"}, "AF212", "--output './' names a folder, not a file"),
        (
            {**BASE, "soc_version": "Ascend310P3"},
            "AF213",
            "--soc_version=Ascend310P3 is no target of this compiler: its artifacts run on",
        ),
        (
            {**BASE, "input_format": "NHWC"},
            "AF214",
            "value 'NHWC' of --input_format is invalid: an ONNX model has its channels first",
        ),
        (
            {**BASE, "output_type": "FP16"},
            "AF214",
            "value 'FP16' of --output_type is invalid: outputs keep the type that the model gives them",
        ),
        ({**BASE, "log": "loud"}, "AF214", "value 'loud' of --log is invalid: there is no such level"),
        (
            {**BASE, "optimization_switch": "A:maybe"},
            "AF214",
            "value 'A:maybe' of --optimization_switch is invalid: 'A:maybe' is not NAME:on or NAME:off",
        ),
        (
            {**BASE, "allow_hf32": "maybe"},
            "AF214",
            "value 'maybe' of --allow_hf32 is invalid: it is neither true nor false",
        ),
        (
            {**BASE, "insert_op_conf": "aipp.cfg"},
            "AF210",
            "--insert_op_conf=aipp.cfg is not supported: image preprocessing (AIPP) is not compiled in",
        ),
        (
            {**BASE, "precision_mode": "force_fp16"},
            "AF210",
            "--precision_mode=force_fp16 is not supported: it would lower the precision",
        ),
        (
            {**BASE, "input_shape": "x:1,2.5"},
            "AF205",
            "'x:1,2.5' of --input_shape is no shape: extent '2.5' is neither a number nor a name",
        ),
        ({**BASE, "input_shape": "1,2"}, "AF205", "'1,2' of --input_shape is no shape: there is no name and colon"),
        ({**BASE, "input_shape": "x:1;x:2"}, "AF205", "'x:2' of --input_shape is no shape: input 'x' is given twice"),
    ],
)
def test_refuses(flags: dict[str, str], code: str, message: str) -> None:
    found = failure(flags)
    assert found[0] == code
    assert found[1].startswith(message)


@pytest.mark.parametrize("name", [name for name, option in OPTIONS.items() if option.treatment is Treatment.REFUSED])
def test_a_refusal_says_what_to_do(name: str) -> None:
    value = "true" if OPTIONS[name].kind == "boolean" else "x"
    assert failure({**BASE, name: value})[0] == "AF210"
    assert failure({**BASE, name: value})[2]


@pytest.mark.parametrize("name", [name for name, option in OPTIONS.items() if option.treatment is Treatment.INERT])
def test_nothing_is_ignored_silently(name: str) -> None:
    option = OPTIONS[name]
    value = {"integer": "9", "boolean": "t" if "f" in option.usual else "f", "text": "x"}[option.kind]
    read_settings({**BASE, name: value})
    (warning,) = find_warnings({**BASE, name: value})
    assert warning.message == f"--{name} has no effect: {option.reason}"


@pytest.mark.parametrize(("name", "value"), [(o.name, value) for o in OPTIONS.values() for value in o.usual])
def test_what_happens_anyway_needs_no_word(name: str, value: str) -> None:
    read_settings({**BASE, name: value})
    assert find_warnings({**BASE, name: value}) == ()


def test_warns_that_bounds_of_a_range_are_not_enforced() -> None:
    (warning,) = find_warnings({**BASE, "input_shape": "x:1~10"})
    assert warning.message.endswith("the bounds of a range are not enforced, its extent stays open")
