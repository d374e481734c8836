"""Scenarios of the codes AF33x: manual rules that ask for what cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from diagnostics.scenarios import Outcome, Scenario, write_model
from frontend.models import BOOL, model, node, tensor

ROW = [2, 4]


def diamond() -> onnx.ModelProto:
    """One result that two nodes read, whose results come together."""
    nodes = [
        node("Exp", "x", "e", "exp"),
        node("Neg", "e", "n", "neg"),
        node("Relu", "e", "r", "relu"),
        node("Add", "n r", "s", "add"),
        node("Abs", "s", "y", "abs"),
    ]
    return model(nodes, [tensor("x", ROW)], [tensor("y", ROW)])


def branching() -> onnx.ModelProto:
    branches = {
        name: onnx.helper.make_graph([node(op, "e", name, f"{name}_node")], name, [], [tensor(name, ROW)])
        for name, op in (("yes", "Neg"), ("no", "Abs"))
    }
    nodes = [
        node("Exp", "x", "e", "exp"),
        node("If", "c", "y", "choose", then_branch=branches["yes"], else_branch=branches["no"]),
    ]
    return model(nodes, [tensor("x", ROW), tensor("c", [], BOOL)], [tensor("y", ROW)])


def drawing() -> onnx.ModelProto:
    nodes = [node("RandomNormalLike", "x", "d", "draw"), node("Add", "x d", "y", "add")]
    return model(nodes, [tensor("x", ROW)], [tensor("y", ROW)])


def ruling(rules: object, *words: str, proto: onnx.ModelProto | None = None) -> Scenario:
    """`autofusion compile` with a file of manual rules."""

    def scenario(monkeypatch: pytest.MonkeyPatch) -> Outcome:
        Path("rules.json").write_text(json.dumps(rules), encoding="utf-8")
        return ["compile", write_model(proto or diamond()), "-o", "net", "--fusion-rules", "rules.json", *words]

    return scenario


SCENARIOS: dict[str, Scenario] = {
    "AF331": ruling({"block": ["exp", "reul"]}),
    "AF332": ruling({"fusion_patterns": [{"name": "block", "ops": ["exp", "relu", "softmax"]}]}),
    "AF333": ruling({"block": ["exp", "add"]}),
    "AF334": ruling({"block": ["exp", "neg"]}),
    "AF335": ruling({"block": ["exp", "choose"]}, proto=branching()),
    "AF336": ruling({"block": ["draw", "add"]}, proto=drawing()),
    "AF337": ruling({"block": ["exp", "neg", "relu", "add"], "end": ["add", "abs"]}),
    "AF338": ruling({"block": ["add", "abs"]}, "--no-fusion-op", "Abs"),
    "AF339": ruling({"ConvBN": ["add", "abs"]}),
}
