"""Arrays read and written through an offset and one stride for each axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def view(array: np.ndarray, extents: Sequence[int], place: Sequence[int]) -> np.ndarray:
    """The elements of `array`, row-major, at `place` (an offset, then one stride an axis, in elements), as `extents`.

    What comes back shares memory with `array`, whose order must be row-major.  Raises ValueError where the view
    reaches past its end.
    """
    offset, *strides = place
    if len(strides) != len(extents) or min(place) < 0:
        raise ValueError(f"{len(extents)} axes are read through the view {list(place)}")
    reach = offset + sum((extent - 1) * stride for extent, stride in zip(extents, strides, strict=True))
    if min(extents) > 0 and reach >= array.size:
        raise ValueError(f"a view reaches element {reach} of {array.size}")
    flat = array.reshape(-1)[offset:]
    return np.lib.stride_tricks.as_strided(
        flat, tuple(extents), [stride * array.itemsize for stride in strides], writeable=flat.flags.writeable
    )
