"""In which precision nodes are evaluated: their operands' own, or float64 throughout."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from ops.cases import Case, floats, ints, run
from ops.test_evaluation import ALL, NUMBERS, X

FLOATS = [case for case in ALL if case.operands[0] is not None and case.operands[0].dtype == np.float32]


@pytest.mark.parametrize("case", FLOATS, ids=str)
def test_widened_operands_stay_wide_and_agree(case: Case):
    for ours, single in zip(run(case, widen=True).results, run(case).results, strict=True):
        assert ours.dtype == (np.float64 if single.dtype == np.float32 else single.dtype)
        np.testing.assert_allclose(ours, single, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize(
    "case",
    [
        Case("Conv", 13, [floats(1, 3, 6, 6), floats(4, 3, 3, 3, seed=1), floats(4)]),
        Case("MatMul", 13, [floats(4, 300), floats(300, 5, seed=1)]),
        Case("Gemm", 13, [floats(4, 300), floats(300, 5, seed=1), floats(5)]),
        Case("Softmax", 13, [floats(3, 50)]),
        Case("LayerNormalization", 17, [floats(3, 50), floats(50), floats(50)]),
        Case("AveragePool", 19, [floats(1, 2, 6, 6)], {"kernel_shape": [3, 3]}),
        Case("ReduceMean", 18, [floats(1, 2, 60)]),
        Case("Sigmoid", 13, [floats(20)]),
        Case("Gelu", 20, [floats(20)]),
        Case("Add", 13, [floats(20), floats(20, seed=1)]),
    ],
    ids=str,
)
def test_two_byte_floats_are_rounded_once(case: Case, kind: type):
    short = [array.astype(kind) for array in case.operands if array is not None]
    exact = run(Case(case.op, case.opset, [array.astype(np.float64) for array in short], case.attributes)).results[0]
    ours = run(Case(case.op, case.opset, short, case.attributes)).results[0]
    assert ours.dtype == kind
    step = 2.0**-10 if kind is np.float16 else 2.0**-7
    np.testing.assert_allclose(ours.astype(np.float64), exact, rtol=step, atol=1e-5)


def test_types_named_by_attributes_are_widened():
    (wide,) = run(Case("Cast", 13, [NUMBERS], {"to": 1}), widen=True).results
    assert wide.dtype == np.float64
    assert run(Case("Cast", 13, [X.astype(np.float64)], {"to": 10}), widen=True).results[0].dtype == np.float64
    assert run(Case("Cast", 13, [X], {"to": 7}), widen=True).results[0].dtype == np.int64
    assert run(Case("ConstantOfShape", 13, [ints(2)]), widen=True).results[0].dtype == np.float64
    assert run(Case("ConstantOfShape", 13, [ints(2)])).results[0].dtype == np.float32
    precise = np.array([1 / 3])
    assert run(Case("Cast", 13, [precise], {"to": 1}), widen=True).results[0][0] == precise[0]
