"""Fits the roofline of the cost model to measured steps.

usage: python -m benchmarks.roofline MODEL.onnx ... [--rounds 20]

Every model is compiled with fusion and without, and every step of both is measured by itself, with one thread.  The
figures printed are those that `autofusion.lowering.roofline.SERVER` holds; a second table shows how far the time of
all steps together is from the fitted one.  Beside each model lies an archive of its inputs, MODEL.npz.
"""

from __future__ import annotations

import argparse
import itertools
import math
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from autofusion.compiler import compile_model, save_compilation
from autofusion.fusion import Controls
from autofusion.lowering.cost import CostModel
from autofusion.lowering.roofline import SERVER, Roofline, Work
from autofusion.options import CompileOptions
from benchmarks.layers import measure_layers

RATES = ("flops", "cache_bandwidth", "memory_bandwidth")

TURNS = 80
"""Of the search; each tries every figure a little larger and a little smaller, and less so from turn to turn."""


@dataclass(frozen=True)
class Trace:
    """Work and measured seconds of the steps of one plan."""

    name: str
    works: tuple[Work, ...]
    seconds: tuple[float, ...]

    def estimate(self, roofline: Roofline) -> float:
        """Time of all steps."""
        return sum(roofline.seconds(work) for work in self.works)

    def rate(self, roofline: Roofline) -> float:
        """Squared logarithms of estimate by time: of every step, weighted by its share, and of the whole."""
        total = sum(self.seconds)
        pairs = zip(self.works, self.seconds, strict=True)
        steps = sum(seconds * math.log(roofline.seconds(work) / seconds) ** 2 for work, seconds in pairs if seconds)
        return steps / total + math.log(self.estimate(roofline) / total) ** 2


def trace_model(model: Path, fusion: bool, rounds: int) -> Trace:
    """Compile and measure."""
    feeds = model.with_suffix(".npz")
    shapes = {name: array.shape for name, array in np.load(feeds).items()}
    compilation = compile_model(model, CompileOptions(shapes=shapes, controls=Controls(auto_fusion=fusion)))
    costs = CostModel(compilation.graph, lowered=compilation.lowered)
    with tempfile.TemporaryDirectory() as folder:
        artifact = save_compilation(compilation, Path(folder) / "model.om")
        layers = measure_layers(artifact, feeds, 1, rounds).layers
    works = tuple(costs.step_work(index) for index in range(len(layers)))
    name = f"{model.stem}, {'fused' if fusion else 'unfused'}"
    return Trace(name, works, tuple(layer.seconds for layer in layers))


def fit(traces: Sequence[Trace], start: Roofline) -> Roofline:
    """The figures with the least error, by a search from `start` one figure at a time."""
    best, least = start, sum(trace.rate(start) for trace in traces)
    for turn in range(TURNS):
        pace = 1 + 0.5 * 0.93**turn
        for name, factor in itertools.product(RATES, (pace, 1 / pace)):
            tried = replace(best, **{name: getattr(best, name) * factor})
            error = sum(trace.rate(tried) for trace in traces)
            if error < least:
                best, least = tried, error
    return best


def main() -> None:
    """Measure, fit and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=20)
    given = parser.parse_args()
    traces = [trace_model(model, fusion, given.rounds) for model in given.models for fusion in (True, False)]
    found = fit(traces, SERVER)
    for name, value in asdict(found).items():
        print(f"{name} = {value:.3g}")
    print("\n| plan | steps, ms | fitted, ms |\n|---|---|---|")
    for trace in traces:
        print(f"| {trace.name} | {1e3 * sum(trace.seconds):.2f} | {1e3 * trace.estimate(found):.2f} |")


if __name__ == "__main__":
    main()
