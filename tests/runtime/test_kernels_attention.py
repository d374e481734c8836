"""Native attention against its definition: odd extents, every mask, grouped heads, the past, views, long rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from autofusion.errors import ArtifactError
from autofusion.runtime.native import Native
from runtime.free_steps import assert_as_defined, run_step


@dataclass
class Heads:
    """A step on rows of heads side by side: [batch, rows, heads * size]."""

    batch: int
    heads: int
    key_heads: int
    queries: int
    keys: int
    size: int
    value_size: int
    past: int = 0
    operands: list[np.ndarray | None] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.draws = np.random.default_rng(3)
        widths = (self.heads * self.size, self.key_heads * self.size, self.key_heads * self.value_size)
        rows = (self.queries, self.keys, self.keys)
        self.operands = [self.draw(self.batch, *shape) for shape in zip(rows, widths, strict=True)] + [None] * 5
        if self.past:
            self.operands[6] = self.draw(self.batch, self.key_heads, self.past, self.size)
            self.operands[7] = self.draw(self.batch, self.key_heads, self.past, self.value_size)
        extents = [self.batch, self.heads, self.key_heads, self.queries, self.keys, self.size, self.value_size]
        self.attributes = {
            "extents": [*extents, self.past],
            "q_view": side_by_side(self.heads, self.queries, self.size),
            "k_view": side_by_side(self.key_heads, self.keys, self.size),
            "v_view": side_by_side(self.key_heads, self.keys, self.value_size),
            "y_view": side_by_side(self.heads, self.queries, self.value_size),
            "scale": 0.3,
            "keep_mode": "",
            "keep_drops": False,
            "fill": 0.0,
            "causal": False,
            "guard": False,
        }

    def draw(self, *shape: int) -> np.ndarray:
        return self.draws.standard_normal(shape).astype(np.float32)

    @property
    def seen(self) -> int:
        return self.past + self.keys

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        shapes: list[tuple[int, ...]] = [(self.batch, self.queries, self.heads * self.value_size)]
        if self.past:
            shapes += [(self.batch, self.key_heads, self.seen, width) for width in (self.size, self.value_size)]
        return shapes

    def check(self, native: Native) -> None:
        for threads in (1, 2):
            assert_as_defined(native, "attention", self.operands, self.attributes, self.shapes, threads)


def side_by_side(heads: int, rows: int, size: int) -> list[int]:
    """The view of [batch, rows, heads * size] as [batch, heads, rows, size]."""
    return [0, rows * heads * size, size, heads * size, 1]


SIZES = {
    "one of everything": (1, 1, 1, 1, 1, 1, 1),
    "primes": (2, 3, 3, 5, 7, 11, 13),
    "grouped heads": (1, 4, 2, 17, 17, 32, 32),
    "one key head, few queries": (2, 4, 1, 1, 9, 16, 16, 8),
    "a panel more": (1, 2, 2, 17, 33, 16, 17),
    "long rows": (2, 2, 2, 7, 700, 24, 20),
    "three blocks of keys": (1, 2, 2, 33, 1100, 8, 8),
    "past and new keys": (2, 4, 2, 3, 5, 16, 8, 11),
    "a past longer than a block": (1, 2, 1, 20, 13, 16, 24, 600),
    "windows": (16, 3, 3, 49, 49, 32, 32),
    "no keys": (1, 1, 1, 13, 0, 4, 4),
    "no samples": (0, 2, 2, 3, 4, 4, 4),
    "no queries, but a past": (2, 4, 2, 0, 5, 4, 6, 3),
}


@pytest.mark.parametrize("name", SIZES)
def test_extents(native: Native, name: str) -> None:
    Heads(*SIZES[name]).check(native)


@pytest.mark.parametrize("name", SIZES)
def test_causal(native: Native, name: str) -> None:
    heads = Heads(*SIZES[name])
    heads.attributes["causal"] = True
    heads.check(native)


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("mode", ["first", "add", "last"])
@pytest.mark.parametrize("fill", [-np.inf, -1e4, np.finfo(np.float32).min])
def test_dropped_elements(native: Native, name: str, mode: str, fill: float) -> None:
    heads = Heads(*SIZES[name])
    heads.operands[5] = heads.draws.random((heads.batch, 1, 1, heads.seen)) < 0.6
    heads.operands[4] = heads.draw(1, 1, heads.queries, 1)
    heads.attributes |= {"keep_mode": mode, "fill": float(fill), "keep_drops": heads.queries % 2 == 0}
    heads.check(native)


@pytest.mark.parametrize("name", SIZES)
def test_added_terms(native: Native, name: str) -> None:
    heads = Heads(*SIZES[name])
    heads.operands[3] = heads.draw(1, heads.heads, heads.queries, heads.seen)
    mask = heads.draw(heads.batch // 2 or 1, 1, heads.queries, heads.seen)
    mask[heads.draws.random(mask.shape) < 0.3] = -np.inf
    heads.operands[4] = mask
    heads.check(native)


def test_terms_of_no_samples(native: Native) -> None:
    heads = Heads(*SIZES["no samples"])
    heads.operands[4] = heads.draw(0, 1, 1, heads.seen)
    heads.check(native)


@pytest.mark.parametrize("guard", [False, True])
def test_rows_without_any_key_are_nan_unless_guarded(native: Native, guard: bool) -> None:
    heads = Heads(*SIZES["primes"])
    keep = np.ones((1, 1, heads.queries, heads.seen), bool)
    keep[..., 2, :] = False
    heads.operands[5] = keep
    heads.attributes |= {"keep_mode": "add", "fill": -np.inf, "guard": guard}
    heads.check(native)
    y = run_step(native, "attention", heads.operands, heads.attributes, heads.shapes)[0]
    assert np.isnan(y[:, 2]).all() != guard
    assert (y[:, 2] == 0).all() == guard


def test_a_block_without_any_key_does_not_spoil_the_others(native: Native) -> None:
    heads = Heads(1, 1, 1, 6, 1100, 8, 8)
    keep = np.zeros((1, 1, 6, 1100), bool)
    keep[..., 700:] = True
    heads.operands[5] = keep
    heads.attributes |= {"keep_mode": "first", "fill": -np.inf}
    heads.check(native)


def test_keys_and_values_stored_the_other_way_round(native: Native) -> None:
    heads = Heads(2, 2, 2, 9, 21, 12, 20)
    for place, (name, rows, size) in enumerate([("q_view", 9, 12), ("k_view", 21, 12), ("v_view", 21, 20)]):
        heads.operands[place] = heads.draw(2, 2, size, rows)
        heads.attributes[name] = [0, 2 * size * rows, size * rows, 1, rows]
    heads.check(native)


def test_packed_heads(native: Native) -> None:
    heads = Heads(2, 3, 3, 10, 10, 8, 8)
    packed = heads.draw(2, 10, 3 * 3 * 8)
    for place, name in enumerate(("q_view", "k_view", "v_view")):
        heads.operands[place] = packed
        heads.attributes[name] = [place * 24, 720, 8, 72, 1]
    heads.check(native)


@pytest.mark.parametrize("change", ["offset", "stride", "heads", "result"])
def test_views_that_leave_their_buffer_are_refused(native: Native, change: str) -> None:
    heads = Heads(*SIZES["primes"])
    match change:
        case "offset":
            heads.attributes["k_view"][0] += 1
        case "stride":
            heads.attributes["v_view"][3] += 1
        case "heads":
            heads.attributes["extents"][2] = 2
        case _:
            heads.attributes["y_view"] = [0, 0, 13, 39, 1]
    with pytest.raises(ArtifactError) as caught:
        run_step(native, "attention", heads.operands, heads.attributes, heads.shapes)
    assert caught.value.diagnostic.code in ("AF524", "AF525")
