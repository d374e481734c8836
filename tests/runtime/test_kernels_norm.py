"""Native norms, rotary embeddings and embeddings against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.errors import ArtifactError
from autofusion.runtime.native import Native
from runtime.free_steps import assert_as_defined, run_step
from runtime.steps import Case, assert_agrees


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("shape", [(3, 7), (2, 5, 768), (1, 1, 16), (4, 1), (1, 65), (0, 5)])
@pytest.mark.parametrize("kind", ["layer", "rms"])
@pytest.mark.parametrize("has_sum", [False, True])
def test_norm(native: Native, shape: tuple[int, ...], kind: str, has_sum: bool) -> None:
    attributes = {"kind": kind, "epsilon": 1e-5, "axes": 1}
    width = shape[-1:]
    shapes = [shape, shape] if has_sum else [shape]
    assert_as_defined(native, "norm", [draw(*shape)], attributes, shapes)
    operands = [draw(*shape), draw(*width), draw(*width) + 1, draw(*shape) * 3]
    assert_as_defined(native, "norm", operands, attributes, shapes, 2)


def test_norm_over_several_axes(native: Native) -> None:
    attributes = {"kind": "layer", "epsilon": 0.1, "axes": 2}
    assert_as_defined(native, "norm", [draw(2, 3, 4, 5), draw(4, 5), draw(4, 5)], attributes, [(2, 3, 4, 5)])


def test_norm_of_values_far_from_zero(native: Native) -> None:
    attributes = {"kind": "layer", "epsilon": 1e-5, "axes": 1}
    y = run_step(native, "norm", [draw(2, 100) + 1000], attributes, [(2, 100)])[0]
    np.testing.assert_allclose(y.std(axis=-1), 1, atol=1e-3)


@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("layout", ["plain", "nhwc"])
def test_group_norm(native: Native, groups: int, layout: str) -> None:
    attributes = {"groups": groups, "epsilon": 1e-3}
    pitches = {0: 8} if layout == "nhwc" else {}
    operands = [draw(2, 6, 5, 7), draw(6), draw(6) + 1]
    layouts = (layout, "plain", "plain")
    assert_agrees(native, Case("group_norm", operands, attributes, (2, 6, 5, 7), layouts, pitches, layout), threads=2)


@pytest.mark.parametrize("width", [2, 8, 34, 36])
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("share", [1, 2])
def test_rotary(native: Native, width: int, interleaved: bool, share: int) -> None:
    batch, heads, rows, size = extents = [2, 3, 5, 36]
    attributes = {
        "extents": extents,
        "width": width,
        "interleaved": interleaved,
        "x_view": [0, rows * heads * size, size, heads * size, 1],
        "y_view": [0, heads * rows * size, rows * size, size, 1],
    }
    tables = [draw(rows, width // share), draw(1, 1, rows, width // share) * 2]
    operands = [draw(batch, rows, heads * size), *tables]
    assert_as_defined(native, "rotary", operands, attributes, [(batch, heads, rows, size)], 2)


@pytest.mark.parametrize("norm", ["", "layer", "rms"])
@pytest.mark.parametrize("shape", [(1, 1, 5), (2, 7, 768), (3, 4, 33)])
def test_embedding(native: Native, norm: str, shape: tuple[int, int, int]) -> None:
    batch, rows, width = shape
    draws = np.random.default_rng(6)
    words, kinds = draws.integers(-9, 9, (batch, rows)), draws.integers(0, 4, (1, rows)).astype(np.int32)
    attributes = {"norm": norm, "epsilon": 1e-5}
    operands = [draw(9, width), words, draw(4, width), kinds, draw(1, rows, width), None, draw(width), draw(width)]
    assert_as_defined(native, "embedding", operands, attributes, [shape, shape], 2)
    assert_as_defined(native, "embedding", operands[:2], attributes, [shape])


@pytest.mark.parametrize("wrong", [9, -10])
def test_an_id_outside_its_table_ends_the_run(native: Native, wrong: int) -> None:
    ids = np.array([[1, wrong]])
    with pytest.raises(IndexError, match="embedding"):
        run_step(native, "embedding", [draw(9, 4), ids], {"norm": "", "epsilon": 0.0}, [(1, 2, 4)])


@pytest.mark.parametrize(
    ("kernel", "operands", "attributes"),
    [
        ("norm", [draw(2, 6), draw(5)], {"kind": "layer", "epsilon": 0.0, "axes": 1}),
        ("norm", [draw(2, 6)], {"kind": "batch", "epsilon": 0.0, "axes": 1}),
        ("group_norm", [draw(1, 6, 2), draw(6), draw(6)], {"groups": 4, "epsilon": 0.0}),
        ("embedding", [draw(9, 5), np.zeros((2,), np.int64)], {"norm": "", "epsilon": 0.0}),
    ],
)
def test_operands_that_do_not_fit_are_refused(
    native: Native, kernel: str, operands: list[np.ndarray], attributes: dict[str, object]
) -> None:
    with pytest.raises(ArtifactError) as caught:
        run_step(native, kernel, operands, attributes, [(2, 6)])
    assert caught.value.diagnostic.code == "AF524"
