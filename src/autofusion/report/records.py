"""Records of a fusion report: what was fused, what was not and why, and what it is estimated to bring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from autofusion.decisions import BankUse, HostStep, LayerChoice, StoredWeight
from autofusion.report.layers import describe_layer, read_bank, read_layer
from autofusion.report.reading import (
    Json,
    read_counts,
    read_list,
    read_number,
    read_ratio,
    read_rows,
    read_table,
    read_text,
)


@dataclass(frozen=True)
class PatternCount:
    """How often one pattern was applied.

    `name` is the pattern's display name (`Conv+BN+ReLU`), `fused_op` the operator it gives
    (`ConvBNReluFusionOp`); a manual rule has level 0.  `matched` counts every fused node, `inside` those of
    them that ended in the body of another fused node.  Speed-ups are ratios of time before to time after over
    the matched nodes: `estimated_speedup` from the cost model, `measured_speedup` None unless it was measured.
    `sources` says how many of them each pattern file made, by its own name (`conv_bn_act`).
    """

    name: str
    fused_op: str
    level: int
    matched: int
    inside: int
    estimated_speedup: float
    measured_speedup: float | None = None
    sources: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class NormalizedCount:
    """How often a spelling was rewritten to the one operator that it means; `sources` as for `PatternCount`."""

    name: str
    op: str
    matched: int
    sources: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class FusedNode:
    """One fused node: its name and operator, the pattern's display name, the ONNX nodes it replaced.

    `inside` is the display name of the pattern whose fused node wraps this one, "" for none; `operators` are those
    that it took, in running order, normal forms and smaller fusions under their own names.
    """

    node: str
    pattern: str
    op: str
    origin: tuple[str, ...]
    inside: str = ""
    operators: tuple[str, ...] = ()


@dataclass(frozen=True)
class MissedNode:
    """A pattern that nearly applied at `node`.

    `reason` is a reason code with its arguments (`DISABLED(--disable)`), `message` the sentence that names the
    value and node at fault, `help` the remedy.  `matched` of `total` statements were satisfied; `place` is the
    failing statement as `file:line`, `instead` the display name of the smaller pattern that was applied.
    `number` is the diagnostic code, `sentence` says how far the pattern came, `text` is the failing statement,
    and `bound` has the nodes that were bound by statement.  `at_node` and `at_value` are what is at fault, "" where
    it is none of the model's.
    """

    node: str
    pattern: str
    reason: str
    message: str
    help: str = ""
    matched: int = 0
    total: int = 0
    place: str = ""
    instead: str = ""
    number: str = "AF301"
    sentence: str = ""
    text: str = ""
    bound: Mapping[str, str] = field(default_factory=dict[str, str])
    at_node: str = ""
    at_value: str = ""

    @property
    def code(self) -> str:
        """The reason without its arguments."""
        return self.reason.partition("(")[0]


@dataclass(frozen=True)
class FusionReport:
    """The report of one compilation.

    Operators count the nodes of nested graphs too and leave Constant nodes out; `steps` counts kernel
    calls of the plan.  `estimated_speedup` is the cost model's ratio for the whole model.
    `precision` is the precision mode, `weights` those that it was to store in two bytes an element, `carried` the types
    of two bytes whose values are carried in float32, `halves` the weights of such a model.  `limits` has the least and
    the greatest number (None for none) of open extents that may not be any, `gears` the only combinations of them.
    `layers` says what computes each convolution and why, `bank` what became of a tuning bank.
    """

    operators_before: int
    operators_after: int
    steps: int
    patterns: tuple[PatternCount, ...]
    normalized: tuple[NormalizedCount, ...]
    fused: tuple[FusedNode, ...]
    misses: tuple[MissedNode, ...]
    host: tuple[HostStep, ...]
    by_type_before: Mapping[str, int]
    by_type_after: Mapping[str, int]
    estimated_speedup: float
    precision: str = "must_keep_origin_dtype"
    weights: tuple[StoredWeight, ...] = ()
    carried: tuple[str, ...] = ()
    halves: tuple[StoredWeight, ...] = ()
    limits: Mapping[str, tuple[int, int | None]] = field(default_factory=dict[str, "tuple[int, int | None]"])
    gears: tuple[Mapping[str, int], ...] = ()
    layers: tuple[LayerChoice, ...] = ()
    bank: BankUse | None = None

    @property
    def host_steps(self) -> int:
        """How many steps run on the host."""
        return len(self.host)

    def to_dict(self) -> dict[str, object]:
        """The report as plain JSON values under stable keys; `host` lists what `host_steps` counts."""
        return {
            "operators_before": self.operators_before,
            "operators_after": self.operators_after,
            "steps": self.steps,
            "host_steps": self.host_steps,
            "patterns": [asdict(row) for row in self.patterns],
            "normalized": [asdict(row) for row in self.normalized],
            "fused": [
                {**asdict(row), "origin": list(row.origin), "operators": list(row.operators)} for row in self.fused
            ],
            "misses": [asdict(row) for row in self.misses],
            "host": [asdict(row) for row in self.host],
            "by_type_before": dict(sorted(self.by_type_before.items())),
            "by_type_after": dict(sorted(self.by_type_after.items())),
            "estimated_speedup": self.estimated_speedup,
            "precision": self.precision,
            "weights": [_describe_weight(row) for row in self.weights],
            "carried": list(self.carried),
            "halves": [_describe_weight(row) for row in self.halves],
            "limits": {name: list(limits) for name, limits in self.limits.items()},
            "gears": [dict(gear) for gear in self.gears],
            "layers": [describe_layer(layer) for layer in self.layers],
            "bank": None if self.bank is None else asdict(self.bank),
        }

    @classmethod
    def from_dict(cls, data: Json) -> FusionReport:
        """The report that `to_dict` wrote; raises ValueError naming the key that is missing or of a wrong kind."""
        return cls(
            operators_before=read_number(data, "operators_before"),
            operators_after=read_number(data, "operators_after"),
            steps=read_number(data, "steps"),
            patterns=read_rows(data, "patterns", _read_pattern),
            normalized=read_rows(data, "normalized", _read_normalized),
            fused=read_rows(data, "fused", _read_fused),
            misses=read_rows(data, "misses", _read_missed),
            host=read_rows(data, "host", _read_host),
            by_type_before=read_counts(data, "by_type_before"),
            by_type_after=read_counts(data, "by_type_after"),
            estimated_speedup=read_ratio(data, "estimated_speedup"),
            # Baselines are kept for long, and older ones do not have these.
            precision=read_text({"precision": "must_keep_origin_dtype", **data}, "precision"),
            weights=read_rows({"weights": [], **data}, "weights", _read_weight),
            carried=tuple(map(str, read_list({"carried": [], **data}, "carried"))),
            halves=read_rows({"halves": [], **data}, "halves", _read_weight),
            limits=_read_limits(read_table({"limits": {}, **data}, "limits")),
            gears=read_rows({"gears": [], **data}, "gears", _read_gear),
            layers=read_rows({"layers": [], **data}, "layers", read_layer),
            bank=None if data.get("bank") is None else read_bank(read_table(data, "bank")),
        )

    def matched(self, pattern: str) -> int:
        """How often the pattern with this display name was applied."""
        return sum(row.matched for row in self.patterns if row.name == pattern)


def _read_limits(table: Json) -> dict[str, tuple[int, int | None]]:
    limits: dict[str, tuple[int, int | None]] = {}
    for name, pair in table.items():
        match pair:
            case [int() as low, int() | None as high]:
                limits[name] = low, high
            case _:
                raise ValueError(f"the limits of {name!r} are {pair!r}, not two numbers")
    return limits


def _read_gear(row: Json) -> Mapping[str, int]:
    return {name: read_number(row, name) for name in row}


def _read_pattern(row: Json) -> PatternCount:
    measured = None if row.get("measured_speedup") is None else read_ratio(row, "measured_speedup")
    return PatternCount(
        name=read_text(row, "name"),
        fused_op=read_text(row, "fused_op"),
        level=read_number(row, "level"),
        matched=read_number(row, "matched"),
        inside=read_number(row, "inside"),
        estimated_speedup=read_ratio(row, "estimated_speedup"),
        measured_speedup=measured,
        sources=read_counts(row, "sources"),
    )


def _read_normalized(row: Json) -> NormalizedCount:
    return NormalizedCount(
        read_text(row, "name"), read_text(row, "op"), read_number(row, "matched"), read_counts(row, "sources")
    )


def _read_fused(row: Json) -> FusedNode:
    origin = read_list(row, "origin")
    return FusedNode(
        node=read_text(row, "node"),
        pattern=read_text(row, "pattern"),
        op=read_text(row, "op"),
        origin=tuple(str(name) for name in origin),
        inside=read_text(row, "inside"),
        operators=tuple(str(name) for name in read_list(row, "operators")),
    )


def _read_missed(row: Json) -> MissedNode:
    return MissedNode(
        node=read_text(row, "node"),
        pattern=read_text(row, "pattern"),
        reason=read_text(row, "reason"),
        message=read_text(row, "message"),
        help=read_text(row, "help"),
        matched=read_number(row, "matched"),
        total=read_number(row, "total"),
        place=read_text(row, "place"),
        instead=read_text(row, "instead"),
        number=read_text(row, "number"),
        sentence=read_text(row, "sentence"),
        text=read_text(row, "text"),
        bound={str(name): str(node) for name, node in read_table(row, "bound").items()},
        # Baselines are kept for long, and older ones do not have these.
        at_node=read_text({"at_node": "", **row}, "at_node"),
        at_value=read_text({"at_value": "", **row}, "at_value"),
    )


def _describe_weight(row: StoredWeight) -> dict[str, object]:
    return {**asdict(row), "nodes": list(row.nodes)}


def _read_weight(row: Json) -> StoredWeight:
    return StoredWeight(
        tensor=read_text(row, "tensor"),
        nodes=tuple(str(name) for name in read_list(row, "nodes")),
        dtype=read_text(row, "dtype"),
        bytes_before=read_number(row, "bytes_before"),
        bytes_after=read_number(row, "bytes_after"),
        rounding=read_ratio(row, "rounding"),
        reason=read_text(row, "reason"),
    )


def _read_host(row: Json) -> HostStep:
    return HostStep(read_text(row, "node"), read_text(row, "op"), read_text(row, "reason"))
