"""Records of a verification: every output and every node of an artifact against the unfused model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class Comparison:
    """One tensor compared under one generated input.

    `max_difference` is the plain largest |ours - oracle|.  `error` is the worst slice's error against
    float64 and `allowed` the limit of that slice, both relative to the slice's own scale; `where` names
    the slice (`channel 3`), "" where the tensor was taken whole.  `reason` says what else is wrong (a
    shape, a type, a NaN that only one side has), "" for nothing.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    seed: int
    dims: Mapping[str, int]
    max_difference: float
    error: float
    allowed: float
    where: str = ""
    reason: str = ""

    @property
    def ok(self) -> bool:
        """True where nothing is wrong and the error, which a NaN never is, lies within its limit."""
        return not self.reason and self.error <= self.allowed


@dataclass(frozen=True)
class NodeComparison:
    """A fused node's result compared; `pattern` is the display name of the fusion that made it.

    `source` is the own name of its pattern, `is_spelling` True where that normalizes.
    """

    node: str
    op: str
    pattern: str
    result: Comparison
    source: str = ""
    is_spelling: bool = False

    @property
    def ok(self) -> bool:
        """True where the node's result lies within its limit."""
        return self.result.ok


@dataclass(frozen=True)
class Culprit:
    """The fusion that bisection found at fault, and the option of `compile` and `atc` that turns it off.

    `pattern` is its display name, `source` the own name of the pattern, `name` what a list of fusions calls it, ""
    where no list can turn it off.  `is_confirmed` says that without it everything was seen to lie within its limits.
    """

    node: str
    pattern: str
    fused_op: str
    option: str
    source: str = ""
    name: str = ""
    is_confirmed: bool = False


@dataclass(frozen=True)
class VerifyReport:
    """The verdict on one artifact; `oracle` names what computed the expected values, with its version."""

    oracle: str
    backend: str
    outputs: tuple[Comparison, ...]
    nodes: tuple[NodeComparison, ...] = ()
    culprit: Culprit | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def ok(self) -> bool:
        """True where there was an output to compare, and every output and every node lies within its limit."""
        return bool(self.outputs) and all(row.ok for row in self.outputs) and all(row.ok for row in self.nodes)

    def to_dict(self) -> dict[str, object]:
        """The verdict as plain JSON values under stable keys."""
        return {
            "ok": self.ok,
            "oracle": self.oracle,
            "backend": self.backend,
            "outputs": [_comparison(row) for row in self.outputs],
            "nodes": [
                {
                    "node": row.node,
                    "op": row.op,
                    "pattern": row.pattern,
                    "source": row.source,
                    **_comparison(row.result),
                }
                for row in self.nodes
            ],
            "culprit": None if self.culprit is None else asdict(self.culprit),
            "notes": list(self.notes),
        }


def _comparison(row: Comparison) -> dict[str, object]:
    numbers = {name: _json_number(getattr(row, name)) for name in ("max_difference", "error", "allowed")}
    return {**asdict(row), **numbers, "shape": list(row.shape), "dims": dict(row.dims), "ok": row.ok}


def _json_number(value: float) -> float | str:
    """`value`, spelled out where JSON has no number for it."""
    return value if math.isfinite(value) else str(value)
