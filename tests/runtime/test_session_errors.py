"""What a caller does wrong is named, with the input and both shapes; what a machine lacks as well."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autofusion.artifact import ArtifactContents, write_artifact
from autofusion.errors import ArtifactError, AutofusionError, InputError, UsageError
from autofusion.plan import Buffer, Plan, Step
from autofusion.runtime import Session, load, open_session
from autofusion.runtime import session as session_module

MakeSession = Callable[..., Session]
MakePlan = Callable[..., tuple[Plan, tuple[np.ndarray, ...]]]

NEGATE = {"op": "Neg", "alpha": 0.0, "beta": 0.0}
BUFFERS = [
    Buffer("ids", "float", ("batch", "seq"), "input"),
    Buffer("mask", "float", ("batch", "2*seq + 1"), "input"),
    Buffer("y", "float", ("batch", "seq"), "output"),
    Buffer("z", "float", ("batch", "seq - 2"), "output"),
]
STEPS = [
    Step("unary", "y", "Neg", ("ids",), ("y",), NEGATE),
    Step(
        "host",
        "z",
        "Slice",
        ("ids", "two", "end", "one"),
        ("z",),
        {"op": "Slice", "domain": "", "opset": 13, "attributes": {}},
    ),
]
NUMBERS = {
    "two": np.array([2], np.int64),
    "end": np.array([1 << 40], np.int64),
    "one": np.array([1], np.int64),
}


@pytest.fixture(params=["native", "reference"])
def session(request: pytest.FixtureRequest, make_session: MakeSession) -> Session:
    return make_session(request.param, BUFFERS, STEPS, NUMBERS, symbols=["batch", "seq"])


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def refuse(session: Session, feeds: Any, out: Any = None) -> str:
    with pytest.raises(InputError) as caught:
        session.run(feeds, out)
    found = caught.value.diagnostic
    assert found.help
    return f"{found.code}: {found.message} ({found.help})"


@pytest.mark.parametrize(
    ("feeds", "message"),
    [
        ({"ids": zeros(1, 3)}, "AF530: input 'mask' is missing (the model takes ids float32[batch, seq], mask float"),
        ({"idx": zeros(1, 3)}, "AF530: the model has no input 'idx' (did you mean 'ids'? the model takes ids float32["),
        ({"other": zeros(1, 3)}, "AF530: the model has no input 'other' (the model takes ids float32["),
        ([zeros(1, 3)], "AF530: arrays must be given by input name, not as list"),
        ({"ids": np.zeros((1, 3)), "mask": zeros(1, 7)}, "AF531: input 'ids' has elements of type float64, the model"),
        ({"ids": "text", "mask": zeros(1, 7)}, "AF531: input 'ids' has elements of type <U4"),
        ({"ids": [[1], [2, 3]], "mask": zeros(1, 7)}, "AF531: input 'ids' is no array"),
        ({"ids": zeros(1, 3).astype(">f4"), "mask": zeros(1, 7)}, "AF531: input 'ids' has elements of type >f4"),
        (
            {"ids": zeros(3), "mask": zeros(1, 7)},
            "AF532: input 'ids' has shape [3], the model takes [batch, seq]",
        ),
        (
            {"ids": zeros(2, 3), "mask": zeros(1, 7)},
            "has shape [1, 7], the model takes [batch, 2*seq + 1]; input 'ids' of shape [2, 3] gives 'batch'",
        ),
        (
            {"ids": zeros(2, 3), "mask": zeros(2, 6)},
            "has shape [2, 6], the model takes [batch, 2*seq + 1]; input 'ids' of shape [2, 3] gives 'seq'",
        ),
        (
            {"ids": zeros(2, 1), "mask": zeros(2, 3)},
            "AF533: the model cannot run with batch=2, seq=1: value 'z' would have shape [batch, seq - 2], which is no",
        ),
    ],
)
def test_feeds(session: Session, feeds: Any, message: str) -> None:
    assert message in refuse(session, feeds)
    fine = session.run({"ids": zeros(2, 3), "mask": zeros(2, 7)})
    assert [array.shape for array in fine.values()] == [(2, 3), (2, 1)]


FEEDS = {"ids": zeros(2, 3), "mask": zeros(2, 7)}
FROZEN = zeros(2, 3)
FROZEN.flags.writeable = False
TWICE = zeros(2, 3)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ({"x": zeros(2, 3)}, "AF530: the model has no output 'x'"),
        ({"y": [0.0]}, "AF534: the array for output 'y' cannot take it: it is a list"),
        ({"y": np.zeros((2, 3))}, "AF534: the array for output 'y' cannot take it: its elements are float64"),
        ({"y": zeros(3, 2)}, "its shape is [3, 2], that of the output [2, 3]"),
        ({"y": FROZEN}, "it is read-only"),
        ({"y": FEEDS["ids"]}, "it shares memory with the array of 'ids'"),
        ({"y": TWICE, "z": TWICE[:, :1]}, "'z' cannot take it: it shares memory with the array of 'y'"),
    ],
)
def test_out(session: Session, out: Mapping[str, Any], message: str) -> None:
    assert message in refuse(session, FEEDS, out)


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True])
def test_threads(make_plan: MakePlan, threads: Any) -> None:
    plan, _ = make_plan("native", [Buffer("x", "float", (1,), "input")], [], outputs=["x"])
    with pytest.raises(UsageError, match="AF535"):
        open_session(plan, np.empty(0, np.uint8), threads=threads)


def test_backends_are_not_exchanged(tmp_path: Path, make_plan: MakePlan) -> None:
    for made, asked in (("native", "reference"), ("reference", "native")):
        plan, arrays = make_plan(made, BUFFERS, STEPS, NUMBERS, symbols=["batch", "seq"])
        path = write_artifact(tmp_path / f"{made}.om", ArtifactContents(plan, arrays, b"", "{}"))
        with pytest.raises(ArtifactError, match=rf"AF517.*compiled for the {made} backend") as caught:
            load(path, backend=asked)  # pyright: ignore[reportArgumentType]
        assert f"--backend={asked}" in caught.value.diagnostic.help
        assert load(path, backend=made).plan == plan  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match="AF535"):
        load(path, backend="cuda")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("package", ["onnx", "networkx"])
def test_missing_packages_name_the_operators(
    make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    plan, arrays = make_plan("native", BUFFERS, STEPS, NUMBERS, symbols=["batch", "seq"])
    if package == "onnx":
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    else:
        for name in [name for name in sys.modules if name.startswith(("autofusion.ir", "autofusion.ops"))]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ArtifactError, match=rf"AF519: package {package} is not installed.*: Slice"):
        open_session(plan, np.zeros(192, np.uint8))
    assert arrays


def test_symbols_that_no_input_tells(make_plan: MakePlan) -> None:
    buffers = [Buffer("x", "float", ("n//2", "n%3"), "input"), Buffer("y", "float", ("n",), "output")]
    steps = [Step("host", "y", "Range", ("x",), ("y",), {"op": "Range", "domain": "", "opset": 11, "attributes": {}})]
    plan, _ = make_plan("reference", buffers, steps, symbols=["n"])
    with pytest.raises(ArtifactError, match="AF518: no input's shape tells the extent 'n'"):
        open_session(plan, np.empty(0, np.uint8))


@pytest.mark.parametrize("backend", ["native", "reference"])
def test_extents_past_all_memory(make_session: MakeSession, backend: str) -> None:
    buffers = [
        Buffer("x", "float", ("n",), "input"),
        Buffer("y", "float", ("n*1000000000000000",), "output"),
    ]
    steps = [Step("binary", "y", "Add", ("x", "x"), ("y",), {"op": "Add", "activation": "", "alpha": 0.0, "beta": 0.0})]
    session = make_session(backend, buffers, steps, symbols=["n"])
    with pytest.raises(AutofusionError):
        session.run({"x": zeros(1000)})


def test_memory_that_runs_out_is_told(make_session: MakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
    from autofusion.runtime import executor

    def fail(size: int) -> np.ndarray:
        raise MemoryError

    session = make_session("native", BUFFERS, STEPS, NUMBERS, symbols=["batch", "seq"])
    monkeypatch.setattr(executor, "allocate_arena", fail)
    assert "AF533: there is not enough memory to run the model with batch=2, seq=3" in refuse(session, FEEDS)


@pytest.mark.parametrize("backend", ["native", "reference"])
@pytest.mark.parametrize(
    ("dtype", "shape", "message"),
    [
        ("float", ("n", 5), r"gave value 'y' shape \[1, 4\], not \[1, 5\]"),
        ("double", ("n", 4), "gave value 'y' elements of type float32, not float64"),
        ("double", None, "gave value 'y' elements of type float32, not float64"),
    ],
)
def test_host_results_are_checked(
    make_session: MakeSession, backend: str, dtype: str, shape: tuple[Any, ...] | None, message: str
) -> None:
    buffers = [Buffer("x", "float", ("n", 4), "input"), Buffer("y", dtype, shape, "output")]
    settings = {"op": "Identity", "domain": "", "opset": 21, "attributes": {}}
    session = make_session(backend, buffers, [Step("host", "y", "Identity", ("x",), ("y",), settings)], symbols=["n"])
    with pytest.raises(ArtifactError, match=f"AF520.*{message}"):
        session.run({"x": zeros(1, 4)})


@pytest.mark.parametrize("backend", ["native", "reference"])
def test_a_sequence_is_no_tensor(make_session: MakeSession, backend: str) -> None:
    buffers = [Buffer("x", "float", ("n", 4), "input"), Buffer("y", "float", None, "output")]
    settings = {"op": "SequenceConstruct", "domain": "", "opset": 11, "attributes": {}}
    steps = [Step("host", "y", "SequenceConstruct", ("x",), ("y",), settings)]
    session = make_session(backend, buffers, steps, symbols=["n"])
    with pytest.raises(ArtifactError, match=r"AF520.*gave value 'y' a sequence, not a tensor"):
        session.run({"x": zeros(1, 4)})


def test_a_window_without_cells_is_no_pool(make_session: MakeSession) -> None:
    buffers = [Buffer("x", "float", (1, 2, 4, 4), "input"), Buffer("y", "float", (1, 2, 4, 4), "output")]
    window = {"kernel": [0, 1], "strides": [1, 1], "pads": [0] * 4, "dilations": [1, 1]}
    settings = {"kind": "max", "is_global": False, "include_pad": False, **window}
    session = make_session("reference", buffers, [Step("pool", "y", "MaxPool", ("x",), ("y",), settings)])
    with pytest.raises(ArtifactError, match="AF520: step 'y' is no valid pool step: StopIteration"):
        session.run({"x": zeros(1, 2, 4, 4)})


GRAPH = {"name": "g", "inputs": [], "outputs": [], "values": [], "nodes": []}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"op": 1, "domain": "", "opset": 13, "attributes": {}},
        {"op": "Abs", "domain": "", "opset": "13", "attributes": {}},
        {"op": "Abs", "domain": "", "opset": 13, "attributes": []},
        {"op": "Abs", "domain": "", "opset": 13, "attributes": {"a": {"tensor": 1}}},
        {"op": "Abs", "domain": "", "opset": 13, "attributes": {"a": {}}},
        {"op": "Abs", "domain": "", "opset": 13, "attributes": {}, "captured": "x"},
        {"op": "Abs", "domain": "", "opset": 13, "attributes": {}, "captured": [1]},
        {"op": "Abs", "domain": "", "opset": 13, "attributes": {}, "captured": ["a", "b"]},
        {"op": "Abs", "domain": "", "opset": 13, "attributes": {"g": {"graph": 1}}},
        {"op": "Abs", "domain": "", "opset": 13, "attributes": {"g": {"graph": {**GRAPH, "outputs": ["q"]}}}},
    ],
)
def test_damaged_host_steps(make_session: MakeSession, settings: dict[str, Any]) -> None:
    buffers = [Buffer("x", "float", ("n",), "input"), Buffer("y", "float", ("n",), "output")]
    with pytest.raises(ArtifactError, match=r"AF514.*host step 'y' has impossible settings"):
        make_session("native", buffers, [Step("host", "y", "Abs", ("x",), ("y",), settings)], symbols=["n"])


@pytest.mark.parametrize(
    ("op", "attributes"),
    [("Nonsense", {}), ("Transpose", {"perm": 7}), ("Concat", {}), ("Abs", {"x": None}), ("Cast", {"to": 999})],
)
def test_host_steps_that_fail(make_session: MakeSession, op: str, attributes: dict[str, Any]) -> None:
    buffers = [Buffer("x", "float", ("n",), "input"), Buffer("y", "float", None, "output")]
    settings = {"op": op, "domain": "", "opset": 13, "attributes": attributes}
    session = make_session("native", buffers, [Step("host", "y", op, ("x",), ("y",), settings)], symbols=["n"])
    with pytest.raises(AutofusionError):
        session.run({"x": zeros(3)})


@pytest.mark.parametrize("backend", ["native", "reference"])
def test_settings_that_kernels_do_not_know(make_session: MakeSession, backend: str) -> None:
    buffers = [Buffer("x", "float", ("n",), "input"), Buffer("y", "float", ("n",), "output")]
    session = make_session(
        backend, buffers, [Step("unary", "y", "Warp", ("x",), ("y",), {"op": "Warp"})], symbols=["n"]
    )
    with pytest.raises(ArtifactError, match="step 'y' is no valid unary step"):
        session.run({"x": zeros(3)})


@pytest.mark.parametrize("backend", ["native", "reference"])
def test_an_alias_longer_than_its_buffer(make_session: MakeSession, backend: str) -> None:
    buffers = [
        Buffer("x", "float", ("n",), "input"),
        Buffer("v", "float", ("n + 1",), alias="x"),
        Buffer("y", "float", ("n + 1",), "output"),
    ]
    session = make_session(backend, buffers, [Step("unary", "y", "Neg", ("v",), ("y",), NEGATE)], symbols=["n"])
    with pytest.raises(ArtifactError, match=r"AF514.*buffer 'v' has .*'x', whose bytes it shares"):
        session.run({"x": zeros(3)})


def test_a_constant_shorter_than_its_shape(make_session: MakeSession) -> None:
    buffers = [
        Buffer("x", "float", ("n",), "input"),
        Buffer("k", "float", (4,), "constant"),
        Buffer("y", "float", ("n",), "output"),
    ]
    steps = [Step("host", "y", "Add", ("x", "k"), ("y",), {"op": "Add", "domain": "", "opset": 14, "attributes": {}})]
    session = make_session("native", buffers, steps, {"k": zeros(3)}, symbols=["n"])
    with pytest.raises(ArtifactError, match=r"AF514.*constant 'k' has 12 bytes, which its shape does not fill"):
        session.run({"x": zeros(1)})


def test_number_of_threads_follows_the_affinity(make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    class Spy(Session):
        def __init__(self, plan: Plan, weights: np.ndarray, threads: int) -> None:
            asked.append(threads)
            super().__init__(plan, weights, threads)

    monkeypatch.setattr(session_module, "Session", Spy)
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: {0, 3, 5})
    plan, _ = make_plan("native", [Buffer("x", "float", (1,), "input")], [], outputs=["x"])
    open_session(plan, np.empty(0, np.uint8))
    open_session(plan, np.empty(0, np.uint8), threads=1)
    assert asked == [3, 1]
