"""Records that pass between the stages of lowering, and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from autofusion.decisions import HostStep, LayerChoice, StoredWeight
from autofusion.ir import Value
from autofusion.plan import Buffer, Plan, Setting, Step

Backend = Literal["native", "reference"]


@dataclass(frozen=True)
class Epilogue:
    """An activation and its two numbers, as the kernel table defines them."""

    activation: str
    alpha: float = 0.0
    beta: float = 0.0

    def settings(self) -> dict[str, Setting]:
        """The step attributes of this epilogue."""
        return {"activation": self.activation, "alpha": self.alpha, "beta": self.beta}


NO_EPILOGUE = Epilogue("")


@dataclass(frozen=True)
class Product:
    """What of a convolution or matrix product may still be folded.

    `axis` is the axis of the weight that runs over the result's channels, `place` the place of the
    channels in the result counted from its end (1: last axis), `channels` their number.
    `weight` and `bias` are float64 once something was folded into them, None before.
    `can_scale` and `can_shift` say whether weight and bias are constants (an absent bias is).
    """

    axis: int
    place: int
    channels: int
    can_scale: bool
    can_shift: bool
    weight: np.ndarray | None = None
    bias: np.ndarray | None = None


@dataclass(frozen=True)
class Call:
    """One kernel call in the making: what `plan.Step` will say, and what it may still take in.

    `kernel` is a name of the kernel table, or "alias": the result is `operands[0]` under another
    shape.  An `epilogue` of None means that the kernel takes no activation.  `absorbed` lists
    the ONNX names of the nodes that it computes, `further` the results after the first.
    """

    kernel: str
    operands: tuple[str, ...]
    result: Value
    settings: Mapping[str, Setting]
    epilogue: Epilogue | None = None
    product: Product | None = None
    absorbed: tuple[str, ...] = ()
    further: tuple[Value, ...] = ()

    @property
    def results(self) -> tuple[Value, ...]:
        """All results, as the kernel table orders them."""
        return (self.result, *self.further)

    def activated(self, epilogue: Epilogue, result: Value, absorbed: tuple[str, ...]) -> Call:
        """This call with an activation after everything else."""
        return replace(self, epilogue=epilogue, result=result, absorbed=self.absorbed + absorbed)


@dataclass(frozen=True)
class Dealt:
    """Channels of the graph's image `value`, which has `count`: number `i` of `buffer` in the plan is `channels[i]`."""

    value: str
    count: int
    buffer: str
    channels: tuple[int, ...]


@dataclass(frozen=True)
class Draft:
    """A plan whose constants have no places yet; `reasons` says of host steps, by their results, why they are.

    `joined` has the graph nodes that have no steps of their own, with the node whose steps compute them as well.
    `layers` says what computes those layers for which there is more than one way.
    `dealt` says where the channels of images lie that the plan has in another order.
    """

    backend: Backend
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    symbols: tuple[str, ...]
    buffers: Mapping[str, Buffer]
    constants: Mapping[str, np.ndarray]
    steps: tuple[Step, ...]
    reasons: Mapping[tuple[str, ...], str]
    joined: Mapping[str, str] = field(default_factory=dict[str, str])
    layers: tuple[LayerChoice, ...] = ()
    dealt: tuple[Dealt, ...] = ()

    def is_double(self, step: Step) -> bool:
        """True where a step computes doubles, for which there are fewer joined kernels."""
        return self.buffers[step.outputs[0]].dtype == "double"


@dataclass(frozen=True)
class Lowered:
    """A plan, its weights in the order of `plan.tensors`, and the steps of each graph node by index.

    `stored` tells of the weights that were to be stored in two bytes an element, none unless that was asked for.
    `carried` names the types of two bytes that values of the graph have and that are carried in float32,
    `halves` what became of the weights then: those that such a type holds as they are have two bytes an element.
    `layers` says what computes each convolution with constant filters, and what shares a step, natively alone.
    `dealt` says where the channels of images lie that the plan has in another order.
    """

    plan: Plan
    weights: tuple[np.ndarray, ...]
    steps_of: Mapping[str, tuple[int, ...]]
    host_steps: tuple[HostStep, ...]
    stored: tuple[StoredWeight, ...] = ()
    carried: tuple[str, ...] = ()
    halves: tuple[StoredWeight, ...] = ()
    layers: tuple[LayerChoice, ...] = ()
    dealt: tuple[Dealt, ...] = ()
