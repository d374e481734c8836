"""Time of every step of an artifact, and of every node of ONNX Runtime on the same model, run in turn in one process.

usage: python -m benchmarks.steps MODEL.om MODEL.onnx FEEDS.npz [--threads 1] [--runs 15] [--steps 20]

The figures of steps and nodes are minima over the runs, which other processes disturb least; whole runs have a minimum
and a median.  A ratio above 1 means that autofusion is faster.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import onnxruntime

from autofusion.artifact import read_artifact
from autofusion.artifact.weights import allocate_aligned
from autofusion.plan import Plan
from autofusion.runtime.binding import bind
from autofusion.runtime.constants import read_strings
from autofusion.runtime.dims import read_dims
from autofusion.runtime.frame import Frame
from autofusion.runtime.host import prepare_host_steps
from autofusion.runtime.native import Context, Native, load_library


class SteppedNative(Native):
    """The library, called once a step; `least` has the shortest time in seconds by the number of the step."""

    def __init__(self, native: Native) -> None:
        self.__dict__.update(native.__dict__)
        self.least: dict[int, float] = {}

    def run(self, context: Context, first: int, last: int) -> int | None:
        """Run and time the steps one after the other."""
        for step in range(first, last):
            start = time.perf_counter()
            failed = super().run(context, step, step + 1)
            self.least[step] = min(self.least.get(step, np.inf), time.perf_counter() - start)
            if failed is not None:
                return failed
        return None


@dataclass(frozen=True)
class Timing:
    """Seconds of whole runs, and the least ones of each part by (kind, description)."""

    runs: list[float]
    parts: list[tuple[str, str, float]]


def measure(artifact: Path, model: Path, feeds: Mapping[str, np.ndarray], threads: int, runs: int) -> list[Timing]:
    """Timings of autofusion and of ONNX Runtime, in turn: whole runs first, then runs by parts."""
    opened = read_artifact(artifact, verify_weights=False)
    plan = opened.plan
    binding = bind(plan, read_dims(plan, {name: array.shape for name, array in feeds.items()}), threads)
    arena = allocate_aligned(max(binding.arena_bytes, 64))
    frame = Frame(plan, binding, opened.weights, read_strings(plan, opened.weights), arena, threads)
    native, host_steps = load_library(), prepare_host_steps(plan)
    session, profiled = _open_session(model, threads, None), _open_session(model, threads, tempfile.mkdtemp())
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        frame.run(native, host_steps, feeds, {}, None)
        middle = time.perf_counter()
        session.run(None, feeds)
        ours.append(middle - start)
        theirs.append(time.perf_counter() - middle)
    stepped = SteppedNative(native)
    for _ in range(runs):
        frame.run(stepped, host_steps, feeds, {}, None)
        profiled.run(None, feeds)
    steps = [
        (plan.steps[number].kernel, describe_step(plan, number, binding.shapes), least)
        for number, least in sorted(stepped.least.items())
    ]
    return [Timing(ours[1:], steps), Timing(theirs[1:], read_profile(Path(profiled.end_profiling())))]


def describe_step(plan: Plan, number: int, shapes: Mapping[str, tuple[int, ...]]) -> str:
    """A step with the shapes of its operands and its results."""
    step = plan.steps[number]
    given = " ".join("x".join(map(str, shapes.get(name, ()))) if name else "-" for name in step.inputs)
    made = " ".join("x".join(map(str, shapes.get(name, ()))) for name in step.outputs)
    chosen = {key: step.attributes[key] for key in ("norm", "gated", "activation") if step.attributes.get(key)}
    return f"{number} {given} -> {made} {chosen or ''} {step.node}"


def read_profile(path: Path) -> list[tuple[str, str, float]]:
    """The least time of every node in a profile of ONNX Runtime, in seconds."""
    least: dict[tuple[str, str], float] = {}
    for event in json.loads(path.read_text()):
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            key = (event["args"]["op_name"], event["name"].removesuffix("_kernel_time"))
            least[key] = min(least.get(key, np.inf), event["dur"] / 1e6)
    return [(kind, name, seconds) for (kind, name), seconds in least.items()]


def _open_session(model: Path, threads: int, profile: str | None) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    if profile is not None:
        options.enable_profiling = True
        options.profile_file_prefix = f"{profile}/nodes"
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def print_kinds(title: str, timing: Timing) -> None:
    """Sums over kinds of steps or nodes, in milliseconds."""
    sums: dict[str, list[float]] = defaultdict(list)
    for kind, _, seconds in timing.parts:
        sums[kind].append(seconds)
    total = sum(seconds for _, _, seconds in timing.parts)
    ordered = sorted(sums.items(), key=lambda item: -sum(item[1]))
    shown = ", ".join(f"{kind} {1e3 * sum(times):.2f} ({len(times)})" for kind, times in ordered[:9])
    print(f"  {title}: sum of minima {1e3 * total:.2f} ms: {shown}")


def main() -> None:
    """Measure the model of the command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.steps", description=__doc__)
    parser.add_argument("artifact", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("feeds", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--steps", type=int, default=20, help="how many of the longest steps are shown")
    arguments = parser.parse_args()
    feeds = dict(np.load(arguments.feeds))
    ours, theirs = measure(arguments.artifact, arguments.model, feeds, arguments.threads, arguments.runs)
    least, middle = min(theirs.runs) / min(ours.runs), median(theirs.runs) / median(ours.runs)
    print(
        f"{arguments.model.stem} threads {arguments.threads}: {1e3 * min(ours.runs):.2f} ms, "
        f"ONNX Runtime {1e3 * min(theirs.runs):.2f} ms, ratio {least:.2f} (minima) {middle:.2f} (medians)"
    )
    print_kinds("autofusion", ours)
    print_kinds("ONNX Runtime", theirs)
    for kind, text, seconds in sorted(ours.parts, key=lambda part: -part[2])[: arguments.steps]:
        print(f"    {1e3 * seconds:8.3f} {kind} {text}")


if __name__ == "__main__":
    main()
