"""Sessions over hand-written plans: both backends, changing dims, host steps, aliases, threads."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autofusion.artifact import ArtifactContents, read_artifact, write_artifact
from autofusion.plan import Buffer, Plan, Step
from autofusion.runtime import Session, frame, load, open_session

MakeSession = Callable[..., Session]
BACKENDS = ("native", "reference")

W = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)
B = np.array([0.5, -1.0, 0.0, 2.0], np.float32)
NO_ACTIVATION = {"activation": "", "alpha": 0.0, "beta": 0.0}
MATMUL = {"trans_a": False, "trans_b": False, "scale": 1.0, "packed": False}


def host(
    node: str, op: str, inputs: tuple[str, ...], outputs: tuple[str, ...], opset: int, **attributes: object
) -> Step:
    settings = {"op": op, "domain": "", "opset": opset, "attributes": attributes}
    return Step("host", node, op, inputs, outputs, settings)  # pyright: ignore[reportArgumentType]


DENSE = (
    [
        Buffer("x", "float", ("batch", 3), "input"),
        Buffer("h", "float", ("batch", 4)),
        Buffer("g", "float", ("batch", 4)),
        Buffer("y", "float", ("batch", 4), "output"),
    ],
    [
        Step(
            "matmul",
            "mm",
            "MatMul",
            ("x", "w", "b"),
            ("h",),
            {**MATMUL, "activation": "Relu", "alpha": 0.0, "beta": 0.0},
        ),
        Step("binary", "sum", "Add", ("h", "b"), ("g",), {"op": "Add", **NO_ACTIVATION}),
        Step("unary", "neg", "Neg", ("g",), ("y",), {"op": "Neg", "alpha": 0.0, "beta": 0.0}),
    ],
    {"w": W, "b": B},
)


def dense(x: np.ndarray) -> np.ndarray:
    return -(np.maximum(x @ W + B, 0) + B)


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_session_takes_any_batch(make_session: MakeSession, backend: str) -> None:
    session = make_session(backend, *DENSE, symbols=["batch"])
    for batch in (1, 7, 131, 1, 2, 0, 7):
        x = numbers(batch, 3, seed=batch)
        (y,) = session.run({"x": x}).values()
        assert y.shape == (batch, 4)
        assert y.dtype == np.float32
        np.testing.assert_allclose(y, dense(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_results_of_earlier_runs_stay(make_session: MakeSession, backend: str) -> None:
    session = make_session(backend, *DENSE, symbols=["batch"])
    first = session.run({"x": numbers(5, 3)})["y"]
    kept = first.copy()
    session.run({"x": numbers(5, 3, seed=1)})
    session.run({"x": numbers(9, 3, seed=2)})
    assert np.array_equal(kept, first)
    first[...] = 0
    assert np.array_equal(kept, session.run({"x": numbers(5, 3)})["y"])


def test_memory_is_never_read_before_it_is_written(make_session: MakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
    from autofusion.runtime import executor

    allocate_arena = executor.allocate_arena

    def poison(size: int) -> np.ndarray:
        memory = allocate_arena(size)
        memory[...] = 0xFF  # every float is NaN
        return memory

    monkeypatch.setattr(executor, "allocate_arena", poison)
    session = make_session("native", *DENSE, symbols=["batch"])
    x = numbers(13, 3)
    np.testing.assert_allclose(session.run({"x": x})["y"], dense(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_concurrent_runs_do_not_disturb_one_another(make_session: MakeSession, backend: str) -> None:
    session = make_session(backend, *DENSE, symbols=["batch"])
    wrong: list[str] = []

    def work(seed: int) -> None:
        for turn in range(20):
            x = numbers((seed * 3 + turn) % 5 + 1, 3, seed=100 * seed + turn)
            y = session.run({"x": x})["y"]
            if y.shape != (len(x), 4) or not np.allclose(y, dense(x), rtol=1e-4, atol=1e-5):
                wrong.append(f"thread {seed}, turn {turn}")

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_results_are_written_where_the_caller_wants_them(make_session: MakeSession, backend: str) -> None:
    session = make_session(backend, *DENSE, symbols=["batch"])
    x = numbers(6, 3)
    places = {
        "contiguous": np.empty((6, 4), np.float32),
        "strided": np.empty((4, 6), np.float32).T,
        "unaligned": np.empty(6 * 16 + 1, np.uint8)[1:].view(np.float32).reshape(6, 4),
    }
    for place in places.values():
        assert session.run({"x": x}, out={"y": place})["y"] is place
        np.testing.assert_allclose(place, dense(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_inputs_may_lie_anywhere_and_are_not_changed(make_session: MakeSession, backend: str) -> None:
    session = make_session(backend, *DENSE, symbols=["batch"])
    x = numbers(6, 3)
    unaligned = np.empty(6 * 12 + 1, np.uint8)[1:].view(np.float32).reshape(6, 3)
    unaligned[...] = x
    frozen = x.copy()
    frozen.flags.writeable = False
    wide = numbers(12, 6)
    wide[::2, ::2] = x
    for given in (x, np.asfortranarray(x), unaligned, frozen, wide[::2, ::2], x.tolist() and x[::-1][::-1]):
        np.testing.assert_allclose(session.run({"x": given})["y"], dense(x), rtol=1e-5, atol=1e-6)
    assert np.array_equal(x, frozen)


IMAGE = (
    [
        Buffer("x", "float", (1, 3, "h", "w"), "input"),
        Buffer("xc", "float", (1, 3, "h", "w"), layout="nhwc", pitch=16),
        Buffer("a", "float", (1, 3, "h", "w"), layout="nhwc", pitch=16),
        Buffer("p", "float", (1, 3, "h//2", "w//2"), layout="nhwc", pitch=16),
        Buffer("flat", "float", (3, "(h//2)*(w//2)"), alias="y0"),
        Buffer("y0", "float", (1, 3, "h//2", "w//2")),
        Buffer("y", "float", (3, "(h//2)*(w//2)"), "output"),
    ],
    [
        Step("relayout", "conv", "Conv", ("x",), ("xc",)),
        Step("affine", "bn", "BatchNormalization", ("xc", "scale", "shift"), ("a",), NO_ACTIVATION),
        Step(
            "pool",
            "pool",
            "MaxPool",
            ("a",),
            ("p",),
            {
                "kind": "max",
                "is_global": False,
                "kernel": [2, 2],
                "strides": [2, 2],
                "pads": [0, 0, 0, 0],
                "dilations": [1, 1],
                "include_pad": False,
            },
        ),
        Step("relayout", "out", "Reshape", ("p",), ("y0",)),
        Step("copy", "out", "Reshape", ("flat",), ("y",)),
    ],
    {"scale": np.array([1.0, -2.0, 0.5], np.float32), "shift": np.array([0.0, 1.0, 2.0], np.float32)},
)


@pytest.mark.parametrize("backend", BACKENDS)
def test_channels_innermost_with_a_pitch(make_session: MakeSession, backend: str) -> None:
    session = make_session(backend, *IMAGE, symbols=["h", "w"])
    for height, width in ((4, 6), (2, 2), (11, 7)):
        x = numbers(1, 3, height, width)
        scaled = x * np.array([1.0, -2.0, 0.5], np.float32).reshape(3, 1, 1)
        scaled += np.array([0.0, 1.0, 2.0], np.float32).reshape(3, 1, 1)
        even = scaled[:, :, : height // 2 * 2, : width // 2 * 2]
        pooled = even.reshape(1, 3, height // 2, 2, width // 2, 2).max((3, 5))
        np.testing.assert_allclose(session.run({"x": x})["y"], pooled.reshape(3, -1), rtol=1e-6)
        traced = session.trace({"x": x})
        assert list(traced) == ["xc", "a", "p", "flat", "y0", "y"]
        np.testing.assert_allclose(traced["a"], scaled, rtol=1e-6)
        np.testing.assert_allclose(traced["p"], pooled, rtol=1e-6)
        np.testing.assert_allclose(traced["flat"], pooled.reshape(3, -1), rtol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_host_step_between_native_steps(make_session: MakeSession, backend: str) -> None:
    buffers = [
        Buffer("x", "float", ("n", 4), "input"),
        Buffer("a", "float", ("n", 4)),
        Buffer("c", "float", ("n", 4)),
        Buffer("y", "float", ("n", 4), "output"),
    ]
    negate = {"op": "Neg", "alpha": 0.0, "beta": 0.0}
    steps = [
        Step("unary", "a", "Neg", ("x",), ("a",), negate),
        host("c", "CumSum", ("a", "axis"), ("c",), 14, exclusive=0, reverse=0),
        Step("unary", "y", "Neg", ("c",), ("y",), negate),
    ]
    session = make_session(backend, buffers, steps, {"axis": np.array(1, np.int64)}, symbols=["n"])
    for n in (1, 3, 5):
        x = numbers(n, 4)
        np.testing.assert_allclose(session.run({"x": x})["y"], np.cumsum(x, 1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_host_step_whose_shape_only_the_run_tells(make_session: MakeSession, backend: str) -> None:
    buffers = [
        Buffer("x", "float", ("n",), "input"),
        Buffer("places", "int64", None),
        Buffer("y", "int64", None, "output"),
        Buffer("z", "float", ("n",), "output"),
    ]
    steps = [
        host("places", "NonZero", ("x",), ("places",), 13),
        host("y", "Transpose", ("places",), ("y",), 13, perm=[1, 0]),
        Step("unary", "z", "Neg", ("x",), ("z",), {"op": "Neg", "alpha": 0.0, "beta": 0.0}),
    ]
    session = make_session(backend, buffers, steps, symbols=["n"])
    assert session.outputs[0].shape is None
    for x in ([0.0, 1.0, 0.0, 2.0], [0.0], [1.0, 1.0, 1.0]):
        array = np.array(x, np.float32)
        found = session.run({"x": array})
        assert np.array_equal(found["y"], np.argwhere(array))
        assert np.array_equal(found["z"], -array)
        assert np.array_equal(session.trace({"x": array})["places"], np.argwhere(array).T)


@pytest.mark.parametrize("backend", BACKENDS)
def test_outputs_that_are_inputs_constants_and_views_of_them(make_session: MakeSession, backend: str) -> None:
    buffers = [Buffer("x", "float", ("n", 2), "input"), Buffer("v", "float", ("n*2",), alias="x")]
    session = make_session(backend, buffers, [], {"b": B}, outputs=["x", "v", "b"], symbols=["n"])
    x = numbers(3, 2)
    found = session.run({"x": x})
    assert np.array_equal(found["x"], x)
    assert np.array_equal(found["v"], x.ravel())
    assert np.array_equal(found["b"], B)
    for array in found.values():
        array[...] = 0
    assert x.any()
    assert np.array_equal(session.run({"x": x})["b"], B)


@pytest.mark.parametrize("backend", BACKENDS)
def test_tensors_of_extents(make_session: MakeSession, backend: str) -> None:
    buffers = [
        Buffer("x", "float", ("n", "m"), "input"),
        Buffer("y", "int64", (3,), "output"),
        Buffer("z", "int32", (), "output"),
    ]
    steps = [
        Step("extents", "y", "Shape", (), ("y",), {"values": ["n", "n*m - 1", -1]}),
        Step("extents", "z", "Size", (), ("z",), {"values": ["n*m"]}),
    ]
    session = make_session(backend, buffers, steps, symbols=["n", "m"])
    found = session.run({"x": numbers(3, 5)})
    assert found["y"].tolist() == [3, 14, -1]
    assert found["y"].dtype == np.int64
    assert found["z"].shape == ()
    assert found["z"] == 15
    assert found["z"].dtype == np.int32


@pytest.mark.parametrize("backend", BACKENDS)
def test_strings(make_session: MakeSession, backend: str) -> None:
    buffers = [Buffer("x", "string", ("n",), "input"), Buffer("y", "string", ("n + 2",), "output")]
    steps = [host("y", "Concat", ("x", "k"), ("y",), 13, axis=0)]
    constants = {"k": np.array(["", "\u00e9t\u00e9"], object)}
    session = make_session(backend, buffers, steps, constants, symbols=["n"])
    for given in (np.array(["abc", "d e"], object), np.array(["abc", "d e"])):
        found = session.run({"x": given})["y"]
        assert found.tolist() == ["abc", "d e", "", "\u00e9t\u00e9"]
        assert found.dtype == np.object_


@pytest.mark.parametrize("backend", BACKENDS)
def test_types_that_numpy_lacks(make_session: MakeSession, backend: str) -> None:
    import ml_dtypes

    buffers = [Buffer("x", "bfloat16", ("n",), "input"), Buffer("y", "bfloat16", ("n",), "output")]
    session = make_session(backend, buffers, [host("y", "Abs", ("x",), ("y",), 13)], symbols=["n"])
    x = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    for given in (x, x.view(np.uint16)):
        found = session.run({"x": given})["y"]
        assert found.dtype == ml_dtypes.bfloat16
        assert found.tolist() == [1.5, 2.0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_inputs_with_a_default_may_be_left_out(make_session: MakeSession, backend: str) -> None:
    buffers = [
        Buffer("x", "float", ("n",), "input"),
        Buffer("k", "float", (1,), "input"),
        Buffer("y", "float", ("n",), "output"),
    ]
    steps = [Step("binary", "y", "Add", ("x", "k"), ("y",), {"op": "Add", **NO_ACTIVATION})]
    session = make_session(backend, buffers, steps, {"k": np.array([10.0], np.float32)}, symbols=["n"])
    x = np.array([1.0, 2.0], np.float32)
    assert session.run({"x": x})["y"].tolist() == [11.0, 12.0]
    assert session.run({"x": x, "k": np.array([0.5], np.float32)})["y"].tolist() == [1.5, 2.5]
    assert session.run({"x": x})["y"].tolist() == [11.0, 12.0]


def test_running_a_native_artifact_imports_numpy_alone(
    tmp_path: Path, make_plan: Callable[..., tuple[Plan, tuple[np.ndarray, ...]]]
) -> None:
    plan, arrays = make_plan("native", *DENSE, symbols=["batch"])
    path = write_artifact(tmp_path / "dense.om", ArtifactContents(plan, arrays, b"", "{}"))
    script = """
