"""Verification where the fast oracle cuts corners: the slower one takes over, and says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import autofusion
from autofusion.services.verify import verify_artifact


def test_a_sigmoid_far_below_zero(tmp_path: Path) -> None:
    # ONNX Runtime's sigmoid ends at 1.5e-8, the function itself does not.
    shift = numpy_helper.from_array(np.full((1, 8), -30, np.float32), "shift")
    nodes = [helper.make_node("Add", ["x", "shift"], ["s"]), helper.make_node("Sigmoid", ["s"], ["y"])]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 8]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], [shift])
    path = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    autofusion.compile(path, tmp_path / "net.om")
    verdict = verify_artifact(path, tmp_path / "net.om")
    assert verdict.ok
    assert verdict.oracle.startswith("onnx.reference ")


def test_an_output_of_a_type_that_the_fast_oracle_cannot_give(tmp_path: Path) -> None:
    """ONNX Runtime loads the model, and fails where it has to hand on bfloat16."""
    ends = [helper.make_tensor_value_info("x", TensorProto.DOUBLE, [4, 8])]
    ends += [helper.make_tensor_value_info("y", TensorProto.BFLOAT16, [4, 8])]
    cast = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.BFLOAT16)
    graph = helper.make_graph([cast], "g", ends[:1], ends[1:])
    path = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    autofusion.compile(path, tmp_path / "net.om")
    assert verify_artifact(path, tmp_path / "net.om").ok
