"""Views of stored images: which channels and pixels of a buffer another one shares."""

from __future__ import annotations

from math import prod

from autofusion.plan.records import Buffer, Size
from autofusion.record import Record


class Stripe(Record):
    """Channels `first` to `end` of pixels `row` to `last` of a buffer; ends are not included.

    Where an extent of the images is an expression, all pixels count as one.
    """

    row: int
    last: int
    first: int
    end: int

    @property
    def area(self) -> int:
        """Number of elements of one image stack, in the same count."""
        return max(self.last - self.row, 0) * max(self.end - self.first, 0)

    def holds(self, other: Stripe) -> bool:
        """True where `other` reaches beyond no end of this one."""
        return self.row <= other.row and other.last <= self.last and self.first <= other.first and other.end <= self.end

    def share(self, other: Stripe) -> int:
        """The area of what both have."""
        row, last, first, end = self
        other_row, other_last, other_first, other_end = other
        # A plan is checked by thousands of these, and comparisons take half the time of `min` and `max`.
        rows = (other_last if other_last < last else last) - (other_row if other_row > row else row)
        channels = (other_end if other_end < end else end) - (other_first if other_first > first else first)
        return rows * channels if rows > 0 and channels > 0 else 0


def is_view(buffer: Buffer) -> bool:
    """True for an alias that has only some of the elements of the buffer that it names."""
    return buffer.alias is not None and (buffer.offset != 0 or buffer.pitch is not None)


def find_stripe(buffer: Buffer, root: Buffer) -> Stripe:
    """The elements of `root` that `buffer` has, which is `root`, an alias of it or a view of it.

    Raises ValueError, naming the buffer, for a view that lies across the pixels of `root` or leaves them.
    """
    whole = _whole(root)
    if not is_view(buffer):
        return whole
    channels, pitch = _channels(buffer), root.pitch or _channels(root)
    if root.layout != "nhwc" or buffer.layout != "nhwc" or buffer.pitch != pitch or not channels or not pitch:
        raise ValueError(f"buffer {buffer.name!r} is no view of {root.name!r}, which lies otherwise")
    row, first = divmod(buffer.offset, pitch)
    rows, others = _rows(buffer)
    stripe = Stripe(row, row + rows, first, first + channels)
    is_alike = others == _rows(root)[1]
    if others:
        stripe = Stripe(row, row + 1, first, first + channels)
        is_alike = _rows(buffer) == _rows(root)
    if not is_alike or buffer.offset < 0 or not whole.holds(stripe):
        raise ValueError(f"buffer {buffer.name!r} has elements that {root.name!r} has not")
    return stripe


class Coverage:
    """Which elements of one buffer are written, by it or by views of it."""

    def __init__(self) -> None:
        self._written: list[Stripe] = []

    def write(self, stripe: Stripe) -> bool:
        """Note that `stripe` is written; False where some of it was before."""
        is_new = all(stripe != other and not stripe.share(other) for other in self._written)
        self._written.append(stripe)
        return is_new

    def covers(self, stripe: Stripe) -> bool:
        """True where something is written, and all of `stripe`; stripes were written once each."""
        return bool(self._written) and sum(map(stripe.share, self._written)) == stripe.area


def _whole(root: Buffer) -> Stripe:
    channels = _channels(root)
    if root.layout != "nhwc" or not channels:
        return Stripe(0, 1, 0, 1)
    rows, others = _rows(root)
    return Stripe(0, 1 if others else rows, 0, channels)


def _channels(buffer: Buffer) -> int:
    """The channels of images, 0 where their number is an expression."""
    channels = buffer.shape[1] if buffer.shape is not None and len(buffer.shape) > 1 else 0
    return channels if isinstance(channels, int) else 0


def _rows(buffer: Buffer) -> tuple[int, tuple[Size, ...]]:
    """The pixels of a stack of images: a number, times expressions."""
    shape = buffer.shape or ()
    extents = (*shape[:1], *shape[2:])
    numbers = [extent for extent in extents if isinstance(extent, int)]
    return prod(numbers), tuple(sorted(str(extent) for extent in extents if not isinstance(extent, int)))
