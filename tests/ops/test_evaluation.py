"""Evaluation of one node against ONNX Runtime and the reference implementation, at odd sizes and in every precision."""

from __future__ import annotations

import math

import numpy as np
import pytest

from autofusion.errors import ModelError
from autofusion.ir import Node
from autofusion.ops import convolution, evaluate, operators
from autofusion.ops.special import erf
from ops.cases import Case, check, floats, ints, run

X = floats(2, 3, 5, 4)
COLUMN = floats(3, 1, 4, seed=1)
POSITIVE = np.abs(X) + 0.1
BITS = np.array([[1, 7, 12], [255, 0, 3]], np.uint8)
NUMBERS = np.array([7, -7, 9, -9, 0], np.int64)
DIVISORS = np.array([2, 2, -4, -4, 5], np.int64)
TRUTH = np.array([True, False, True])

POINTWISE = [
    *(Case(op, 18, [X]) for op in ("Relu", "Sigmoid", "Tanh", "Softplus", "Softsign", "HardSwish", "Mish", "Erf")),
    *(Case(op, 18, [X]) for op in ("Elu", "Selu", "Celu", "LeakyRelu", "HardSigmoid", "ThresholdedRelu", "Shrink")),
    *(Case("Gelu", 20, [X], {"approximate": kind}) for kind in ("none", "tanh")),
    Case("Elu", 18, [X], {"alpha": 0.3}),
    Case("Selu", 18, [X], {"alpha": 0.3, "gamma": 2.0}),
    Case("Celu", 18, [X], {"alpha": 0.3}),
    Case("LeakyRelu", 18, [X], {"alpha": 0.3}),
    Case("HardSigmoid", 18, [X], {"alpha": 0.3, "beta": 0.1}),
    Case("ThresholdedRelu", 18, [X], {"alpha": 0.3}),
    Case("Shrink", 18, [X], {"lambd": 0.3, "bias": 0.1}),
    Case("PRelu", 18, [X, COLUMN]),
    *(Case(op, 18, [X]) for op in ("Abs", "Neg", "Sign", "Ceil", "Floor", "Exp", "Sin", "Cos", "Tan", "Atan", "Sinh")),
    *(Case(op, 18, [X]) for op in ("Cosh", "Asinh", "Reciprocal", "IsNaN", "IsInf")),
    *(Case(op, 18, [POSITIVE]) for op in ("Sqrt", "Log")),
    Case("Acosh", 18, [POSITIVE + 1]),
    *(Case(op, 18, [np.tanh(X)]) for op in ("Asin", "Acos", "Atanh")),
    Case("Round", 18, [np.array([0.5, 1.5, -0.5, -1.5, 2.4], np.float32)]),
    *(
        Case(op, 18, [X, COLUMN])
        for op in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Equal", "Less", "GreaterOrEqual")
    ),
    *(Case(op, 18, [NUMBERS, NUMBERS[::-1].copy()]) for op in ("LessOrEqual", "Greater")),
    Case("BitwiseNot", 18, [BITS]),
    Case("Pow", 18, [POSITIVE, COLUMN]),
    Case("Pow", 18, [X, ints(2)]),
    Case("Pow", 18, [ints(2, 3, -2), ints(3, 2, 3)]),
    Case("Div", 18, [NUMBERS, DIVISORS]),
    *(Case("Mod", 18, [NUMBERS, DIVISORS], {"fmod": fmod}) for fmod in (0, 1)),
    Case("Mod", 18, [X, COLUMN], {"fmod": 1}),
    *(Case("BitShift", 18, [BITS, BITS % 4], {"direction": way}) for way in ("LEFT", "RIGHT")),
    *(Case(op, 18, [BITS, BITS[:, ::-1].copy()]) for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor", "Add", "Mul")),
    *(Case(op, 18, [TRUTH, TRUTH[:1]]) for op in ("And", "Or", "Xor")),
    Case("Not", 18, [TRUTH]),
    Case("Where", 18, [TRUTH.reshape(3, 1, 1), X, COLUMN]),
    Case("Clip", 18, [X, np.array(0.5, np.float32), np.array(-0.5, np.float32)]),
    Case("Clip", 18, [NUMBERS, np.array(-3, np.int64), None]),
]

CONVOLUTIONS = [
    Case("Conv", 13, [floats(2, 3, 11), floats(4, 3, 3, seed=1)], {"strides": [2], "pads": [2, 1]}),
    Case("Conv", 13, [floats(1, 6, 7, 9), floats(6, 1, 3, 2, seed=1), floats(6)], {"group": 6, "dilations": [2, 1]}),
    Case("Conv", 13, [floats(2, 6, 7, 5), floats(9, 2, 2, 3, seed=1)], {"group": 3, "pads": [1, 0, 0, 2]}),
    Case("Conv", 13, [floats(1, 4, 5, 6), floats(8, 1, 1, 1, seed=1)], {"group": 4}),
    Case("Conv", 13, [floats(1, 2, 5, 6, 7), floats(3, 2, 2, 3, 1, seed=1)], {"strides": [1, 2, 3]}),
    Case("Conv", 13, [floats(0, 2, 5, 5), floats(3, 2, 2, 2)]),
    Case(
        "ConvTranspose",
        13,
        [floats(2, 4, 5, 3), floats(4, 3, 3, 2, seed=1), floats(6)],
        {"group": 2, "strides": [2, 3], "pads": [1, 0, 0, 1], "output_padding": [1, 0], "dilations": [1, 2]},
    ),
    Case("ConvTranspose", 13, [floats(1, 4, 6), floats(4, 3, 3, seed=1)], {"strides": [2]}),
    Case("ConvTranspose", 13, [floats(1, 4, 6), floats(4, 3, 3, seed=1)], {"strides": [2], "output_shape": [12]}),
    Case("ConvTranspose", 13, [floats(0, 4, 6), floats(4, 3, 3, seed=1)], {"strides": [2]}),
    Case(
        "ConvInteger",
        13,
        [BITS.reshape(1, 1, 2, 3), np.ones((2, 1, 2, 2), np.uint8), np.array(3, np.uint8)],
        {"pads": [1, 0, 0, 1]},
    ),
    Case("MaxPool", 13, [X], {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1], "dilations": [1, 2]}),
    Case("MaxPool", 13, [X], {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}),
    Case("MaxPool", 13, [X], {"kernel_shape": [2, 2]}, outputs=2),
    Case("MaxPool", 13, [X[:0]], {"kernel_shape": [2, 2]}, outputs=2),
    *(
        Case(
            "MaxPool",
            13,
            [X],
            {
                "kernel_shape": [3, 2],
                "strides": [2, 2],
                "pads": [1, 1, 1, 0],
                "storage_order": order,
                "dilations": [1, 2],
            },
            outputs=2,
        )
        for order in (0, 1)
    ),
    Case("MaxPool", 13, [BITS.view(np.int8).reshape(1, 1, 2, 3)], {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1]}),
    *(
        Case(
            "AveragePool",
            19,
            [X],
            {
                "kernel_shape": [3, 2],
                "strides": [2, 2],
                "pads": [1, 0, 2, 1],
                "count_include_pad": pad,
                "ceil_mode": ceil,
            },
        )
        for pad in (0, 1)
        for ceil in (0, 1)
    ),
    Case("AveragePool", 19, [X], {"kernel_shape": [2, 2], "dilations": [2, 3]}),
    Case("LpPool", 18, [X], {"kernel_shape": [2, 2], "p": 3, "pads": [1, 0, 0, 1]}),
    *(Case(op, 13, [X]) for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")),
]

