from __future__ import annotations

from pathlib import Path

import pytest

from autofusion.errors import ModelError, UsageError
from autofusion.frontend import Model, read_model
from autofusion.ir import Dim, parse_dim
from autofusion.lowering.limits import find_limits
from frontend.models import model, node, save, tensor

Extents = list[int | str | None] | None


def load(tmp_path: Path, *shapes: Extents, **bindings: object) -> Model:
    """A model that hands inputs of these shapes on."""
    inputs = [tensor(f"in {index}", shape) for index, shape in enumerate(shapes)]
    return read_model(save(model([], inputs, inputs), tmp_path), **bindings)  # pyright: ignore[reportArgumentType]


def shapes_of(found: Model) -> list[tuple[str, ...] | None]:
    shapes = [found.graph.value(name).shape for name in found.graph.inputs]
    return [None if shape is None else tuple(map(str, shape)) for shape in shapes]


@pytest.mark.parametrize(
    ("extents", "shape"),
    [
        ([2, "batch"], ("2", "batch")),
        (["batch", "seq", "batch"], ("batch", "seq", "batch")),
        (["past", "past + 1", "2*past"], ("past", "past + 1", "2*past")),
        (["past_len + 1"], ("past_len_1",)),
        (["batch size", "batch size", "batch-size"], ("batch_size", "batch_size", "batch_size_1")),
        (["class", "3d", "\u6279"], ("dim_class", "dim_3d", "dim")),
        ([None, "?", "", "None"], ("in_0_0", "in_0_1", "in_0_2", "in_0_3")),
        ([-1, 0], ("in_0_0", "0")),
        (["a", "a//0"], ("a", "a_0")),
        (["a", "a+" * 60 + "a"], ("a", "a_" * 19 + "a")),
        (["b" * 64, "b" * 65], ("b" * 64, "b" * 40)),
        ([], ()),
        (None, None),
    ],
)
def test_texts_become_symbols(tmp_path: Path, extents: Extents, shape: tuple[str, ...] | None) -> None:
    assert shapes_of(load(tmp_path, extents)) == [shape]


def test_the_texts_of_the_file_are_kept(tmp_path: Path) -> None:
    found = load(tmp_path, ["batch size", 3, None], None)
    assert found.input_dims == {"in 0": ("batch size", "3", "?"), "in 1": None}


@pytest.mark.parametrize(
    ("bindings", "shapes"),
    [
        ({"dims": {"n": 4}}, [("4", "3"), ("4", "5")]),
        ({"dims": {"n": 0}}, [("0", "3"), ("0", "1")]),
        ({"shapes": {"in 0": (4, 3)}}, [("4", "3"), ("4", "5")]),
        ({"shapes": {"in 0": (-1, 3)}}, [("n", "3"), ("n", "n + 1")]),
        ({"shapes": {"in 0": ("2*m", -1)}}, [("2*m", "3"), ("2*m", "2*m + 1")]),
        ({"shapes": {"in 0": ("m", -1)}, "dims": {"m": 6}}, [("6", "3"), ("6", "7")]),
        ({"shapes": {"in 0": ("m", 3), "in 1": (7, -1)}}, [("7", "3"), ("7", "8")]),
        ({"shapes": {"in 1": (4, 5)}}, [("4", "3"), ("4", "5")]),
    ],
)
def test_bindings(tmp_path: Path, bindings: dict[str, object], shapes: list[tuple[str, ...]]) -> None:
    assert shapes_of(load(tmp_path, ["n", 3], ["n", "n + 1"], **bindings)) == shapes


def test_a_text_that_is_no_symbol_can_be_bound(tmp_path: Path) -> None:
    assert shapes_of(load(tmp_path, ["batch size", 3], dims={"batch size": 2})) == [("2", "3")]
    assert shapes_of(load(tmp_path, ["batch size", 3], dims={"batch_size": 2})) == [("2", "3")]
    assert shapes_of(load(tmp_path, [None, 3], dims={"in_0_0": 2})) == [("2", "3")]


def test_an_input_without_rank_takes_any_shape(tmp_path: Path) -> None:
    assert shapes_of(load(tmp_path, None, shapes={"in 0": (2, "m", -1)})) == [("2", "m", "in_0_2")]


