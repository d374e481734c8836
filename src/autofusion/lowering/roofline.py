"""How long work takes, by a roofline (Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009) with stated figures.

The slower of arithmetic and traffic, plus a call.  The figures are for reports and choices, never measurements; they
are the same on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass

CACHE_BYTES = 16 << 20
"""A value of more bytes does not stay in a core's caches until the next operator reads it, nor do constants that come
to more together until the next run."""


@dataclass(frozen=True)
class Work:
    """What an operator does: float operations at the rate of a large product, and bytes moved to and from a core.

    `cached` bytes belong to values that stay in the caches between two operators, `streamed` ones to those that do not.
    """

    flops: float = 0.0
    cached: float = 0.0
    streamed: float = 0.0

    def __add__(self, other: Work) -> Work:
        return Work(self.flops + other.flops, self.cached + other.cached, self.streamed + other.streamed)

    @property
    def bytes(self) -> float:
        """All traffic."""
        return self.cached + self.streamed


@dataclass(frozen=True)
class Roofline:
    """Limits of one core: float operations and bytes per second, and the seconds that a call takes whatever it does."""

    flops: float
    cache_bandwidth: float
    memory_bandwidth: float
    launch: float

    def seconds(self, work: Work) -> float:
        """Time of one call."""
        traffic = work.cached / self.cache_bandwidth + work.streamed / self.memory_bandwidth
        return max(work.flops / self.flops, traffic) + self.launch


SERVER = Roofline(flops=253e9, cache_bandwidth=105e9, memory_bandwidth=40e9, launch=1e-7)
"""One core of a server processor with vectors of 512 bits.

Rates fitted by `python -m benchmarks.roofline` to the steps of resnet18 and mobilenet_v2, fused and unfused.
"""
