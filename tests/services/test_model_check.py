"""What becomes of each node of a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from autofusion.errors import UsageError
from autofusion.options import CompileOptions
from autofusion.services.model_check import ModelCheck, check_model, summarize_check
from frontend.models import model, node, random, save, tensor

X = tensor("x", [2, 2])


def check(proto: onnx.ModelProto, folder: Path, options: CompileOptions | None = None) -> ModelCheck:
    return check_model(save(proto, folder), options or CompileOptions())


def supports(found: ModelCheck) -> dict[str, str]:
    return {row.node: row.support for row in found.nodes}


def test_native_host_and_folded(tmp_path: Path) -> None:
    nodes = [
        node("Neg", "k", "nk", "fold"),
        node("Add", "x nk", "a", "sum"),
        node("Det", "a", "d", "det"),
        node("Relu", "d", "y", "act"),
    ]
    found = check(model(nodes, [X], [tensor("y", [])], {"k": random(0, 2)}), tmp_path)
    assert supports(found) == {"fold": "folded", "sum": "native", "det": "host", "act": "native"}
    assert found.error is None
    assert summarize_check(found) == "can be converted, native 2, host 1, folded 1"
    assert next(row for row in found.nodes if row.node == "det").reason


def test_fused_nodes_say_in_what(tmp_path: Path) -> None:
    weights = {"w": random(0, 4, 3, 1, 1)}
    nodes = [node("Conv", "x w", "c", "conv"), node("Relu", "c", "y", "act")]
    found = check(model(nodes, [tensor("x", [1, 3, 4, 4])], [tensor("y", None)], weights), tmp_path)
    assert [(row.node, row.op, row.support, row.reason) for row in found.nodes] == [
        ("conv", "Conv", "native", "in Conv+ReLU"),
        ("act", "Relu", "native", "in Conv+ReLU"),
    ]


def test_every_operator_that_nothing_can_run_is_found(tmp_path: Path) -> None:
    branch = helper.make_graph([node("Inner", "x", "r", "inner", "far")], "branch", [], [tensor("r", None)])
    nodes = [
        node("If", "c", "z", "choice", "", then_branch=branch, else_branch=branch),
        node("Matmul", "z z", "m", "typo"),
        node("Relu", "m", "y", "act"),
    ]
    inputs = [X, tensor("c", [], TensorProto.BOOL)]
    found = check(model(nodes, inputs, [tensor("y", None)], domains={"far": 1}), tmp_path)
    assert supports(found) == {
        "choice": "unchecked",
        "choice/inner": "unsupported",
        "typo": "unsupported",
        "act": "unchecked",
    }
    assert found.model is None
    assert found.error is not None
    assert found.error.diagnostic.code == "AF125"


def test_a_contradiction_is_told_of_its_node(tmp_path: Path) -> None:
    nodes = [node("Relu", "x", "a", "act"), node("MatMul", "a w", "y", "product")]
    found = check(model(nodes, [X], [tensor("y", None)], {"w": random(0, 5, 4)}), tmp_path)
    assert supports(found) == {"act": "unchecked", "product": "unsupported"}
    assert "inner extents are 2 and 5" in found.nodes[1].reason


def test_a_file_that_is_no_model_has_no_nodes(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(b"junk")
    found = check_model(tmp_path / "net.onnx", CompileOptions())
    assert found.nodes == ()
    assert summarize_check(found) == "cannot be converted"


def test_wrong_options_are_no_verdict_on_the_model(tmp_path: Path) -> None:
    proto = model([node("Relu", "x", "y", "act")], [X], [tensor("y", [2, 2])], {"k": np.zeros(1, np.float32)})
    with pytest.raises(UsageError):
        check(proto, tmp_path, CompileOptions(outputs=("nothing",)))
