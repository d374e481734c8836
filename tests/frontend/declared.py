"""Operators that tests declare, as a user would in files, and models that use them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx

from frontend.models import FLOAT, model, node, tensor

WHIRL = """schema     = 1
domain     = "com.acme"
name       = "Whirl"
summary    = "tanh of a sum, with a slope below zero."
inputs     = ["x", "shift"]
expression = "select(x > 0, tanh(x + shift), slope * x / count)"

[attributes]
slope = { type = "float", default = 0.25 }
count = { type = "int", default = 2 }
"""
ROW_SCALE = """schema   = 1
domain   = "com.acme"
name     = "RowScale"
summary  = "x over the root of its mean square along the last axis, times gain."
inputs   = ["x", "gain?"]
outputs  = ["y", "root"]
opset    = 18
function = '''
axis   = Constant <value_ints = [-1]> ()
square = Mul(x, x)
mean   = ReduceMean <keepdims = 1> (square, axis)
bare   = Constant <value_float: float = @epsilon> ()
small  = CastLike(bare, x)
sum    = Add(mean, small)
root   = Sqrt(sum)
y      = Div(x, root)
'''

[attributes]
epsilon = { type = "float", default = 0.5 }
"""


def declare(folder: Path) -> Path:
    """A folder for --pattern_dir, below `folder`, that declares both operators."""
    mine = folder / "mine"
    (mine / "operators").mkdir(parents=True, exist_ok=True)
    (mine / "operators" / "whirl.toml").write_text(WHIRL, encoding="utf-8")
    (mine / "operators" / "row_scale.toml").write_text(ROW_SCALE, encoding="utf-8")
    return mine


def small_model(dtype: int = FLOAT, opset: int = 18) -> onnx.ModelProto:
    """Whirl of a convolution, then RowScale, which leaves out its gain and hands out its root."""
    rng = np.random.default_rng(3)
    numpy_type = onnx.helper.tensor_dtype_to_np_dtype(dtype)
    weights = {
        "w": rng.standard_normal((4, 3, 3, 3)).astype(numpy_type),
        "shift": rng.standard_normal((4, 1, 1)).astype(numpy_type),
    }
    nodes = [
        node("Conv", "x w", "c", "conv", pads=[1, 1, 1, 1]),
        node("Whirl", "c shift", "a", "whirl", "com.acme", slope=0.5),
        node("RowScale", "a", "b root", "scale", "com.acme"),
        node("Identity", "b", "y", "last"),
    ]
    x, y, root = (tensor(name, shape, dtype) for name, shape in (("x", ["n", 3, 5, 7]), ("y", None), ("root", None)))
    return model(nodes, [x], [y, root], weights, opset=opset, domains={"com.acme": 1})


def whirl(x: np.ndarray, shift: np.ndarray, slope: float = 0.25, count: int = 2) -> np.ndarray:
    """What Whirl means, in numpy."""
    return np.where(x > 0, np.tanh(x + shift), slope * x / count)


def row_scale(x: np.ndarray, epsilon: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """What RowScale means, in numpy."""
    root = np.sqrt((x * x).mean(-1, keepdims=True) + epsilon)
    return x / root, root
