"""Views of images as the layout `nhwc` stores them: what of `runtime.remap` is certain for all extents."""

from __future__ import annotations

from collections.abc import Sequence

from autofusion.ir import Dim, Shape
from autofusion.ir.dims import floor_divide, modulo, multiply, parse_dim, product
from autofusion.ops.bounds import is_at_least
from autofusion.ops.strided import Strided
from autofusion.plan import Setting, Size

BATCH, CHANNELS, PIXELS = range(3)


def read_dims(sizes: Sequence[Setting] | Sequence[Size]) -> Shape:
    """Extents as lowering computes with them."""
    return tuple(size if isinstance(size, int) else parse_dim(str(size)) for size in sizes)


def find_axes(view: Strided, shape: Shape) -> list[int] | None:
    """For every axis of a view of images the axis of them that it stays within, all pixels being one.

    None where one certainly, or perhaps, stays within none; an axis that repeats or has extent 1 counts to the pixels.
    """
    pixels, channels = product(shape[2:]), shape[1]
    image = multiply(channels, pixels)
    place = _place(view.offset, channels, pixels)
    if place is None:
        return None
    reach: list[Dim] = [0, *place]
    found: list[int] = []
    for extent, stride in zip(view.shape, view.strides, strict=True):
        if extent == 1 or stride == 0:
            found.append(PIXELS)
            continue
        axis = BATCH if _divides(image, stride) else CHANNELS if _divides(pixels, stride) else PIXELS
        step = floor_divide(stride, (image, pixels, 1)[axis])
        if axis == CHANNELS and not (isinstance(step, int) and isinstance(channels, int) and step < channels):
            return None
        reach[axis] = reach[axis] + multiply(extent - 1, step)
        found.append(axis)
    fits = all(is_at_least(limit - 1 - reach[axis], 0) for axis, limit in ((CHANNELS, channels), (PIXELS, pixels)))
    return found if fits else None


def _place(offset: Dim, channels: Dim, pixels: Dim) -> tuple[Dim, Dim] | None:
    """Channel and pixel at which a view begins, in the first image; None where that is not certain."""
    if offset == 0:
        return 0, 0
    if isinstance(offset, int) and isinstance(pixels, int) and pixels > 0:
        channel, pixel = divmod(offset, pixels)
    elif _divides(pixels, offset):
        channel, pixel = floor_divide(offset, pixels), 0
    else:
        return None
    return (channel, pixel) if is_at_least(channels - 1 - channel, 0) else None


def _divides(divisor: Dim, number: Dim) -> bool:
    return divisor != 0 and modulo(number, divisor) == 0


def store_view(view: Strided, axes: Sequence[int], shape: Shape) -> Strided:
    """A view of images, whose axes `find_axes` found, in elements of their storage as `nhwc`."""
    pixels, channels = product(shape[2:]), shape[1]
    image = multiply(channels, pixels)
    steps, pitches = (image, pixels, 1), (image, 1, channels)
    strides = tuple(
        0 if extent == 1 or stride == 0 else multiply(floor_divide(stride, steps[axis]), pitches[axis])
        for extent, stride, axis in zip(view.shape, view.strides, axes, strict=True)
    )
    channel, pixel = _place(view.offset, channels, pixels) or (0, 0)
    return Strided(view.shape, strides, channel + multiply(pixel, channels))
