"""The examination of one model: plans of it, however it was fused, against its unfused form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from autofusion.artifact import join_weights
from autofusion.compiler import compile_model, fuse_model
from autofusion.fusion import Controls, FusionResult
from autofusion.ir import Graph
from autofusion.lowering import Dealt
from autofusion.options import CompileOptions
from autofusion.plan import Plan
from autofusion.report.verification import Comparison, NodeComparison
from autofusion.runtime import Session, open_session
from autofusion.services.comparison import Case
from autofusion.services.dealt import restore_dealt
from autofusion.services.expectation import Expectation, Reference
from autofusion.services.node_checks import compare_fused_nodes, compare_spellings
from autofusion.services.run_inputs import choose_dims, generate_inputs


@dataclass(frozen=True)
class Examined:
    """What an examination found: outputs for all generated inputs, rewrites for the first."""

    outputs: tuple[Comparison, ...]
    nodes: tuple[NodeComparison, ...] = ()

    @property
    def ok(self) -> bool:
        """True where everything lies within its limits."""
        return all(row.ok for row in self.outputs) and all(row.ok for row in self.nodes)


class Examiner:
    """Examines plans of the model in file `model`; what the unfused model gives is computed once for all.

    `options` say how outputs are chosen and typed; each of `sizes` gives extents for symbols (the others get small
    ones), and outputs are compared at each under every seed.
    """

    def __init__(
        self,
        model: Path,
        options: CompileOptions,
        *,
        seeds: Sequence[int],
        sizes: Sequence[Mapping[str, int]] = ({},),
        threads: int | None = None,
    ) -> None:
        self.model = model
        self.reference = Reference(model, options)
        self._inputs = [Case(seed, dims) for dims in sizes for seed in seeds]
        self._threads = threads
        self._options = options
        self._expectations: dict[tuple[object, ...], Expectation] = {}

    @property
    def inputs(self) -> Sequence[Case]:
        """Which inputs are generated."""
        return self._inputs

    @property
    def threads(self) -> int | None:
        """How many threads sessions may use."""
        return self._threads

    @property
    def amplifies(self) -> bool:
        """True where rounding alone was seen to move outputs far."""
        return any(expectation.amplifies for expectation in self._expectations.values())

    def examine(
        self,
        plan: Plan,
        weights: np.ndarray,
        options: CompileOptions,
        graph: Graph,
        result: FusionResult,
        dealt: Sequence[Dealt] = (),
    ) -> Examined:
        """The verdict on a plan and on every rewrite by itself.

        `graph` is the fused one that the plan was made of, `result` says how `options` led to it, and `dealt` where
        channels lie that the plan has in another order.  Raises ModelError AF602 where nothing can be told.
        """
        session = open_session(plan, weights, threads=self._threads)
        outputs = tuple(row for case in self._inputs for row in self._compare_outputs(session, case))
        return Examined(outputs, tuple(self._compare_nodes(session, options, graph, result, dealt)))

    def is_right(self, options: CompileOptions, case: Case | None = None) -> bool:
        """True where what `options` make of the model lies within its limits.

        With `case` outputs for its inputs alone are judged.  Raises what compiling raises.
        """
        made = compile_model(self.model, options)
        plan = made.lowered.plan
        weights = join_weights(plan.tensors, made.lowered.weights)
        if case is None:
            return self.examine(plan, weights, options, made.graph, made.result, made.lowered.dealt).ok
        session = open_session(plan, weights, threads=self._threads)
        return all(row.ok for row in self._compare_outputs(session, case))

    def _compare_outputs(self, session: Session, case: Case) -> list[Comparison]:
        expectation = self.expect(session, case)
        return expectation.compare(session.run(expectation.feeds))

    def _compare_nodes(
        self,
        session: Session,
        options: CompileOptions,
        graph: Graph,
        result: FusionResult,
        dealt: Sequence[Dealt],
    ) -> Iterator[NodeComparison]:
        expectation = self.expect(session, self._inputs[0])
        feeds, case = expectation.feeds, expectation.case
        if result.normalized:
            last = max(step.number for step in result.normalized)
            spelled = fuse_model(self.model, replace(options, controls=replace(options.controls, stop_after=last)))
            yield from compare_spellings(spelled, self._unfused, feeds, case)
        spellings = frozenset(step.pattern for step in result.normalized)
        traced = session.trace(feeds)
        yield from compare_fused_nodes(graph, {**restore_dealt(traced, dealt), **traced, **feeds}, case, spellings)

    @cached_property
    def _unfused(self) -> Graph:
        """The model after the passes, before any rewrite."""
        return fuse_model(self.model, replace(self._options, controls=Controls(auto_fusion=False))).graph

    def expect(self, session: Session, case: Case) -> Expectation:
        """What the unfused model gives for the inputs that `case` draws for `session`."""
        feeds = generate_inputs(session.inputs, seed=case.seed, dims=choose_dims(session.plan, case.dims))
        dims = session.read_dims(feeds)
        key = (case.seed, *sorted(dims.items()))
        if key not in self._expectations:
            self._expectations[key] = self.reference.expect(feeds, Case(case.seed, dims))
        return self._expectations[key]
