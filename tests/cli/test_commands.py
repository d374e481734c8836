"""Every command on a small model: whole output and exit code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from autofusion.artifact import read_artifact
from autofusion.options import CompileOptions
from cli.models import save_block, save_odd, save_sum, save_words
from cli.transcript import transcribe
from conftest import CheckGolden

ALONE = ("--whitelist", "ConvBNReluFusionOp")


PATTERN = """schema  = 1
name    = "exp_neg"
summary = "s"
display = "Exp+Neg"
op      = "ExpNegFusionOp"
kernel  = "chain"
[[form]]
match = '''
a = Exp(x)
b = Neg(a)
'''
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models and artifacts that the tests read."""
    path = tmp_path_factory.mktemp("commands")
    save_block(path / "block.onnx")
    save_block(path / "shared.onnx", second_reader=True)
    save_sum(path / "sum.onnx")
    save_words(path / "words.onnx")
    save_odd(path / "odd.onnx")
    (path / "junk.onnx").write_bytes(b"junk")
    for name, words in {"block": [], "sum": [], "shared": ALONE}.items():
        assert "exit 0" in transcribe("compile", str(path / f"{name}.onnx"), "-o", str(path / name), *words)
    np.savez(path / "given.npz", x=np.array([[1, 2, 3]], np.float32))
    np.save(path / "double.npy", np.ones((2, 3)))
    np.save(path / "wide.npy", np.ones((2, 4), np.float32))
    return path


@pytest.fixture(autouse=True)
def in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def masked(text: str) -> str:
    """`text` without the numbers that depend on the cost model, other patterns, the machine or the tool's version."""
    text = re.sub(r"not fused \d+", "not fused N", text)
    text = re.sub(r"\d[\d.]*( [kMG])? multiplications", "N multiplications", text)
    text = re.sub(r"multiplications +(?=\d)", "multiplications  ", text)
    text = re.sub(r"\d+\.\d+x", "N.NNx", text)
    text = re.sub(r"\d\.\d\de[-+]\d\d", "N.NNe-NN", text)
    text = re.sub(r"\[\d+ B\]", "[N B]", text)
    text = re.sub(r"atc_version\[[^]]*\]", "atc_version[N]", text)
    return re.sub(r"against \S+ [\d.]+( without optimisation)?", "against ORACLE", text)


