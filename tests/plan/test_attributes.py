from __future__ import annotations

import json
import math

import ml_dtypes
import numpy as np
import pytest

from autofusion.plan.attributes import decode_attribute, encode_attribute
from autofusion.plan.serial import decode_setting, encode_setting


def through_json(value: object) -> object:
    text = json.dumps(encode_setting(encode_attribute(value)), allow_nan=False)
    return decode_attribute(decode_setting(json.loads(text)))


@pytest.mark.parametrize("value", [3, 0.5, "text", (1, 2), (0.5, 1.0), ("a", "b"), (), math.inf])
def test_plain_values_survive(value: object):
    back = through_json(value)
    assert back == value
    assert type(back) is type(value)


def test_kinds_of_numbers_survive():
    assert [type(item) for item in (1.0, *through_json((1.0, 2.0)), *through_json((1,)))] == [float, float, float, int]  # type: ignore[misc]


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3).T,
        np.array(3, np.int64),
        np.zeros((0, 2), np.float16),
        np.array([True, False]),
        np.array([math.nan, -0.0]),
        np.array([1.5, -2], ml_dtypes.bfloat16),
        np.array([1.5, 2], ml_dtypes.float8_e4m3fn),
        np.array([-8, 7], ml_dtypes.int4),
        np.array([["a", "é\n"]], object),
    ],
    ids=lambda array: str(array.dtype),
)
def test_arrays_survive(array: np.ndarray):
    back = through_json(array)
    assert isinstance(back, np.ndarray)
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    if array.dtype.kind == "O":
        assert back.tolist() == array.tolist()
    else:
        assert back.tobytes() == array.tobytes()


def test_anything_else_is_refused():
    with pytest.raises(ValueError, match="no attribute of a host step"):
        encode_attribute(object())
