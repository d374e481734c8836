"""Records of an explanation: what became of nodes and patterns of a model, and what was in the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from autofusion.report.records import MissedNode


@dataclass(frozen=True)
class Rewrite:
    """One rewrite by the pattern file `pattern`: the `node` that it made, of operator `op`, out of ONNX nodes.

    `display` is the name in reports; `parts` has the operators of the ONNX nodes by their names; `is_spelling` is
    True where a spelling was normalized, False where nodes were fused.
    """

    node: str
    op: str
    pattern: str
    display: str
    parts: Mapping[str, str]
    is_spelling: bool


@dataclass(frozen=True)
class NodeStory:
    """What became of the ONNX node `name`: rewrites, the inner ones first, and what did not apply, the nearest first.

    `is_removed` is True where nothing of it was left when fusion began.
    """

    name: str
    op: str
    rewrites: tuple[Rewrite, ...]
    misses: tuple[MissedNode, ...]
    is_removed: bool = False


@dataclass(frozen=True)
class PatternStory:
    """What the pattern that was asked for by `name` did."""

    name: str
    rewrites: tuple[Rewrite, ...]


@dataclass(frozen=True)
class Explanation:
    """What `explain` has to say of a model.

    `nodes` and `pattern` are what was asked for.  `misses` came half of the way or more, `beginnings` are the
    longest attempts for what else is worth a fusion, and `strangers` the nodes, by operator, that no pattern so much
    as begins with.  `is_off` says that automatic fusion was switched off, so nothing was tried.
    """

    model: str
    nodes: tuple[NodeStory, ...] = ()
    pattern: PatternStory | None = None
    misses: tuple[MissedNode, ...] = ()
    beginnings: tuple[MissedNode, ...] = ()
    strangers: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    is_off: bool = False

    def to_dict(self) -> dict[str, object]:
        """Everything as plain JSON values under stable keys."""
        return {
            "model": self.model,
            "is_off": self.is_off,
            "nodes": [asdict(story) for story in self.nodes],
            "pattern": None if self.pattern is None else asdict(self.pattern),
            "misses": [asdict(miss) for miss in self.misses],
            "beginnings": [asdict(miss) for miss in self.beginnings],
            "strangers": {op: list(names) for op, names in self.strangers.items()},
        }
