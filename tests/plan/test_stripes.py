"""Views of images: which elements they have, and what of a buffer is written."""

from __future__ import annotations

import pytest

from autofusion.plan import Buffer, Size
from autofusion.plan.stripes import Coverage, Stripe, find_stripe, is_view

ROOT = Buffer("r", "float", (2, 8, 3, 5), layout="nhwc")


def view(offset: int, *shape: Size, pitch: int | None = 8) -> Buffer:
    return Buffer("v", "float", shape, layout="nhwc", pitch=pitch, alias="r", offset=offset)


@pytest.mark.parametrize(
    ("buffer", "stripe"),
    [
        (ROOT, Stripe(0, 30, 0, 8)),
        (view(0, 2, 8, 15, pitch=None), Stripe(0, 30, 0, 8)),
        (view(3, 2, 5, 3, 5), Stripe(0, 30, 3, 8)),
        (view(3, 2, 5, 15), Stripe(0, 30, 3, 8)),
        (view(43, 1, 2, 5, 5), Stripe(5, 30, 3, 5)),
    ],
)
def test_elements_of_a_view(buffer: Buffer, stripe: Stripe) -> None:
    assert find_stripe(buffer, ROOT) == stripe
    assert is_view(buffer) == (buffer.pitch is not None)


@pytest.mark.parametrize(
    ("buffer", "root"),
    [
        (view(4, 2, 5, 3, 5), ROOT),
        (view(-1, 2, 1, 3, 5), ROOT),
        (view(8, 2, 8, 3, 5), ROOT),
        (view(0, 2, 4, 3, 5, pitch=9), ROOT),
        (view(0, 2, "c", 3, 5), ROOT),
        (view(0, "n", 4, 3, 5), ROOT),
        (view(0, 2, 4, 3, 5), ROOT._replace(shape=("n", 8, 3, 5))),
        (view(0, "n", 4, 3, 4), ROOT._replace(shape=("n", 8, 3, 5))),
        (view(8, "n", 4, 3, 5), ROOT._replace(shape=("n", 8, 3, 5))),
        (view(0, 2, 4, 3, 5), ROOT._replace(layout="plain")),
    ],
)
def test_what_is_no_view(buffer: Buffer, root: Buffer) -> None:
    with pytest.raises(ValueError, match="buffer 'v'"):
        find_stripe(buffer, root)


def test_expressions_count_as_one_pixel() -> None:
    root = ROOT._replace(shape=("n", 8, "h", 5), pitch=16)
    assert find_stripe(view(2, "n", 6, "h", 5, pitch=16), root) == Stripe(0, 1, 2, 8)


def test_what_is_written_is_covered() -> None:
    coverage = Coverage()
    assert coverage.write(Stripe(0, 6, 0, 3))
    assert coverage.covers(Stripe(2, 4, 1, 3))
    assert not coverage.covers(Stripe(0, 6, 0, 8))
    assert coverage.write(Stripe(0, 2, 3, 8))
    assert not coverage.covers(Stripe(0, 6, 0, 8))
    assert coverage.write(Stripe(2, 6, 3, 8))
    assert coverage.covers(Stripe(0, 6, 0, 8))
    assert not coverage.write(Stripe(5, 7, 7, 9))


def test_empty_buffers_are_written_once() -> None:
    coverage = Coverage()
    assert coverage.write(Stripe(0, 0, 0, 3))
    assert not coverage.write(Stripe(0, 0, 0, 3))
