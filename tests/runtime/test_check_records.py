"""Validation of records: what does not fit its operands never runs."""

from __future__ import annotations

import numpy as np
import pytest

from autofusion.errors import ArtifactError
from autofusion.runtime.native import Context, Native
from autofusion.runtime.records import KERNEL_CODES, OPERANDS, RECORD, Space
from runtime.cases import CASES, draw
from runtime.steps import GUARD, PLAIN_EPILOGUE, Bench, Case, aligned

SCRATCH = OPERANDS - 1
SCRATCHED = ("attention", "conv", "conv_depthwise", "conv_pool", "conv_transpose", "excite", "matmul", "pointwise")


def refusal(native: Native, context: Context) -> str:
    with pytest.raises(ArtifactError) as caught:
        native.check(context)
    assert caught.value.diagnostic.code == "AF525"
    return caught.value.diagnostic.message


def test_every_native_kernel_is_covered() -> None:
    assert set(KERNEL_CODES) == {"product", *(case.kernel for case in CASES.values())}


@pytest.mark.parametrize("name", CASES)
def test_operands_that_are_too_small_are_refused(native: Native, name: str) -> None:
    present = [index for index, array in enumerate(CASES[name].operands) if array is not None]
    for place in [0, *(index + 1 for index in present)]:
        bench = Bench(CASES[name])
        # What lies between the last pixel and the next may be missing.
        bench.records["operands"]["bytes"][0, place] -= 32
        assert "bytes" in refusal(native, bench.context())


@pytest.mark.parametrize("name", CASES)
def test_operands_outside_their_space_are_refused(native: Native, name: str) -> None:
    for place in range(1 + len(CASES[name].operands)):
        for field, value in [
            *(("offset", number) for number in (4, -4, 1 << 62)),
            *(("bytes", number) for number in (-4, 1 << 62)),
            *(("slot", number) for number in (-1, 99)),
            *(("space", number) for number in (-1, 4)),
        ]:
            bench = Bench(CASES[name])
            space = bench.records["operands"]["space"][0, place]
            if (field == "slot" and space != Space.BINDING) or (field != "space" and space == Space.NONE):
                continue
            bench.records["operands"][field][0, place] = value
            refusal(native, bench.context())


@pytest.mark.parametrize("name", CASES)
def test_results_in_memory_that_is_only_read_are_refused(native: Native, name: str) -> None:
    bench = Bench(CASES[name])
    bench.bindings[-1].flags.writeable = False
    assert "only read" in refusal(native, bench.context())


@pytest.mark.parametrize(
    "name", [name for name in CASES if CASES[name].kernel in SCRATCHED and name != "depthwise of doubles"]
)
def test_scratch_memory_must_suffice(native: Native, name: str) -> None:
    bench = Bench(CASES[name], threads=2)
    bench.records["operands"]["bytes"][0, SCRATCH] -= 4
    assert "scratch" in refusal(native, bench.context())
    bench.records["operands"]["space"][0, SCRATCH] = Space.NONE
    assert "scratch" in refusal(native, bench.context())


