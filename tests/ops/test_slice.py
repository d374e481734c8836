"""Bounds of Slice: what lies outside of an axis, and steps that go backwards."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ops.cases import Case, check, ints
from ops.sketch import Sketch

FAR = 2**31 - 1
BOUNDS = [-FAR, -7, -5, -1, 0, 2, 4, 5, 9, FAR]


@pytest.mark.parametrize("step", [-3, -1, 2])
@pytest.mark.parametrize("extent", [0, 1, 5])
def test_bounds(extent: int, step: int) -> None:
    x = np.arange(extent * 2, dtype=np.float32).reshape(extent, 2)
    for start, end in itertools.product(BOUNDS, BOUNDS):
        # Backwards, ONNX Runtime takes this end for the far one, against the text of the operator.
        if end != FAR or step > 0:
            check(Case("Slice", 13, [x, ints(start), ints(end), ints(0), ints(step)], {}, [1, 2, 3, 4]))


def test_extents_backwards() -> None:
    sketch = Sketch(x="batch 3 seq")
    operands = map(sketch.constant, ([-1], [-FAR], [0], [-1]))
    assert sketch.content(sketch.add("Slice", sketch.add("Shape", "x"), *operands)) == ["seq", "3", "batch"]
    operands = map(sketch.constant, ([1], [-9], [0], [-1]))
    assert sketch.content(sketch.add("Slice", sketch.add("Shape", "x"), *operands)) == ["3", "batch"]
