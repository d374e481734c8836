"""Small encoders with the blocks of transformers, in the order that a test asks for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx

from frontend.models import model, node, tensor

WIDTH, HEADS, ROWS = 8, 2, 3
ATTENTION = "attention"


class Encoder:
    """An ONNX model under construction; every node is named `LAYER/BLOCK/PART`, every result like its node."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._weights: dict[str, np.ndarray] = {}
        self._random = np.random.default_rng(0)

    def layer(self, name: str, x: str, blocks: Sequence[str]) -> str:
        """One block after the other: attention, dense, dense_bias, dense_gelu, dense_bias_gelu, add, norm."""
        value = rest = x
        for place, block in enumerate(blocks):
            where = f"{name}/{place}_{block}"
            match block:
                case "attention":
                    value = self._attention(where, value)
                case "add":
                    value = self._op("Add", f"{value} {rest}", f"{where}/add")
                case "norm":
                    value = rest = self._norm(where, value)
                case _:
                    value = self._dense(where, value, bias="bias" in block)
                    value = self._gelu(where, value) if "gelu" in block else value
        return value

    def build(self, x: str, y: str) -> onnx.ModelProto:
        """The model from `x` to `y`."""
        shape = [1, ROWS, WIDTH]
        return model(self._nodes, [tensor(x, shape)], [tensor(y, shape)], self._weights)

    def _attention(self, where: str, x: str) -> str:
        heads = [self._head(f"{where}/{part}", x, [0, 2, 3, 1] if part == "k" else [0, 2, 1, 3]) for part in "qkv"]
        scores = self._op("MatMul", f"{heads[0]} {heads[1]}", f"{where}/scores")
        scaled = self._op("Div", f"{scores} {self._const(f'{where}/root', np.float32(2))}", f"{where}/scaled")
        weights = self._op("Softmax", scaled, f"{where}/softmax", axis=-1)
        mixed = self._op("MatMul", f"{weights} {heads[2]}", f"{where}/mixed")
        merged = self._op("Transpose", mixed, f"{where}/merged", perm=[0, 2, 1, 3])
        shape = self._const(f"{where}/shape", np.array([1, ROWS, WIDTH]))
        return self._op("Reshape", f"{merged} {shape}", f"{where}/flat")

    def _head(self, where: str, x: str, perm: list[int]) -> str:
        dense = self._dense(where, x, bias=True)
        shape = self._const(f"{where}/shape", np.array([1, ROWS, HEADS, WIDTH // HEADS]))
        return self._op(
            "Transpose", self._op("Reshape", f"{dense} {shape}", f"{where}/split"), f"{where}/turn", perm=perm
        )

    def _dense(self, where: str, x: str, *, bias: bool) -> str:
        weight = self._const(f"{where}/weight", self._random.standard_normal((WIDTH, WIDTH)).astype(np.float32))
        product = self._op("MatMul", f"{x} {weight}", f"{where}/matmul")
        if not bias:
            return product
        addend = self._const(f"{where}/addend", self._random.standard_normal(WIDTH).astype(np.float32))
        return self._op("Add", f"{product} {addend}", f"{where}/bias")

    def _gelu(self, where: str, x: str) -> str:
        root, one, half = (
            self._const(f"{where}/{name}", np.float32(number))
            for name, number in (("root", np.sqrt(2)), ("one", 1), ("half", 0.5))
        )
        erf = self._op("Erf", self._op("Div", f"{x} {root}", f"{where}/div"), f"{where}/erf")
        sum_ = self._op("Add", f"{erf} {one}", f"{where}/plus")
        return self._op("Mul", f"{self._op('Mul', f'{x} {sum_}', f'{where}/gate')} {half}", f"{where}/gelu")

    def _norm(self, where: str, x: str) -> str:
        scale = self._const(f"{where}/scale", self._random.standard_normal(WIDTH).astype(np.float32))
        shift = self._const(f"{where}/shift", self._random.standard_normal(WIDTH).astype(np.float32))
        return self._op("LayerNormalization", f"{x} {scale} {shift}", f"{where}/norm", axis=-1)

    def _op(self, op: str, inputs: str, name: str, **attributes: object) -> str:
        self._nodes.append(node(op, inputs, name, name, **attributes))
        return name

    def _const(self, name: str, array: np.ndarray | np.generic) -> str:
        self._weights[name] = np.asarray(array)
        return name


def build_encoder(*blocks: str, layers: int = 2) -> onnx.ModelProto:
    """`layers` times the same blocks, from `x` to the result of the last one."""
    encoder = Encoder()
    value = "x"
    for layer in range(layers):
        value = encoder.layer(f"layer_{layer}", value, blocks)
    return encoder.build("x", value)
