"""What an artifact must compute: the unfused model's outputs by an independent oracle and in float64."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import numpy as np

from autofusion.compiler import read_source
from autofusion.diagnostics import Diagnostic
from autofusion.errors import ModelError
from autofusion.ir import Graph
from autofusion.ops.casting import cast
from autofusion.options import CompileOptions
from autofusion.patternlang import load_operators
from autofusion.report.verification import Comparison
from autofusion.services.comparison import ROUNDING_LIMIT, Case, compare_tensor
from autofusion.services.evaluate import evaluate_graph
from autofusion.services.oracle import Oracle, open_oracles
from autofusion.services.rounding import draw_rounding, measure_distance

AGREEMENT = 1e-2
"""How far, relative to an output's scale, our float64 evaluation may lie from the oracle before it counts as wrong."""

AMPLIFICATION = 8.0
"""How many times our own float32 error an oracle's may be before its distance from float64 is no rounding."""


class Expectation:
    """The outputs of an unfused `graph` for one set of inputs: `oracle`'s, and in float64 (`exact`)."""

    def __init__(
        self,
        graph: Graph,
        feeds: Mapping[str, np.ndarray],
        case: Case,
        oracle: Mapping[str, np.ndarray],
        exact: Mapping[str, np.ndarray],
    ) -> None:
        self.feeds = feeds
        self.case = case
        self._graph = graph
        self._oracle = oracle
        self._exact = exact
        self.amplifies = False

    @property
    def exact(self) -> Mapping[str, np.ndarray]:
        """The outputs in float64."""
        return self._exact

    def compare(self, ours: Mapping[str, np.ndarray]) -> list[Comparison]:
        """The verdict on every output.

        Where one looks wrong, rounding that the model amplifies is drawn first; `amplifies` says then whether
        rounding alone was seen to move outputs far.
        """
        rows = [self._compare(name, ours[name]) for name in self._oracle]
        if all(row.ok for row in rows):
            return rows
        self.amplifies = any(array.dtype != np.float64 for array in self._peers.values())
        return [self._compare(name, ours[name], self._peers.get(name)) for name in self._oracle]

    @cached_property
    def _peers(self) -> dict[str, np.ndarray]:
        """By output that rounding moves far: the farthest that it was seen to move.

        Of an output in float64 the oracle's error says little, as the two may have rounded alike: it is drawn anyway.
        """
        plain = draw_rounding(self._graph, self.feeds, self._exact)
        return {
            name: array
            for name, array in plain.items()
            if array.dtype == np.float64 or measure_distance(array, self._exact[name]) > ROUNDING_LIMIT
        }

    def _compare(self, name: str, ours: np.ndarray, peer: np.ndarray | None = None) -> Comparison:
        return compare_tensor(name, ours, self._oracle[name], self._exact[name], self.case, peer)


class Reference:
    """What computes expected values for one model: an independent `oracle` and our unfused graph in float64."""

    def __init__(self, model: Path, options: CompileOptions) -> None:
        unfused = read_source(model, options)
        self.digest = unfused.digest
        self._graph = unfused.graph
        operators = load_operators(options.pattern_directories)
        self._oracles = open_oracles(model, options.outputs, operators)
        # Where outputs are given other types, so are the oracle's.
        self._is_converted = bool(options.output_types)
        self._oracle: Oracle | None = None

    @property
    def oracle(self) -> Oracle:
        """The oracle in use; opened where it is first asked for."""
        if self._oracle is None:
            self._oracle = next(self._oracles)
        return self._oracle

    def expect(self, feeds: Mapping[str, np.ndarray], case: Case) -> Expectation:
        """What the unfused model gives.

        Where oracle and float64 disagree by more than rounding explains, the next oracle, a slower one, takes over:
        the fast one may cut corners (its float32 sigmoid ends at 1.5e-8).  Raises ModelError AF602 where none agrees.
        """
        exact = evaluate_graph(self._graph, feeds, widen=True)
        plain: dict[str, np.ndarray] = {}
        while True:
            expected = self._ask(feeds)
            if self._is_converted:
                expected = {name: self._convert(name, array) for name, array in expected.items()}
            differing = [name for name, array in expected.items() if measure_distance(array, exact[name]) > AGREEMENT]
            plain = plain or (draw_rounding(self._graph, feeds, exact) if differing else {})
            disagreeing = next((name for name in differing if not _is_rounding(expected, plain, exact, name)), None)
            if disagreeing is None:
                return Expectation(self._graph, feeds, case, expected, exact)
            following = next(self._oracles, None)
            if following is None:
                raise _disagreement(disagreeing, self.oracle)
            self._oracle = following

    def _ask(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """What the oracle gives; one that can load the model but not run it leaves it to the next one."""
        while True:
            try:
                return self.oracle.run(feeds)
            except Exception:  # it has no common base class for "cannot run this model"
                following = next(self._oracles, None)
                if following is None:
                    raise
                self._oracle = following

    def _convert(self, name: str, array: np.ndarray) -> np.ndarray:
        dtype = self._graph.value(name).dtype
        return array if dtype is None else cast(array, dtype)


def _is_rounding(
    expected: Mapping[str, np.ndarray], plain: Mapping[str, np.ndarray], exact: Mapping[str, np.ndarray], name: str
) -> bool:
    """True where our own float32 evaluation lies about as far from float64 as the oracle does."""
    allowed = AMPLIFICATION * measure_distance(plain[name], exact[name])
    return measure_distance(expected[name], exact[name]) <= allowed


def _disagreement(output: str, oracle: Oracle) -> ModelError:
    return ModelError(
        Diagnostic(
            "AF602",
            f"output {output!r} of the unfused model differs between {oracle.name} and our evaluation in float64",
            help="nothing is verified; please report the model",
        )
    )
