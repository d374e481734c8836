"""Flags of `atc` as typed, and what they mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from autofusion.cli.atc_flags import parse_flags, render_help
from autofusion.cli.atc_options import OPTIONS, AtcOption, Treatment
from autofusion.cli.atc_settings import Check, Choices, Conversion, Export, Inspection, find_warnings, read_settings
from autofusion.errors import UsageError
from autofusion.ir import DType
from autofusion.report.cann_types import OUTPUT_TYPES
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
            "write --output=VALUE",
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
    given = {"input_shape": "x:1,-1,n;y:", "oo_level": "O1", "optimization_switch": "A:off;B:on", "pattern_dir": "a,b"}
    settings = convert(log="debug", **given)
    assert settings.model == Path("net.onnx")
    assert settings.choices == Choices(
        shapes={"x": (1, -1, "n"), "y": ()},
        gears=(),
        fusion=False,
        level=2,
        switches={"A": False, "B": True},
        switch_file=None,
        blacklist=(),
        whitelist=(),
        no_fusion_ops=(),
        skip_file=None,
        scope=(),
        rule_file=None,
        pattern_directories=(Path("a"), Path("b")),
        outputs=(),
        output_types={},
        precision="must_keep_origin_dtype",
        keep_file=None,
        exact=False,
        operator_bank=None,
        graph_bank=None,
        bank_target="any",
    )
    assert (settings.show_report, settings.show_info) == (True, False)


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("FP16", {"": "float16"}),
        ("node:0:FP16;out:UINT8", {"node:0": "float16", "out": "uint8"}),
        ("INT32; y:FP32", {"": "int32", "y": "float"}),
    ],
)
def test_reads_types_of_outputs(text: str, types: dict[str, str]) -> None:
    assert convert(output_type=text).choices.output_types == types


def test_every_type_of_an_output_is_one_of_onnx() -> None:
    assert all(DType(text) for text in OUTPUT_TYPES.values())


def test_reads_outputs() -> None:
    assert convert(out_nodes="a:0; b;").choices.outputs == ("a:0", "b")


def test_reads_a_range() -> None:
    assert convert(input_shape="x:01~8,3;y:2~-1").choices.shapes == {"x": ("1~8", 3), "y": ("2~-1",)}


@pytest.mark.parametrize("text", ["x:8~1", "x:~8", "x:1~", "x:1~2~3", "x:-1~8", "x:" + "9" * 5000])
def test_refuses_a_range_that_is_none(text: str) -> None:
    assert failure({**BASE, "input_shape": text})[0] == "AF205"


@pytest.mark.parametrize(
    ("flags", "gears"),
    [
        (
            {"input_shape": "x:-1,3;y:-1", "dynamic_batch_size": "1,4"},
            [{"x": (1, 3), "y": (1,)}, {"x": (4, 3), "y": (4,)}],
        ),
        (
            {"input_shape": "x:1,3,-1,-1;y:7", "dynamic_image_size": "8,6; 4,2;"},
            [{"x": (1, 3, 8, 6), "y": (7,)}, {"x": (1, 3, 4, 2), "y": (7,)}],
        ),
        (
            {"input_shape": "x:-1,-1;y:2,-1", "dynamic_dims": "1,2,3;4,5,6", "input_format": "ND"},
            [{"x": (1, 2), "y": (2, 3)}, {"x": (4, 5), "y": (2, 6)}],
        ),
        ({"input_shape": "x:-1,3"}, []),
    ],
)
def test_reads_gears(flags: dict[str, str], gears: list[dict[str, tuple[int, ...]]]) -> None:
    assert convert(**flags).choices.gears == tuple(gears)


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        ({"input_shape": "x:-1,3", "dynamic_batch_size": "1,a"}, "AF214"),
        ({"input_shape": "x:-1,3", "dynamic_batch_size": "1,,2"}, "AF214"),
        ({"input_shape": "x:-1,3", "dynamic_batch_size": "1," + "9" * 5000}, "AF214"),
        ({"input_shape": "x:-1,3", "dynamic_batch_size": "1,-2"}, "AF223"),
        ({"input_shape": "x:n,-1", "dynamic_batch_size": "1,2"}, "AF225"),
        ({"dynamic_image_size": "1,2;3,4"}, "AF225"),
        ({"dynamic_batch_size": "1,2"}, "AF229"),
        ({"input_shape": "x:1,-1,-1", "dynamic_image_size": "1,2;3,4"}, "AF227"),
        ({"input_shape": "x:1,3,-1,-1", "dynamic_image_size": "1,2;3,4", "input_format": "ND"}, "AF231"),
    ],
)
def test_refuses_gears(flags: dict[str, str], code: str) -> None:
    assert failure({**BASE, **flags})[0] == code


@pytest.mark.parametrize(
    ("flags", "export"),
    [
        ({"om": "net.om"}, Export(Path("net.om"), Path("net.json"), False, False, {}, ())),
        (
            {"om": "net.onnx", "pattern_dir": "mine"},
            Export(Path("net.onnx"), Path("net.json"), True, False, {}, (Path("mine"),)),
        ),
        (
            {"om": "net.pb", "framework": "5", "dump_mode": "1", "input_shape": "x:1"},
            Export(Path("net.pb"), Path("net.json"), True, True, {"x": (1,)}, ()),
        ),
    ],
)
def test_reads_an_export(flags: dict[str, str], export: Export) -> None:
    assert read_settings({"mode": "1", "json": "net.json", **flags}) == export


def test_reads_a_check() -> None:
    settings = read_settings({"mode": "3", "model": "net.onnx", "oo_level": "O1"})
    assert settings == Check(Path("net.onnx"), convert(oo_level="O1").choices, Path("check_result.json"))
    named = read_settings({"mode": "3", "model": "net.onnx", "check_report": "r.json"})
    assert isinstance(named, Check)
    assert named.report == Path("r.json")


def test_reads_an_inspection() -> None:
    assert read_settings({"mode": "6", "om": "net.om"}) == Inspection(Path("net.om"))


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        ({"output": "net"}, "AF207", "--model is missing: it names the ONNX model"),
        ({"model": "net.onnx", "output": ""}, "AF207", "--output is empty: it says where the artifact goes"),
        ({"mode": "6"}, "AF207", "--om is missing: mode 6 shows an artifact"),
        ({"mode": "1", "json": "x"}, "AF207", "--om is missing: mode 1 writes an artifact or an ONNX model as JSON"),
        ({"mode": "1", "om": "x"}, "AF207", "--json is missing: it says where the JSON goes"),
        ({"mode": "1", "om": "x", "json": "y", "framework": "1"}, "AF209", "value 1 of --framework is not supported"),
        ({"mode": "3"}, "AF207", "--model is missing: it names the ONNX model"),
        ({"mode": "2"}, "AF211", "mode 2 is not available"),
        ({"mode": "5"}, "AF211", "mode 5 is not available: it reads graph dumps of CANN"),
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
            {**BASE, "output_type": "y:STRING"},
            "AF214",
            "value 'y:STRING' of --output_type is invalid: 'STRING' is no type that an output can have",
        ),
        ({**BASE, "output_type": ""}, "AF214", "value '' of --output_type is invalid: it names no type"),
        ({**BASE, "out_nodes": ";"}, "AF214", "value ';' of --out_nodes is invalid: it names no value"),
        ({**BASE, "external_weight": "1"}, "AF210", "--external_weight=1 is not supported: an artifact is one file"),
        ({**BASE, "precision_mode": "best"}, "AF214", "value 'best' of --precision_mode is invalid: there is no"),
        ({**BASE, "sparsity": "2"}, "AF214", "value '2' of --sparsity is invalid: there is no such value"),
        ({**BASE, "log": "loud"}, "AF214", "value 'loud' of --log is invalid: there is no such value"),
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
            "--precision_mode=force_fp16 is not supported: operators are not computed in two-byte floats",
        ),
        (
            {**BASE, "input_shape": "x:1,2.5"},
            "AF205",
            "'x:1,2.5' of --input_shape is no shape: extent '2.5' is neither a number, a range nor a name",
        ),
        ({**BASE, "input_shape": "1,2"}, "AF205", "'1,2' of --input_shape is no shape: there is no name and colon"),
        ({**BASE, "input_shape": "x:1;x:2"}, "AF205", "'x:2' of --input_shape is no shape: input 'x' is given twice"),
    ],
)
def test_refuses(flags: dict[str, str], code: str, message: str) -> None:
    found = failure(flags)
    assert found[0] == code
    assert found[1].startswith(message)


def unusual(option: AtcOption) -> str:
    """A value that asks for something else than what happens anyway, "" where there is none."""
    if option.kind == "boolean":
        return next((value for value in ("t", "f") if value not in option.usual), "")
    fallback = {"integer": "9", "text": "x"}[option.kind]
    return next((value for value in option.choices or (fallback,) if value not in option.usual), "")


@pytest.mark.parametrize("name", [name for name, option in OPTIONS.items() if option.treatment is Treatment.REFUSED])
def test_a_refusal_says_what_to_do(name: str) -> None:
    value = "true" if OPTIONS[name].kind == "boolean" else unusual(OPTIONS[name])
    assert failure({**BASE, name: value})[0] == "AF210"
    assert failure({**BASE, name: value})[2]


@pytest.mark.parametrize(
    "option",
    [row for row in OPTIONS.values() if row.treatment is Treatment.INERT and unusual(row)],
    ids=lambda o: o.name,
)
def test_nothing_is_ignored_silently(option: AtcOption) -> None:
    flags = {**BASE, option.name: unusual(option)}
    read_settings(flags)
    (warning,) = find_warnings(flags)
    assert warning.message == f"--{option.name} has no effect: {option.reason}"


def test_an_option_of_another_mode_is_not_ignored_silently() -> None:
    found = find_warnings({**BASE, "json": "x", "dump_mode": "1"})
    assert [warning.message for warning in found] == [
        "--json has no effect in mode 0: it belongs to mode 1",
        "--dump_mode has no effect in mode 0: it belongs to mode 1",
    ]
    (warning,) = find_warnings({"mode": "3", "model": "net.onnx", "output": "net"})
    assert warning.message == "--output has no effect in mode 3: it belongs to mode 0"
    assert find_warnings({"mode": "6", "om": "net.om", "display_model_info": "0", "log": "error"}) == ()


@pytest.mark.parametrize(("name", "value"), [(o.name, value) for o in OPTIONS.values() for value in o.usual])
def test_what_happens_anyway_needs_no_word(name: str, value: str) -> None:
    read_settings({**BASE, name: value})
    assert find_warnings({**BASE, name: value}) == ()