@pytest.mark.parametrize(
    ("name", "words", "env"),
    [
        ("compile", ["compile", "block.onnx", "-o", "again"], {}),
        ("compile_log", ["compile", "block.onnx", "-o", "again.om"], {"GE_GRAPH_FUSION_LOG": "1"}),
        ("compile_disabled", ["compile", "block.onnx", "-o", "again", "--disable", "ConvBNReluFusionOp"], {}),
        ("compile_unknown_name", ["compile", "block.onnx", "-o", "again", "--disable", "Conv+BN+Relu"], {}),
        ("compile_no_folder", ["compile", "block.onnx", "-o", "none/again"], {}),
        ("compile_no_file", ["compile", "missing.onnx", "-o", "again"], {}),
        ("compile_junk", ["compile", "junk.onnx", "-o", "again"], {}),
        ("compile_bad_dim", ["compile", "block.onnx", "-o", "again", "--dim", "batch"], {}),
        ("compile_unknown_dim", ["compile", "block.onnx", "-o", "again", "--dim", "bach=2"], {}),
        ("compile_no_output", ["compile", "block.onnx"], {}),
        ("run", ["run", "sum.om", "--input", "given.npz"], {}),
        ("run_json", ["run", "sum.om", "--input", "x=given.npz", "--format", "json"], {}),
        ("run_wrong_type", ["run", "sum.om", "--input", "x=double.npy"], {}),
        ("run_wrong_shape", ["run", "sum.om", "--input", "x=wide.npy"], {}),
        ("run_output_type", ["run", "sum.om", "-o", "out.txt"], {}),
        ("run_no_folder", ["run", "sum.om", "-o", "none/out.npy"], {}),
        ("run_other_extent", ["run", "sum.om", "--input", "given.npz", "--dim", "n=3"], {}),
        ("run_unknown_input", ["run", "sum.om", "--input", "y=wide.npy"], {}),
        ("run_unknown_dim", ["run", "sum.om", "--dim", "m=2"], {}),
        ("run_no_artifact", ["run", "junk.onnx"], {}),
        ("verify", ["verify", "block.onnx", "block.om", "--seeds", "0,7"], {}),
        ("verify_other_model", ["verify", "sum.onnx", "block.om"], {}),
        ("verify_bad_seeds", ["verify", "sum.onnx", "sum.om", "--seeds", "a"], {}),
        ("report", ["report", "block.om"], {}),
        ("report_file", ["report", "block.fusion.json"], {}),
        ("report_model", ["report", "block.onnx"], {}),
        ("report_why", ["report", "shared.om", "--why"], {}),
        ("report_why_none", ["report", "block.om", "--why"], {}),
        ("compile_why", ["compile", "shared.onnx", "-o", "again", "--why", *ALONE], {}),
        ("report_junk", ["report", "junk.onnx"], {}),
        ("check", ["check", "block.onnx", "--min", "Conv+BN+ReLU=2", "--max-operators", "2"], {}),
        ("check_fails", ["check", "shared.onnx", "--min", "Conv+BN+ReLU=2", "--max-operators", "2", *ALONE], {}),
        ("check_baseline", ["check", "block.onnx", "--baseline", "block.fusion.json"], {}),
        (
            "check_baseline_fails",
            ["check", "block.onnx", "--baseline", "block.om"],
            {"GE_FUSION_DISABLE_LIST": "ConvBNReluFusionOp"},
        ),
        ("check_artifact", ["check", "block.om", "--min", "Conv+BN+Relu=1"], {}),
        ("check_none_of_it", ["check", "block.om", "--min", "Gelu=1"], {}),
        ("check_nothing", ["check", "block.onnx"], {}),
        ("check_own_name", ["check", "block.om", "--min", "conv_bn_act=2"], {}),
        ("check_write", ["check", "block.om", "--write-baseline", "written.json"], {}),
        ("check_no_baseline", ["check", "block.om", "--baseline", "junk.onnx"], {}),
        ("dump_plan", ["dump", "block.onnx", "--after", "plan"], {}),
        ("dump_artifact", ["dump", "sum.om"], {}),
        ("dump_json_stage", ["dump", "block.onnx", "--after", "fusion", "--format", "json"], {}),
        ("dump_unknown_stage", ["dump", "block.onnx", "--after", "lunch"], {}),
        ("dump_artifact_stage", ["dump", "block.om", "--after", "fusion"], {}),
        ("atc", ["atc", "--model=block.onnx", "--framework=5", "--output=by_atc"], {}),
        ("atc_log", ["atc", "--model=block.onnx", "--output", "by_atc.om"], {"ASCEND_GLOBAL_LOG_LEVEL": "1"}),
        (
            "atc_usual_options",
            [
                "atc",
                "--model=block.onnx",
                "--framework=5",
                "--output=by_atc",
                "--input_format=NCHW",
                "--input_shape=x:1,3,6,6",
                "--log=error",
                "--output_type=FP32",
                "--enable_small_channel=1",
                "--precision_mode=must_keep_origin_dtype",
                "--display_model_info=1",
            ],
            {},
        ),
        ("atc_mode_6", ["atc", "--mode=6", "--om=sum.om"], {}),
        ("atc_chip", ["atc", "--model=block.onnx", "--framework=5", "--output=x", "--soc_version=Ascend310P3"], {}),
        ("atc_tensorflow", ["atc", "--model=net.pb", "--framework=3", "--output=x"], {}),
        ("atc_unknown_flag", ["atc", "--modle=block.onnx", "--output=x"], {}),
        ("atc_no_file", ["atc", "--model=missing.onnx", "--output=x"], {}),
        ("atc_junk", ["atc", "--model=junk.onnx", "--output=x"], {}),
        ("atc_wrong_rank", ["atc", "--model=block.onnx", "--output=x", "--input_shape=x:1,3"], {}),
        ("atc_unknown_input", ["atc", "--model=block.onnx", "--output=x", "--input_shape=y:1,3,6,6"], {}),
        ("atc_output_type", ["atc", "--model=words.onnx", "--output=x", "--output_type=FP32"], {}),
        ("atc_output_type_unknown", ["atc", "--model=block.onnx", "--output=x", "--output_type=relu_1:0:FP16"], {}),
        ("atc_out_nodes_unknown", ["atc", "--model=block.onnx", "--output=x", "--out_nodes=relu_0:0"], {}),
        ("atc_open_extent", ["atc", "--model=block.onnx", "--output=x", "--input_shape=x:-1,-1,6,6"], {}),
        (
            "atc_gears",
            [
                "atc",
                "--model=block.onnx",
                "--output=geared",
                "--dynamic_batch_size=1,2,4",
                "--input_shape=x:-1,3,6,6",
                "--log=info",
                "--display_model_info=1",
            ],
            {},
        ),
        (
            "atc_range",
            ["atc", "--model=block.onnx", "--output=ranged", "--input_shape=x:2~8,3,6,6", "--log=info"],
            {},
        ),
        ("atc_check", ["atc", "--mode=3", "--model=block.onnx", "--output=by_atc"], {}),
        ("atc_check_fails", ["atc", "--mode=3", "--model=odd.onnx", "--check_report=odd.json"], {}),
        ("atc_json", ["atc", "--mode=1", "--om=sum.om", "--json=sum.json"], {}),
        ("atc_json_model", ["atc", "--mode=1", "--om=sum.onnx", "--framework=5", "--json=model.json"], {}),
        ("atc_json_no_folder", ["atc", "--mode=1", "--om=sum.om", "--json=none/sum.json"], {}),
        ("atc_mode", ["atc", "--mode=5", "--om=ge_proto.txt", "--json=x.json"], {}),
        ("atc_aipp", ["atc", "--model=block.onnx", "--output=x", "--insert_op_conf=aipp.cfg"], {}),
        ("atc_switch", ["atc", "--model=block.onnx", "--output=by_atc", "--optimization_switch=Conv+BN+ReLU:off"], {}),
        ("atc_disabled", ["atc", "--model=block.onnx", "--output=by_atc"], {"GE_FUSION_DISABLE_LIST": "Nothing"}),
    ],
)
def test_transcript(name: str, words: list[str], env: dict[str, str], check_golden: CheckGolden) -> None:
    check_golden(f"cli/{name}.txt", masked(transcribe(*words, env=env)))


