"""The steps of an artifact one by one: time, arithmetic and weights read, as shares of what the processor can do.

usage: python -m benchmarks.layers ARTIFACT.om FEEDS.npz [--threads 1] [--rounds 20] [--isa x86-64-v3]

Each step runs after the one before it, so that it finds the caches as in a run of the model; the least time counts,
without that of a call that runs no step.  Runs before that give threads the time to find a processor each.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from autofusion.artifact import read_artifact
from autofusion.artifact.weights import allocate_aligned
from autofusion.plan import Step
from autofusion.runtime.binding import Binding, bind
from autofusion.runtime.build import find_compiler
from autofusion.runtime.dims import read_dims
from autofusion.runtime.native import Context, load_library
from autofusion.runtime.records import Space

PEAK = Path(__file__).with_name("peak.c")
BANDWIDTH = Path(__file__).with_name("bandwidth.c")

WARMING_SECONDS = 0.3


@dataclass(frozen=True)
class Layer:
    """One step: what it is, seconds, floating-point operations of its plain definition and bytes of its weight.

    Both are 0 where they are not counted.
    """

    text: str
    seconds: float
    flops: float
    bytes: int


@dataclass(frozen=True)
class Layers:
    """The steps in order, the peak of all threads together in operations per second, and in bytes read per second."""

    layers: tuple[Layer, ...]
    peak: float
    bandwidth: float


def measure_peak(isa: str | None = None) -> float:
    """Operations per second of one core with an instruction set, or all it has, by a small C program."""
    return _run_program(PEAK, isa or "native")


def measure_bandwidth(threads: int) -> float:
    """Bytes per second that `threads` threads read from memory together, by a small C program."""
    return _run_program(BANDWIDTH, "native", str(threads))


def _run_program(source: Path, isa: str, *words: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program"
        command = [
            *find_compiler().command,
            "-O3",
            f"-march={isa}",
            "-ffp-contract=fast",
            "-pthread",
            str(source),
            "-o",
        ]
        subprocess.run([*command, str(program)], check=True)
        return float(subprocess.run([str(program), *words], check=True, capture_output=True, text=True).stdout)


def measure_layers(artifact: Path, feeds_path: Path, threads: int, rounds: int = 20, isa: str | None = None) -> Layers:
    """Run every native step of the artifact by itself, with the library of `isa` or the processor's best one."""
    opened = read_artifact(artifact, verify_weights=False)
    plan, feeds = opened.plan, dict(np.load(feeds_path))
    binding = bind(plan, read_dims(plan, {name: array.shape for name, array in feeds.items()}), threads)
    slots = [_fill_slot(binding, name, feeds) for name in binding.slots]
    arena = allocate_aligned(max(binding.arena_bytes, 64))
    native, context = load_library(isa=isa), Context(binding.records, arena, opened.weights, slots, threads)
    native.check(context)
    least = [math.inf] * len(plan.steps)
    empty, warm = math.inf, time.perf_counter() + WARMING_SECONDS
    while time.perf_counter() < warm:
        native.run(context, 0, len(plan.steps))
    for _ in range(rounds):
        start = time.perf_counter()
        native.run(context, 0, 0)
        empty = min(empty, time.perf_counter() - start)
        for index in range(len(plan.steps)):
            start = time.perf_counter()
            native.run(context, index, index + 1)
            least[index] = min(least[index], time.perf_counter() - start)
    layers = (
        Layer(
            describe_step(step, binding),
            max(seconds - empty, 0.0),
            count_flops(step, binding),
            count_weight(step, binding),
        )
        for step, seconds in zip(plan.steps, least, strict=True)
    )
    return Layers(tuple(layers), measure_peak(isa) * threads, measure_bandwidth(threads))


def _fill_slot(binding: Binding, name: str, feeds: Mapping[str, np.ndarray]) -> np.ndarray:
    array = allocate_aligned(binding.places[name].bytes)
    if name in feeds:
        array[:] = np.ascontiguousarray(feeds[name]).reshape(-1).view(np.uint8)
    return array


def count_flops(step: Step, binding: Binding) -> float:
    """Operations of a convolution or matrix product as it is defined; 0 for every other step."""
    if step.kernel == "conv_depthwise":
        return _count_both(step, binding)
    if step.kernel == "conv_pool":
        return 2.0 * _count_pixels(step, binding) * math.prod(binding.shapes[step.inputs[1]])
    if step.kernel == "conv_transpose":
        x = binding.shapes[step.inputs[0]]
        return 2.0 * x[0] * math.prod(x[2:]) * math.prod(binding.shapes[step.inputs[1]])
    if step.kernel not in ("conv", "matmul"):
        return 0
    a, weight, y = (binding.shapes[name] for name in (*step.inputs[:2], step.outputs[0]))
    if step.kernel == "matmul" and step.attributes["packed"]:
        return 2.0 * math.prod(a[:-1]) * math.prod(weight)
    if step.kernel == "matmul":
        return 2.0 * math.prod(y) * a[-2 if step.attributes["trans_a"] else -1]
    return 2.0 * math.prod(y) * math.prod(weight[1:])


