"""Operators that are left of a model: autofusion and the optimizers of ONNX Runtime, onnxslim and onnxscript.

usage: python -m benchmarks.operators MODEL.onnx ... [--peers FILE] [--markdown FILE]

`--peers` takes the figures of the peers from a file where it has the model, and adds those that it measures.

Nodes of nested graphs and of local functions count, Constant nodes do not, with any tool.  A peer that is not
installed, or that fails on a model, has no figure.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx

import autofusion

PEERS = {"ort_all": "ORT all", "ort_ext": "ORT extended", "onnxslim": "onnxslim", "onnxscript_ort": "onnxscript"}
"""Columns of the peers by their key in a file of figures."""

PACKAGES = ("onnxruntime", "onnxslim", "onnxscript")


@dataclass(frozen=True)
class Row:
    """Operators of a model as it is, and after each tool, None where a tool gave none; `steps` are calls of a run."""

    model: str
    nodes: int
    autofusion: int
    steps: int
    peers: Mapping[str, int | None]

    @property
    def is_least(self) -> bool:
        """Whether no peer leaves as few."""
        return all(self.autofusion < count for count in self.peers.values() if count is not None)


def count_operators(nodes: Iterable[onnx.NodeProto], functions: dict[tuple[str, str], onnx.FunctionProto]) -> int:
    """The nodes, those of nested graphs and of called functions included, without Constant."""
    total = 0
    for node in nodes:
        function = functions.get((node.domain, node.op_type))
        if function is not None:
            total += count_operators(function.node, functions)
        elif node.op_type != "Constant":
            total += 1
        for attribute in node.attribute:
            for graph in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                total += count_operators(graph.node, functions)
    return total


def count_model(model: onnx.ModelProto) -> int:
    """The operators of a model."""
    return count_operators(model.graph.node, {(item.domain, item.name): item for item in model.functions})


def count_autofusion(path: Path) -> tuple[int, int]:
    """(operators, steps) after autofusion at its default level."""
    with tempfile.TemporaryDirectory() as folder:
        autofusion.compile(path, Path(folder) / "model")
        report = json.loads((Path(folder) / "model.fusion.json").read_text())
        return report["operators_after"], report["steps"]


def count_onnxruntime(path: Path, level: str) -> int:
    """The operators that ONNX Runtime's own optimizer leaves at a level (`ORT_ENABLE_` ...)."""
    import onnxruntime

    with tempfile.TemporaryDirectory() as folder:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, f"ORT_ENABLE_{level}")
        options.optimized_model_filepath = str(Path(folder) / "optimized.onnx")
        options.log_severity_level = 3
        onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        return count_model(onnx.load(options.optimized_model_filepath, load_external_data=False))


def count_onnxslim(path: Path) -> int:
    """The operators that onnxslim leaves."""
    import onnxslim

    return count_model(onnxslim.slim(str(path)))


def count_onnxscript(path: Path) -> int:
    """The operators that onnxscript's optimizer and its fusions for ONNX Runtime leave."""
    import onnx_ir
    from onnxscript.optimizer import optimize
    from onnxscript.rewriter.ort_fusions import optimize_for_ort

    model = onnx_ir.load(str(path))
    optimize(model)
    optimized = optimize_for_ort(model)
    return count_model(onnx_ir.to_proto(optimized[0] if isinstance(optimized, tuple) else optimized))


def try_count(count: Callable[[], int]) -> int | None:
    """What `count` returns; None where the peer is missing or fails, which may be in any way."""
    try:
        return count()
    except Exception as error:  # noqa: BLE001
        print(f"  no figure: {type(error).__name__}: {str(error)[:120]}", flush=True)
        return None


def measure_peers(path: Path) -> dict[str, int | None]:
    """The figures of every peer."""
    return {
        "ort_all": try_count(lambda: count_onnxruntime(path, "ALL")),
        "ort_ext": try_count(lambda: count_onnxruntime(path, "EXTENDED")),
        "onnxslim": try_count(lambda: count_onnxslim(path)),
        "onnxscript_ort": try_count(lambda: count_onnxscript(path)),
    }


def measure(path: Path, known: Mapping[str, int | None]) -> Row:
    """One row of the table; `known` has the peers' figures, or is empty."""
    operators, steps = count_autofusion(path)
    nodes = count_model(onnx.load(path, load_external_data=False))
    peers = known or measure_peers(path)
    return Row(path.stem, nodes, operators, steps, {key: peers.get(key) for key in PEERS})


def render(rows: Sequence[Row], versions: Mapping[str, str]) -> str:
    """The table as Markdown."""
    lines = [
        "# Operators left",
        "",
        "Made by `python -m benchmarks.operators`.",
        "Nodes of nested graphs and of functions count, Constant nodes do not.",
        "`steps` are the kernel calls of one run with autofusion; views cost none.",
        "Peers: " + ", ".join(f"{name} {versions.get(name, '?')}" for name in PACKAGES) + "; "
        "ONNX Runtime at its levels ALL and EXTENDED, onnxscript with `rewriter.ort_fusions`.",
        "",
        f"| model | nodes | autofusion | steps | {' | '.join(PEERS.values())} |",
        f"|---|---:|---:|---:|{'---:|' * len(PEERS)}",
    ]
    for row in rows:
        mine = f"**{row.autofusion}**" if row.is_least else str(row.autofusion)
        peers = ["-" if count is None else str(count) for count in row.peers.values()]
        lines.append(f"| {' | '.join([row.model, str(row.nodes), mine, str(row.steps), *peers])} |")
    fewest = sum(row.is_least for row in rows)
    lines += ["", f"autofusion leaves the fewest operators of {fewest} of {len(rows)} models."]
    return "\n".join(lines) + "\n"


def find_version(name: str) -> str:
    """The installed version of a package, "(not installed)" where it is not."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"


def main() -> None:
    """Measure the models of the command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.operators", description=__doc__)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--markdown", type=Path)
    arguments = parser.parse_args()
    has_figures = arguments.peers is not None and arguments.peers.exists()
    figures = json.loads(arguments.peers.read_text()) if has_figures else {"versions": {}, "models": {}}
    versions = figures["versions"] or {name: find_version(name) for name in PACKAGES}
    rows: list[Row] = []
    for path in sorted(arguments.models):
        rows.append(measure(path, figures["models"].get(path.stem, {})))
        print(rows[-1], flush=True)
    if arguments.peers:
        models = figures["models"] | {row.model: dict(row.peers) for row in rows}
        arguments.peers.write_text(json.dumps({"versions": versions, "models": models}, indent=1) + "\n")
    if arguments.markdown:
        arguments.markdown.write_text(render(rows, versions))


if __name__ == "__main__":
    main()