def test_refusals_leave_nothing_behind(folder: Path) -> None:
    assert sorted(path.name for path in folder.glob("x*")) == []


def test_writes_the_reports_beside_the_artifact(folder: Path) -> None:
    names = {"block.om", "block.fusion.json", "block.fusion.txt", "block_fusion_result.json"}
    assert names <= {path.name for path in folder.iterdir()}
    text = transcribe("report", "block.om").partition("--- stdout\n")[2]
    assert text == (folder / "block.fusion.txt").read_text("utf-8")
    data = transcribe("report", "block.om", "--format", "json").partition("--- stdout\n")[2]
    assert data == (folder / "block.fusion.json").read_text("utf-8")


def test_compile_as_json() -> None:
    data = json.loads(transcribe("compile", "block.onnx", "-o", "again", "--format", "json").partition("stdout\n")[2])
    assert data["artifact"] == "again.om"
    assert data["report"]["operators_before"] == 6


def test_check_as_json() -> None:
    text = transcribe("check", "block.om", "--min", "Conv+BN+ReLU=2", "--format", "json")
    data = json.loads(text.partition("stdout\n")[2])
    assert (data["source"], data["ok"], data["findings"]) == ("block.om", True, [])
    text = transcribe("check", "block.om", "--min", "Conv+BN+ReLU=3", "--format", "json")
    data = json.loads(text.partition("stdout\n")[2])
    assert "exit 1" in text
    assert (data["ok"], [finding["code"] for finding in data["findings"]]) == (False, ["AF611"])


def test_a_change_is_accepted_by_writing_the_baseline() -> None:
    words = ("check", "block.onnx", "--disable", "ConvBNReluFusionOp", "--baseline", "accepted.json")
    transcribe("check", "block.om", "--write-baseline", "accepted.json")
    assert "--write-baseline accepted.json" in transcribe(*words)
    assert "exit 1" in transcribe(*words, "--write-baseline", "accepted.json")
    assert "exit 0" in transcribe(*words)


