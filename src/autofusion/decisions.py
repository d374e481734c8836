"""What lowering decided, as the report shows it: plain records that both of them read."""

from __future__ import annotations

from dataclasses import dataclass


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