FIELDS = {
    "conv": {"batch": 0, "group": 1, "channels": 2, "filters": 3, "x": 4, "y": 7, "kernel": 10, "strides": 15}
    | {"pads": 18, "ends": 21, "dilations": 24, "x_pitch": 25, "y_pitch": 26, "residual_pitch": 27, "activation": 28}
    | {"winograd": 29, "gated": 30, "averaged": 31, "type": 32, "narrow": 33},
    "excite": {"rows": 0, "channels": 1, "hidden": 2, "columns": 3, "activation": 4, "gate": 5}
    | {"type": 6, "other_type": 7},
    "conv_depthwise": {"batch": 0, "group": 1, "channels": 2, "filters": 3, "x": 6, "y": 8, "kernel": 9, "strides": 15}
    | {"x_pitch": 25, "y_pitch": 26, "activation": 28, "winograd": 29, "depth_batch": 34, "depth_group": 35}
    | {"depth_channels": 36, "depth_filters": 37, "depth_plane": 38, "depth_x": 40, "depth_y": 42, "depth_kernel": 46}
    | {"depth_strides": 48, "depth_pads": 51, "depth_dilations": 58, "depth_x_pitch": 59, "depth_y_pitch": 60}
    | {"depth_activation": 62, "depth_winograd": 63, "depth_gated": 64, "depth_averaged": 65, "averaged": 31}
    | {"type": 32, "narrow": 33, "depth_type": 66, "depth_narrow": 67},
    "conv_pool": {"batch": 0, "group": 1, "channels": 2, "filters": 3, "x": 6, "y": 8, "kernel": 9, "strides": 15}
    | {"x_pitch": 25, "y_pitch": 26, "residual_pitch": 27, "activation": 28, "winograd": 29, "pool_batch": 34}
    | {"pool_channels": 35, "pool_plane": 36, "pool_x": 38, "pool_y": 41, "pool_kernel": 44, "pool_strides": 47}
    | {"pool_pads": 50, "pool_dilations": 56, "pool_x_pitch": 57, "pool_y_pitch": 58, "pool_kind": 59}
    | {"pool_include_pad": 60, "is_global": 61, "type": 32, "narrow": 33},
    "conv_transpose": {"batch": 0, "group": 1, "channels": 2, "filters": 3, "x": 6, "y": 9, "kernel": 12, "strides": 15}
    | {"pads": 18, "ends": 21, "dilations": 24, "x_pitch": 25, "y_pitch": 26, "residual_pitch": 27, "activation": 28}
    | {"winograd": 29, "gated": 30, "averaged": 31, "type": 32, "narrow": 33},
    "pool": {"batch": 0, "channels": 1, "x": 4, "y": 7, "kernel": 8, "strides": 13, "dilations": 22}
    | {"x_pitch": 23, "y_pitch": 24, "kind": 25, "include_pad": 26},
    "matmul": {"batch": 5, "b_stride": 17, "rows": 18, "depth": 19, "columns": 20, "trans_a": 21} | {"activation": 23},
    "product": {"rows": 0, "depth": 1, "parts": 2, "width": 3, "activation": 7, "norm": 8, "gated": 9, "type": 10},
    "attention": {
        "batch": 0,
        "key_heads": 2,
        "queries": 3,
        "keys": 4,
        "size": 5,
        "past": 7,
        "q_offset": 8,
        "y_batch": 24,
    }
    | {"bias_period": 28, "keep_stride": 42, "keep_mode": 43, "guard": 46},
    "norm": {"rows": 0, "columns": 1, "kind": 2},
    "group_norm": {"batch": 0, "groups": 1, "channels": 2, "x_channel": 5, "y_pixel": 9},
    "rotary": {"heads": 1, "size": 3, "width": 4, "interleaved": 5, "x_offset": 7, "y_batch": 13, "sin_stride": 24},
    "embedding": {"extent": 3, "columns": 4, "kind": 5, "count": 6, "id_size": 7, "id_stride": 11, "step": 12}
    | {"type": 13},
    "affine": {"rows": 0, "columns": 1, "x_pitch": 2, "y_pitch": 3, "function": 4},
    "unary": {"rows": 0, "columns": 1, "x_pitch": 2, "y_pitch": 3, "function": 4},
    "binary": {"extent": 7, "a_stride": 15, "b_stride": 23, "y_stride": 31, "operator": 32, "activation": 33},
    "pointwise": {"rows": 2, "columns": 3, "y_stride": 6, "x_stride": 10, "truth_stride": 19, "operands": 48}
    | {"truths": 49, "length": 50, "folding": 51, "add": 52, "constant": 53, "clip": 54, "less": 56},
    "relayout": {"images": 0, "channels": 1, "pixels": 2, "x_stride": 3, "y_stride": 6},
    "strided": {"extent": 7, "x_stride": 15, "y_row": 22, "y_stride": 23, "x_offset": 24, "y_offset": 25, "size": 26},
    "concat": {"rows": 0, "parts": 1, "y_pitch": 2, "width": 3, "pitch": 13, "size": 23},
    "select": {"extent": 7, "y_stride": 15, "condition_stride": 23, "a_stride": 31, "type": 41, "y_type": 42},
    "compare": {"extent": 7, "a_stride": 23, "operator": 40, "type": 41, "y_type": 42},
    "arithmetic": {"extent": 7, "a_stride": 23, "operator": 40, "type": 41, "y_type": 42},
    "convert": {"extent": 7, "x_stride": 23, "type": 41, "y_type": 42},
    "pad": {"extent": 7, "y_stride": 15, "source": 23, "x_stride": 31, "mode": 40, "size": 41},
    "resize": {"images": 0, "channels": 1, "x_pitch": 2, "x": 6, "y": 9, "mode": 10, "coordinates": 11, "rounding": 12}
    | {"exclude_outside": 13},
    "range": {"count": 0, "type": 1},
    "triangle": {"matrices": 0, "columns": 2, "upper": 4, "size": 5},
    "filter": {"filters": 0, "channels": 1, "tile": 2, "type": 3},
    "softmax": {"outer": 0, "extent": 1, "inner": 2, "x_outer": 3, "y_stride": 6, "log": 7},
    "reduce": {"kept": 7, "x_stride": 15, "y_stride": 23, "reduced": 31, "stride": 39, "kind": 40, "type": 41},
    "argument": {"outer": 0, "extent": 1, "inner": 2, "is_min": 7, "is_last": 8, "type": 9},
    "cumulate": {"outer": 0, "extent": 1, "exclusive": 7, "reverse": 8, "type": 9},
    "rank": {"outer": 0, "count": 7, "largest": 8, "type": 9},
    "gather": {"outer": 0, "extent": 1, "inner": 2, "count": 3, "index_size": 4, "size": 5, "widened": 6},
    "gather_elements": {"extent": 7, "stride": 15, "axis_extent": 16, "axis_stride": 17, "index_size": 18, "type": 19},
    "gather_blocks": {"batch": 0, "count": 1, "depth": 2, "extent": 3, "inner": 11, "index_size": 12, "type": 13},
    "scatter_elements": {"extent": 7, "axis_extent": 16, "axis_stride": 17, "type": 19, "reduction": 20},
    "scatter_blocks": {"batch": 0, "count": 1, "depth": 2, "extent": 3, "inner": 11, "type": 13, "reduction": 14},
}
"""Places of fields in a record's integers; of those with three axes, the first or the last axis."""