def test_misses_as_json() -> None:
    lines = transcribe("report", "shared.om", "--why", "--format", "json").partition("stdout\n")[2].splitlines()
    assert {json.loads(line)["severity"] for line in lines} == {"note"}


def test_errors_are_json_where_the_output_is() -> None:
    text = transcribe("report", "junk.onnx", "--format", "json").partition("--- stderr\n")[2]
    assert json.loads(text)["code"] == "AF511"


def test_runs_what_was_saved(folder: Path) -> None:
    transcribe("run", "block.om", "--seed", "3", "--dim", "batch=2", "-o", "out.npz", "--threads", "1")
    transcribe("run", "block.om", "--seed", "3", "--dim", "batch=2", "-o", "same.npz")
    with np.load(folder / "out.npz") as first, np.load(folder / "same.npz") as second:
        assert first["relu1_out"].shape == (2, 8, 6, 6)
        assert np.array_equal(first["relu1_out"], second["relu1_out"])


def test_saves_one_output_as_an_array() -> None:
    assert "exit 0" in transcribe("run", "sum.om", "--input", "given.npz", "-o", "out.npy")
    assert np.load("out.npy").tolist() == [[2, 3, 4]]


def test_the_reference_backend_gives_the_same(folder: Path) -> None:
    assert "exit 0" in transcribe("compile", "sum.onnx", "-o", "plain", "--backend", "reference")
    native, plain = transcribe("run", "sum.om"), transcribe("run", "plain.om")
    assert native.partition("\n")[2] == plain.partition("\n")[2]


@pytest.mark.parametrize("stage", ["frontend", "passes", "fusion", "plan"])
def test_dumps_each_stage(stage: str) -> None:
    text = transcribe("dump", "block.onnx", "--after", stage)
    assert text.startswith(f"$ autofusion dump block.onnx --after {stage}\nexit 0\n--- stdout\n")
    assert ("ConvBNReluFusionOp" in text) == (stage == "fusion")


def test_dumps_the_plan_as_the_artifact_has_it(folder: Path) -> None:
    held = bytes(read_artifact(folder / "block.om").entries["plan.json"]).decode()
    for words in (("block.onnx", "--after", "plan"), ("block.om",)):
        assert transcribe("dump", *words, "--format", "json").partition("stdout\n")[2].strip() == held.strip()


def test_json_of_an_artifact(folder: Path, check_golden: CheckGolden) -> None:
    transcribe("atc", "--mode=1", "--om=sum.om", "--json=artifact.json")
    check_golden("cli/artifact.json", masked_json(folder / "artifact.json"))


@pytest.mark.parametrize("mode", ["0", "1"])
def test_json_of_a_model(mode: str, folder: Path, check_golden: CheckGolden) -> None:
    transcribe("atc", "--mode=1", "--om=sum.onnx", "--json=model.json", f"--dump_mode={mode}")
    check_golden(f"cli/model_{mode}.json", masked_json(folder / "model.json"))


def masked_json(path: Path) -> str:
    text = re.sub(
        r'("key": "(source_sha256|atc_version)",\s+"value": {\s+"s": )"[^"]*"', r'\1"N"', path.read_text("utf-8")
    )
    return re.sub(r"\n +(?=[\d\]}])", " ", text)


@pytest.mark.parametrize("name", ["block", "odd"])
def test_report_of_a_check(name: str, folder: Path, check_golden: CheckGolden) -> None:
    transcribe("atc", "--mode=3", f"--model={name}.onnx", f"--check_report={name}.json")
    check_golden(f"cli/check_{name}.json", (folder / f"{name}.json").read_text("utf-8"))
    assert not (folder / f"{name}.om").exists() or name == "block"


def test_chosen_outputs_are_computed_converted_and_verified() -> None:
    words = ["--out_nodes=bn0:0;relu1_out", "--output_type=bn0:0:FP16"]
    assert "exit 0" in transcribe("atc", "--model=block.onnx", "--output=chosen", *words)
    rows = json.loads(transcribe("run", "chosen.om", "--format", "json").partition("stdout\n")[2])["outputs"]
    assert [(row["name"], row["dtype"]) for row in rows] == [("bn0_out", "float16"), ("relu1_out", "float32")]
    assert "exit 0" in transcribe("verify", "block.onnx", "chosen.om", "--seeds", "0")
    command = '--out_nodes="bn0:0;relu1_out" --output_type="bn0:0:FP16"\n'
    assert command in transcribe("atc", "--mode=6", "--om=chosen.om")


