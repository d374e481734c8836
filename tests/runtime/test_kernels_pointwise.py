"""Programs of elementwise instructions against the numpy definition, and the accuracy of single functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from autofusion.errors import ArtifactError
from autofusion.ops.definitions import DEFINITIONS
from autofusion.plan import ACTIVATIONS
from autofusion.runtime.encode_pointwise import COMPARISONS
from autofusion.runtime.native import Native
from autofusion.runtime.records import BINARY_OPERATORS, UNARY_OPERATORS
from runtime.cases import draw
from runtime.steps import Bench, Case, assert_agrees

ODD_SHAPES = [(1,), (7,), (255,), (256,), (257,), (1031,), (3, 5), (5, 127), (3, 300), (2, 3, 33), (2, 3, 4, 17)]


def instruct(op: str, *registers: int, alpha: float = 0.0, beta: float = 0.0) -> list[Any]:
    return [op, *registers, *[-1] * (3 - len(registers)), alpha, beta]


def make_case(operands: Sequence[np.ndarray], program: list[list[Any]], reduce: str = "", **storage: Any) -> Case:
    shape = np.broadcast_shapes(*(array.shape for array in operands))
    return Case(
        "pointwise", operands, {"program": program, "reduce": reduce}, (*shape[:-1], 1) if reduce else shape, **storage
    )


BLEND = [
    instruct("Mul", 0, 1),
    instruct("SiLU", 2, alpha=1.5),
    instruct("Constant", alpha=0.25),
    instruct("Less", 3, 4),
    instruct("Select", 5, 3, 0),
    instruct("Max", 6, 1),
]
"""x * b, SiLU of it, x where that is not less than 1 / 4, and not below b."""


@pytest.mark.parametrize("op", [name for name in UNARY_OPERATORS if name])
def test_every_function_agrees_with_the_definition(native: Native, op: str) -> None:
    x = np.concatenate([draw(301) * 3, np.array([0.0, -0.0, np.inf, -np.inf, np.nan], np.float32)])
    if op in ("Gelu", "GeluTanh", "HardSwish", "SiLU"):
        x[-3:-1] = 4.0
    numbers = {"alpha": 0.2, "beta": 0.6} if op in ACTIVATIONS else {}
    assert_agrees(native, make_case([x], [instruct(op, 0, **numbers), instruct("Neg", 1)]))


@pytest.mark.parametrize("op", [*BINARY_OPERATORS, *COMPARISONS])
@pytest.mark.parametrize("shapes", [((67,), (67,)), ((67,), (1,)), ((1,), (67,)), ((5, 9), (5, 1)), ((5, 9), (9,))])
def test_every_operator_agrees_with_the_definition(
    native: Native, op: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    x, y = draw(*shapes[0]), draw(*shapes[1])[..., ::-1].copy()
    y.flat[0] = x.flat[0]
    if op == "Pow":
        x = abs(x)
    assert_agrees(native, make_case([x, y], [instruct(op, 0, 1), instruct("Neg", 2), instruct("Neg", 3)]))


@pytest.mark.parametrize("exponent", [2.0, 3.0, 0.5, -1.0])
def test_powers_of_one_number(native: Native, exponent: float) -> None:
    x = np.array([0.5, 2.0, 3.5, 0.0, np.inf, np.nan], np.float32)
    assert_agrees(native, make_case([x], [instruct("Constant", alpha=exponent), instruct("Pow", 0, 1)]))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", ODD_SHAPES)
def test_programs_of_odd_sizes(native: Native, shape: tuple[int, ...], threads: int) -> None:
    for other in (shape, shape[-1:], (*shape[:-1], 1), (1,) * len(shape), ()):
        assert_agrees(native, make_case([draw(*shape), draw(*other)], BLEND), threads)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("reduce", ["Sum", "Mean", "Max", "Min"])
@pytest.mark.parametrize("shape", ODD_SHAPES)
def test_reductions_of_odd_sizes(native: Native, shape: tuple[int, ...], reduce: str, threads: int) -> None:
    for other in (shape, shape[-1:], (*shape[:-1], 1)):
        assert_agrees(native, make_case([draw(*shape), draw(*other)], BLEND, reduce), threads)


@pytest.mark.parametrize("reduce", ["Max", "Min", "Sum"])
def test_reductions_keep_nan(native: Native, reduce: str) -> None:
    x = draw(4, 300)
    x[1, 3] = x[2, 299] = np.nan
    assert_agrees(native, make_case([x], [instruct("Neg", 0)], reduce))


@pytest.mark.parametrize("reduce", ["Sum", "Mean", "Max", "Min"])
def test_reductions_of_nothing(native: Native, reduce: str) -> None:
    assert_agrees(native, make_case([draw(3, 0)], [instruct("Neg", 0)], reduce))


def test_reductions_of_what_does_not_vary_along_the_rows(native: Native) -> None:
    x, wide = draw(3, 1), draw(3, 300)
    for reduce in ("Sum", "Mean", "Max"):
        assert_agrees(native, make_case([x, wide], [instruct("Exp", 0)], reduce))


@pytest.mark.parametrize("threads", [1, 3])
def test_images_with_gaps_between_pixels(native: Native, threads: int) -> None:
    x = draw(2, 21, 5, 7)
    for other in (draw(2, 21, 5, 7), draw(21, 1, 1), draw(2, 21, 1, 1), draw(5, 7), draw(2, 1, 5, 7)):
        layout = "nhwc" if other.shape == x.shape else "plain"
        pitches = {0: 24, 1: 22} if layout == "nhwc" else {0: 24}
        storage = {"layouts": ("nhwc", layout), "pitches": pitches, "result_layout": "nhwc", "result_pitch": 23}
        assert_agrees(native, make_case([x, other], BLEND, **storage), threads)


def test_truth_values_choose(native: Native) -> None:
    program = [instruct("Select", 2, 0, 1), instruct("Exp", 3)]
    for shape in ((6, 70), (1, 70), (6, 1)):
        holds = np.arange(math.prod(shape)).reshape(shape) % 3 == 0
        assert_agrees(native, make_case([draw(6, 70), draw(70), holds], program))


def test_truth_values_of_images_are_plain(native: Native) -> None:
    x = draw(2, 5, 4, 3)
    storage = {"layouts": ("nhwc", "plain", "plain"), "result_layout": "nhwc"}
    program = [instruct("Select", 2, 0, 1), instruct("Relu", 3)]
    assert_agrees(native, make_case([x, draw(5, 1, 1), x > 0], program, **storage))


def test_results_that_are_constant_fill_everything(native: Native) -> None:
    assert_agrees(native, make_case([draw(3, 90)], [instruct("Constant", alpha=2.5)]))


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(native: Native, seed: int) -> None:
    """Bounded functions on operands of all kinds of shapes, in any order."""
    random = np.random.default_rng(seed)
    rank = int(random.integers(1, 5))
    shape = tuple(int(random.choice([1, 2, 3, 5, 17, 40])) for _ in range(rank))
    operands = [draw(*shape)]
    for _ in range(random.integers(0, 6)):
        operands.append(draw(*(extent if random.random() < 0.6 else 1 for extent in shape)))
    program: list[list[Any]] = []
    for number in range(int(random.integers(1, 18))):
        registers = [int(place) for place in random.integers(0, len(operands) + number, 3)]
        op = str(
            random.choice(["Tanh", "Clip", "Erf", "Add", "Sub", "Max", "Mul", "Select", "Less", "Constant", "Abs"])
        )
        count = {"Add": 2, "Sub": 2, "Max": 2, "Mul": 2, "Less": 2, "Select": 3, "Constant": 0}.get(op, 1)
        program.append(instruct(op, *registers[:count], alpha=-0.5, beta=0.75))
    reduce = str(random.choice(["", "", "Sum", "Mean", "Max", "Min"]))
    bounded = [*program, instruct("Tanh", len(operands) + len(program) - 1)]
    # Comparisons of nearly equal numbers may go either way.
    case = make_case(operands, bounded, reduce)
    wide = [array.astype(np.float64) for array in operands]
    narrow = DEFINITIONS["pointwise"](operands, case.attributes, case.shape)
    if np.allclose(narrow, DEFINITIONS["pointwise"](wide, case.attributes, case.shape), atol=1e-5):
        assert_agrees(native, case, int(random.integers(1, 4)), tolerance=1e-4)


WIDE = {
    "Exp": np.linspace(-87, 88.7, 40001),
    "Erf": np.concatenate([np.linspace(-6, 6, 40001), np.geomspace(1e-30, 1, 999)]),
    "Tanh": np.concatenate([np.linspace(-12, 12, 40001), np.geomspace(1e-30, 1, 999)]),
    "Log": np.concatenate([np.geomspace(1e-37, 3e38, 40001), np.linspace(0.5, 2, 9999)]),
    "Sqrt": np.geomspace(1e-37, 3e38, 40001),
}


@pytest.mark.parametrize("op", WIDE)
def test_functions_are_exact_to_a_millionth(native: Native, op: str) -> None:
    x = WIDE[op].astype(np.float32)
    case = make_case([x], [instruct(op, 0)])
    expected = DEFINITIONS["pointwise"]([x.astype(np.float64)], case.attributes, case.shape)
    np.testing.assert_allclose(Bench(case).run(native), expected, rtol=1e-6)


@pytest.mark.parametrize("exponent", [-3.0, -0.5, 1 / 3, 1.7, 3.0, 11.0])
def test_powers_are_exact_to_a_millionth(native: Native, exponent: float) -> None:
    x = np.geomspace(1e-3, 1e3, 20001).astype(np.float32)
    exponents = np.full_like(x, exponent)
    case = make_case([x, exponents], [instruct("Pow", 0, 1)])
    expected = x.astype(np.float64) ** exponents.astype(np.float64)
    np.testing.assert_allclose(Bench(case).run(native), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ([], "no program"),
        ([["Exp", 0]], "six parts"),
        ([instruct("Sinh", 0)], "no native kernel"),
        ([instruct("Exp", 1)], "register 1"),
        ([instruct("Add", 0)], "register -1"),
        ([instruct("Constant", alpha=float(number)) for number in range(41)], "41 instructions"),
        ([instruct("Clip", 0)] * 21, "42 instructions"),
        ([instruct("Constant", alpha=10**400)], "too large"),
    ],
)
def test_programs_that_cannot_run_are_refused(program: list[list[Any]], message: str) -> None:
    with pytest.raises((ArtifactError, ValueError), match=message):
        Bench(make_case([draw(3)], program))


def test_operands_that_do_not_fit_are_refused() -> None:
    program = [instruct("Neg", 0)]
    for operands, shape in (([draw(3, 4)], (3, 5)), ([draw(2, 1, 2, 1, 2), draw(1, 2, 1, 2, 1)], (2, 2, 2, 2, 2))):
        with pytest.raises(ArtifactError):
            Bench(Case("pointwise", operands, {"program": program, "reduce": ""}, shape))
    with pytest.raises(ArtifactError, match="reduces"):
        Bench(Case("pointwise", [draw(3, 4)], {"program": program, "reduce": "Sum"}, (3, 4)))
    with pytest.raises(ArtifactError, match="int64"):
        Bench(make_case([np.arange(4)], program))
