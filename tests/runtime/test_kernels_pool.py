"""Pooling of the C library against its numpy definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autofusion.runtime.native import Native
from runtime.steps import Case, assert_agrees


def make_pool(
    kind: str,
    x: tuple[int, ...],
    kernel: tuple[int, ...] = (),
    *,
    strides: tuple[int, ...] = (),
    pads: tuple[int, ...] = (),
    dilations: tuple[int, ...] = (),
    include_pad: bool = False,
    ceil_mode: bool = False,
    pitches: tuple[int, int] = (0, 0),
) -> Case:
    """A pooling step on random data, over the whole image where there is no kernel."""
    axes = len(x) - 2
    attributes: dict[str, Any] = {"kind": kind, "is_global": not kernel}
    spatial: tuple[int, ...] = (1,) * axes
    if kernel:
        strides, dilations, pads = strides or (1,) * axes, dilations or (1,) * axes, pads or (0,) * 2 * axes
        rooms = [
            x[2 + axis] + pads[axis] + pads[axes + axis] - (kernel[axis] - 1) * dilations[axis] - 1
            for axis in range(axes)
        ]
        spatial = tuple(
            (-(-room // stride) if ceil_mode else room // stride) + 1
            for room, stride in zip(rooms, strides, strict=True)
        )
        attributes |= {
            "kernel": list(kernel),
            "strides": list(strides),
            "pads": list(pads),
            "dilations": list(dilations),
            "include_pad": include_pad,
        }
    data = np.random.default_rng(5).standard_normal(x).astype(np.float32)
    result = (*x[:2], *spatial)
    return Case("pool", [data], attributes, result, ("nhwc",), {0: x[1] + pitches[0]}, "nhwc", x[1] + pitches[1])


GEOMETRIES: dict[str, dict[str, Any]] = {
    "stem": {"x": (1, 64, 13, 11), "kernel": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1)},
    "odd channels": {"x": (2, 37, 7, 5), "kernel": (2, 3), "strides": (2, 1), "pads": (0, 1, 1, 0)},
    "one channel": {"x": (1, 1, 5, 5), "kernel": (2, 2)},
    "dilated": {"x": (1, 20, 9, 9), "kernel": (2, 3), "dilations": (3, 2), "strides": (2, 2)},
    "ceil": {"x": (1, 17, 8, 6), "kernel": (3, 3), "strides": (2, 2), "ceil_mode": True},
    "ceil and pads": {"x": (1, 8, 7, 7), "kernel": (3, 3), "strides": (3, 2), "pads": (1, 0, 0, 1), "ceil_mode": True},
    "line": {"x": (2, 19, 12), "kernel": (4,), "strides": (3,), "pads": (2, 1)},
    "volume": {"x": (1, 18, 4, 5, 6), "kernel": (2, 3, 2), "strides": (1, 2, 3), "pads": (1, 0, 1, 0, 1, 0)},
    **{f"{count} channels": {"x": (1, count, 4, 5), "kernel": (2, 3)} for count in (31, 33, 63, 64, 65, 130)},
    "pitch": {"x": (1, 18, 6, 5), "kernel": (2, 2), "pitches": (14, 3)},
    "global": {"x": (2, 49, 7, 7)},
    "global line": {"x": (1, 5, 11), "pitches": (3, 1)},
    "global volume": {"x": (1, 33, 3, 4, 5)},
    "global of one pixel": {"x": (3, 16, 1, 1)},
    "global of no pixel": {"x": (2, 19, 0, 3)},
    "empty batch": {"x": (0, 8, 5, 5), "kernel": (3, 3)},
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", ["max", "average"])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_geometries(native: Native, name: str, kind: str, threads: int) -> None:
    assert_agrees(native, make_pool(kind, **GEOMETRIES[name]), threads)


@pytest.mark.parametrize("name", [name for name, geometry in GEOMETRIES.items() if "pads" in geometry])
def test_pads_that_count(native: Native, name: str) -> None:
    assert_agrees(native, make_pool("average", include_pad=True, **GEOMETRIES[name]))


@pytest.mark.parametrize("kind", ["max", "average"])
def test_nan_and_infinity_pass(native: Native, kind: str) -> None:
    case = make_pool(kind, (1, 20, 6, 6), (3, 3), pads=(1, 1, 1, 1))
    x = case.operands[0]
    assert x is not None
    x[0, 2, 1, 1] = np.nan
    x[0, 19, 0, 5] = np.nan
    x[0, 7, 5, 5] = np.inf
    x[0, 8] = -np.inf
    assert_agrees(native, case)


def test_a_long_average_is_exact(native: Native) -> None:
    case = make_pool("average", (1, 16, 112, 112))
    x = case.operands[0]
    assert x is not None
    x += 1000
    assert_agrees(native, case, tolerance=1e-6)
