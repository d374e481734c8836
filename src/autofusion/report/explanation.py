"""Records of an explanation: what became of nodes and patterns of a model, and what was in the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from autofusion.decisions import LayerChoice, StoredWeight
from autofusion.report.layers import describe_layer
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
class StepStory:
    """A step of the plan: its kernel, the ONNX nodes that it computes together, and why it runs on the host, if so."""

    kernel: str
    nodes: tuple[str, ...]
    reason: str = ""


@dataclass(frozen=True)
class LoweredStory:
    """What lowering made of a node: its steps, what it chose for its layers, its weights of two bytes.

    `failure` says why the model cannot be lowered, "" where it can; then nothing else is known.
    """

    steps: tuple[StepStory, ...] = ()
    layers: tuple[LayerChoice, ...] = ()
    weights: tuple[StoredWeight, ...] = ()
    failure: str = ""


@dataclass(frozen=True)
class NodeStory:
    """What became of the ONNX node `name`: rewrites, the inner ones first, and what did not apply, the nearest first.

    `op` is "" where only the model would tell.  `is_removed` is True where nothing of it was left when fusion began.
    `lowered` is what lowering made of it, None where that is not known.
    """

    name: str
    op: str
    rewrites: tuple[Rewrite, ...]
    misses: tuple[MissedNode, ...]
    is_removed: bool = False
    lowered: LoweredStory | None = None


@dataclass(frozen=True)
class PatternStory:
    """What the pattern that was asked for by `name` did."""

    name: str
    rewrites: tuple[Rewrite, ...]


@dataclass(frozen=True)
class PrecisionStory:
    """What was done to element types by the precision mode `mode`, and to types of two bytes in the model, `carried`.

    `weights` has those that the mode was to store in two bytes, `halves` those of a model of such types.  `constants`
    counts tensors and bytes of the artifact by their element type.
    """

    mode: str
    carried: tuple[str, ...]
    weights: tuple[StoredWeight, ...]
    halves: tuple[StoredWeight, ...]
    constants: Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Explanation:
    """What `explain` has to say of a model.

    `nodes` and `pattern` are what was asked for.  `misses` came half of the way or more, `beginnings` are the
    longest attempts for what else is worth a fusion, and `strangers` the nodes, by operator, that no pattern so much
    as begins with.  `is_off` says that automatic fusion was switched off, so nothing was tried.
    `precision` is there where it was asked for, and then nothing else.
    """

    model: str
    nodes: tuple[NodeStory, ...] = ()
    pattern: PatternStory | None = None
    misses: tuple[MissedNode, ...] = ()
    beginnings: tuple[MissedNode, ...] = ()
    strangers: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    is_off: bool = False
    precision: PrecisionStory | None = None

    def to_dict(self) -> dict[str, object]:
        """Everything as plain JSON values under stable keys."""
        return {
            "model": self.model,
            "is_off": self.is_off,
            "nodes": [_describe_node(story) for story in self.nodes],
            "pattern": None if self.pattern is None else asdict(self.pattern),
            "misses": [asdict(miss) for miss in self.misses],
            "beginnings": [asdict(miss) for miss in self.beginnings],
            "strangers": {op: list(names) for op, names in self.strangers.items()},
            "precision": None if self.precision is None else asdict(self.precision),
        }


def _describe_node(story: NodeStory) -> dict[str, object]:
    if story.lowered is None:
        return asdict(story)
    layers = [describe_layer(layer) for layer in story.lowered.layers]
    return {**asdict(story), "lowered": {**asdict(story.lowered), "layers": layers}}
