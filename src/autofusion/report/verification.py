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
class StorageCost:
    """What storing weights in two bytes an element costs one output under one generated input.

    `max_difference` is the largest difference to the model in float64, with its weights as they are, and `share` the
    same in units of the output's largest value.  `computed` is the output on the same rounded weights, carried in
    float32: nothing but the rounding of weights may lie between.
    """

    max_difference: float
    share: float
    computed: Comparison


@dataclass(frozen=True)
class StoredWeights:
    """The weights that an artifact has in two bytes an element: how many tensors, and of which types.

    `wrong` names those that are not the model's, rounded once, with how many elements differ; other constants, which
    must be the model's as they are, count as well.
    """

    dtypes: tuple[str, ...]
    tensors: int
    wrong: Mapping[str, int]
    costs: tuple[StorageCost, ...]

    @property
    def ok(self) -> bool:
        """True where nothing but the rounding of weights moves the outputs."""
        return not self.wrong and bool(self.costs) and all(row.computed.ok for row in self.costs)


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
    """The verdict on one artifact; `oracle` names what computed the expected values, with its version.

    `stored` judges weights of two bytes an element; `outputs` and `nodes` are then those on float32 weights.
    """

    oracle: str
    backend: str
    outputs: tuple[Comparison, ...]
    nodes: tuple[NodeComparison, ...] = ()
    culprit: Culprit | None = None
    notes: tuple[str, ...] = field(default=())
    stored: StoredWeights | None = None

    @property
    def ok(self) -> bool:
        """True where there was an output to compare, and every output, node and stored weight lies within its limit."""
        is_right = all(row.ok for row in self.outputs) and all(row.ok for row in self.nodes)
        return bool(self.outputs) and is_right and (self.stored is None or self.stored.ok)

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
            "stored": None if self.stored is None else _stored(self.stored),
        }


def _stored(stored: StoredWeights) -> dict[str, object]:
    return {
        "ok": stored.ok,
        "dtypes": list(stored.dtypes),
        "tensors": stored.tensors,
        "wrong": dict(stored.wrong),
        "outputs": [
            {
                "output": row.computed.name,
                "max_difference": _json_number(row.max_difference),
                "share": _json_number(row.share),
                "computed": _comparison(row.computed),
            }
            for row in stored.costs
        ],
    }


def _comparison(row: Comparison) -> dict[str, object]:
    numbers = {name: _json_number(getattr(row, name)) for name in ("max_difference", "error", "allowed")}
    return {**asdict(row), **numbers, "shape": list(row.shape), "dims": dict(row.dims), "ok": row.ok}


def _json_number(value: float) -> float | str:
    """`value`, spelled out where JSON has no number for it."""
    return value if math.isfinite(value) else str(value)
