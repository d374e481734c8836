"""Scenarios of the codes AF5xx: artifacts, the runtime and its inputs."""

from __future__ import annotations

import errno
import importlib.util
import io
import json
import os
import platform
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from autofusion.artifact.container import write_container
from autofusion.plan import Buffer, Step
from autofusion.runtime import load, native, open_session
from autofusion.runtime.dims import check_symbols
from autofusion.runtime.encode import encode_step
from cli.models import save_sum
from cli.transcript import transcribe
from diagnostics.scenarios import Outcome, Scenario, write_model
from diagnostics.scenarios_model import relu
from frontend.models import model, node, random, tensor
from runtime.cases import CASES
from runtime.conftest import build_plan
from runtime.steps import Bench


def running(*words: str, prepare: Callable[[], None] | None = None) -> Scenario:
    """`autofusion run` of an artifact that is fine until `prepare` has seen it."""

    def scenario(monkeypatch: pytest.MonkeyPatch) -> Outcome:
        save_sum(Path("sum.onnx"))
        transcribe("compile", "sum.onnx", "-o", "net")
        if prepare is not None:
            prepare()
        return ["run", "net.om", *words]

    return scenario


def opened(*words: str) -> Scenario:
    """`autofusion run` with nine rows of a model that was compiled with WORDS."""

    def scenario(monkeypatch: pytest.MonkeyPatch) -> Outcome:
        save_sum(Path("sum.onnx"))
        transcribe("compile", "sum.onnx", "-o", "net", *words)
        return ["run", "net.om", "--dim", "n=9"]

    return scenario


def edit(entry: str, change: Callable[[Any], None]) -> None:
    """Change the JSON of one entry of net.om and leave everything else, digests included, as it is."""
    with zipfile.ZipFile("net.om") as file:
        entries = {name: file.read(name) for name in file.namelist()}
    data = json.loads(entries[entry])
    change(data)
    entries[entry] = json.dumps(data, sort_keys=True, separators=(",", ":")).encode()
    buffer = io.BytesIO()
    write_container(buffer, {name: [memoryview(content)] for name, content in entries.items()})
    Path("net.om").write_bytes(buffer.getvalue())


def overwrite() -> None:
    Path("net.om").write_bytes(b"junk")


def flip_a_weight() -> None:
    data = bytearray(Path("net.om").read_bytes())
    data[65536] ^= 1
    Path("net.om").write_bytes(bytes(data))


def save_arrays() -> None:
    np.save("double.npy", np.ones((2, 3)))
    np.save("wide.npy", np.ones((2, 4), np.float32))
    Path("junk.npy").write_bytes(b"junk")
    Path("short.bin").write_bytes(b"1234")


def unknown_outputs(data: dict[str, Any]) -> None:
    data["outputs"] = []


