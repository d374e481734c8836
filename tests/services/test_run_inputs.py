"""Generated inputs, and inputs from files."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from autofusion.artifact import TensorInfo
from autofusion.errors import InputError
from autofusion.services.run_inputs import complete_inputs, generate_inputs, read_inputs

IMAGE = TensorInfo("image", "float32", ("batch", 3, 4, 4))
IDS = TensorInfo("ids", "int64", ("batch", "seq"))


def test_same_seed_same_arrays_whatever_else_there_is() -> None:
    both = generate_inputs([IMAGE, IDS], 7, {"batch": 1, "seq": 5})
    alone = generate_inputs([IDS], 7, {"batch": 1, "seq": 5})
    assert both["image"].shape == (1, 3, 4, 4)
    assert both["image"].dtype == np.float32
    assert np.array_equal(both["ids"], alone["ids"])
    assert not np.array_equal(both["image"], generate_inputs([IMAGE], 8, {"batch": 1})["image"])


def test_open_extents_are_small_but_not_one() -> None:
    assert generate_inputs([IDS], 0)["ids"].shape == (2, 2)


@pytest.mark.parametrize(
    ("dtype", "numpy_type", "values"),
    [
        ("int64", np.int64, {0, 1}),
        ("uint32", np.uint32, {0, 1}),
        ("bool", np.bool_, {False, True}),
        ("int4", ml_dtypes.int4, {0, 1}),
        ("string", np.object_, {"text"}),
    ],
)
def test_other_types_take_values_that_serve_everywhere(dtype: str, numpy_type: type, values: set[object]) -> None:
    array = generate_inputs([TensorInfo("x", dtype, (64,))], 0)["x"]
    assert array.dtype == numpy_type
    assert set(array.tolist()) == values


@pytest.mark.parametrize(("dtype", "low"), [("int8", -128), ("uint8", 0)])
def test_bytes_take_their_whole_range(dtype: str, low: int) -> None:
    array = generate_inputs([TensorInfo("x", dtype, (5000,))], 0)["x"]
    assert (array.min(), array.max()) == (low, low + 255)


@pytest.mark.parametrize("dtype", ["float16", "float64", "bfloat16", "complex64"])
def test_floats_are_normal(dtype: str) -> None:
    array = generate_inputs([TensorInfo("x", dtype, (1000,))], 0)["x"].astype(np.complex128)
    assert 0.9 < array.real.std() < 1.1


def test_an_input_past_all_reason_needs_a_file() -> None:
    with pytest.raises(InputError) as caught:
        generate_inputs([IDS, TensorInfo("k", "int64", (2**31,))], 0)
    assert str(caught.value) == "AF533: input 'k' (int64 [2147483648]) takes 16 GiB, too much to generate"
    with pytest.raises(InputError, match="AF533"):
        generate_inputs([IDS], 0, {"batch": 2**40, "seq": 2**40})


def test_an_unknown_shape_needs_a_file() -> None:
    with pytest.raises(InputError, match="AF541: the shape of input 'x' is not known"):
        generate_inputs([TensorInfo("x", "float32", None)], 0)


@pytest.mark.parametrize(
    ("inputs", "remedy"), [([IMAGE, IDS], "open extents: batch, seq"), ([], "the model leaves no")]
)
def test_an_extent_that_is_not_open_is_refused(inputs: list[TensorInfo], remedy: str) -> None:
    with pytest.raises(InputError) as caught:
        complete_inputs(inputs, {}, 0, {"bach": 1})
    assert caught.value.diagnostic.code == "AF545"
    assert caught.value.diagnostic.help.startswith(remedy)


def test_extents_follow_the_arrays_that_are_given() -> None:
    given = {"image": np.zeros((3, 3, 4, 4), np.float32)}
    feeds = complete_inputs([IMAGE, IDS], given, 0)
    assert list(feeds) == ["image", "ids"]
    assert feeds["image"] is given["image"]
    assert feeds["ids"].shape == (3, 2)


def test_reads_every_kind_of_file(tmp_path: Path) -> None:
    ids = np.arange(6, dtype=np.int64).reshape(2, 3)
    np.save(tmp_path / "a.npy", ids)
    np.savez(tmp_path / "b.npz", ids=ids, other=ids)
    np.savez(tmp_path / "c.npz", only=ids)
    (tmp_path / "d.bin").write_bytes(ids.tobytes())
    for name in ("a.npy", "b.npz", "c.npz", "d.bin"):
        arrays = read_inputs([f"ids={tmp_path / name}"], [IMAGE, IDS], {"batch": 2, "seq": 3})
        assert list(arrays) == ["ids"]
        assert np.array_equal(arrays["ids"], ids)


def test_reads_an_archive_under_the_names_of_inputs(tmp_path: Path) -> None:
    np.savez(tmp_path / "all.npz", image=np.zeros(1), ids=np.ones(2))
    assert sorted(read_inputs([str(tmp_path / "all.npz")], [IMAGE, IDS])) == ["ids", "image"]


def test_an_array_that_contradicts_an_extent_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        complete_inputs([IDS], {"ids": np.zeros((3, 2), np.int64)}, 0, {"batch": 4})
    assert caught.value.diagnostic.code == "AF532"
    assert caught.value.diagnostic.message == "--dim batch=4 contradicts input 'ids', whose array makes it 3"


def test_an_input_is_given_once(tmp_path: Path) -> None:
    np.savez(tmp_path / "all.npz", ids=np.ones(2))
    with pytest.raises(InputError, match="AF543: input 'ids' is given twice"):
        read_inputs([str(tmp_path / "all.npz"), f"ids={tmp_path / 'all.npz'}"], [IDS])


def test_a_name_may_hold_an_equals_sign(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones(2))
    assert list(read_inputs([f"a=b={tmp_path / 'a.npy'}"], [TensorInfo("a=b", "float32", (2,))])) == ["a=b"]


@pytest.mark.parametrize(
    ("source", "code", "message"),
    [
        ("ids=none.npy", "AF540", "cannot read '{}/none.npy': no such file or directory"),
        ("ids=junk.npy", "AF540", "cannot read '{}/junk.npy': it holds no array of numbers or text"),
        ("ids=junk.npz", "AF540", "cannot read '{}/junk.npz': "),
        ("ids=pickle.npy", "AF540", "cannot read '{}/pickle.npy': it holds no array of numbers or text"),
        ("ids=junk.txt", "AF543", "'{}/junk.txt' for input 'ids' is no file of arrays"),
        ("ids=two.npz", "AF543", "'{}/two.npz' holds no array called 'ids'"),
        ("ids=junk.bin", "AF543", "'{}/junk.bin' has 4 bytes, input 'ids' takes 48 (int64 [2, 3])"),
        ("image=junk.bin", "AF541", "the extent of 'batch' is open, and raw bytes do not tell it"),
        ("idx=junk.npy", "AF542", "the model has no input called 'idx'"),
        ("two.npz", "AF542", "the model has no input called 'a'"),
        ("junk.npy", "AF542", "the model has no input called 'junk.npy'"),
    ],
)
def test_says_what_is_wrong_with_a_source(source: str, code: str, message: str, tmp_path: Path) -> None:
    for name in ("junk.npy", "junk.npz", "junk.txt", "junk.bin"):
        (tmp_path / name).write_bytes(b"junk")
    np.save(tmp_path / "pickle.npy", np.array([None]), allow_pickle=True)
    np.savez(tmp_path / "two.npz", a=np.zeros(1), b=np.zeros(1))
    name, equals, file = source.partition("=")
    source = f"{name}={tmp_path / file}" if equals else (str(tmp_path / name) if name == "two.npz" else name)
    dims = {"batch": 2, "seq": 3} if name == "ids" else {}
    with pytest.raises(InputError) as caught:
        read_inputs([source], [IMAGE, IDS], dims)
    assert caught.value.diagnostic.code == code
    assert caught.value.diagnostic.message.startswith(message.format(tmp_path))
