"""Parts of a packed axis, picked one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from autofusion.passes.parts import split_parts
from frontend.models import random
from passes.passing import apply, ops

CONSTANTS = (
    "int64[5] heads = {2, 5, 3, 2, 4}, int64[5] last = {2, 5, 2, 3, 4}, int64[4] flat = {10, 3, 2, 4}, "
    "int64 i0 = {0}, int64 i1 = {1}, int64 i2 = {-1}, int64[1] v0 = {0}, int64[1] v1 = {1}, int64[1] v2 = {2}, "
    "int64[1] v3 = {3}, int64[3] ones = {1, 1, 1}, int64[2] some = {0, 1}"
)
TURN = "h = Reshape(x, heads) t = Transpose<perm = [2, 0, 3, 1, 4]>(h)"


def reduce(body: str, folder: Path, header: str = "float[2, 5, 24] x", batch: int = 2) -> str:
    text = f"g ({header}) => (float y) <{CONSTANTS}> {{ {body} }}"
    return ops(apply(split_parts, text, folder, {"x": random(1, batch, 5, 24)}))


@pytest.mark.parametrize(
    ("body", "left"),
    [
        (
            f"{TURN} q = Gather(t, i0) k = Gather(t, i1) v = Gather(t, i2) s = Sub(q, k) y = Sub(s, v)",
            "Split Reshape Transpose Reshape Transpose Sub Reshape Transpose Sub",
        ),
        (
            f"""{TURN} q = Slice(t, v0, v1, v0) k = Slice(t, v1, v2, v0) v = Slice(t, v2, v3, v0)
                s = Sub(q, k) y = Sub(s, v)""",
            "Split Reshape Transpose Reshape Transpose Sub Reshape Transpose Sub",
        ),
        (
            f"{TURN} q, k, v = Split(t, ones) s = Sub(q, k) y = Sub(s, v)",
            "Split Reshape Transpose Reshape Transpose Sub Reshape Transpose Sub",
        ),
        # No Transpose, and one place that nobody picks.
        (
            """h = Reshape(x, heads) k = Gather<axis = 2>(h, i1) q = Gather<axis = 2>(h, v0)
               u = Unsqueeze(k, v2) y = Sub(q, u)""",
            "Split Reshape Reshape Unsqueeze Sub",
        ),
        # Leading axes that are merged on the way.
        (
            "h = Reshape(x, flat) q = Gather<axis = 1>(h, i0) k = Gather<axis = 1>(h, i2) y = Sub(q, k)",
            "Split Reshape Reshape Sub",
        ),
    ],
)
def test_parts_are_dealt_out(tmp_path: Path, body: str, left: str) -> None:
    assert reduce(body, tmp_path) == left


@pytest.mark.parametrize(
    "body",
    [
        # A single pick.
        f"{TURN} q = Gather(t, i0) y = Neg(q)",
        # Places that lie inside the heads: no neighbours on the axis of the product.
        "h = Reshape(x, last) q = Gather<axis = 3>(h, i0) k = Gather<axis = 3>(h, i1) y = Sub(q, k)",
        # The packed value is read as a whole, too.
        f"{TURN} q = Gather(t, i0) k = Gather(t, i1) s = Sub(q, k) y = Sub(s, t)",
        # Two axes.
        f"{TURN} q = Gather(t, i0) k = Gather<axis = 3>(t, i1) r = ReduceSum<keepdims = 0>(k) y = Sub(q, r)",
        # Two places at once.
        f"{TURN} q = Gather(t, some) k = Gather(t, i1) y = Sub(q, k)",
        # The view is read as it is, too.
        f"{TURN} q = Gather(t, i0) k = Gather(t, i1) s = Sub(q, k) r = ReduceSum<keepdims = 0>(h) y = Sub(s, r)",
    ],
)
def test_what_stays(tmp_path: Path, body: str) -> None:
    assert "Split" not in reduce(body, tmp_path)


@pytest.mark.parametrize("batch", [1, 3])
def test_an_open_batch(tmp_path: Path, batch: int) -> None:
    body = """e = Reshape(x, open) t = Transpose<perm = [2, 0, 3, 1, 4]>(e)
              q = Gather(t, i0) k = Gather(t, i1) y = Sub(q, k)"""
    text = f"g (float[n, 5, 24] x) => (float y) <{CONSTANTS}, int64[5] open = {{-1, 5, 3, 2, 4}}> {{ {body} }}"
    graph = apply(split_parts, text, tmp_path, {"x": random(1, batch, 5, 24)})
    assert ops(graph) == "Split Reshape Transpose Reshape Transpose Sub"


def test_indices_out_of_range_are_left_to_fail(tmp_path: Path) -> None:
    body = "h = Reshape(x, heads) k = Slice(h, v3, v3, v2) q = Gather<axis = 2>(h, i0) y = Concat<axis = 1>(q, q)"
    assert "Split" not in reduce(body, tmp_path)