PRODUCTS = [
    *(
        Case("MatMul", 13, [floats(*left), floats(*right, seed=1)])
        for left, right in (
            ((4,), (4,)),
            ((4,), (4, 3)),
            ((2, 4), (4,)),
            ((2, 3, 4), (4, 5)),
            ((2, 1, 3, 4), (5, 4, 2)),
        )
    ),
    Case("MatMul", 13, [floats(2, 0, 4), floats(4, 3)]),
    Case("MatMul", 13, [NUMBERS.reshape(1, 5), DIVISORS.reshape(5, 1)]),
    Case("MatMulInteger", 13, [BITS, BITS.T.copy(), np.array(3, np.uint8), np.array([4, 1], np.uint8)]),
    Case("Gemm", 13, [floats(4, 3), floats(2, 4), floats(3, 1)], {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0}),
    Case("Gemm", 13, [floats(3, 4), floats(4, 2), floats(2)], {"beta": 0.0}),
    Case("Einsum", 13, [floats(2, 3, 4), floats(2, 5, 4)], {"equation": "b i d, b j d -> b i j"}),
    Case("Einsum", 13, [floats(2, 3, 4)], {"equation": "...ij->...ji"}),
    Case("Einsum", 13, [floats(3, 3)], {"equation": "ii"}),
]