@pytest.mark.parametrize(
    ("bindings", "problem"),
    [
        ({"dims": {"m": 4}}, "AF130: the model has no dimension 'm'"),
        ({"dims": {"n": -4}}, "AF132: dimension 'n' cannot be -4"),
        ({"shapes": {"x": (4, 3)}}, "AF131: the model has no input 'x'"),
        ({"shapes": {"in 0": (4,)}}, "AF132: input 'in 0' has rank 2, but 1 extents are given"),
        ({"shapes": {"in 0": (4, 5)}}, "AF132: extent 1 of input 'in 0' is 3, not 5"),
        ({"shapes": {"in 0": (-2, 3)}}, "AF132: extent 0 of input 'in 0' cannot be -2"),
        ({"shapes": {"in 0": ("4 apples", 3)}}, "AF132: extent 0 of input 'in 0' cannot be '4 apples'"),
        ({"shapes": {"in 0": (4, 3), "in 1": (5, -1)}}, "AF132: extent 0 of input 'in 1' is 4, not 5"),
        ({"shapes": {"in 1": (-1, 5)}}, "AF132: extent 1 of input 'in 1' is n + 1, which 5 does not settle"),
        ({"shapes": {"in 0": (4, 3)}, "dims": {"n": 5}}, "AF132: dimension 'n' is 4, not 5"),
    ],
)
def test_bindings_that_contradict_are_refused(tmp_path: Path, bindings: dict[str, object], problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(tmp_path, ["n", 3], ["n", "n + 1"], **bindings)
    assert problem == str(caught.value)


def test_unknown_names_come_with_close_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load(tmp_path, ["batch", "sequence"], dims={"sequnce": 4})
    assert caught.value.diagnostic.help == "did you mean 'sequence'?"


def test_unknown_names_without_close_ones_come_with_all(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load(tmp_path, ["batch", "sequence"], dims={"m": 4})
    assert caught.value.diagnostic.help == "known are 'batch', 'sequence'"


def test_what_is_bound_is_checked_by_inference(tmp_path: Path) -> None:
    inputs = [tensor("a", ["n", 3]), tensor("b", ["m", 3])]
    path = save(model([node("Add", "a b", "y")], inputs, [tensor("y", None)]), tmp_path)
    assert read_model(path, dims={"n": 4, "m": 1}).graph.value("y").shape == (4, 3)
    with pytest.raises(ModelError):
        read_model(path, dims={"n": 4, "m": 5})


def test_shapes_are_texts_that_can_be_read_again(tmp_path: Path) -> None:
    found = load(tmp_path, ["class", "max", "a b", "\u00e9", None, "min"])
    for extent in found.graph.value("in 0").shape or ():
        again: Dim = parse_dim(str(extent))
        assert again == extent


def limits_of(found: Model) -> dict[str, tuple[int, int | None]]:
    return find_limits(found.graph)


@pytest.mark.parametrize(
    ("shapes", "limits"),
    [
        ({"in 0": ("1~512", -1)}, {"n": (1, 512)}),
        ({"in 0": ("0~-1", -1)}, {}),
        ({"in 0": ("2~-1", -1), "in 1": ("1~8",)}, {"n": (2, 8)}),
        ({"in 0": ("1~8", "1~4"), "in 1": (-1,)}, {"n": (1, 8), "m": (1, 4)}),
        ({"in 0": (3, "3~4")}, {"m": (3, 4)}),
        ({"in 0": ("rows", -1), "in 1": ("1~8",)}, {"rows": (1, 8)}),
    ],
)
def test_ranges_are_limits_of_symbols(
    tmp_path: Path, shapes: dict[str, tuple[int | str, ...]], limits: dict[str, tuple[int, int | None]]
) -> None:
    assert limits_of(load(tmp_path, ["n", "m"], ["n"], shapes=shapes)) == dict(sorted(limits.items()))


@pytest.mark.parametrize(
    ("shapes", "dims", "reason"),
    [
        (
            {"in 0": ("1~8", -1), "in 1": ("9~10",)},
            {},
            "extent 0 of input 'in 1' is n, which cannot be both 1~8 and 9~10",
        ),
        ({"in 0": ("1~8", -1)}, {"n": 9}, "extent 0 of input 'in 0' is 9, not 1~8"),
        ({"in 0": (-1, "8~1")}, {}, "extent 1 of input 'in 0' cannot be '8~1'"),
        ({"in 3": ("8~1",)}, {}, "extent 0 of input 'in 3' cannot be '8~1'"),
        ({"in 2": ("1~" + "9" * 15,)}, {}, "extent 0 of input 'in 2' cannot be '1~9+'"),
        ({"in 2": ("1~" + "9" * 5000,)}, {}, "extent 0 of input 'in 2' cannot be '1~9+'"),
        ({"in 2": ("1~8",)}, {}, "extent 0 of input 'in 2' is n \\+ 1, not 1~8"),
        ({"in 3": ("1~8",)}, {}, "extent 0 of input 'in 3' is 10, not 1~8"),
    ],
)
def test_ranges_that_contradict(
    tmp_path: Path, shapes: dict[str, tuple[int | str, ...]], dims: dict[str, int], reason: str
) -> None:
    with pytest.raises(UsageError, match=f"AF132: {reason}"):
        load(tmp_path, ["n", "m"], ["n"], ["n + 1"], [10], shapes=shapes, dims=dims)


def test_gears_are_extents_of_symbols_and_limit_them(tmp_path: Path) -> None:
    gears = [{"in 0": (2, 3), "in 1": (2,), "in 2": (3,)}, {"in 0": (4, 3), "in 1": (4,), "in 2": (5,)}]
    found = load(tmp_path, ["n", 3], ["n"], ["n + 1"], gears=gears)
    assert found.gears == ({"n": 2}, {"n": 4})
    assert limits_of(found) == {"n": (2, 4)}


@pytest.mark.parametrize(
    ("gear", "reason"),
    [
        ({"in 0": (2, 4)}, "a gear has 4 for extent 1 of input 'in 0', which is 3 there"),
        ({"in 0": (2, 3), "in 1": (5,)}, "a gear has 5 for extent 0 of input 'in 1', which is 2 there"),
        ({"in 0": (2, 3), "in 2": (2,)}, "a gear has 2 for extent 0 of input 'in 2', which is 3 there"),
        ({"in 3": (1,)}, "a gear leaves the extent 'n' open"),
        ({"in 0": (2, 3, 4)}, "input 'in 0' has rank 2, which a gear exceeds"),
    ],
)
def test_gears_that_contradict(tmp_path: Path, gear: dict[str, tuple[int, ...]], reason: str) -> None:
    with pytest.raises(UsageError, match=f"AF132: {reason}"):
        load(tmp_path, ["n", 3], ["n"], ["n + 1"], [1], gears=[gear])


def test_a_gear_of_no_input(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="AF131: the model has no input 'other'"):
        load(tmp_path, ["n"], gears=[{"other": (1,)}])
