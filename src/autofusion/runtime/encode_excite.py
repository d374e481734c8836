"""Squeeze and excitation in records: the step `excite`, and what convolutions have of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from autofusion.plan import ACTIVATIONS
from autofusion.runtime.bound import BoundStep
from autofusion.runtime.records import PANEL, ROW_BLOCK

Fields = tuple[list[int], list[float]]


def _encode_excite(bound: BoundStep) -> Fields:
    """The record of a step `excite`: `af_excite`."""
    bound.expect_floats(others=(1, 3))
    x, y = bound.shape(bound.operand(0)), bound.shape(bound.result)
    first, second = bound.shape(bound.operand(1)), bound.shape(bound.operand(3))
    rows, hidden = x[0], first[0]
    channels, columns = math.prod(x[1:]), math.prod(y[1:])
    if first != (hidden, channels) or second != (hidden, columns) or y[0] != rows:
        raise ValueError(f"its shapes {list(x)}, {list(first)}, {list(second)} and {list(y)} do not fit")
    ints = [rows, channels, hidden, columns, bound.code("activation", ACTIVATIONS), bound.code("gate", ACTIVATIONS)]
    ints += [bound.weight_type(bound.operand(place)) for place in (1, 3)]
    return ints, [bound.number(name) for name in ("gate_alpha", "alpha", "beta", "gate_beta")]


def _measure_excite(bound: BoundStep) -> int:
    """The hidden numbers of one thread (`af_excite_scratch`)."""
    return _round_up(4 * bound.shape(bound.operand(1))[0])


def read_excitation(bound: BoundStep) -> tuple[int, int]:
    """Whether a convolution has a gate, of one number a channel, and whether it gives means."""
    gate = bound.operand(4)
    if gate:
        _expect_channels(bound, gate, bound.operand(0))
    return int(bool(gate)), has_means(bound)


def has_means(bound: BoundStep) -> int:
    """Whether a convolution gives the means of its result as well, of one number a channel."""
    means = "".join(bound.step.outputs[1:2])
    if means:
        _expect_channels(bound, means, bound.result)
    return int(bool(means))


def _expect_channels(bound: BoundStep, name: str, image: str) -> None:
    batch, channels, *spatial = bound.shape(image)
    if bound.shape(name) != (batch, channels, *[1] * len(spatial)):
        raise ValueError(f"{list(bound.shape(name))} are not the channels of {list(bound.shape(image))}")


def measure_gate(bound: BoundStep) -> int:
    """What a gate scales, weights or pixels, of one thread (`af_gate_bytes`); 0 without one."""
    if not bound.operand(4):
        return 0
    channels, (_, filters, *pixels) = bound.shape(bound.operand(0))[1], bound.shape(bound.result)
    columns = -(-filters // PANEL) * PANEL if filters <= math.prod(pixels) else ROW_BLOCK
    return _round_up(4 * columns * channels)


def measure_totals(bound: BoundStep) -> int:
    """The totals of all channels of one thread (`af_totals_bytes`); 0 where a convolution gives no means."""
    return _round_up(4 * math.prod(bound.shape(bound.result)[:2])) if has_means(bound) else 0


def _round_up(size: int) -> int:
    return -(-size // 64) * 64


ENCODERS: Mapping[str, Callable[[BoundStep], Fields]] = {"excite": _encode_excite}

SCRATCH: Mapping[str, Callable[[BoundStep], int]] = {"excite": _measure_excite}