WRONG = {
    "conv": """
        batch=2 group=0 group=3 channels=17 filters=32 x=2 x=0 y=2 kernel=0 kernel=4 strides=0 strides=-1
        dilations=0 pads=-1 pads=2 ends=3 x_pitch=15 x_pitch=17 y_pitch=17 residual_pitch=17 activation=12
        activation=-1 winograd=1 winograd=2 gated=1 averaged=1 type=1 type=11 type=13
        narrow=1 narrow=-1
    """,
    "conv of halves": "filters=32 type=0 type=1",
    "conv of tiles of halves": "type=0 type=13 winograd=6",
    "conv_depthwise of halves": "type=0 type=-1 depth_type=0 depth_type=13",
    "conv_pool of halves": "type=0 type=6",
    "depthwise of halves": "type=0 type=3",
    "conv with gated weights of halves": "type=0",
    "conv_transpose of halves": "type=0 type=1",
    "conv_transpose of single channels of halves": "type=0 type=13",
    "filter of halves": "type=0 type=10",
    "excite of halves": "type=0 other_type=0 type=5 other_type=13",
    "packed matmul of halves": "type=0 type=1",
    "conv with gated pixels": "gated=0 gated=2 averaged=1 batch=3 channels=17 group=2 strides=2 winograd=2",
    "conv with gated weights": "gated=0 gated=-1 averaged=1 batch=3 filters=33",
    "depthwise with means": "averaged=0 averaged=2 gated=1 batch=2 winograd=2",
    "conv_depthwise with means": "depth_averaged=0 depth_averaged=2 averaged=1 depth_gated=1",
    "excite": "rows=3 rows=-1 channels=20 hidden=6 hidden=-1 columns=24 activation=12 gate=12 gate=-1",
    "conv of tiles": "winograd=3 winograd=6 group=2 kernel=2 strides=2 dilations=2 channels=17 filters=17",
    "depthwise": "channels=32 filters=32 batch=2147483648 narrow=1",
    "conv of narrow groups": "group=1 group=3 group=16 channels=32 kernel=0 averaged=1 gated=1 winograd=4 narrow=2",
    "conv_depthwise": """
        batch=2 group=2 channels=17 filters=33 x=7 y=5 kernel=2 strides=2 x_pitch=15 x_pitch=17 y_pitch=31 activation=12
        winograd=2 depth_batch=2 depth_group=16 depth_channels=16 depth_filters=48 depth_plane=2 depth_x=7 depth_y=7
        depth_kernel=4 depth_strides=2 depth_pads=0 depth_dilations=2 depth_x_pitch=16 depth_y_pitch=31
        depth_y_pitch=33 depth_activation=-1 depth_winograd=4 narrow=1 depth_narrow=1
    """,
    "conv_pool": """
        batch=2 group=0 group=16 channels=17 filters=32 x=7 y=5 kernel=2 strides=2 x_pitch=15 x_pitch=17 y_pitch=15
        y_pitch=17 residual_pitch=15 residual_pitch=17 activation=12 winograd=2 pool_batch=2 pool_channels=15
        pool_plane=2 pool_x=7 pool_y=4 pool_kernel=9 pool_strides=1 pool_pads=-1 pool_dilations=0 pool_x_pitch=15
        pool_x_pitch=17 pool_y_pitch=15 pool_y_pitch=17 pool_kind=2 pool_include_pad=2 is_global=1 is_global=2 narrow=1
    """,
    "conv_transpose": """
        batch=2 batch=-1 group=0 group=3 channels=17 filters=48 x=7 x=-1 y=15 kernel=0 kernel=5 strides=0 strides=65536
        pads=-1 ends=1 dilations=0 x_pitch=15 x_pitch=17 y_pitch=23 y_pitch=25 residual_pitch=1 activation=12 winograd=2
        gated=1 averaged=1 narrow=1
    """,
    "conv_transpose of few filters": "filters=6 kernel=5 strides=-1 strides=3 dilations=3",
    "conv_transpose of single channels": "kernel=5 strides=65536 group=4 filters=32 channels=32",
    "pool": """
        batch=2 channels=9 x=2 x=9 y=2 y=5 kernel=0 strides=0 dilations=-1 x_pitch=7 y_pitch=9 kind=2
        include_pad=2
    """,
    "matmul": "batch=2 rows=6 depth=8 columns=10 trans_a=2 activation=12",
    "conv of doubles": "x_pitch=15 winograd=2 gated=1 averaged=1",
    "matmul of doubles": "batch=2 rows=6 depth=8 columns=10 trans_a=2 activation=12",
    "packed matmul of doubles": "rows=6 depth=8 depth=-1 parts=5 width=17 norm=3 gated=1 type=0 type=11",
    "attention of doubles": "key_heads=3 queries=4 keys=4 size=5 past=4 q_offset=1 y_batch=61 keep_stride=2",
    "embedding of doubles": "extent=7 columns=6 count=10 id_size=2 id_size=0 type=0 type=11",
    "unary of doubles": "rows=25 columns=8 function=25 function=26",
    "pointwise of doubles": """
        rows=4 x_stride=41 operands=11 length=41 length=40 length=39 add=25 add=131 constant=171798691969
        constant=-4294967167 clip=197379
    """,
    "softmax of doubles": "outer=3 extent=6",
    "packed matmul": """
        rows=6 rows=-1 depth=8 parts=0 parts=5 parts=2 width=17 width=-1 activation=12 norm=3 gated=1 type=1
    """,
    "attention": """
        batch=3 key_heads=3 queries=4 keys=4 size=5 past=4 q_offset=1 q_offset=-1 y_batch=0 y_batch=61
        bias_period=0 keep_stride=2 keep_mode=4 keep_mode=0 guard=2
    """,
    "norm": "rows=4 columns=8 columns=-1 kind=3",
    "group_norm": "batch=3 groups=5 channels=3 x_channel=21 y_pixel=0",
    "rotary": "heads=3 size=9 width=3 width=10 interleaved=2 x_offset=1 y_batch=0 sin_stride=2",
    "embedding": "extent=7 columns=6 kind=3 count=10 id_size=2 id_size=0 id_stride=2 step=2 type=1 type=13",
    "affine": "rows=25 columns=6 x_pitch=4 y_pitch=9 function=12",
    "unary": "rows=25 columns=8 y_pitch=8 function=27",
    "binary": "extent=4 a_stride=2 b_stride=2 y_stride=0 operator=7 activation=-1",
    "pointwise": """
        rows=4 columns=41 rows=-1 y_stride=0 y_stride=2 x_stride=41 truth_stride=2 operands=0 operands=2 operands=11
        truths=0 truths=8 length=0 length=41 folding=5 folding=-1 add=131 add=27 add=63 add=66368 add=196672
        add=50331776 constant=0 clip=197379 clip=771 less=460104
    """,
    "relayout": "images=3 channels=9 pixels=13 x_stride=61 y_stride=0 y_stride=-1",
    "strided": """
        extent=4 x_stride=5 x_stride=-9 y_row=2 y_stride=0 y_stride=5 x_offset=1 x_offset=-1 y_offset=1 size=4 size=3
    """,
    "concat": "rows=4 parts=0 parts=3 parts=1 parts=11 y_pitch=7 y_pitch=9 width=5 width=-1 pitch=5 size=4 size=0",
    "select": "extent=13 y_stride=0 condition_stride=2 a_stride=2 type=0 y_type=0 type=13",
    "compare": "extent=5 a_stride=2 operator=6 operator=-1 type=4 type=11 y_type=6",
    "arithmetic": "extent=7 a_stride=2 operator=12 type=5 type=10 type=0 y_type=6",
    "convert": "extent=13 x_stride=2 type=4 type=-1 y_type=13",
    "pad": "extent=6 y_stride=2 source=6 x_stride=6 mode=4 size=8 size=5",
    "resize": """
        images=11 channels=2 x_pitch=0 x=4 x=0 y=4 mode=3 coordinates=5 rounding=4 exclude_outside=2
    """,
    "range": "count=10 count=-1 type=5 type=10",
    "triangle": "matrices=4 columns=6 upper=2 size=3",
    "filter": "filters=17 filters=-1 channels=6 channels=2147483649 tile=4 tile=3 tile=0 type=1",
    "softmax": "outer=3 extent=6 inner=13 x_outer=61 y_stride=13 log=2 extent=-1",
    "reduce": "kept=5 x_stride=4 y_stride=0 y_stride=2 reduced=4 stride=2 kind=8 type=1 type=3",
    "argument": "outer=3 extent=6 extent=0 inner=13 is_min=2 is_last=-1 type=1 type=12",
    "cumulate": "outer=4 extent=5 exclusive=2 reverse=2 type=3",
    "rank": "outer=3 count=3 count=-1 largest=2 type=1",
    "gather": "outer=3 extent=6 inner=13 count=5 index_size=2 size=8 size=3 widened=1 widened=11",
    "gather_elements": "extent=3 stride=2 axis_extent=5 axis_stride=3 index_size=6 type=13",
    "gather_blocks": "batch=2 count=3 depth=3 depth=9 extent=3 inner=13 index_size=1 type=1",
    "scatter_elements": "extent=3 axis_extent=5 axis_stride=4 type=1 type=13 reduction=5",
    "scatter_blocks": "batch=2 count=3 depth=3 extent=3 inner=13 type=1 type=10 reduction=5",
}
"""By case: values of single fields, each of which makes the record wrong."""


