"""Verification: an artifact's outputs, and every fused node by itself, against the unfused model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from autofusion.artifact import read_artifact
from autofusion.compiler import compile_model, read_source
from autofusion.diagnostics import Diagnostic
from autofusion.errors import ModelError
from autofusion.ir import Graph
from autofusion.ops.casting import cast
from autofusion.options import CompileOptions
from autofusion.report.verification import Comparison, Culprit, NodeComparison, VerifyReport
from autofusion.runtime import open_session
from autofusion.services.comparison import ROUNDING_LIMIT, Case, compare_tensor
from autofusion.services.evaluate import evaluate_graph
from autofusion.services.oracle import Oracle, open_oracles
from autofusion.services.rounding import draw_rounding, measure_distance
from autofusion.services.run_inputs import generate_inputs

AGREEMENT = 1e-2
"""How far, relative to an output's scale, our float64 evaluation may lie from the oracle before it counts as wrong."""


AMPLIFICATION = 8.0
"""How many times our own float32 error an oracle's may be before its distance from float64 is no rounding."""

AMPLIFIES = "the model amplifies rounding: float32 alone moves its outputs far, and the fused nodes tell more"


class _Reference:
    """What computes expected values for one model: an independent oracle and our unfused graph in float64.

    With `converted`, outputs were given other types, and so are the oracle's.  `amplifies` says whether rounding
    alone was seen to move outputs far.
    """

    def __init__(self, oracles: Iterator[Oracle], graph: Graph, converted: bool) -> None:
        self._others = oracles
        self._graph = graph
        self._converted = converted
        self.oracle = next(oracles)
        self.amplifies = False

    def expect(self, feeds: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Outputs by the oracle and in float64.

        Where the two disagree by more than rounding explains, the next oracle, a slower one, takes over: the fast
        one may cut corners (its float32 sigmoid ends at 1.5e-8).  Raises ModelError AF602 where none agrees.
        """
        exact = evaluate_graph(self._graph, feeds, widen=True)
        plain: dict[str, np.ndarray] = {}
        while True:
            expected = self.oracle.run(feeds)
            if self._converted:
                expected = {name: self._convert(name, array) for name, array in expected.items()}
            differing = [name for name, array in expected.items() if measure_distance(array, exact[name]) > AGREEMENT]
            plain = plain or (draw_rounding(self._graph, feeds, exact) if differing else {})
            disagreeing = next((name for name in differing if not _is_rounding(expected, plain, exact, name)), None)
            if disagreeing is None:
                return expected, exact
            following = next(self._others, None)
            if following is None:
                raise _disagreement(disagreeing, self.oracle)
            self.oracle = following

    def compare(self, feeds: Mapping[str, np.ndarray], ours: Mapping[str, np.ndarray], case: Case) -> list[Comparison]:
        """The verdict on every output; where one looks wrong, rounding that the model amplifies is drawn first."""
        expected, exact = self.expect(feeds)
        rows = [compare_tensor(name, ours[name], expected[name], exact[name], case) for name in expected]
        if all(row.ok for row in rows):
            return rows
        plain = draw_rounding(self._graph, feeds, exact)
        peers = {name: array for name, array in plain.items() if measure_distance(array, exact[name]) > ROUNDING_LIMIT}
        self.amplifies = self.amplifies or bool(peers)
        return [
            compare_tensor(name, ours[name], expected[name], exact[name], case, peers.get(name)) for name in expected
        ]

    def _convert(self, name: str, array: np.ndarray) -> np.ndarray:
        dtype = self._graph.value(name).dtype
        return array if dtype is None else cast(array, dtype)


def verify_artifact(
    model: Path,
    artifact: Path,
    *,
    seeds: Sequence[int] = (0, 1, 2),
    dims: Mapping[str, int] | None = None,
    threads: int | None = None,
) -> VerifyReport:
    """Run `artifact` and the unfused `model` on generated inputs and compare.

    `dims` gives extents for symbols (the others get small ones).  Outputs are compared under every
    seed.  Under the first, every fused node is compared alone as well: its result against its body
    in float64, both on the operands that the artifact itself computed.
    Raises ModelError AF601 where the artifact was not made from `model`.
    """
    opened = read_artifact(artifact)
    options = CompileOptions.from_settings(opened.manifest.options)
    unfused = read_source(model, options)
    if unfused.digest != opened.manifest.source_sha256:
        raise _other_model(model, artifact)
    session = open_session(opened.plan, opened.weights, threads=threads)
    reference = _Reference(open_oracles(model, options.outputs), unfused.graph, bool(options.output_types))
    outputs: list[Comparison] = []
    nodes: list[NodeComparison] = []
    for seed in seeds:
        feeds = generate_inputs(session.inputs, seed=seed, dims=dims)
        case = Case(seed, session.read_dims(feeds))
        outputs += reference.compare(feeds, session.run(feeds), case)
        if not nodes:
            fused = compile_model(model, options).graph
            nodes = list(_compare_nodes(fused, {**session.trace(feeds), **feeds}, case))
    culprit = None if all(row.ok for row in outputs) else _find_culprit(nodes)
    notes = (AMPLIFIES,) if reference.amplifies else ()
    rows, fused_nodes = tuple(outputs), tuple(nodes)
    return VerifyReport(reference.oracle.name, opened.manifest.backend, rows, fused_nodes, culprit, notes)


def _compare_nodes(graph: Graph, traced: Mapping[str, np.ndarray], case: Case) -> Iterator[NodeComparison]:
    known = {**graph.constants, **traced}
    for node in graph:
        if node.body is None or not all(name in known for name in (*node.operands, *node.results)):
            continue
        operands = {name: known[name] for name in node.operands}
        exact = evaluate_graph(node.body, operands, widen=True)
        plain = evaluate_graph(node.body, operands, widen=False)
        for name in node.results:
            result = compare_tensor(name, known[name], plain[name], exact[name], case)
            yield NodeComparison(node.name, node.op, node.display, result)


def _find_culprit(nodes: Sequence[NodeComparison]) -> Culprit | None:
    """The first fused node that is wrong by itself, in the order of the graph."""
    wrong = next((row for row in nodes if not row.ok), None)
    return None if wrong is None else Culprit(wrong.node, wrong.pattern, wrong.op, f"--disable {wrong.op}")


def _is_rounding(
    expected: Mapping[str, np.ndarray], plain: Mapping[str, np.ndarray], exact: Mapping[str, np.ndarray], name: str
) -> bool:
    """True where our own float32 evaluation lies about as far from float64 as the oracle does."""
    allowed = AMPLIFICATION * measure_distance(plain[name], exact[name])
    return measure_distance(expected[name], exact[name]) <= allowed


def _other_model(model: Path, artifact: Path) -> ModelError:
    return ModelError(
        Diagnostic(
            "AF601",
            f"{artifact.name} was not made from {model.name}: the digests differ",
            help="give the model the artifact was compiled from, or compile it again",
        )
    )


def _disagreement(output: str, oracle: Oracle) -> ModelError:
    return ModelError(
        Diagnostic(
            "AF602",
            f"output {output!r} of the unfused model differs between {oracle.name} and our evaluation in float64",
            help="nothing is verified; please report the model",
        )
    )