NORMALIZATIONS = [
    Case("BatchNormalization", 15, [floats(4, 3), *[POSITIVE[0, :, 0, 0]] * 4]),
    Case("InstanceNormalization", 13, [X, floats(3), floats(3, seed=1)], {"epsilon": 1e-3}),
    Case("InstanceNormalization", 13, [X[:0], floats(3), floats(3)]),
    Case("GroupNormalization", 21, [floats(2, 6, 5), floats(6), floats(6, seed=1)], {"num_groups": 3}),
    Case("LayerNormalization", 17, [X, floats(4), floats(4, seed=1)], {"epsilon": 1e-3}),
    Case("LayerNormalization", 17, [X, floats(5, 4)], {"axis": 2}, outputs=3),
    Case("RMSNormalization", 23, [X, floats(4)], {"axis": -1}),
    *(Case(op, 13, [X * 20], {"axis": axis}) for op in ("Softmax", "LogSoftmax", "Hardmax") for axis in (1, -1)),
    Case("LRN", 13, [X], {"size": 3}),
    Case("LpNormalization", 13, [X], {"axis": 1, "p": 1}),
    Case("MeanVarianceNormalization", 13, [X]),
]

REDUCTIONS = [
    *(
        Case(op, 18, [POSITIVE, ints(1, -1)], {"keepdims": keep}, [1])
        for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2")
        for keep in (0, 1)
    ),
    *(Case(op, 18, [POSITIVE, ints(0)]) for op in ("ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp")),
    *(Case(op, 18, [X], {"noop_with_empty_axes": 1}) for op in ("ReduceSum", "ReduceMax")),
    Case("ReduceSum", 18, [np.array([2**30, 5], np.int32)]),
    *(
        Case(op, 13, [NUMBERS.reshape(1, 5) % 4], {"axis": -1, "select_last_index": last, "keepdims": last})
        for op in ("ArgMax", "ArgMin")
        for last in (0, 1)
    ),
    *(
        Case("CumSum", 14, [X, np.array(-2, np.int64)], {"reverse": back, "exclusive": out})
        for back in (0, 1)
        for out in (0, 1)
    ),
]