@pytest.mark.parametrize(
    ("name", "change"), [(name, change) for name, changes in WRONG.items() for change in changes.split()]
)
def test_wrong_extents_are_refused(native: Native, name: str, change: str) -> None:
    field, value = change.split("=")
    bench = Bench(CASES[name])
    native.check(bench.context())
    bench.records["ints"][0, FIELDS["product" if name.startswith("packed") else CASES[name].kernel][field]] = int(value)
    assert refusal(native, bench.context()).startswith("the plan is damaged: step 0: ")


NUMBERS = (0, 1, 2, 3, 5, 7, 8, 16, 17, 31, 63, 1000, -1, 1 << 31, 1 << 32, (1 << 62) + 1, -(1 << 63))
ROUNDS = 100


def damage(random: np.random.Generator, bench: Bench) -> None:
    """Change one to three numbers of the record: to any other, to a neighbour, or to another number of the record."""
    ints, operands = bench.records["ints"][0], bench.records["operands"][0]
    for _ in range(random.integers(1, 4)):
        at = random.integers(0, 68)
        match random.integers(0, 6):
            case 0 | 1:
                ints[at] = random.choice(NUMBERS)
            case 2:
                ints[at] += random.choice((-1, 1))
            case 3:
                ints[at] = ints[random.integers(0, 68)]
            case 4:
                field = random.choice(("offset", "bytes", "slot", "space"))
                operands[field][random.integers(0, len(operands))] += random.choice((-4, -1, 1, 4))
            case _:
                bench.records["floats"][0, random.integers(0, 4)] = random.choice((0, -1, 1e30, np.inf, np.nan))


