from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autofusion.plan import Buffer, Plan, Step, memory
from autofusion.plan.memory import ALIGNMENT, count_bytes, find_lives, plan_memory


def make_plan(buffers: list[Buffer], steps: list[tuple[str, str]]) -> Plan:
    records = tuple(
        Step("binary", f"n{i}", "Op", tuple(reads.split()), tuple(writes.split()))
        for i, (reads, writes) in enumerate(steps)
    )
    return Plan("native", ("x",), ("y",), (), {b.name: b for b in buffers}, (), records)


def inner(name: str, *shape: int, **fields: object) -> Buffer:
    return Buffer(name, "float", shape)._replace(**fields)


BORDER = [inner("x", 4, role="input"), inner("y", 4, role="output"), inner("w", 4, role="constant", tensor=0)]


def shapes_of(plan: Plan) -> dict[str, tuple[int, ...]]:
    return {name: tuple(int(d) for d in b.shape) for name, b in plan.buffers.items() if b.shape is not None}


def test_only_inner_buffers_get_a_place():
    plan = make_plan([*BORDER, inner("a", 4)], [("x w", "a"), ("a", "y")])
    memory = plan_memory(plan, shapes_of(plan))
    assert memory.offsets == {"a": 0}
    assert memory.total == 64


def test_buffers_that_never_meet_share_a_place():
    plan = make_plan(
        [*BORDER, inner("a", 64), inner("b", 64), inner("c", 64)], [("x", "a"), ("a", "b"), ("b", "c"), ("c", "y")]
    )
    memory = plan_memory(plan, shapes_of(plan))
    assert memory.offsets["a"] == memory.offsets["c"]
    assert memory.total == 512


def test_a_result_never_lies_on_an_operand():
    plan = make_plan([*BORDER, inner("a", 64), inner("b", 64)], [("x", "a"), ("a", "b"), ("b", "y")])
    memory = plan_memory(plan, shapes_of(plan))
    assert memory.offsets["a"] != memory.offsets["b"]


def test_an_alias_shares_and_keeps_alive():
    buffers = [*BORDER, inner("a", 64), inner("v", 8, 8, alias="a"), inner("b", 64)]
    plan = make_plan(buffers, [("x", "a"), ("x", "b"), ("v b", "y")])
    memory = plan_memory(plan, shapes_of(plan))
    assert memory.offsets["v"] == memory.offsets["a"]
    assert memory.offsets["a"] != memory.offsets["b"]


def test_an_alias_of_an_input_has_no_place():
    plan = make_plan([*BORDER, inner("v", 2, 2, alias="x")], [("v", "y")])
    assert plan_memory(plan, shapes_of(plan)).offsets == {}


def test_scratch_follows_the_buffers():
    plan = make_plan([*BORDER, inner("a", 4)], [("x", "a"), ("a", "y")])
    memory = plan_memory(plan, shapes_of(plan), 100)
    assert (memory.scratch, memory.total) == (64, 64 + 128)


def test_the_tightest_gap_is_taken():
    # The dead "p" leaves 512 bytes before "k", the dead "q" leaves 192 between "k" and "m".
    sizes = {"p": 128, "k": 64, "q": 48, "m": 32, "d": 32}
    buffers = [*BORDER, *(inner(name, size) for name, size in sizes.items())]
    plan = make_plan(buffers, [("x", "p k q m"), ("k", "d"), ("k m d", "y")])
    memory = plan_memory(plan, shapes_of(plan))
    assert memory.offsets == {"p": 0, "k": 512, "q": 768, "m": 960, "d": 768}


def test_a_pitch_counts():
    buffer = inner("a", 1, 3, 5, 5)._replace(layout="nhwc", pitch=16)
    assert count_bytes(buffer, (1, 3, 5, 5)) == 25 * 16 * 4


