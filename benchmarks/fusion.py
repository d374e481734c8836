"""What fusion gains: the same kernels with fusion and without, beside what the fusion report estimates.

usage: python -m benchmarks.fusion MODEL.onnx ... [--threads 1] [--launches 3] [--turns 5] [--rules FILE]
       [--peers-python PYTHON] [--json FILE]

Beside each model lies an archive of its inputs, MODEL.npz.  `unfused` is `--auto-fusion=off`: BatchNormalization,
activations and residual additions are steps of their own.  `plain` is ONNX Runtime with its optimizations off.
With `--rules` a column shows what manual rules alone gain, without the automatic fusions.
A ratio above 1 says that the first of its two is faster; the table has the median over the launches.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.compare import compile_artifact, describe_machine
from benchmarks.launches import Engine, Sample, launch, take_ratios

TOLERANCE = 0.2
"""Part of the measured speed-up by which an estimate may miss it and still be counted as near."""


@dataclass(frozen=True)
class Gain:
    """One model: speed-up by fusion as the report estimates it and as measured, and by manual rules alone.

    `plain` is the time of ONNX Runtime without optimizations over that of the unfused plan.
    """

    model: str
    threads: int
    milliseconds: float
    estimated: float
    measured: float
    plain: float | None
    manual: float | None
    launches: list[list[Sample]]

    @property
    def is_near(self) -> bool:
        """Whether the estimate is within TOLERANCE of what was measured."""
        return abs(self.estimated - self.measured) <= TOLERANCE * self.measured


def measure(model: Path, threads: int, given: argparse.Namespace) -> Gain:
    """Compile `model` each way and launch all of them."""
    feeds = model.with_suffix(".npz")
    ways: dict[str, Sequence[str]] = {"fused": (), "unfused": ("--auto-fusion=off",)}
    if given.rules:
        ways["manual"] = ("--auto-fusion=off", f"--fusion-rules={given.rules}")
    with tempfile.TemporaryDirectory() as folder:
        for name, words in ways.items():
            compile_artifact(model, feeds, Path(folder) / f"{name}.om", *words)
        report = json.loads((Path(folder) / "fused.fusion.json").read_text())
        engines = [Engine(name, "autofusion", Path(folder) / f"{name}.om") for name in ways]
        if given.peers_python:
            engines.append(Engine("plain", "onnxruntime_plain", model, given.peers_python))
        launches = [launch(engines, feeds, threads, given.turns) for _ in range(given.launches)]
    fused = statistics.median(sample.median for samples in launches for sample in samples if sample.engine == "fused")
    return Gain(
        model.stem,
        threads,
        1e3 * fused,
        report["estimated_speedup"],
        statistics.median(take_ratios(launches, "unfused", "fused", "median")),
        take_median(launches, "plain", "unfused"),
        take_median(launches, "unfused", "manual"),
        launches,
    )


def take_median(launches: Sequence[Sequence[Sample]], peer: str, own: str) -> float | None:
    """The median ratio, None where an engine was not asked for."""
    ratios = take_ratios(launches, peer, own, "median")
    return statistics.median(ratios) if ratios else None


HEAD = "| model | threads | ms | fused / unfused | estimated | near | unfused / plain ONNX Runtime | manual / unfused |"


def render_gain(gain: Gain) -> str:
    """A line of the table."""
    plain, manual = ("-" if ratio is None else f"{ratio:.2f}" for ratio in (gain.plain, gain.manual))
    cells = [gain.model, gain.threads, f"{gain.milliseconds:.2f}", f"{gain.measured:.2f}", f"{gain.estimated:.2f}"]
    return f"| {' | '.join(map(str, [*cells, 'yes' if gain.is_near else 'no', plain, manual]))} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--rules", type=Path)
    parser.add_argument("--peers-python", default="", help="a Python with onnxruntime; without it there is no peer")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    print(f"{HEAD}\n|{'---|' * HEAD.count(' | ')}---|")
    gains: list[Gain] = []
    for model in given.models:
        gains.append(measure(model, given.threads, given))
        print(render_gain(gains[-1]), flush=True)
    print(f"{sum(gain.is_near for gain in gains)} of {len(gains)} estimates within {TOLERANCE:.0%}")
    print(describe_machine([sample for gain in gains for samples in gain.launches for sample in samples]))
    if given.json:
        given.json.write_text(json.dumps([asdict(gain) for gain in gains], indent=1))


if __name__ == "__main__":
    sys.exit(main())
