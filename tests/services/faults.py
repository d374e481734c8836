"""Patterns that are wrong on purpose, and models in which they apply."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WRONG_SWISH = """schema  = 1
name    = "wrong_swish"
summary = "Wrong: x * sigmoid(2x) is the Swish of another alpha."
benefit = 100
[[form]]
match = '''
double = Mul(x, 2)
gate   = Sigmoid(double)
y      = Mul(x, gate)
'''
[emit]
op     = "Swish"
inputs = ["x"]
attrs  = { alpha = 1.0 }
"""

WRONG_TANH = """schema  = 1
name    = "wrong_tanh"
summary = "Wrong: the tangent of 3x is no tangent of x."
benefit = 10
[[form]]
match = '''
triple = Mul(x, 3)
y      = Tanh(triple)
'''
[emit]
op     = "Tanh"
inputs = ["x"]
"""


def write_patterns(folder: Path, *texts: str) -> Path:
    """A folder with these patterns."""
    folder.mkdir(parents=True)
    for text in texts:
        name = text.split('"')[1]
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return folder


def save_gates(path: Path, *, hidden: bool = False, nested: bool = False) -> Path:
    """y = tanh(3 * relu(x * sigmoid(2x))): both patterns apply, with a Conv before.

    With `hidden` the result is multiplied by zero, with `nested` the tangent stands in the branches of an If.
    """
    random = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(random.standard_normal((4, 3, 1, 1)).astype(np.float32), "filter"),
        *(numpy_helper.from_array(np.array(number, np.float32), name) for name, number in NUMBERS.items()),
    ]
    tail = [node("Mul", "r three", "t", "triple"), node("Tanh", "t", "h", "tangent")]
    nodes = [
        node("Conv", "x filter", "c", "conv"),
        node("Mul", "c two", "d", "double"),
        node("Sigmoid", "d", "g", "gate"),
        node("Mul", "c g", "s", "swish"),
        node("Relu", "s", "r", "relu"),
    ]
    if nested:
        branches = {
            f"{name}_branch": helper.make_graph([*steps], name, [], [tensor(result)])
            for name, steps, result in (("then", tail, "h"), ("else", [node("Neg", "r", "m", "minus")], "m"))
        }
        nodes += [node("ReduceSum", "x", "sum", "total", keepdims=0), node("Less", "sum big", "small", "less")]
        nodes.append(helper.make_node("If", ["small"], ["b"], "choice", **branches))
    else:
        nodes += tail
    result = "b" if nested else "h"
    nodes.append(node("Mul", f"{result} zero", "y", "scale") if hidden else node("Neg", result, "y", "last"))
    graph = helper.make_graph(nodes, path.stem, [tensor("x", 3)], [tensor("y", 4)], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, str(path))
    return path


NUMBERS = {"two": 2, "three": 3, "zero": 0, "big": 1e6}


def node(op: str, inputs: str, output: str, name: str, **attributes: int) -> onnx.NodeProto:
    return helper.make_node(op, inputs.split(), [output], name=name, **attributes)


def tensor(name: str, channels: int = 4) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, channels, 5, 5))