BY_ATC = "atc --model=block.onnx --framework=5 --soc_version=cpu"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (["--level", "1"], f"{BY_ATC} --fusion_level=1"),
        (["--fusion_whitelist", "Conv+BN,Relu"], f'{BY_ATC} --fusion_whitelist="Conv+BN,Relu"'),
        (
            ["--no_fusion_ops=Conv", "--fusion-blacklist=Conv+BN"],
            f'{BY_ATC} --fusion_blacklist="Conv+BN" --no_fusion_ops="Conv"',
        ),
        (
            ["--optimization_switch=Conv+BN:off;Relu:on", "--fusion-switch-file", "mine/s.cfg"],
            f'{BY_ATC} --optimization_switch="Conv+BN:off;Relu:on" --fusion_switch_file=s.cfg',
        ),
        (["--auto_fusion", "off"], f"{BY_ATC} --oo_level=O1"),
        (["--exact"], f"{BY_ATC} --op_select_implmode=high_precision"),
        (
            ["--dim", "batch=2", "--auto-fusion", "off"],
            "autofusion compile block.onnx --dim batch=2 --auto-fusion off",
        ),
        (
            ["--backend", "reference", "--level=3", "--pattern_dir", "mine"],
            "autofusion compile block.onnx --backend reference --fusion_level=3 --pattern_dir=mine",
        ),
    ],
)
def test_an_artifact_shows_the_controls_that_were_given(folder: Path, given: list[str], shown: str) -> None:
    (folder / "mine").mkdir(exist_ok=True)
    (folder / "mine" / "exp_neg.toml").write_text(PATTERN, encoding="utf-8")
    (folder / "mine" / "s.cfg").write_text("ALL:off", encoding="utf-8")
    assert "exit 0" in transcribe("compile", "block.onnx", "-o", "controlled", *given)
    text = transcribe("atc", "--mode=6", "--om=controlled.om")
    assert f"Original Atc command line: {shown}\n" in text


def test_atc_takes_the_same_controls(folder: Path) -> None:
    (folder / "s.cfg").write_text('{"Switch": {"GraphFusion": {"ConvBatchnormFusionPass": "off"}}}', encoding="utf-8")
    for words in (
        ["--fusion_switch_file=s.cfg"],
        ["--fusion_blacklist=ConvBatchnormFusionPass"],
        ["--no_fusion_ops=BatchNormalization"],
        ["--auto_fusion=off"],
    ):
        assert "exit 0" in transcribe("atc", "--model=block.onnx", "--output=switched", *words)
        rows = json.loads((folder / "switched.fusion.json").read_text("utf-8"))["patterns"]
        assert not any(row["name"].startswith("Conv+BN") for row in rows)
    both = ["--fusion_switch_file=s.cfg", "--optimization_switch=ConvBatchnormFusionPass:on"]
    assert "fused 2 times" in transcribe("atc", "--model=block.onnx", "--output=switched", *both)


@pytest.mark.parametrize(("mode", "is_exact"), [("high_precision", True), ("high_performance", False)])
def test_atc_leaves_plain_sums_alone(folder: Path, mode: str, is_exact: bool) -> None:
    assert "exit 0" in transcribe("atc", "--model=block.onnx", "--output=summed", f"--op_select_implmode={mode}")
    assert CompileOptions.from_settings(read_artifact(folder / "summed.om").manifest.options).exact == is_exact


def test_a_fixed_shape_reaches_the_artifact() -> None:
    transcribe("atc", "--model=block.onnx", "--output=fixed", "--input_shape=x:5,3,6,6")
    text = transcribe("atc", "--mode=6", "--om=fixed.om")
    assert '--input_shape="x:5,3,6,6"' in text
    assert "memory_size[-1 B]" not in text
    assert "memory_size[-1 B]" in transcribe("atc", "--mode=6", "--om=block.om")
