"""Loading the library, encoding of steps, contexts, threads and forks."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shutil
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from autofusion.errors import ArtifactError
from autofusion.plan import Buffer, Plan, Step
from autofusion.runtime import native as native_module
from autofusion.runtime.encode import encode_plan, encode_step
from autofusion.runtime.native import LIBRARY_FOLDER, Context, Native, load_library
from runtime.cases import CASES, conv_case, draw
from runtime.steps import Bench, Case, aligned


@pytest.fixture(scope="module")
def loaded() -> Native:
    """The best variant, in this process."""
    return load_library()


def test_an_array_can_be_exchanged_for_another(loaded: Native) -> None:
    case = Case("unary", [draw(6)], {"op": "Neg"}, (6,))
    bench = Bench(case)
    context = bench.context()
    loaded.check(context)
    other, result = draw(6) + 1, np.zeros(6, np.float32)
    context.bind(0, other)
    context.bind(1, result)
    loaded.run(context, 0, 1)
    np.testing.assert_array_equal(-other, result)
    for wrong in (draw(7), draw(12)[::2]):
        with pytest.raises(ValueError):
            context.bind(0, wrong)
    result.flags.writeable = False
    with pytest.raises(ValueError, match="does not fit"):
        context.bind(1, result)


def test_steps_that_are_not_there_cannot_run(loaded: Native) -> None:
    context = Bench(CASES["unary"]).context()
    for first, last in ((-1, 1), (0, 2), (1, 0)):
        with pytest.raises(IndexError):
            loaded.run(context, first, last)


def test_other_steps_are_passed_over(loaded: Native) -> None:
    steps = (
        Step("extents", "n", "Shape", (), ("a",), {"values": [1]}),
        Step("host", "n", "Op", ("",), ("b",), {"op": "Op"}),
    )
    plan = Plan("native", (), (), (), {"a": Buffer("a", "int64", (1,))}, (), steps)
    records = encode_plan(plan, {}, {})
    assert records.shape == (2,)
    context = Context(records, aligned(0), aligned(0), [], 1)
    loaded.check(context)
    loaded.run(context, 0, 2)


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("conv", {"group": "2"}, "group is '2', not an integer"),
        ("conv", {"strides": [1]}, "strides is [1], not a list of 2 integers"),
        ("conv", {"activation": "Softplus"}, "activation is 'Softplus', which no native kernel knows"),
        ("conv", {"alpha": "x"}, "alpha is 'x', not a number"),
        ("conv", {"group": 1 << 70}, "too large"),
        ("pool", {"kind": "lp"}, "kind is 'lp', which no native kernel knows"),
        ("matmul", {"trans_b": True}, "do not fit"),
        ("unary", {"op": "Tan"}, "op is 'Tan', which no native kernel knows"),
        ("binary", {"op": None}, "op is None, which no native kernel knows"),
    ],
)
def test_steps_outside_the_kernel_table_are_refused(name: str, change: dict[str, object], reason: str) -> None:
    bench = Bench(CASES[name])
    step = bench.plan.steps[0]
    wrong = step._replace(attributes={**step.attributes, **change})
    with pytest.raises(ArtifactError, match=re.escape(reason)) as caught:
        encode_step(wrong, bench.buffers, bench.shapes, bench.places)
    assert caught.value.diagnostic.code == "AF524"
    assert caught.value.diagnostic.message.startswith(f"step 'node' is no valid {step.kernel} step: ")


def test_steps_on_other_element_types_are_refused() -> None:
    buffers = {"x": Buffer("x", "float16", (2,)), "y": Buffer("y", "float16", (2,))}
    step = Step("unary", "node", "Neg", ("x",), ("y",), {"op": "Neg"})
    with pytest.raises(ArtifactError, match="it works on elements of type float16"):
        encode_step(step, buffers, {"x": (2,), "y": (2,)}, {})


def heavy_bench() -> tuple[Bench, np.ndarray]:
    """A step large enough to be shared among two threads, and its result from one."""
    case = conv_case(64, 64, 28)
    return Bench(case, threads=2), Bench(case).run(load_library())


def test_sessions_may_call_at_once(loaded: Native) -> None:
    benches = [heavy_bench() for _ in range(4)]

    def run_often(pair: tuple[Bench, np.ndarray]) -> bool:
        bench, expected = pair
        return all(np.array_equal(expected, bench.run(loaded)) for _ in range(20))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(run_often, benches))


def test_a_forked_child_can_run(loaded: Native) -> None:
    bench, expected = heavy_bench()
    assert np.array_equal(expected, bench.run(loaded))
    with warnings.catch_warnings():
        # Python warns that threads do not survive a fork, which is what is tested.
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        same = all(np.array_equal(expected, bench.run(loaded)) for _ in range(3))
        os._exit(0 if same else 1)
    assert np.array_equal(expected, bench.run(loaded))
    assert os.waitpid(child, 0)[1] == 0


def test_a_library_that_was_not_built_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"libautofusion-.*\.so is not in") as caught:
        load_library(tmp_path)
    assert caught.value.diagnostic.code == "AF522"
    assert "hatch_build.py" in caught.value.diagnostic.help


def test_a_damaged_library_is_reported(tmp_path: Path) -> None:
    for path in Path(LIBRARY_FOLDER).glob("*.so"):
        (tmp_path / path.name).write_bytes(b"\x7fELF")
    with pytest.raises(ArtifactError, match="cannot be used") as caught:
        load_library(tmp_path)
    assert caught.value.diagnostic.code == "AF523"


def test_a_library_of_another_version_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    version = native_module.ABI_VERSION
    monkeypatch.setattr(native_module, "ABI_VERSION", 99)
    with pytest.raises(ArtifactError, match=f"it has version {version}, not 99") as caught:
        load_library()
    assert caught.value.diagnostic.code == "AF523"


def test_other_platforms_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(ArtifactError, match="not on linux on riscv64") as caught:
        load_library()
    assert caught.value.diagnostic.code == "AF521"
    assert "--backend=reference" in caught.value.diagnostic.help


def test_there_is_one_variant_on_aarch64(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # The library itself is any: which one is taken follows from the machine alone.
    shutil.copy(next(Path(LIBRARY_FOLDER).glob("*.so")), tmp_path / "libautofusion-aarch64.so")
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert load_library(tmp_path).isa == "aarch64"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="there is one variant elsewhere")
def test_the_best_variant_is_chosen() -> None:
    flags = set(re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text("ascii"), re.MULTILINE)[1].split())
    expected = "x86-64-v2"
    if {"avx2", "fma", "bmi1", "bmi2", "f16c", "movbe", "abm"} <= flags:
        expected = "x86-64-v3"
        if {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= flags:
            expected = "x86-64-v4"
    assert expected == load_library().isa


def test_libraries_export_their_interface_only() -> None:
    library = ctypes.CDLL(str(next(Path(LIBRARY_FOLDER).glob("*.so"))))
    assert hasattr(library, "af_run")
    assert not hasattr(library, "af_run_conv")
    assert sys.platform == "linux"
