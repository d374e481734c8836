"""Scenarios of the codes AF2xx, AF6xx and AF9xx: commands that are wrong, demands that are not met, faults of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autofusion
from artifact.conftest import make_contents, make_plan
from autofusion.artifact import write_artifact
from autofusion.cli.errors import explain_error
from autofusion.options import CompileOptions
from autofusion.patternlang import load
from autofusion.plan import Plan
from autofusion.services import expectation
from cli.models import save_block, save_sum
from cli.transcript import transcribe
from diagnostics.scenarios import Outcome, Scenario, calling, write_model
from diagnostics.scenarios_model import open_batch, relu
from services.faults import WRONG_TANH, save_gates, write_patterns

LAYER = "conv x=?x4x6x6 filter=8x4x3x3 y=?x8x6x6 dilations=1,1 group=1 pads=1,1,1,1 strides=1,1"

ATC = ("atc", "--model=net.onnx", "--output=net")


def atc(*words: str) -> Scenario:
    """`atc` on a model that is fine."""
    return calling(*ATC, *words, model=relu)


def gears(shape: str, *words: str) -> Scenario:
    """`atc` with gears that are wrong."""
    return atc(f"--input_shape={shape}", *words)


def folder_as_output(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    return ["atc", f"--model={write_model(relu())}", "--output=./"]


def other_model(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    save_sum(Path("sum.onnx"))
    transcribe("compile", "sum.onnx", "-o", "sum")
    return ["verify", write_model(open_batch()), "sum.om"]


def disagreement(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    save_sum(Path("sum.onnx"))
    transcribe("compile", "sum.onnx", "-o", "sum")

    class Wrong:
        name = "an oracle"

        def run(self, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
            return {"relu_out": feeds["x"] + 7}

    def open_oracles(*arguments: Any) -> Iterator[Wrong]:
        yield Wrong()

    monkeypatch.setattr(expectation, "open_oracles", open_oracles)
    return ["verify", "sum.onnx", "sum.om"]


def wrong_results(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    write_patterns(Path("mine"), WRONG_TANH)
    save_gates(Path("net.onnx"))
    # The command shows what it measured as well.
    options = CompileOptions(pattern_directories=(Path("mine"),))
    autofusion.compile("net.onnx", "net", options, verify=True)
    raise AssertionError("it was verified")


def other_patterns(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    write_patterns(Path("mine"), WRONG_TANH)
    save_gates(Path("net.onnx"))
    transcribe("compile", "net.onnx", "-o", "net", "--pattern_dir", "mine")
    return ["verify", "net.onnx", "net.om"]


def checking(*words: str) -> Scenario:
    """`autofusion check` of two blocks, one of which cannot be fused."""

    def scenario(monkeypatch: pytest.MonkeyPatch) -> Outcome:
        save_block(Path("net.onnx"), second_reader=True)
        save_block(Path("block.onnx"))
        transcribe("compile", "block.onnx", "-o", "block")
        return ["check", "net.onnx", "--whitelist", "ConvBNReluFusionOp", *words]

    return scenario


def wrong_switches(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    Path("switch.cfg").write_text("ConvBatchnormFusionPass:off\nGeluFusionPass:disabled\n", encoding="utf-8")
    return ["atc", f"--model={write_model(relu())}", "--output=net", "--fusion_switch_file=switch.cfg"]


def bank(entry: dict[str, object]) -> str:
    """A tuning bank of one entry, for the second convolution of a block."""
    return json.dumps({"version": 1, "operators": {"any": {LAYER: entry}}})


def tuned(text: str) -> Scenario:
    """`autofusion compile` of a block with a tuning bank that has `text`."""

    def scenario(monkeypatch: pytest.MonkeyPatch) -> Outcome:
        save_block(Path("net.onnx"))
        Path("bank.json").write_text(text, encoding="utf-8")
        return ["compile", "net.onnx", "-o", "net", "--bank", "bank.json"]

    return scenario


def host_step(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    from frontend.models import model, node, tensor

    write_model(model([node("Det", "x", "y", "det")], [tensor("x", [2, 2])], [tensor("y", [])]))
    return ["check", "net.onnx", "--max-host-steps", "0"]


def fault_of_ours(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    return explain_error(ZeroDivisionError("division by zero"))[0]


def no_patterns(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    monkeypatch.setattr(load, "__file__", "/usr/lib/autofusion/patternlang/load.py")
    return ["compile", write_model(relu()), "-o", "net"]


def impossible_plan(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    plan = make_plan()
    broken = Plan(plan.backend, ("x", "z"), plan.outputs, plan.symbols, plan.buffers, plan.tensors, plan.steps)
    write_artifact("net.om", make_contents(broken))
    raise AssertionError("it was written")


SCENARIOS: dict[str, Scenario] = {
    "AF201": calling("atc", "--modle=net.onnx", "--output=net"),
    "AF202": calling("atc", "--model=net.onnx", "--output"),
    "AF203": calling("atc", "net.onnx", "--output=net"),
    "AF204": calling("compile", "net.onnx", "-o", "net", "--dim", "batch"),
    "AF205": atc("--input_shape=x:1,2.5"),
    "AF206": atc("--enable_small_channel=1"),
    "AF207": calling("atc", "--output=net"),
    "AF208": calling("atc", "--model=net.onnx", "--output=none/net"),
    "AF209": calling("atc", "--model=net.pb", "--framework=3", "--output=net"),
    "AF210": atc("--insert_op_conf=aipp.cfg"),
    "AF211": calling("atc", "--mode=7", "--model=net.onnx"),
    "AF212": folder_as_output,
    "AF213": atc("--soc_version=Ascend310P3"),
    "AF214": atc("--log=loud"),
    "AF215": calling("dump", "net.onnx", "--after", "lunch", model=relu),
    "AF216": atc("--optimization_switch=TbeEltwiseFusionPass:off"),
    "AF217": wrong_switches,
    "AF218": atc("--fusion_switch_file=missing.cfg"),
    "AF219": atc("--precision_mode=allow_fp32_to_fp16", "--precision_mode_v2=origin"),
    "AF220": gears("x:-1,3", "--dynamic_batch_size=4"),
    "AF221": gears("x:-1,3", "--dynamic_batch_size=" + ",".join(map(str, range(1, 102)))),
    "AF222": gears("x:-1,-1", "--dynamic_dims=1,3;2", "--input_format=ND"),
    "AF223": gears("x:-1,3", "--dynamic_batch_size=0,1"),
    "AF224": gears("x:-1,3", "--dynamic_batch_size=1,2,1"),
    "AF225": gears("x:1~8,3", "--dynamic_batch_size=1,2"),
    "AF226": gears("x:-1,-1", "--dynamic_batch_size=1,2"),
    "AF227": gears("x:-1,3,8,8", "--dynamic_image_size=8,8;16,16"),
    "AF228": gears("x:1,3,-1,-1", "--dynamic_image_size=8,8;16"),
    "AF229": gears("x:1,3", "--dynamic_batch_size=1,2"),
    "AF230": gears("x:-1,3", "--dynamic_dims=1,3;2,3", "--input_format=ND"),
    "AF231": gears("x:-1,3", "--dynamic_dims=1;2"),
    "AF232": gears("x:-1,3", "--dynamic_batch_size=1,2", "--dynamic_dims=1;2"),
    "AF233": tuned(bank({"algorithm": "winograd", "tile": 9, "filters": "made"})),
    "AF234": tuned('{"version": 2, "layers": {}}'),
    "AF235": tuned(bank({"algorithm": "fft"})),
    "AF601": other_model,
    "AF602": disagreement,
    "AF603": wrong_results,
    "AF604": other_patterns,
    "AF610": calling("check", "net.onnx", "--baseline", "net.fusion.json", model=relu),
    "AF611": checking("--min", "Conv+BN+ReLU=2"),
    "AF612": checking("--max-operators", "2"),
    "AF613": host_step,
    "AF614": checking("--baseline", "block.fusion.json"),
    "AF901": fault_of_ours,
    "AF902": no_patterns,
    "AF911": impossible_plan,
}