@pytest.mark.threads
@pytest.mark.parametrize("name", CASES)
def test_what_is_not_refused_stays_in_bounds(native: Native, name: str) -> None:
    """A damaged record is refused, or it runs and writes nothing beside its result, nor anything twice at a time."""
    random = np.random.default_rng(11)
    accepted = 0
    for _ in range(ROUNDS):
        bench = Bench(CASES[name], threads=int(random.integers(1, 4)))
        damage(random, bench)
        try:
            native.check(bench.context())
        except ArtifactError:
            continue
        accepted += 1
        native.run(bench.context(), 0, 1)
        assert (bench.guarded[:GUARD] == bench.unwritten).all()
        assert (bench.guarded[-GUARD:] == bench.unwritten).all()
    assert accepted > 0


@pytest.mark.parametrize("name", ["copy", "excite", "reduce", "conv_pool", "convert"])
def test_doubles_that_a_kernel_does_not_know_are_refused(native: Native, name: str) -> None:
    bench = Bench(CASES[name])
    bench.records["type"] = 1
    assert "type 1" in refusal(native, bench.context())


@pytest.mark.parametrize("code", [2, 5, 11, 13, -1])
def test_steps_of_other_types_are_refused(native: Native, code: int) -> None:
    bench = Bench(CASES["unary"])
    bench.records["type"] = code
    assert f"type {code}" in refusal(native, bench.context())


