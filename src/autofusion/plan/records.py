"""Records of a plan: typed buffers, and steps that name a kernel and its operands.

A plan is what lowering leaves of the graph and all that a runtime sees.  Extents may be
expressions over dimension symbols, written as text (`plan.sizes`).

What running an artifact imports has a `Record` for every record: a dataclass takes ten times as long to define.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from autofusion.record import Record

Size = int | str
"""An extent: a number, or an expression over symbols such as `"batch*seq"`."""

Setting = int | float | str | bool | None | list["Setting"] | dict[str, "Setting"]
"""A step attribute: plain JSON."""

Limits = tuple[int, int | None]
"""The least and the greatest number that an extent may be; None for no greatest."""

Role = Literal["input", "output", "constant", "inner"]
Layout = Literal["plain", "nhwc"]


class Buffer(Record):
    """Storage of one value.

    `shape` is the shape that the model gives the value, whatever the layout; None where it is
    known only after the producing step has run (then that step and every reader are host steps).
    In layout `nhwc` (rank 3 to 5) axis 1 of `shape` is stored innermost, `pitch` elements apart
    from pixel to pixel (None: as many as there are channels).
    `alias` names the buffer whose bytes this one shares: same elements, another shape.  With a `pitch`, which is then
    that of the named buffer, an alias in layout `nhwc` is a view: its first element is element `offset` of the storage
    there, and it has some of the channels, or of the pixels.
    `tensor` is the index of a constant's bytes in the weights.
    """

    name: str
    dtype: str
    shape: tuple[Size, ...] | None
    role: Role = "inner"
    layout: Layout = "plain"
    pitch: int | None = None
    alias: str | None = None
    tensor: int | None = None
    offset: int = 0


class Tensor(Record):
    """Place of a constant in the weights: byte `offset` (a multiple of 64) and extent."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    bytes: int


class Step(Record):
    """One kernel call; `kernel` is a name of `plan.kernels`, operands are buffer names, "" where absent.

    `node` is the graph node that the step computes (several steps may share one) and `op`
    its operator; `origin` lists the ONNX nodes behind it.
    """

    kernel: str
    node: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Setting] = MappingProxyType({})
    origin: tuple[str, ...] = ()


class Plan(Record):
    """A lowered model.

    `inputs` and `outputs` are buffer names in the model's order.  `symbols` lists every
    dimension symbol; its extent is read from the shapes of the given inputs.  `limits` has those of
    symbols, and of size expressions over them, that may not be any number.  `gears` are the only
    combinations of extents that the model takes, each with a number for every symbol; it takes all
    where there are none.
    """

    backend: Literal["native", "reference"]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    symbols: tuple[str, ...]
    buffers: Mapping[str, Buffer]
    tensors: tuple[Tensor, ...]
    steps: tuple[Step, ...]
    limits: Mapping[str, Limits] = MappingProxyType({})
    gears: tuple[Mapping[str, int], ...] = ()