SHAPING = [
    Case("Reshape", 14, [X, ints(0, -1, 2)]),
    Case("Reshape", 14, [floats(0, 3), ints(3, 0)], {"allowzero": 1}),
    *(Case("Flatten", 13, [X], {"axis": axis}) for axis in (0, 2, -3)),
    Case("Expand", 13, [COLUMN, ints(2, 1, 5, 1)]),
    Case("Tile", 13, [COLUMN, ints(2, 1, 3)]),
    *(Case("DepthToSpace", 13, [floats(1, 8, 2, 3)], {"blocksize": 2, "mode": mode}) for mode in ("DCR", "CRD")),
    Case("SpaceToDepth", 13, [floats(1, 2, 4, 6)], {"blocksize": 2}),
    Case("GatherElements", 13, [X, np.array([[[[1, 0, -1, 2]]]])], {"axis": 1}),
    Case("GatherND", 13, [X, np.array([[[0], [2]], [[1], [1]]])], {"batch_dims": 1}),
    *(
        Case("ScatterND", 18, [floats(4, 3), np.array([[1], [3], [1]]), floats(3, 3, seed=1)], {"reduction": reduction})
        for reduction in ("add", "mul", "max", "min")
    ),
    Case("ScatterND", 18, [floats(4, 3), np.array([[1], [3]]), floats(2, 3, seed=1)]),
    Case("ScatterElements", 18, [floats(3, 4), np.array([[1, 0]]), floats(1, 2)], {"axis": 1, "reduction": "add"}),
    *(Case("Trilu", 14, [X, np.array(k, np.int64)], {"upper": upper}) for k in (-1, 1) for upper in (0, 1)),
    *(Case("Pad", 18, [X, ints(0, 0, 1, 2, 0, 0, 2, 1)], {"mode": mode}) for mode in ("reflect", "edge", "constant")),
    Case("Pad", 19, [X, ints(0, 0, 1, 2, 0, 0, 2, 1)], {"mode": "wrap"}),
    Case("Range", 13, [np.array(0.5, np.float32), np.array(2.1, np.float32), np.array(0.4, np.float32)]),
    Case("Range", 13, [np.array(5), np.array(-4), np.array(-2)]),
    Case("Size", 13, [X]),
    Case("NonZero", 13, [NUMBERS.reshape(1, 5)]),
    Case("OneHot", 13, [ints(1, -1, 7), np.array(4, np.int64), np.array([0, 2], np.float32)], {"axis": 0}),
    Case("Cast", 13, [np.array([1.9, -1.9, 0.0], np.float32)], {"to": 6}),
    Case("Cast", 13, [np.array([0.5, 0.0, -1.0], np.float32)], {"to": 9}),
    Case("CastLike", 15, [X, NUMBERS]),
    Case("EyeLike", 13, [floats(3, 4)], {"k": 1, "dtype": 7}),
    Case("Identity", 13, [NUMBERS]),
]

RESIZES = [
    *(
        Case(
            "Resize",
            19,
            [X, None, np.array([1, 1, *scales], np.float32)],
            {**mode, "coordinate_transformation_mode": way},
        )
        for scales in ((1.7, 2.5), (0.6, 0.5))
        for mode in (
            {"mode": "linear"},
            {"mode": "cubic"},
            {"mode": "cubic", "exclude_outside": 1, "cubic_coeff_a": -0.5},
        )
        for way in ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric")
    ),
    *(
        Case("Resize", 19, [X, None, None, ints(2, 3, 7, 9)], {"nearest_mode": rounding})
        for rounding in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
    ),
    Case("Resize", 19, [X, None, None, ints(1, 9)], {"axes": [2, -1], "mode": "linear"}),
    Case("Resize", 19, [BITS.reshape(1, 1, 2, 3), None, np.array([1, 1, 2, 2], np.float32)]),
    Case("Resize", 18, [X, None, np.array([1, 1, 0.6, 0.7], np.float32)], {"mode": "linear", "antialias": 1}),
]

ALL = [*POINTWISE, *CONVOLUTIONS, *PRODUCTS, *NORMALIZATIONS, *REDUCTIONS, *SHAPING, *RESIZES]


@pytest.mark.parametrize("case", ALL, ids=str)
def test_results_agree_with_another_runtime(case: Case):
    check(case)


def test_every_own_evaluation_is_tested():
    from ops.test_canonical import CASES

    tested = {case.op for case in [*ALL, *CASES]}
    own = {row.name for row in operators().values() if row.evaluate is not None}
    assert own - tested == {"Swish"}


def test_a_sigmoid_goes_under_gradually():
    x = np.array([-800.0, -712.0, -709.5, 0.0, 709.5, np.inf, -np.inf, np.nan])
    (found,) = run(Case("Sigmoid", 13, [x])).results
    with np.errstate(over="ignore"):
        expected = 1 / (1 + np.exp(-x.astype(np.longdouble)))
    np.testing.assert_allclose(found, expected.astype(np.float64), rtol=1e-15, atol=1e-323)


