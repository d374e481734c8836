"""Values of every element type through a model that moves them about, from the file to the values."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from onnx import TensorProto, helper

import autofusion
from autofusion.ir import DType
from autofusion.options import CompileOptions
from frontend.models import node, save, tensor


@pytest.mark.parametrize("backend", ["native", "reference"])
@pytest.mark.parametrize("dtype", list(DType), ids=lambda dtype: dtype.value)
def test_elements_arrive_as_they_were(dtype: DType, backend: Literal["native", "reference"], tmp_path: Path) -> None:
    code = getattr(TensorProto, dtype.name)
    x = np.array([["a", "", "\u00e9"], ["b", "a", "c d"]] if dtype is DType.STRING else [[1, 0, 1], [0, 0, 1]])
    x = x.astype(dtype.numpy)
    branches = {
        name: helper.make_graph([node("Identity", source, name)], name, [], [tensor(name, None, code)])
        for name, source in (("then", "x"), ("else", "given"))
    }
    nodes = [
        node("Identity", "x", "given"),
        node("Reshape", "given shape", "shaped"),
        node("Transpose", "shaped", "turned"),
        node("Identity", "turned", "again"),
        node("Identity", "k", "constant"),
        node("If", "c", "chosen", then_branch=branches["then"], else_branch=branches["else"]),
    ]
    outputs = ["x", "given", "shaped", "again", "k", "constant", "chosen"]
    graph = helper.make_graph(
        nodes,
        "main",
        [tensor("x", ["n", 3], code), tensor("c", [], TensorProto.BOOL)],
        [tensor(name, None, code) for name in outputs],
        [
            helper.make_tensor("k", code, [2], [b"p", b"q"] if dtype is DType.STRING else [1, 0]),
            helper.make_tensor("shape", TensorProto.INT64, [2], [3, 2]),
        ],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    autofusion.compile(save(proto, tmp_path), tmp_path / "model.om", CompileOptions(backend=backend))
    found = autofusion.load(tmp_path / "model.om", backend=backend).run({"x": x, "c": np.array(True)})
    k = np.array(["p", "q"] if dtype is DType.STRING else [1, 0]).astype(dtype.numpy)
    turned = x.reshape(3, 2).T
    expected = dict(zip(outputs, [x, x, x.reshape(3, 2), turned, k, k, x], strict=True))
    for name, array in expected.items():
        assert (found[name].dtype, found[name].tolist()) == (array.dtype, array.tolist()), name
