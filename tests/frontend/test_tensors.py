from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from autofusion.errors import ModelError
from autofusion.frontend.storage import Storage
from autofusion.frontend.tensors import read_sparse, read_tensor
from autofusion.ir import DType
from autofusion.ops.element_types import CODES

NOWHERE = Storage(Path("model.onnx"))
NUMERIC = [dtype for dtype in DType if dtype is not DType.STRING]


def sample(dtype: DType) -> np.ndarray:
    values = np.array([[0, 1, 2], [3, 7, 5]])
    return values.astype(dtype.numpy) if dtype.numpy.kind != "c" else (values + 1j * values).astype(dtype.numpy)


@pytest.mark.parametrize("dtype", NUMERIC, ids=lambda dtype: dtype.value)
def test_raw_data_of_every_type(dtype: DType) -> None:
    array = sample(dtype)
    found = read_tensor(numpy_helper.from_array(array, "w"), "w", NOWHERE)
    assert (array.dtype, array.shape, False) == (found.dtype, found.shape, found.flags.writeable)
    np.testing.assert_array_equal(array, found)


@pytest.mark.parametrize("dtype", NUMERIC, ids=lambda dtype: dtype.value)
def test_typed_field_of_every_type(dtype: DType) -> None:
    array = sample(dtype)
    proto = helper.make_tensor("w", CODES[dtype], array.shape, array.ravel())
    assert not proto.HasField("raw_data")
    found = read_tensor(proto, "w", NOWHERE)
    assert (array.dtype, array.shape) == (found.dtype, found.shape)
    np.testing.assert_array_equal(array, found)


def test_four_bit_numbers_keep_their_sign_and_odd_count() -> None:
    array = np.array([-8, 7, -1], ml_dtypes.int4)
    np.testing.assert_array_equal(array, read_tensor(numpy_helper.from_array(array, "w"), "w", NOWHERE))


def test_strings_scalars_and_empty_tensors() -> None:
    texts = read_tensor(helper.make_tensor("s", TensorProto.STRING, [2], [b"", "\u00e9".encode()]), "s", NOWHERE)
    assert texts.tolist() == ["", "\u00e9"]
    scalar = read_tensor(numpy_helper.from_array(np.array(2.5, np.float32), "k"), "k", NOWHERE)
    assert (scalar.shape, float(scalar)) == ((), 2.5)
    assert read_tensor(numpy_helper.from_array(np.zeros((3, 0, 2)), "e"), "e", NOWHERE).shape == (3, 0, 2)


def test_truth_values_are_zero_or_one() -> None:
    proto = TensorProto(data_type=TensorProto.BOOL, dims=[2], raw_data=b"\x00\x02")
    assert read_tensor(proto, "b", NOWHERE).view(np.uint8).tolist() == [0, 1]


def broken(**changes: object) -> onnx.TensorProto:
    proto = TensorProto(data_type=TensorProto.FLOAT, dims=[2, 3], raw_data=bytes(24))
    for name, value in changes.items():
        proto.ClearField(name)
        if isinstance(value, list):
            getattr(proto, name).extend(value)
        elif value is not None:
            setattr(proto, name, value)
    return proto


@pytest.mark.parametrize(
    ("proto", "problem"),
    [
        (broken(raw_data=bytes(23)), "AF111: tensor 'w' is float [2, 3] and takes 24 bytes, but the file has 23"),
        (broken(raw_data=None), "AF111: tensor 'w' is float [2, 3] and takes 6 numbers, but the file has 0"),
        (broken(dims=[2, -3]), "AF111: tensor 'w' has a negative extent: [2, -3]"),
        (broken(dims=[1] * 70, raw_data=bytes(4)), f"AF111: tensor 'w' has an impossible shape: {[1] * 70}"),
        (
            broken(dims=[0, 1 << 62, 1 << 62], raw_data=b""),
            f"AF111: tensor 'w' has an impossible shape: {[0, 1 << 62, 1 << 62]}",
        ),
        (broken(data_type=0), "AF110: tensor 'w' has no element type that ONNX knows (0)"),
        (broken(data_type=77), "AF110: tensor 'w' has no element type that ONNX knows (77)"),
        (
            broken(data_type=TensorProto.FLOAT8E5M2FNUZ),
            "AF110: tensor 'w' has the element type float8e5m2fnuz, which is not supported",
        ),
        (
            TensorProto(data_type=TensorProto.STRING, dims=[1], string_data=[b"a", b"b"]),
            "AF111: tensor 'w' is string [1] and takes 1 strings, but the file has 2",
        ),
    ],
)
def test_broken_tensors_are_refused(proto: onnx.TensorProto, problem: str) -> None:
    with pytest.raises(ModelError) as caught:
        read_tensor(proto, "w", NOWHERE)
    assert problem == str(caught.value)


def sparse(indices: object, values: object = (1.5, 2.0), dims: tuple[int, ...] = (3, 4)) -> onnx.SparseTensorProto:
    return helper.make_sparse_tensor(
        numpy_helper.from_array(np.array(values, np.float32), "w"),
        numpy_helper.from_array(np.array(indices, np.int64), "places"),
        dims,
    )


@pytest.mark.parametrize("indices", [[[0, 1], [2, 3]], [1, 11]])
def test_sparse_tensors_are_written_out(indices: object) -> None:
    dense = np.zeros((3, 4), np.float32)
    dense[0, 1], dense[2, 3] = 1.5, 2.0
    np.testing.assert_array_equal(dense, read_sparse(sparse(indices), "w", NOWHERE))


@pytest.mark.parametrize(
    ("proto", "problem"),
    [
        (sparse([[0, 1], [7, 9]]), "AF115: sparse tensor 'w' has a coordinate outside its shape [3, 4]"),
        (sparse([1, 12]), "AF115: sparse tensor 'w' has a coordinate outside its shape [3, 4]"),
        (sparse([1, -1]), "AF115: sparse tensor 'w' has a coordinate outside its shape [3, 4]"),
        (sparse([5, 5]), "AF115: sparse tensor 'w' has coordinates out of order"),
        (sparse([[1]]), "AF115: sparse tensor 'w' has 2 values but indices int64 [1, 1]"),
        (sparse([1, 2], dims=()), "AF115: sparse tensor 'w' has no valid shape: []"),
        (
            sparse([1, 2], dims=(1 << 40, 8)),
            f"AF123: sparse tensor 'w' of shape {[1 << 40, 8]} takes more than 4 GiB when written out",
        ),
    ],
)
def test_broken_sparse_tensors_are_refused(proto: onnx.SparseTensorProto, problem: str) -> None:
    with pytest.raises(ModelError) as caught:
        read_sparse(proto, "w", NOWHERE)
    assert problem == str(caught.value)
