"""Images whose channels the plan has in another order, or in several buffers, in the order of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from autofusion.lowering import Dealt


def restore_dealt(traced: Mapping[str, np.ndarray], dealt: Sequence[Dealt]) -> dict[str, np.ndarray]:
    """The values of which every channel is in `traced`, by their names in the graph and in its order of channels."""
    parts: dict[str, list[Dealt]] = {}
    for part in dealt:
        if part.buffer in traced and traced[part.buffer].shape[1] == len(part.channels):
            parts.setdefault(part.value, []).append(part)
    found: dict[str, np.ndarray] = {}
    for value, own in parts.items():
        channels = np.concatenate([part.channels for part in own])
        order = np.argsort(channels, kind="stable")
        if np.array_equal(channels[order], np.arange(own[0].count)):
            found[value] = np.concatenate([traced[part.buffer] for part in own], axis=1)[:, order]
    return found