def count_weight(step: Step, binding: Binding) -> int:
    """Bytes of the constant filter or matrix; 0 where there is none."""
    place = binding.places.get(step.inputs[1]) if step.kernel in ("conv", "matmul") else None
    return place.bytes if place is not None and place.space is Space.WEIGHTS else 0


def _count_both(step: Step, binding: Binding) -> float:
    """Operations of a convolution and the depthwise one after it."""
    _, first, _, depth, _ = (binding.shapes[name] if name else () for name in step.inputs)
    y = binding.shapes[step.outputs[0]]
    return 2.0 * (_count_pixels(step, binding) * math.prod(first) + math.prod(y) * math.prod(depth[2:]))


def _count_pixels(step: Step, binding: Binding) -> int:
    """Pixels of all images between the two parts of a step."""
    x = binding.shapes[step.inputs[0]]
    axes = len(x) - 2
    kernel, strides, pads = (cast("list[int]", step.attributes[name]) for name in ("kernel", "strides", "pads"))
    dilations = cast("list[int]", step.attributes["dilations"])
    return x[0] * math.prod(
        (x[2 + axis] + pads[axis] + pads[axes + axis] - (kernel[axis] - 1) * dilations[axis] - 1) // strides[axis] + 1
        for axis in range(axes)
    )


def describe_step(step: Step, binding: Binding) -> str:
    """Kernel, shapes and what of the attributes decides about its speed."""
    y = "x".join(map(str, binding.shapes[step.outputs[0]]))
    if step.kernel == "conv_depthwise":
        return _describe_both(step, binding)
    if step.kernel not in ("conv", "conv_pool", "conv_transpose"):
        return f"{step.kernel} {step.attributes.get('op', '')} -> {y}"
    found = step.attributes
    kernel, strides = found["kernel"], found["strides"]
    assert isinstance(kernel, list)
    assert isinstance(strides, list)
    words = [f"{step.kernel} {'x'.join(map(str, kernel))}", f"{binding.shapes[step.inputs[0]][1]} -> {y}"]
    words += [f"strides {'x'.join(map(str, strides))}"] if set(strides) != {1} else []
    words += [f"groups {found['group']}"] if found["group"] != 1 else []
    words += [f"winograd {found['winograd']}"] if "winograd" in found else []
    words += ["residual"] if len(step.inputs) > 3 and step.inputs[3] else []
    return " ".join([*words, str(found["activation"])]).rstrip()


def _describe_both(step: Step, binding: Binding) -> str:
    x, y = binding.shapes[step.inputs[0]], binding.shapes[step.outputs[0]]
    found = step.attributes
    first, second, strides, further = (
        "x".join(map(str, cast("list[int]", found[name])))
        for name in ("kernel", "depth_kernel", "strides", "depth_strides")
    )
    words = [f"conv {first} {x[1]} of {'x'.join(map(str, x[2:]))}", f"and depthwise {second}"]
    words += [f"-> {'x'.join(map(str, y))} strides {strides} {further}", str(found["activation"])]
    return " ".join(words).rstrip()


def render_layers(found: Layers) -> str:
    """A table of the steps, those of one kind together, and their sum."""
    groups: dict[str, list[Layer]] = {}
    for layer in found.layers:
        groups.setdefault(layer.text, []).append(layer)
    rows = [_render_group(text, layers, found) for text, layers in groups.items()]
    total = sum(layer.seconds for layer in found.layers)
    limits = f"peak {found.peak / 1e9:.0f} GF/s, {found.bandwidth / 1e9:.0f} GB/s"
    return "\n".join([*rows, f"sum of the least times {1e3 * total:.2f} ms, {limits}"])


def _render_group(text: str, layers: Sequence[Layer], found: Layers) -> str:
    seconds, flops = sum(layer.seconds for layer in layers), sum(layer.flops for layer in layers)
    read = sum(layer.bytes for layer in layers)
    rate = f"{flops / seconds / 1e9:7.1f} GF/s {100 * flops / seconds / found.peak:4.0f} %" if flops else ""
    if read:
        rate += f" {read / seconds / 1e9:6.1f} GB/s {100 * read / seconds / found.bandwidth:4.0f} %"
    return f"{text:72s} x{len(layers):<3d} {1e6 * seconds:9.1f} us {rate}".rstrip()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("artifact", type=Path)
    parser.add_argument("feeds", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--isa", help="an instruction set that the processor has, such as x86-64-v3")
    given = parser.parse_args()
    print(render_layers(measure_layers(given.artifact, given.feeds, given.threads, given.rounds, given.isa)))


if __name__ == "__main__":
    main()