def folder_in_the_way(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    Path("net.om").mkdir()
    return ["compile", write_model(relu()), "-o", "net.om"]


def full_disk(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    def fail(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    return ["compile", write_model(relu()), "-o", "net"]


def other_backend(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    transcribe("compile", write_model(relu()), "-o", "net")
    load("net.om", backend="reference")
    raise AssertionError("it was loaded")


def untold_symbol(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    buffers = [Buffer("x", "float", ("n//2",), "input"), Buffer("y", "float", ("n",), "output")]
    settings: dict[str, Any] = {"op": "Range", "domain": "", "opset": 11, "attributes": {}}
    plan, _ = build_plan("reference", buffers, [Step("host", "y", "Range", ("x",), ("y",), settings)], symbols=["n"])
    check_symbols(plan)
    raise AssertionError("the extent was told")


def make_host_artifact(shape: list[int]) -> None:
    proto = model([node("Det", "x", "y", "det")], [tensor("x", shape)], [tensor("y", [])])
    transcribe("compile", write_model(proto), "-o", "net")


def missing_package(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    make_host_artifact([2, 2])
    monkeypatch.setattr(importlib.util, "find_spec", dict[str, object]().get)
    return ["run", "net.om"]


def wrong_result(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    buffers = [Buffer("x", "float", ("n", 4), "input"), Buffer("y", "float", ("n", 5), "output")]
    settings: dict[str, Any] = {"op": "Identity", "domain": "", "opset": 21, "attributes": {}}
    steps = [Step("host", "same", "Identity", ("x",), ("y",), settings)]
    plan, _ = build_plan("reference", buffers, steps, symbols=["n"])
    open_session(plan, np.empty(0, np.uint8)).run({"x": np.zeros((1, 4), np.float32)})
    raise AssertionError("it ran")


def other_platform(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    transcribe("compile", write_model(relu()), "-o", "net")
    monkeypatch.setattr(native.sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    return ["run", "net.om"]


def load_from_here(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    monkeypatch.setattr(native.sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    native.load_library(Path("lib"))
    raise AssertionError("it was loaded")


def damaged_library(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    Path("lib").mkdir()
    for variant in native.X86_VARIANTS:
        (Path("lib") / f"libautofusion-{variant}.so").write_bytes(b"")
    return load_from_here(monkeypatch)


def invalid_step(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    bench = Bench(CASES["unary"])
    step = bench.plan.steps[0]
    encode_step(step._replace(attributes={**step.attributes, "op": "Tan"}), bench.buffers, bench.shapes, bench.places)
    raise AssertionError("it was encoded")


def damaged_record(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    bench = Bench(CASES["unary"])
    bench.records["operands"]["bytes"][0, 0] -= 16
    native.load_library().check(bench.context())
    raise AssertionError("it was accepted")


def impossible_extent(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    weights = {"w": random(0, 1, 1, 3)}
    nodes = [node("Conv", "x w", "y", "conv")]
    transcribe(
        "compile",
        write_model(model(nodes, [tensor("x", [1, 1, "n"])], [tensor("y", None)], weights)),
        "-o",
        "net",
    )
    return ["run", "net.om", "--dim", "n=1"]


def unfit_array(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    transcribe("compile", write_model(relu()), "-o", "net")
    load("net.om").run({"x": np.zeros((2, 3), np.float32)}, out={"y": np.zeros((3, 2), np.float32)})
    raise AssertionError("it was taken")


def no_threads(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    transcribe("compile", write_model(relu()), "-o", "net")
    load("net.om", threads=0)
    raise AssertionError("it was loaded")


def index_out_of_range(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    nodes, ids = [node("Gather", "table ids", "y", "look_up")], tensor("ids", [2], TensorProto.INT64)
    table = {"table": random(0, 3, 4)}
    transcribe("compile", write_model(model(nodes, [ids], [tensor("y", None)], table)), "-o", "net")
    load("net.om").run({"ids": np.array([0, 3])})
    raise AssertionError("it ran")


def missing_input(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    transcribe("compile", write_model(relu()), "-o", "net")
    load("net.om").run({})
    raise AssertionError("it ran")


def unreadable_report(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    from artifact.conftest import make_contents
    from autofusion.artifact import write_artifact

    write_artifact("net.om", make_contents())
    return ["report", "net.om"]


SCENARIOS: dict[str, Scenario] = {
    "AF510": lambda monkeypatch: ["run", "net.om"],
    "AF511": running(prepare=overwrite),
    "AF512": running(prepare=lambda: edit("manifest.json", lambda data: data.update(format=99))),
    "AF513": running(prepare=flip_a_weight),
    "AF514": running(prepare=lambda: edit("manifest.json", unknown_outputs)),
    "AF515": folder_in_the_way,
    "AF516": full_disk,
    "AF517": other_backend,
    "AF518": untold_symbol,
    "AF519": missing_package,
    "AF520": wrong_result,
    "AF521": other_platform,
    "AF522": load_from_here,
    "AF523": damaged_library,
    "AF524": invalid_step,
    "AF525": damaged_record,
    "AF530": missing_input,
    "AF531": running("--input", "x=double.npy", prepare=save_arrays),
    "AF532": running("--input", "x=wide.npy", prepare=save_arrays),
    "AF533": impossible_extent,
    "AF534": unfit_array,
    "AF535": no_threads,
    "AF536": index_out_of_range,
    "AF537": opened("--input-shape=x:2~8,3"),
    "AF538": opened("--input-shape=x:-1,3", "--dynamic-batch-size=1,2,4"),
    "AF540": running("--input", "x=junk.npy", prepare=save_arrays),
    "AF541": running("--input", "x=short.bin", prepare=save_arrays),
    "AF542": running("--input", "image=wide.npy", prepare=save_arrays),
    "AF543": running("--input", "x=short.bin", "--dim", "n=2", prepare=save_arrays),
    "AF544": unreadable_report,
    "AF545": running("--dim", "batch=2"),
}
