"""autofusion beside other engines: latency, start-up, memory, size and compile time, as ratios.

usage: python -m benchmarks.compare MODEL.onnx ... [--threads 1,2] [--engines autofusion,onnxruntime,openvino,unfused]
       [--launches 5] [--turns 10] [--peers-python PYTHON] [--json FILE] [--markdown FILE] [--layers]

Beside each model lies an archive of its inputs, MODEL.npz.  A ratio above 1 says that autofusion is better.  Every
launch opens all engines anew, each in its own process, and lets them run in turn; a table has the median over the
launches and, in brackets, the least and the largest.  `unfused` is autofusion with fusion switched off.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.launches import Engine, Sample, launch, take_ratios
from benchmarks.layers import measure_layers, render_layers

ENGINES = ("autofusion", "onnxruntime", "openvino", "unfused")


@dataclass(frozen=True)
class Result:
    """One model with one number of threads; sizes in bytes, `compile_seconds` of processor time."""

    model: str
    threads: int
    launches: list[list[Sample]]
    artifact_bytes: int
    model_bytes: int
    compile_seconds: float


def compile_artifact(model: Path, feeds: Path, output: Path, *words: str) -> float:
    """Compile for the shapes of the inputs; returns the seconds of processor time."""
    shapes = ";".join(f"{name}:{','.join(map(str, array.shape))}" for name, array in np.load(feeds).items())
    command = [sys.executable, "-m", "autofusion", "compile", str(model), "-o", str(output), f"--input-shape={shapes}"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def list_engines(names: Sequence[str], model: Path, artifacts: dict[str, Path], python: str) -> list[Engine]:
    """The engines that `names` ask for."""
    return [
        Engine(name, "autofusion", artifacts[name]) if name in artifacts else Engine(name, name, model, python)
        for name in names
    ]


def measure(model: Path, threads: Sequence[int], names: Sequence[str], given: argparse.Namespace) -> list[Result]:
    """Compile `model` once and launch the engines with each number of threads."""
    feeds = model.with_suffix(".npz")
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as folder:
        artifacts = {"autofusion": Path(folder) / "fused.om", "unfused": Path(folder) / "unfused.om"}
        seconds = compile_artifact(model, feeds, artifacts["autofusion"])
        if "unfused" in names:
            compile_artifact(model, feeds, artifacts["unfused"], "--auto-fusion=off")
        size = artifacts["autofusion"].stat().st_size
        engines = list_engines(names, model, artifacts, given.peers_python)
        for count in threads:
            launches = [launch(engines, feeds, count, given.turns) for _ in range(given.launches)]
            results.append(Result(model.stem, count, launches, size, model.stat().st_size, seconds))
            print(render_row(results[-1], names), flush=True)
        if given.layers:
            print(render_layers(measure_layers(artifacts["autofusion"], feeds, threads[0])))
    return results


def render_ratio(result: Result, peer: str, value: str) -> str:
    """Median, least and largest ratio over the launches."""
    ratios = take_ratios(result.launches, peer, "autofusion", value)
    if not ratios:
        return "-"
    return f"{statistics.median(ratios):.2f} ({ratios[0]:.2f}..{ratios[-1]:.2f})"


def render_row(result: Result, names: Sequence[str]) -> str:
    """A line of the table: the latency, then ratios by peer, then start-up and memory against ONNX Runtime."""
    own = [sample for samples in result.launches for sample in samples if sample.engine == "autofusion"]
    cells = [result.model, str(result.threads), f"{1e3 * statistics.median(sample.median for sample in own):.2f}"]
    cells += [render_ratio(result, name, "median") for name in names if name != "autofusion"]
    cells += [render_ratio(result, "onnxruntime", "startup"), render_ratio(result, "onnxruntime", "peak")]
    cells += [f"{result.artifact_bytes / result.model_bytes:.2f}", f"{result.compile_seconds:.1f}"]
    return f"| {' | '.join(cells)} |"


def render_head(names: Sequence[str]) -> str:
    """The head of the table."""
    titles = ["model", "threads", "ms", *(f"latency of {name}" for name in names if name != "autofusion")]
    titles += ["start-up of onnxruntime", "memory of onnxruntime", "artifact / model", "compile s"]
    return f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}"


def describe_machine(samples: Sequence[Sample]) -> str:
    """Processor, and versions of the engines that gave `samples`."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    versions = {sample.engine: sample.version for sample in samples}
    return ", ".join([model or platform.processor(), *(f"{name} {version}" for name, version in versions.items())])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--engines", default="autofusion,onnxruntime")
    parser.add_argument("--launches", type=int, default=5)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--peers-python", default=sys.executable)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--layers", action="store_true")
    given = parser.parse_args()
    names = given.engines.split(",")
    if strange := set(names) - set(ENGINES):
        parser.error(f"unknown engines: {', '.join(sorted(strange))}; there are {', '.join(ENGINES)}")
    if "autofusion" not in names:
        parser.error("autofusion is not among the engines")
    print(render_head(names))
    threads = [int(count) for count in given.threads.split(",")]
    results = [result for model in given.models for result in measure(model, threads, names, given)]
    machine = describe_machine([sample for result in results for samples in result.launches for sample in samples])
    print(machine)
    if given.json:
        given.json.write_text(json.dumps([asdict(result) for result in results], indent=1))
    if given.markdown:
        rows = [render_row(result, names) for result in results]
        given.markdown.write_text("\n".join([render_head(names), *rows, "", machine, ""]))


if __name__ == "__main__":
    main()
