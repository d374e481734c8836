"""What steps on doubles have beside those on floats, with which `assert_agrees` compares them: digits, and numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from autofusion.errors import ArtifactError
from autofusion.ops.special import erf
from autofusion.plan import ACTIVATIONS
from autofusion.runtime.native import Native
from autofusion.runtime.records import DOUBLE_KERNELS, UNARY_OPERATORS
from runtime.cases import CASES
from runtime.steps import Bench, Case, define, has_doubles
from runtime.test_kernels_pointwise import instruct, make_case

SPECIALS = np.array(
    [
        *(0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 0.46875, -0.46875, 6.0, -6.0),
        *(5e-324, -5e-324, 1e-310, -1e-310, 2.3e-308, -2.3e-308, 1e-200, 1e200, -1e200, 1.7e308, -1.7e308),
        *(709.7, 709.79, -708.4, -709.0, -744.4, -745.2, -800.0, 800.0, 40.0, -40.0, 4503599627370495.5, 2.5, -3.5),
    ]
)

Function = Callable[[np.ndarray], np.ndarray]
EXACT: dict[str, Function] = {
    "Exp": np.exp,
    "Log": np.log,
    "Tanh": np.tanh,
    "Sqrt": np.sqrt,
    "Reciprocal": lambda x: 1 / x,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Sin": np.sin,
    "Cos": np.cos,
}
"""Functions in a type of more digits."""


def draw_numbers() -> np.ndarray:
    near = np.geomspace(1e-300, 2, 4003)
    return np.concatenate([SPECIALS, np.linspace(-40, 40, 20011), near, -near, np.linspace(-750, 720, 4001)])


def test_every_kernel_of_doubles_has_a_case() -> None:
    assert {case.kernel for case in CASES.values() if has_doubles(case)} == DOUBLE_KERNELS - {"product"}


@pytest.mark.parametrize("op", EXACT)
def test_functions_have_the_digits_of_doubles(native: Native, op: str) -> None:
    x = np.abs(draw_numbers()) if op in ("Log", "Sqrt") else draw_numbers()
    actual = Bench(Case("unary", [x], {"op": op}, x.shape, dtype="float64")).run(native)
    with np.errstate(all="ignore"):
        expected = EXACT[op](x.astype(np.longdouble)).astype(np.float64)
    np.testing.assert_array_equal(np.isnan(expected), np.isnan(actual))
    np.testing.assert_array_equal(expected[np.isinf(expected)], actual[np.isinf(expected)])
    finite = np.isfinite(expected)
    error, slack = np.abs(actual[finite] - expected[finite]), 5e-324 * 4
    if op == "Sigmoid":
        # exp(-x) is infinite before the quotient has gone under.
        slack = 1e-307
    allowed = 1.2e-15 * np.abs(expected[finite]) + slack
    assert (error <= allowed).all(), x[finite][error > allowed][:5]


def test_error_function_has_the_digits_of_doubles(native: Native) -> None:
    x = draw_numbers()
    actual = Bench(Case("unary", [x], {"op": "Erf"}, x.shape, dtype="float64")).run(native)
    expected = np.array([math.erf(number) for number in x])
    np.testing.assert_allclose(actual, expected, rtol=1.2e-15, atol=1e-323)
    np.testing.assert_allclose(erf(x), expected, rtol=1.2e-15, atol=1e-323)


@pytest.mark.parametrize("op", [op for op in UNARY_OPERATORS if op and not op.startswith("To") and op not in EXACT])
def test_functions_are_as_defined(native: Native, op: str) -> None:
    case = Case("unary", [draw_numbers()], {"op": op, "alpha": 1 / 3, "beta": 0.7}, SPECIALS.shape, dtype="float64")
    case.shape = case.operands[0].shape if case.operands[0] is not None else ()
    actual = Bench(case).run(native)
    with np.errstate(all="ignore"):
        expected = define(case)
    np.testing.assert_array_equal(np.isnan(expected), np.isnan(actual))
    # Where terms cancel, the error is one of x instead of the result.
    x, scale = draw_numbers(), 4e-15 if op in ACTIVATIONS else 1.2e-15
    ok = np.isfinite(expected)
    np.testing.assert_array_equal(expected[~ok], actual[~ok])
    error = np.abs(actual[ok] - expected[ok])
    assert (error <= scale * np.maximum(np.abs(x[ok]), np.abs(expected[ok])) + 1e-323).all()


def test_numbers_of_programs_keep_all_digits(native: Native) -> None:
    x = np.random.default_rng(5).standard_normal(300)
    program = [
        instruct("Constant", alpha=1 / 3),
        instruct("Constant", alpha=1e-300),
        instruct("Mul", 0, 1),
        instruct("Add", 3, 2),
        instruct("Clip", 4, alpha=-0.1, beta=0.1),
        instruct("LeakyRelu", 5, alpha=0.7),
        instruct("Elu", 6, alpha=1 / 7),
    ]
    case = make_case([x], program)
    case.dtype = "float64"
    np.testing.assert_allclose(Bench(case).run(native), define(case), rtol=2e-15, atol=0)


def test_a_program_has_room_for_its_numbers(native: Native) -> None:
    x = np.linspace(-1, 1, 7)
    program = [instruct("Constant", alpha=float(number)) for number in range(1, 20)]
    program += [instruct("Add", 0, number) for number in range(1, 2)]
    case = Case("pointwise", [x], {"program": program, "reduce": ""}, (7,), dtype="float64")
    np.testing.assert_array_equal(Bench(case).run(native), x + 1)
    case.attributes = {"program": [instruct("Constant", alpha=0.5), *program], "reduce": ""}
    with pytest.raises(ArtifactError, match="its program takes 42 instructions and numbers, more than 40") as caught:
        Bench(case)
    assert caught.value.diagnostic.code == "AF524"