def test_unknown_kernels_are_refused(native: Native) -> None:
    bench = Bench(CASES["unary"])
    bench.records["kernel"] = 99
    assert "kernel 99" in refusal(native, bench.context())


def test_absent_and_surplus_operands_are_refused(native: Native) -> None:
    bench = Bench(CASES["unary"])
    bench.records["operands"]["space"][0, 1] = Space.NONE
    assert "absent" in refusal(native, bench.context())
    bench = Bench(CASES["unary"])
    bench.records["operands"][0, 2] = bench.records["operands"][0, 1]
    assert "no use" in refusal(native, bench.context())


def share_memory(case: Case, offset: int) -> Bench:
    """The case with its result `offset` bytes behind its first operand, in one binding."""
    bench = Bench(case)
    x, y = bench.records["operands"][0, 1], bench.records["operands"][0, 0]
    size = int(x["bytes"] + y["bytes"]) + offset
    bench.bindings[-1] = np.zeros(size // 4, np.float32)
    bench.bindings[-1][: int(x["bytes"]) // 4] = bench.bindings[0].ravel()
    bench.records["operands"][0, 1]["slot"] = y["slot"]
    bench.records["operands"][0, 0]["offset"] = offset
    return bench


@pytest.mark.parametrize("name", ["conv", "depthwise", "matmul", "pool", "relayout", "copy"])
def test_results_on_top_of_operands_are_refused(native: Native, name: str) -> None:
    assert "overlaps the result" in refusal(native, share_memory(CASES[name], 0).context())


def test_elementwise_steps_work_in_place(native: Native) -> None:
    x = draw(3, 40)
    for case in (
        Case("unary", [x], {"op": "Neg"}, x.shape),
        Case("binary", [x, draw(40)], {"op": "Sub", **PLAIN_EPILOGUE}, x.shape),
    ):
        expected = Bench(case).run(native)
        bench = share_memory(case, 0)
        native.check(bench.context())
        native.run(bench.context(), 0, 1)
        np.testing.assert_array_equal(expected, bench.bindings[-1][:120].reshape(3, 40))
        assert "overlaps the result" in refusal(native, share_memory(case, 4).context())


def test_memory_must_be_aligned(native: Native) -> None:
    bench = Bench(CASES["conv"])
    whole = aligned(len(bench.arena) + 4)
    bench.arena = whole[4:]
    assert "aligned" in refusal(native, bench.context())
    bench = Bench(CASES["unary"])
    raw = np.zeros(bench.bindings[0].nbytes + 1, np.uint8)[1:]
    bench.bindings[0] = raw.view(np.float32).reshape(bench.bindings[0].shape)
    assert "not aligned" in refusal(native, bench.context())


def test_record_has_the_size_that_the_library_asserts() -> None:
    assert RECORD.itemsize == 1192
