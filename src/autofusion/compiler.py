"""The road a model takes, on one page: read, clean up, fuse, lower, report, write.

Each stage takes what the one before it gave and nothing else; `dump` is handed the text of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from autofusion.accounting import build_report, count_types, find_taken, name_operators
from autofusion.artifact import SUFFIX, ArtifactContents, write_artifact
from autofusion.diagnostics import Diagnostic
from autofusion.errors import ArtifactError, UsageError
from autofusion.frontend import Model, read_model, write_graph
from autofusion.fusion import FusionResult, check_node_names, fuse, resolve_rules
from autofusion.ir import DType, Graph
from autofusion.ir.text import dump_graph
from autofusion.ir.verify import verify_graph
from autofusion.lowering import Lowered, lower
from autofusion.options import EVERY_OUTPUT, CompileOptions
from autofusion.passes import can_carry, carry_halves, cast_outputs, find_halves, run_passes
from autofusion.patternlang import Pattern, find_builtin_patterns, load_operators, load_patterns
from autofusion.plan.text import render_plan
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
class FusedModel:
    """A model after fusion, and what was known before it.

    `before` counts the operators of the model as read, `operators` has them by the ONNX names of its nodes.
    """

    model: Model
    before: Counter[str]
    operators: Mapping[str, str]
    patterns: tuple[Pattern, ...]
    graph: Graph
    result: FusionResult


@dataclass(frozen=True)
class Compilation:
    """A compiled model: what fusion made of it, its plan and weights, and the report on all of it.

    Of a tuning bank `options` have the choices that were taken, and no others.
    """

    fused: FusedModel
    lowered: Lowered
    report: FusionReport
    options: CompileOptions

    @property
    def model(self) -> Model:
        """The model as it was read."""
        return self.fused.model

    @property
    def graph(self) -> Graph:
        """The graph of fused nodes."""
        return self.fused.graph

    @property
    def result(self) -> FusionResult:
        """What fusion did and what it did not."""
        return self.fused.result


def compile_model(path: Path, options: CompileOptions | None = None, *, dump: Dump | None = None) -> Compilation:
    """Compile the ONNX file `path`.

    Raises ModelError, UsageError or PatternError for what is wrong with the model, the options or a pattern file.
    """
    options = options or CompileOptions()
    fused = fuse_model(path, options, dump=dump)

    lowered = lower_model(fused, options)
    if dump is not None:
        dump("plan", render_plan(lowered.plan))

    mode = options.precision.mode
    report = build_report(fused.model, fused.before, fused.graph, fused.result, lowered, mode, options.bank)
    if options.bank is not None:
        options = replace(options, bank=options.bank.narrow(find_taken(options.bank, lowered.layers)))
    return Compilation(fused, lowered, report, options)


def lower_model(fused: FusedModel, options: CompileOptions) -> Lowered:
    """The plan and the weights of a fused model.

    Kernels take float32: two-byte floats are carried in it, and what a node gives is rounded to its type, unless
    float32 is forced.
    Raises UsageError for nodes that keep their type and are not there.
    """
    precision, graph = options.precision, fused.graph
    kept = precision.find_kept(fused.operators)
    is_forced = precision.mode == "force_fp32"
    halves = find_halves(graph) if options.backend == "native" or is_forced else ()
    carried = halves if can_carry(graph) else ()
    if carried:
        graph = carry_halves(graph, lambda node: not is_forced or not kept.keys().isdisjoint(node.origin))
    lowered = lower(
        graph,
        backend=options.backend,
        barred=fused.result.barred,
        exact=options.exact,
        gears=fused.model.gears,
        storage=precision.storage,
        kept=kept,
        halves=carried,
        bank=options.bank,
    )
    return replace(lowered, carried=tuple(dtype.value for dtype in carried))


def fuse_model(path: Path, options: CompileOptions | None = None, *, dump: Dump | None = None) -> FusedModel:
    """The first half of `compile_model`, up to the graph of fused nodes; raises what it does."""
    options = options or CompileOptions()
    show = dump or _ignore
    patterns = load_patterns([find_builtin_patterns(), *options.pattern_directories])

    model = read_source(path, options)
    graph = model.graph
    check_node_names(options.controls, graph)
    controls = resolve_rules(options.controls, graph, patterns)
    before = count_types(graph)
    operators = name_operators(graph)
    verify_graph(graph, "the frontend")
    show("frontend", dump_graph(graph) if dump else "")

    run_passes(graph, fold_budget_bytes=options.fold_budget)
    verify_graph(graph, "the passes")
    show("passes", dump_graph(graph) if dump else "")

    result = fuse(graph, patterns, controls)
    verify_graph(graph, "fusion")
    show("fusion", dump_graph(graph) if dump else "")
    return FusedModel(model, before, operators, patterns, graph, result)


def read_source(path: Path, options: CompileOptions) -> Model:
    """The model in file `path` with the inputs and outputs that `options` choose, before anything is done to it.

    Raises ModelError for what is wrong with the file, UsageError for options that do not fit it, PatternError for
    declarations of operators that are wrong.
    """
    operators = load_operators(options.pattern_directories)
    model = read_model(
        path,
        dims=options.dims,
        shapes=options.shapes,
        gears=options.gears,
        outputs=options.outputs,
        operators=operators,
    )
    types: dict[str, DType] = {}
    if EVERY_OUTPUT in options.output_types:
        types = dict.fromkeys(model.graph.outputs, options.output_types[EVERY_OUTPUT])
    for text, dtype in options.output_types.items():
        if text != EVERY_OUTPUT:
            types[_find_output(text, model)] = dtype
    cast_outputs(model.graph, types)
    return model


def _find_output(text: str, model: Model) -> str:
    name = model.output_names.get(text)
    if name is None:
        remedy = f"its outputs: {', '.join(map(repr, model.graph.outputs))}"
        raise UsageError(Diagnostic("AF133", f"the model has no output {text!r}", help=remedy))
    return name


def save_compilation(compilation: Compilation, output: Path) -> Path:
    """Write the artifact `output` (the suffix `.om` is added where it is missing) and its reports; return its path.

    Raises ArtifactError where a file cannot be written; then none is.
    """
    if not output.name:
        remedy = "name a file, to which the suffix .om is added where it is missing"
        raise ArtifactError(Diagnostic("AF515", f"cannot write {str(output)!r}: it is a folder", help=remedy))
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
