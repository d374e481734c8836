"""What lowering decided, as the report shows it: plain records that both of them read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class HostStep:
    """A step without native kernel: the graph node, the ONNX operator whose reference implementation runs, and why."""

    node: str
    op: str
    reason: str = ""


@dataclass(frozen=True)
class StoredWeight:
    """A float32 weight that was to be stored in two bytes an element, as `dtype`.

    `nodes` are the ONNX nodes that read it.  `rounding` is the largest difference to float32 as a share of the largest
    value in the same column (of a table: row).  `reason` says why it stays float32, "" where it does not.
    """

    tensor: str
    nodes: tuple[str, ...]
    dtype: str
    bytes_before: int
    bytes_after: int
    rounding: float
    reason: str = ""


@dataclass(frozen=True)
class Option:
    """A way to compute a layer: `direct`, `winograd` for `tile` results each way, or `joined` and `apart`.

    `cost` is in multiplications, 0 where nothing is estimated; `stored` says that the weights lie in the artifact
    as the kernel takes them, by which they grow `growth` bytes, and are not made from the filters in every run.
    """

    algorithm: str
    cost: float = 0.0
    tile: int = 0
    stored: bool = False
    growth: int = 0

    @property
    def filters(self) -> str:
        """`stored` or `made`, "" for what has no filters of its own."""
        if not self.tile:
            return ""
        return "stored" if self.stored else "made"

    def __str__(self) -> str:
        return f"{self.algorithm} {self.tile}x{self.tile}, filters {self.filters}" if self.tile else self.algorithm


@dataclass(frozen=True)
class BankUse:
    """What became of a tuning bank: its `name`, the instruction set it was read for, and how many of its choices
    were `taken`, `refused`, or are `unused`, being for other layers or instruction sets.

    `digest` is that of the choices that were taken.
    """

    name: str
    target: str
    digest: str
    taken: int
    refused: int
    unused: int


Section = Literal["operators", "graph"]
"""What a choice is about: how one step computes a layer, or which layers become one step."""

Source = Literal["cost", "bank", "exact", "only"]
"""What decided: the cost model, a tuning bank, the wish for plain sums alone, or that there is nothing else."""


@dataclass(frozen=True)
class LayerChoice:
    """What computes a layer, and why.

    `nodes` are its ONNX nodes, `layer` is the text by which tuning banks name it in their section `section`.
    `options` are all that it could have taken, plain sums (or `joined`) first.  `reason` says in words why `source`
    decided so, `refused` why the entry of a bank was not taken, "" where it was or there is none.
    """

    nodes: tuple[str, ...]
    section: Section
    layer: str
    chosen: Option
    options: tuple[Option, ...]
    source: Source
    reason: str
    refused: str = ""
