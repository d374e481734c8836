"""One step of every native kernel."""

from __future__ import annotations

import numpy as np

from runtime.steps import PLAIN_EPILOGUE, Case


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def conv_case(channels: int = 16, filters: int = 16, size: int = 6, group: int = 1) -> Case:
    window = {"kernel": [3, 3], "strides": [1, 1], "pads": [1, 1, 1, 1], "dilations": [1, 1], "group": group}
    shape = (1, filters, size, size)
    operands = [draw(1, channels, size, size), draw(filters, channels // group, 3, 3), draw(filters), draw(*shape)]
    return Case("conv", operands, window | PLAIN_EPILOGUE, shape, ("nhwc", "plain", "plain", "nhwc"), {}, "nhwc")


def matmul_case(packed: bool = False) -> Case:
    attributes = {"trans_a": False, "trans_b": False, "scale": 1.0, "packed": packed, **PLAIN_EPILOGUE}
    return Case("matmul", [draw(5, 7), draw(7, 9), draw(9), draw(5, 9)], attributes, (5, 9))


def pool_case() -> Case:
    window = {"kernel": [2, 2], "strides": [2, 2], "pads": [0, 0, 0, 0], "dilations": [1, 1]}
    attributes = {"kind": "max", "is_global": False, "include_pad": False, **window}
    return Case("pool", [draw(1, 8, 6, 6)], attributes, (1, 8, 3, 3), ("nhwc",), {}, "nhwc")


def make_cases() -> dict[str, Case]:
    """One step of every native kernel, with every operand that it may have."""
    x = draw(2, 5, 4, 3)
    pixels = ("nhwc",)
    return {
        "conv": conv_case(),
        "conv of few channels": conv_case(3),
        "conv of groups": conv_case(24, 36, group=2),
        "depthwise": conv_case(group=16),
        "matmul": matmul_case(),
        "packed matmul": matmul_case(packed=True),
        "pool": pool_case(),
        "affine": Case("affine", [x, draw(5), draw(5)], PLAIN_EPILOGUE, x.shape, pixels, {0: 8}, "nhwc", 8),
        "unary": Case("unary", [x], {"op": "Exp"}, x.shape, pixels, {0: 8}, "nhwc", 7),
        "binary": Case("binary", [x, draw(4, 1)], {"op": "Add", **PLAIN_EPILOGUE}, x.shape),
        "relayout": Case("relayout", [x], {}, x.shape, (), {}, "nhwc", 8),
        "copy": Case("copy", [x], {}, x.shape),
    }


CASES = make_cases()