import sys
import autofusion
import numpy as np
session = autofusion.load(sys.argv[1])
print(session.run({"x": np.ones((2, 3), np.float32)})["y"].tolist())
heavy = "onnx google networkx ml_dtypes click rich jinja2 onnxruntime zipfile logging".split()
print(sorted({name.partition(".")[0] for name in sys.modules} & set(heavy)))
"""
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    values, imported = done.stdout.splitlines()
    np.testing.assert_allclose(np.array(json.loads(values)), dense(np.ones((2, 3), np.float32)), rtol=1e-5)
    assert imported == "[]"
    assert load(path).run({"x": np.ones((2, 3), np.float32)})["y"].tolist() == json.loads(values)


def test_weights_are_not_copied(
    tmp_path: Path,
    make_plan: Callable[..., tuple[Plan, tuple[np.ndarray, ...]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    handed: list[np.ndarray] = []

    class Spy(frame.Context):
        def __init__(self, records: np.ndarray, arena: np.ndarray, weights: np.ndarray, *rest: Any) -> None:
            handed.append(weights)
            super().__init__(records, arena, weights, *rest)

    monkeypatch.setattr(frame, "Context", Spy)
    plan, arrays = make_plan("native", *DENSE, symbols=["batch"])
    path = write_artifact(tmp_path / "dense.om", ArtifactContents(plan, arrays, b"", "{}"))
    artifact = read_artifact(path)
    open_session(artifact.plan, artifact.weights).run({"x": numbers(2, 3)})
    assert handed[0].ctypes.data == artifact.weights.ctypes.data
    address = f"{handed[0].ctypes.data - 65536:x}"
    mapped = [line for line in Path("/proc/self/maps").read_text().splitlines() if line.startswith(address)]
    assert mapped[0].endswith("dense.om")


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_session_keeps_no_array_of_the_caller(make_session: MakeSession, backend: str) -> None:
    session = make_session(backend, *DENSE, symbols=["batch"])
    for _ in range(2):
        x = numbers(5, 3)
        before = sys.getrefcount(x)
        found = session.run({"x": x})
        assert sys.getrefcount(x) == before
        memory = found["y"] if found["y"].base is None else found["y"].base
        result = weakref.ref(memory)
        del found, memory
        assert result() is None