def test_swish_is_x_times_its_sigmoid():
    (found,) = run(Case("Swish", 24, [X], {"alpha": 1.5})).results
    np.testing.assert_allclose(found, X / (1 + np.exp(-1.5 * X)), rtol=1e-6)


def test_clipping_where_the_limits_are_crossed_gives_the_upper_one():
    (found,) = run(Case("Clip", 13, [X, np.array(1, np.float32), np.array(-1, np.float32)])).results
    assert np.all(found == -1)


def test_not_a_number_is_carried_on():
    given = np.array([np.nan, 1.0, -np.inf], np.float32)
    for case in (Case("Relu", 13, [given]), Case("Clip", 13, [given, np.array(0, np.float32)])):
        assert np.isnan(run(case).results[0][0])
    rows = np.full((1, 3), -np.inf, np.float32)
    assert np.isnan(run(Case("Softmax", 13, [rows])).results[0]).all()
    assert np.isnan(run(Case("MaxPool", 13, [given.reshape(1, 1, 3)], {"kernel_shape": [2]})).results[0][0, 0, 0])


def test_an_empty_mean_is_not_a_number():
    assert np.isnan(run(Case("ReduceMean", 18, [floats(2, 0), ints(1)], {}, [1])).results[0]).all()
    assert np.all(run(Case("ReduceMax", 20, [floats(2, 0), ints(1)], {}, [1])).results[0] == -np.inf)


def test_error_function_to_the_last_places_of_float64():
    grid = np.concatenate([np.linspace(-7, 7, 20001), np.linspace(-0.5, 0.5, 5001), [0.0, -0.0, np.inf, -np.inf]])
    exact = np.array([math.erf(x) for x in grid])
    assert np.abs(erf(grid) - exact).max() < 1e-15
    assert np.signbit(erf(np.array([-0.0])))[0]
    assert np.isnan(erf(np.array([np.nan])))[0]


def test_softmax_is_exact_for_great_and_small_numbers():
    rows = np.array([[1000.0, 1001.0], [-1000.0, -999.0]])
    (found,) = run(Case("Softmax", 13, [rows])).results
    np.testing.assert_allclose(found, [[1 / (1 + math.e), math.e / (1 + math.e)]] * 2, rtol=1e-15)


def test_failures_name_the_node():
    with pytest.raises(ModelError, match="AF157: Gather node 'node': failed on its operands: index 5 is out of bounds"):
        evaluate(Node("node", "Gather", ("x", "i"), ("y",), {"axis": 0}), [X, np.array(5)])
    with pytest.raises(ModelError, match="AF156: Dropout node 'node': drops elements at random"):
        evaluate(Node("node", "Dropout", ("x", "r", "t"), ("y",)), [X, np.array(0.5), np.array(True)])
    with pytest.raises(ModelError, match="AF156: Unheard node 'node': has no implementation"):
        evaluate(Node("node", "Unheard", ("x",), ("y",), domain="nowhere", opset=1), [X])


@pytest.mark.parametrize("limit", [1, 60, 100_000])
def test_a_convolution_is_the_same_in_blocks_of_rows(limit: int, monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(5)
    x, weight = rng.standard_normal((2, 4, 7, 5)), rng.standard_normal((6, 2, 3, 2))
    attributes = {"kernel_shape": (3, 2), "strides": (2, 1), "pads": (1, 0, 1, 1), "dilations": (1, 2), "group": 2}
    node = Node("c", "Conv", ("x", "w"), ("y",), attributes)
    (whole,) = evaluate(node, [x, weight])
    monkeypatch.setattr(convolution, "COLUMN_ELEMENTS", limit)
    np.testing.assert_allclose(evaluate(node, [x, weight])[0], whole, rtol=1e-12)
