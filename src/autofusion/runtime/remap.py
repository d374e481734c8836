"""Views of a tensor's elements, counted row-major, as places in a storage with other strides."""

from __future__ import annotations

from collections.abc import Sequence

Shape = tuple[int, ...]


def remap_view(
    extents: Sequence[int], strides: Sequence[int], offset: int, shape: Shape, stored: Sequence[int]
) -> tuple[int, list[int]]:
    """Offset and strides in memory of a view of a tensor of `shape` that has strides `stored` there.

    The view is element `offset + i * strides[0] + ...`, row-major, for all i below `extents`; every axis of it must
    stay within one axis of the tensor, or within a run of axes that follow one another in memory as they do
    row-major.  Raises ValueError where one does not, and where the view leaves the tensor.
    """
    if 0 in extents or 0 in shape:
        return 0, [0] * len(extents)
    runs = _find_runs(shape, stored)
    places: list[int] = []
    rest = offset
    for size, step, _ in runs:
        places.append(rest // step)
        rest %= step
        if places[-1] >= size:
            raise ValueError(f"a view begins at element {offset} of a tensor of {list(shape)}")
    reach = list(places)
    moved: list[int] = []
    for extent, stride in zip(extents, strides, strict=True):
        run = next((index for index, (_, step, _) in enumerate(runs) if step <= stride), len(runs) - 1)
        if extent == 1 or stride == 0:
            moved.append(0)
            continue
        _, step, pitch = runs[run]
        if stride % step:
            raise ValueError(f"a view of {list(shape)} walks over several axes at a time")
        reach[run] += (extent - 1) * (stride // step)
        moved.append(stride // step * pitch)
    if any(last >= size for last, (size, _, _) in zip(reach, runs, strict=True)):
        raise ValueError(f"a view leaves an axis of a tensor of {list(shape)}")
    return sum(place * pitch for place, (_, _, pitch) in zip(places, runs, strict=True)), moved


def _find_runs(shape: Shape, stored: Sequence[int]) -> list[tuple[int, int, int]]:
    """Runs of axes that lie in memory as they do row-major: extent, row-major stride and stride in memory."""
    runs: list[tuple[int, int, int]] = []
    step = 1
    for extent, pitch in zip(reversed(shape), reversed(stored), strict=True):
        if extent == 1:
            continue
        if runs and runs[-1][2] * runs[-1][0] == pitch:
            size, inner, first = runs[-1]
            runs[-1] = (size * extent, inner, first)
        else:
            runs.append((extent, step, pitch))
        step *= extent
    return runs[::-1] or [(1, 1, 0)]
