"""The road a model takes, on one page: read, clean up, fuse, lower, report, write.

Each stage takes what the one before it gave and nothing else; `dump` is handed the text of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from autofusion.accounting import build_report, count_types
from autofusion.artifact import SUFFIX, ArtifactContents, write_artifact
from autofusion.frontend import Model, read_model, write_graph
from autofusion.fusion import Controls, fuse
from autofusion.ir import Graph
from autofusion.ir.text import dump_graph
from autofusion.ir.verify import verify_graph
from autofusion.lowering import Lowered, lower
from autofusion.passes import FOLD_BUDGET, run_passes
from autofusion.patternlang import find_builtin_patterns, load_patterns
from autofusion.plan import Setting, Size
from autofusion.plan.serial import dump_plan
from autofusion.report.cann import render_cann
from autofusion.report.json import render_json
from autofusion.report.records import FusionReport
from autofusion.report.text import render_text
from autofusion.version import VERSION

STAGES = ("frontend", "passes", "fusion", "plan")
"""The stages that can be dumped, in order."""

Dump = Callable[[str, str], None]
"""Takes the name of a stage and the text of its result."""


@dataclass(frozen=True)
class CompileOptions:
    """Everything that a caller may choose.

    `dims` gives extents to symbols and `shapes` to inputs; `pattern_directories` are read after the
    built-in patterns.  `fold_budget` is the largest constant, in bytes, that folding may create.
    """

    backend: Literal["native", "reference"] = "native"
    controls: Controls = Controls()
    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    shapes: Mapping[str, tuple[Size, ...]] = field(default_factory=dict[str, tuple[Size, ...]])
    pattern_directories: tuple[Path, ...] = ()
    fold_budget: int = FOLD_BUDGET

    def to_settings(self) -> dict[str, Setting]:
        """The options as the manifest records them: the same on every machine."""
        controls = self.controls
        return {
            "backend": self.backend,
            "auto_fusion": controls.auto_fusion,
            "level": controls.level,
            "disabled": dict(sorted(controls.disabled.items())),
            "whitelist": None if controls.whitelist is None else dict(sorted(controls.whitelist.items())),
            "no_fusion_ops": dict(sorted(controls.no_fusion_ops.items())),
            "dims": dict(sorted(self.dims.items())),
            "shapes": {name: list(shape) for name, shape in sorted(self.shapes.items())},
            "patterns": [folder.name for folder in self.pattern_directories],
            "fold_budget": self.fold_budget,
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Setting], pattern_directories: tuple[Path, ...] = ()) -> CompileOptions:
        """The options that `to_settings` recorded; folders of patterns are not among what it keeps."""
        recorded: Mapping[str, Any] = settings
        controls = Controls(
            auto_fusion=recorded["auto_fusion"],
            level=recorded["level"],
            disabled=recorded["disabled"],
            whitelist=recorded["whitelist"],
            no_fusion_ops=recorded["no_fusion_ops"],
        )
        return cls(
            backend=recorded["backend"],
            controls=controls,
            dims=recorded["dims"],
            shapes={name: tuple(shape) for name, shape in recorded["shapes"].items()},
            pattern_directories=pattern_directories,
            fold_budget=recorded["fold_budget"],
        )


@dataclass(frozen=True)
class Compilation:
    """A compiled model: its fused graph, its plan and weights, and what was done to it."""

    model: Model
    graph: Graph
    lowered: Lowered
    report: FusionReport
    options: CompileOptions


def compile_model(path: Path, options: CompileOptions | None = None, *, dump: Dump | None = None) -> Compilation:
    """Compile the ONNX file `path`.

    Raises ModelError, UsageError or PatternError for what is wrong with the model, the options or a pattern file.
    """
    options = options or CompileOptions()
    show = dump or _ignore
    patterns = load_patterns([find_builtin_patterns(), *options.pattern_directories])

    model = read_model(path, dims=options.dims, shapes=options.shapes)
    graph = model.graph
    before = count_types(graph)
    verify_graph(graph, "the frontend")
    show("frontend", dump_graph(graph) if dump else "")

    run_passes(graph, fold_budget_bytes=options.fold_budget)
    verify_graph(graph, "the passes")
    show("passes", dump_graph(graph) if dump else "")

    result = fuse(graph, patterns, options.controls)
    verify_graph(graph, "fusion")
    show("fusion", dump_graph(graph) if dump else "")

    lowered = lower(graph, backend=options.backend)
    show("plan", dump_plan(lowered.plan) if dump else "")

    report = build_report(model, before, graph, result, lowered)
    return Compilation(model, graph, lowered, report, options)


def save_compilation(compilation: Compilation, output: Path) -> Path:
    """Write the artifact `output` (the suffix `.om` is added where it is missing) and its reports; return its path.

    Raises ArtifactError where a file cannot be written; then none is.
    """
    artifact = output if output.suffix == SUFFIX else output.with_name(output.name + SUFFIX)
    report = compilation.report
    contents = ArtifactContents(
        plan=compilation.lowered.plan,
        weights=compilation.lowered.weights,
        graph=write_graph(compilation.graph, weights=False, producer_version=VERSION),
        report=render_json(report),
        options=compilation.options.to_settings(),
        source_name=compilation.model.path,
        source_sha256=compilation.model.digest,
    )
    beside = {
        ".fusion.json": render_json(report),
        ".fusion.txt": render_text(report),
        "_fusion_result.json": render_cann(report),
    }
    return write_artifact(artifact, contents, {suffix: text.encode() for suffix, text in beside.items()})


def _ignore(stage: str, text: str) -> None:
    """Dump nothing."""