def test_buffers_without_extent_and_strings_have_no_place():
    plan = make_plan(
        [*BORDER, inner("a")._replace(shape=None), inner("s", 3)._replace(dtype="string")], [("x", "a s"), ("a s", "y")]
    )
    assert plan_memory(plan, {"x": (4,), "y": (4,), "s": (3,)}).offsets == {}


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    count = draw(st.integers(1, 12))
    buffers = list(BORDER)
    steps: list[tuple[str, str]] = []
    known = ["x", "w"]
    for index in range(count):
        reads = draw(st.lists(st.sampled_from(known), min_size=1, max_size=3))
        name = f"b{index}"
        size = draw(st.integers(0, 100))
        buffers.append(inner(name, size))
        known.append(name)
        if draw(st.booleans()):
            chosen = draw(st.sampled_from(known))
            root = next(b for b in buffers if b.name == chosen)
            alias = root.alias or root.name
            buffers.append(root._replace(name=f"v{index}", role="inner", alias=alias, tensor=None))
            known.append(f"v{index}")
        steps.append((" ".join(reads), name))
    steps.append((known[-1], "y"))
    return make_plan(buffers, steps)


@settings(max_examples=300, deadline=None)
@given(plans(), st.integers(0, 200))
def test_buffers_alive_together_never_overlap(plan: Plan, scratch: int):
    memory = plan_memory(plan, shapes_of(plan), scratch)
    lives = find_lives(plan, shapes_of(plan))
    for life in lives:
        start = memory.offsets[life.name]
        assert start % ALIGNMENT == 0
        assert start + life.bytes <= memory.scratch <= memory.total - scratch
        for other in lives:
            apart = life.last < other.first or other.last < life.first
            if other.name == life.name or apart:
                continue
            begin = memory.offsets[other.name]
            assert start + life.bytes <= begin or begin + other.bytes <= start
    assert memory == plan_memory(plan, shapes_of(plan), scratch)


@settings(max_examples=100, deadline=None)
@given(plans())
def test_every_value_is_intact_when_it_is_read(plan: Plan):
    """Walk the steps, stamp every written byte range, and look at the stamps of what is read."""
    memory = plan_memory(plan, shapes_of(plan))
    arena: dict[int, str] = {}

    def cells(root: str) -> range:
        size = count_bytes(plan.buffers[root], shapes_of(plan)[root])
        return range(memory.offsets[root] // ALIGNMENT, (memory.offsets[root] + size) // ALIGNMENT)

    for step in plan.steps:
        for name in step.outputs:
            if name in memory.offsets:
                arena.update(dict.fromkeys(cells(name), name))
        for name in step.inputs:
            root = plan.buffers[name].alias or name
            if root in memory.offsets:
                assert {arena[cell] for cell in cells(root)} <= {root}


def test_many_buffers_alive_at_once_are_placed_in_no_time():
    count = 3000
    buffers = [*BORDER, *(inner(f"b{index}", 16) for index in range(count))]
    names = " ".join(buffer.name for buffer in buffers[len(BORDER) :])
    plan = make_plan(buffers, [*(("x", name) for name in names.split()), (names, "y")])
    began = time.process_time()
    memory = plan_memory(plan, shapes_of(plan))
    assert time.process_time() - began < 3
    assert sorted(memory.offsets.values()) == [64 * index for index in range(count)]


@pytest.mark.parametrize("seed", range(20))
def test_both_ways_to_find_a_place_agree(seed: int) -> None:
    """Places are kept by steps where few buffers live together, else by start."""
    random = np.random.default_rng(seed)
    steps = int(random.integers(1, 30))
    by_steps, by_start, total = memory._PlacedBySteps(steps), memory._PlacedByStart(40), 0
    for number in range(40):
        first = int(random.integers(steps))
        last = min(steps - 1, first + int(random.exponential(3)))
        life = memory.Life(f"b{number}", 64 * int(random.integers(0, 9)), first, last)
        offset = by_steps.find_place(life, total)
        assert offset == by_start.find_place(life, total)
        total = max(total, offset + life.bytes)
        by_steps.add(life, offset)
        by_start.add(life, offset)


def test_buffers_that_live_long_are_placed_quickly() -> None:
    """Ten thousand steps, and a thousand buffers that live through all of them."""
    lives = [memory.Life(f"b{index}", 64, index, index + 1) for index in range(9_999)]
    lives += [memory.Life(f"l{index}", 128, 0, 9_999) for index in range(1_000)]
    plan = Plan("native", (), (), (), {}, (), (Step("unary", "n", "", (), ()),) * 10_000)
    assert memory.place_lives(plan, lives).total == 128 * 1_000 + 2 * 64
