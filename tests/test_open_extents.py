"""Open extents from the model to the run: ranges, gears, and what a position table allows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import autofusion
from autofusion.errors import InputError, UsageError
from autofusion.options import CompileOptions
from autofusion.services.reports import read_report
from autofusion.services.verify import verify_artifact
from frontend.models import model, node, random, save, tensor

BACKENDS = ("native", "reference")


def positions(rows: int = 5) -> onnx.ModelProto:
    """The first rows of a table of positions, as many as x has, are added to x."""
    nodes = [
        node("Shape", "x", "length", "shape", start=1, end=2),
        node("Slice", "table zero length zero", "places", "cut"),
        node("Add", "x places", "y", "add"),
    ]
    weights = {"table": random(0, rows, 4), "zero": np.zeros(1, np.int64)}
    return model(nodes, [tensor("x", ["batch", "seq", 4])], [tensor("y", None)], weights)


def sums() -> onnx.ModelProto:
    nodes = [node("Add", "x y", "z", "add"), node("Relu", "z", "out", "act")]
    return model(nodes, [tensor("x", ["n", 3]), tensor("y", ["m", 3])], [tensor("out", None)])


def compile_to(folder: Path, proto: onnx.ModelProto, options: CompileOptions) -> autofusion.Session:
    autofusion.compile(save(proto, folder), folder / "net.om", options)
    return autofusion.load(folder / "net.om", backend=options.backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_input_longer_than_a_table_is_refused_by_its_name(tmp_path: Path, backend: str) -> None:
    session = compile_to(tmp_path, positions(), CompileOptions(backend=backend))  # pyright: ignore[reportArgumentType]
    table = random(0, 5, 4)
    for seq in range(1, 6):
        x = random(1, 2, seq, 4)
        np.testing.assert_array_equal(session.run({"x": x})["y"], x + table[:seq])
    with pytest.raises(InputError, match="AF537: extent 1 of input 'x' is 6, the model takes 5 at most"):
        session.run({"x": random(1, 2, 6, 4)})
    assert read_report(tmp_path / "net.om").limits == {"seq": (0, 5)}


def test_a_table_and_a_range_limit_together(tmp_path: Path) -> None:
    session = compile_to(tmp_path, positions(), CompileOptions(shapes={"x": (2, "2~8", 4)}))
    assert session.plan.limits == {"seq": (2, 5)}
    with pytest.raises(UsageError, match="AF132: extent 'seq' cannot be from 7 up: the model takes 5 at most"):
        compile_to(tmp_path, positions(), CompileOptions(shapes={"x": (2, "7~8", 4)}))
    gears = ({"x": (1, 2, 4)}, {"x": (1, 6, 4)})
    with pytest.raises(UsageError, match="AF132: extent 'seq' cannot be 6: the model takes 5 at most"):
        compile_to(tmp_path, positions(), CompileOptions(gears=gears))


@pytest.mark.parametrize("rows", [0, 1])
def test_a_table_that_broadcasts_limits_nothing(tmp_path: Path, rows: int) -> None:
    assert compile_to(tmp_path, positions(rows), CompileOptions()).plan.limits == {}


@pytest.mark.parametrize("backend", BACKENDS)
def test_gears_are_all_that_is_taken(tmp_path: Path, backend: str) -> None:
    gears = ({"x": (1, 2, 4)}, {"x": (2, 3, 4)})
    options = CompileOptions(backend=backend, gears=gears)  # pyright: ignore[reportArgumentType]
    session = compile_to(tmp_path, positions(), options)
    for batch, seq in ((1, 2), (2, 3), (1, 2)):
        assert session.run({"x": random(1, batch, seq, 4)})["y"].shape == (batch, seq, 4)
    with pytest.raises(InputError, match=r"AF538: no gear of the model fits input 'x' of shape \[2, 2, 4\]") as caught:
        session.run({"x": random(1, 2, 2, 4)})
    assert caught.value.diagnostic.help == "its gears: batch=1, seq=2; batch=2, seq=3"
    assert read_report(tmp_path / "net.om").gears == ({"batch": 1, "seq": 2}, {"batch": 2, "seq": 3})


def test_generated_inputs_fit_gears_and_ranges(tmp_path: Path) -> None:
    path = save(positions(), tmp_path)
    gears = ({"x": (3, 4, 4)}, {"x": (1, 5, 4)})
    autofusion.compile(path, tmp_path / "gears.om", CompileOptions(gears=gears))
    autofusion.compile(path, tmp_path / "range.om", CompileOptions(shapes={"x": ("3~4", -1, 4)}))
    verdict = verify_artifact(path, tmp_path / "gears.om", seeds=(0,), sizes=({}, {"seq": 5}))
    assert [row.dims for row in verdict.outputs] == [{"batch": 3, "seq": 4}, {"batch": 1, "seq": 5}]
    assert verdict.ok
    verdict = verify_artifact(path, tmp_path / "range.om", seeds=(0,))
    assert [row.dims for row in verdict.outputs] == [{"batch": 3, "seq": 2}]
    assert verdict.ok


def test_inputs_that_do_not_broadcast_are_at_fault_not_the_plan(tmp_path: Path) -> None:
    session = compile_to(tmp_path, sums(), CompileOptions())
    assert session.run({"x": random(1, 2, 3), "y": random(2, 1, 3)})["out"].shape == (2, 3)
    with pytest.raises(InputError, match=r"AF533: the model cannot run with n=2, m=3: .*does not broadcast"):
        session.run({"x": random(1, 2, 3), "y": random(2, 3, 3)})


def test_images_of_any_size_and_their_gears(tmp_path: Path) -> None:
    nodes = [node("Conv", "x w", "c", "conv", pads=[1, 1, 1, 1]), node("Relu", "c", "r", "act")]
    nodes.append(node("MaxPool", "r", "y", "pool", kernel_shape=[3, 3], strides=[2, 2]))
    image = tensor("x", ["batch", 16, "height", "width"])
    path = save(model(nodes, [image], [tensor("y", None)], {"w": random(0, 16, 16, 3, 3)}), tmp_path)
    autofusion.compile(path, tmp_path / "any.om")
    sizes = [{"batch": 1, "height": 3, "width": 3}, {"batch": 2, "height": 31, "width": 8}]
    assert verify_artifact(path, tmp_path / "any.om", seeds=(0,), sizes=sizes).ok
    gears = ({"x": (1, 16, 8, 12)}, {"x": (1, 16, 32, 32)})
    autofusion.compile(path, tmp_path / "gears.om", CompileOptions(shapes={"x": (1, 16, -1, -1)}, gears=gears))
    verdict = verify_artifact(path, tmp_path / "gears.om", seeds=(0,), sizes=({"height": 8}, {"height": 32}))
    assert [row.dims for row in verdict.outputs] == [{"height": 8, "width": 12}, {"height": 32, "width": 32}]
    assert verdict.ok


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("strides", [[1, 1], [2, 2]])
def test_images_without_lines_have_no_windows(tmp_path: Path, backend: str, strides: list[int]) -> None:
    nodes = [node("Conv", "x w", "c", "conv", pads=[1, 1, 1, 1]), node("Relu", "c", "r", "act")]
    nodes.append(node("MaxPool", "r", "y", "pool", kernel_shape=[2, 2], strides=strides, pads=[0, 0, 1, 1]))
    image = tensor("x", [1, 4, "height", 6])
    proto = model(nodes, [image], [tensor("y", None)], {"w": random(0, 4, 4, 3, 3)})
    session = compile_to(tmp_path, proto, CompileOptions(backend=backend))  # pyright: ignore[reportArgumentType]
    for height in (0, 1):
        shape = (1, 4, -(-height // strides[0]), 6 // strides[1])
        assert session.run({"x": random(1, 1, 4, height, 6)})["y"].shape == shape
