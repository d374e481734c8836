"""Extents of symbols from the shapes of the inputs."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.errors import ArtifactError, InputError
from autofusion.plan import Buffer, Plan, Size, Step
from autofusion.runtime.dims import check_symbols, read_dims
from autofusion.runtime.host import compute_extents

Shapes = dict[str, tuple[Size, ...]]


def plan_of(shapes: Shapes, symbols: tuple[str, ...]) -> Plan:
    buffers = {name: Buffer(name, "float", shape, "input") for name, shape in shapes.items()}
    inner = {symbol: Buffer(f"needs {symbol}", "float", (symbol,)) for symbol in symbols}
    return Plan("native", tuple(shapes), (), symbols, {**buffers, **inner}, (), ())


@pytest.mark.parametrize(
    ("declared", "given", "dims"),
    [
        ({"x": (1, 3)}, {"x": (1, 3)}, {}),
        ({"x": ("n", "m")}, {"x": (4, 0)}, {"n": 4, "m": 0}),
        ({"x": ("n*m", 3), "y": ("m",)}, {"x": (35, 3), "y": (7,)}, {"n": 5, "m": 7}),
        ({"x": ("2*n + 1",)}, {"x": (7,)}, {"n": 3}),
        ({"x": ("5 - n",)}, {"x": (2,)}, {"n": 3}),
        ({"x": ("-(n - 5)*2",)}, {"x": (4,)}, {"n": 3}),
        ({"x": ("n + k", "n - m"), "y": ("m", "k*2")}, {"x": (9, 1), "y": (2, 12)}, {"n": 3, "m": 2, "k": 6}),
        ({"x": ("n", "(n + 1)//2", "min(n, 4)")}, {"x": (7, 4, 4)}, {"n": 7}),
        ({"x": ("n + max(m, 2)", "m")}, {"x": (9, 1)}, {"n": 7, "m": 1}),
    ],
)
def test_symbols_are_read_or_solved_for(
    declared: Shapes, given: dict[str, tuple[int, ...]], dims: dict[str, int]
) -> None:
    plan = plan_of(declared, tuple(dims))
    check_symbols(plan)
    assert dims == read_dims(plan, given)


@pytest.mark.parametrize(
    ("declared", "given"),
    [
        ({"x": (1, 3)}, {"x": (1, 4)}),
        ({"x": ("n", "n")}, {"x": (1, 4)}),
        ({"x": ("2*n",)}, {"x": (7,)}),
        ({"x": ("n + 4",)}, {"x": (3,)}),
        ({"x": ("n", "n//2")}, {"x": (7, 4)}),
        ({"x": ("n*m", "m")}, {"x": (0, 0)}),
        ({"x": ("n*m", "m")}, {"x": (3, 0)}),
        ({"x": ("n", "8//n")}, {"x": (0, 0)}),
    ],
)
def test_shapes_that_do_not_fit(declared: Shapes, given: dict[str, tuple[int, ...]]) -> None:
    plan = plan_of(declared, tuple(name for name in ("n", "m") if name in str(declared)))
    check_symbols(plan)
    with pytest.raises(InputError, match=r"AF532: input 'x' has shape \["):
        read_dims(plan, given)


@pytest.mark.parametrize(
    ("declared", "symbols"),
    [
        ({"x": (1,)}, ("n",)),
        ({"x": ("n*n",)}, ("n",)),
        ({"x": ("n//2",)}, ("n",)),
        ({"x": ("max(n, 1)",)}, ("n",)),
        ({"x": ("n + m",)}, ("n", "m")),
        ({"x": ("n - n",)}, ("n",)),
        ({"x": ("0*n",)}, ("n",)),
    ],
)
def test_symbols_that_cannot_be_told(declared: Shapes, symbols: tuple[str, ...]) -> None:
    with pytest.raises(ArtifactError, match="AF518"):
        check_symbols(plan_of(declared, symbols))


def test_a_symbol_that_nothing_needs_is_left_alone() -> None:
    plan = Plan("native", ("x",), (), ("n", "m"), {"x": Buffer("x", "float", ("n",), "input")}, (), ())
    check_symbols(plan)
    assert read_dims(plan, {"x": np.zeros(3).shape}) == {"n": 3}


def test_a_symbol_that_only_a_tensor_of_extents_needs() -> None:
    buffers = {"x": Buffer("x", "float", ("n",), "input"), "y": Buffer("y", "int64", (1,), "output")}
    step = Step("extents", "y", "Shape", (), ("y",), {"values": ["m"]})
    with pytest.raises(ArtifactError, match=r"AF518.*'m'"):
        check_symbols(Plan("native", ("x",), ("y",), ("n", "m"), buffers, (), (step,)))


@pytest.mark.parametrize("value", ["8//n", "n + 9223372036854775807"])
def test_elements_of_a_tensor_of_extents_that_are_none(value: str) -> None:
    step = Step("extents", "y", "Shape", (), ("y",), {"values": [value]})
    for n in (0, 1):
        if (n == 0) == ("//" in value):
            with pytest.raises(InputError, match=f"AF533: the model cannot run with n={n}: value 'y'"):
                compute_extents(step, {"n": n}, "int64", (1,))
        else:
            assert compute_extents(step, {"n": n}, "int64", (1,)).shape == (1,)
