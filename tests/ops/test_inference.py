"""Symbolic inference: exact extents in terms of the inputs' symbols, contents of shape tensors, contradictions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autofusion.errors import ModelError
from autofusion.ir import DType, parse_dim
from autofusion.ir.dims import substitute
from ops.cases import Case, floats, ints, run
from ops.sketch import Sketch, extents


def test_extents_of_a_convolution_are_exact():
    sketch = Sketch(x="batch 3 height 224", w="64 3 7 7")
    y = sketch.add("Conv", "x", "w", strides=(2, 2), pads=(3, 3, 3, 3))
    assert sketch.shape(y) == "batch 64 ((height-1)//2)+1 112"
    assert sketch.shape(
        sketch.add("Conv", y, sketch.input("k", "64 1 3 3"), group=64, pads=(1, 1, 1, 1))
    ) == sketch.shape(y)


def test_ceil_mode_never_begins_a_window_in_the_trailing_pad():
    sketch = Sketch(x="1 1 height 5")
    plain = sketch.add("MaxPool", "x", kernel_shape=(3, 2), strides=(2, 2), ceil_mode=1)
    assert sketch.scope.value(plain).shape == extents("1 1 (height-2)//2+1 3")
    padded = sketch.add("MaxPool", "x", kernel_shape=(2, 2), strides=(3, 3), pads=(1, 1, 1, 1), ceil_mode=1)
    height = sketch.scope.value(padded).shape[2]
    windows = [substitute(height, {"height": extent}) for extent in range(3, 12)]
    starts = [[start for start in range(-1, extent, 3) if start - 3 + 2 < extent + 1] for extent in range(3, 12)]
    assert windows == [len(start) for start in starts]


@pytest.mark.parametrize(
    ("left", "right", "joined"),
    [
        ("batch 1 seq", "4 1", "batch 4 seq"),
        ("batch", "batch", "batch"),
        ("batch", "1", "batch"),
        ("batch", "7", "7"),
        ("batch 0", "1 1", "batch 0"),
        ("batch", "rows", "max(batch,rows)"),
        ("min(seq,512)", "seq", "seq"),
        ("max(0,min(512,past+seq)-past)", "seq", "seq"),
        ("min(total,past+seq)-min(past,total)", "seq", "seq"),
        ("min(512,past+seq)", "seq", "max(min(512,past+seq),seq)"),
        ("max(batch,rows)", "rows", "max(batch,rows)"),
        ("2*batch", "batch*2", "2*batch"),
    ],
)
def test_broadcasting(left: str, right: str, joined: str):
    sketch = Sketch(a=left, b=right)
    assert sketch.shape(sketch.add("Add", "a", "b")) == joined
    assert sketch.shape(sketch.add("Mul", "b", "a")) == joined


@pytest.mark.parametrize(
    ("shape", "target", "reshaped"),
    [
        ("batch seq 768", [0, 0, 12, 64], "batch seq 12 64"),
        ("batch seq 768", [0, -1, 64], "batch 12*seq 64"),
        ("batch seq 768", [-1, 768], "batch*seq 768"),
        ("batch 512 1 1", [-1, 512], "batch 512"),
        ("2 3 4", [4, -1], "4 6"),
        ("batch height 6", [-1, 4], "(6*batch*height)//4 4"),
    ],
)
def test_reshape_solves_the_open_extent(shape: str, target: list[int], reshaped: str):
    sketch = Sketch(x=shape)
    assert sketch.shape(sketch.add("Reshape", "x", sketch.constant(target))) == reshaped


def test_heads_are_split_and_joined_by_computed_shapes():
    sketch = Sketch(x="batch seq 768")
    shape = sketch.add("Shape", "x")
    batch = sketch.add("Unsqueeze", sketch.add("Gather", shape, sketch.constant(0)), sketch.constant([0]))
    length = sketch.add("Slice", shape, sketch.constant([1]), sketch.constant([2]))
    heads = sketch.add("Concat", batch, length, sketch.constant([12]), sketch.constant([-1]), axis=0)
    split = sketch.add("Reshape", "x", heads)
    assert sketch.shape(split) == "batch seq 12 64"
    moved = sketch.add("Transpose", split, perm=(0, 2, 1, 3))
    scores = sketch.add("MatMul", moved, sketch.add("Transpose", moved, perm=(0, 1, 3, 2)))
    assert sketch.shape(scores) == "batch 12 seq seq"
    joined = sketch.add("Concat", batch, length, sketch.constant([768]), axis=0)
    assert sketch.shape(sketch.add("Reshape", sketch.add("MatMul", scores, moved), joined)) == "batch seq 768"


def test_expand_as_torch_exports_it():
    sketch = Sketch(x="batch 1 1 seq", other="batch seq")
    shape = sketch.add("Shape", "other")
    target = sketch.add(
        "Concat",
        sketch.add("Slice", shape, sketch.constant([0]), sketch.constant([1])),
        sketch.constant([1]),
        sketch.add("Slice", shape, sketch.constant([1]), sketch.constant([2])),
        sketch.constant([-1]),
        axis=0,
    )
    ones = sketch.add("ConstantOfShape", sketch.constant([4]), value=ints(1))
    kept = sketch.add("Equal", target, sketch.add("Mul", ones, sketch.constant(-1)))
    chosen = sketch.add("Where", kept, ones, target)
    assert sketch.content(kept) == ["0", "0", "0", "1"]
    assert sketch.content(chosen) == ["batch", "1", "seq", "1"]
    assert sketch.shape(sketch.add("Expand", "x", chosen)) == "batch 1 seq seq"


def test_positions_of_a_sequence_after_a_cache():
    sketch = Sketch(cache="batch 12 past 64", x="batch seq", table="1024 768")
    past = sketch.add("Gather", sketch.add("Shape", "cache"), sketch.constant(2))
    seq = sketch.add("Gather", sketch.add("Shape", "x"), sketch.constant(1))
    positions = sketch.add("Range", past, sketch.add("Add", past, seq), sketch.constant(1))
    assert sketch.shape(positions) == "seq"
    assert sketch.shape(sketch.add("Gather", "table", positions, axis=0)) == "seq 768"
    grown = sketch.add("Concat", "cache", sketch.input("fresh", "batch 12 seq 64"), axis=-2)
    assert sketch.shape(grown).split()[2] in ("past+seq", "seq+past")
    ends = sketch.add("Unsqueeze", sketch.add("Add", seq, past), sketch.constant([0]))
    starts = sketch.add("Unsqueeze", past, sketch.constant([0]))
    assert sketch.shape(sketch.add("Slice", grown, starts, ends, sketch.constant([2]))) == "batch 12 seq 64"


def test_a_slice_of_a_table_ends_where_the_table_does():
    sketch = Sketch(x="batch seq", table="1 512")
    seq = sketch.add("Slice", sketch.add("Shape", "x"), sketch.constant([1]), sketch.constant([2]))
    cut = sketch.add("Slice", "table", sketch.constant([0]), seq, sketch.constant([1]))
    assert sketch.shape(cut) == "1 min(512,seq)"
    assert sketch.shape(sketch.add("Add", cut, "x")) == "batch seq"


@pytest.mark.parametrize(
    ("start", "end", "step", "cut"),
    [
        (0, 2**63 - 1, 1, "n"),
        (1, -1, 1, "max(n-2,0)"),
        (-3, 2**31 - 1, 1, None),
        (0, 2**63 - 1, 2, "(n+1)//2"),
        (-1, -(2**63), -1, "n"),
        (3, 1, 1, "0"),
    ],
)
def test_slices_of_a_symbolic_axis(start: int, end: int, step: int, cut: str | None):
    sketch = Sketch(x="n")
    one = [sketch.constant([number]) for number in (start, end, 0, step)]
    shape = sketch.scope.value(sketch.add("Slice", "x", *one)).shape
    for extent in range(8):
        expected = len(range(extent)[slice(start, end if end > -(2**62) else None, step)])
        assert substitute(shape[0], {"n": extent}) == expected
    if cut is not None:
        assert shape == (parse_dim(cut),)


@pytest.mark.parametrize(
    ("op", "left", "right", "content"),
    [
        ("Add", [3, -1], [2], ["5", "1"]),
        ("Sub", [3], [5], ["-2"]),
        ("Mul", [3, 4], [2, 0], ["6", "0"]),
        ("Div", [-7, 7], [2], ["-3", "3"]),
        ("Mod", [7, 9], [4], ["3", "1"]),
        ("Max", [3, 9], [5], ["5", "9"]),
        ("Min", [3, 9], [5], ["3", "5"]),
        ("Equal", [3, 9], [9], ["0", "1"]),
        ("Less", [3, 9], [9], ["1", "0"]),
        ("LessOrEqual", [3, 10], [9], ["1", "0"]),
        ("Greater", [3, 10], [9], ["0", "1"]),
        ("GreaterOrEqual", [9, 8], [9], ["1", "0"]),
        ("Div", [2**62], [0], None),
        ("Mul", [2**62], [4], None),
    ],
)
def test_contents_of_numbers(op: str, left: list[int], right: list[int], content: list[str] | None):
    sketch = Sketch()
    assert sketch.content(sketch.add(op, sketch.constant(left), sketch.constant(right))) == content


def test_contents_of_symbols_are_known_only_where_certain():
    sketch = Sketch(x="n m")
    shape = sketch.add("Shape", "x")
    assert sketch.content(sketch.add("Div", shape, sketch.constant(2))) == ["n//2", "m//2"]
    assert sketch.content(sketch.add("Mod", sketch.add("Mul", shape, sketch.constant(4)), sketch.constant(2))) == [
        "0",
        "0",
    ]
    assert sketch.content(sketch.add("Equal", shape, sketch.constant(-1))) == ["0", "0"]
    assert sketch.content(sketch.add("Equal", shape, sketch.constant(0))) is None
    assert sketch.content(sketch.add("Less", shape, sketch.constant(0))) == ["0", "0"]
    assert sketch.content(sketch.add("Less", shape, sketch.constant(1))) is None
    assert sketch.content(sketch.add("Cast", shape, to=6)) == ["n", "m"]
    assert sketch.content(sketch.add("Cast", shape, to=1)) is None
    assert sketch.content(sketch.add("Cast", shape, to=9)) is None
    assert sketch.content(sketch.add("ReduceProd", shape, keepdims=0)) == ["m*n"]
    assert sketch.content(sketch.add("Size", "x")) == ["m*n"]
    assert sketch.content(sketch.add("Squeeze", sketch.add("Slice", shape, *map(sketch.constant, ([0], [1]))))) == ["n"]
    assert sketch.content(sketch.add("Identity", shape)) == ["n", "m"]
    assert sketch.content(sketch.add("Shape", "x", start=-1)) == ["m"]


def test_other_operators_at_symbolic_extents():
    sketch = Sketch(x="batch 6 h w")
    x = "x"
    assert sketch.shape(sketch.add("Flatten", x)) == "batch 6*h*w"
    assert sketch.shape(sketch.add("GlobalAveragePool", x)) == "batch 6 1 1"
    assert sketch.shape(sketch.add("ReduceMean", x, sketch.constant([2, 3]))) == "batch 6 1 1"
    assert sketch.shape(sketch.add("ReduceMean", x, sketch.constant([-1]), keepdims=0)) == "batch 6 h"
    assert sketch.shape(sketch.add("ReduceMean", x, keepdims=0)) == ""
    assert sketch.shape(sketch.add("ArgMax", x, axis=1)) == "batch 1 h w"
    assert sketch.shape(sketch.add("Pad", x, sketch.constant([0, 0, 1, 0, 0, 0, 2, -1]))) == "batch 6 h+3 w-1"
    assert sketch.shape(sketch.add("Tile", x, sketch.constant([1, 2, 1, 3]))) == "batch 12 h 3*w"
    assert sketch.shape(sketch.add("DepthToSpace", sketch.input("d", "batch 8 h w"), blocksize=2)) == "batch 2 2*h 2*w"
    assert (
        sketch.shape(sketch.add("Resize", x, "", sketch.constant(np.array([1, 1, 2, 0.5], np.float32))))
        == "batch 6 2*h w//2"
    )
    assert (
        sketch.shape(sketch.add("ConvTranspose", x, sketch.input("k", "6 4 2 2"), strides=(2, 2))) == "batch 4 2*h 2*w"
    )
    assert sketch.shape(sketch.add("TopK", x, sketch.constant([3]), axis=1, outputs=2).split()[1]) == "batch 3 h w"
    assert sketch.shape(sketch.add("Einsum", x, "x", equation="bchw,bdhw->bcd")) == "batch 6 6"
    assert sketch.shape(sketch.add("GatherND", x, sketch.input("i", "n 2", DType.INT64))) == "n h w"
    assert sketch.shape(sketch.add("OneHot", sketch.input("j", "n", DType.INT64), sketch.constant(5), "x")) == "n 5"
    halves = sketch.add("Split", x, axis=1, num_outputs=2, outputs=2).split()
    assert [sketch.shape(half) for half in halves] == ["batch 3 h w", "batch 3 h w"]
    assert sketch.shape(sketch.add("NonZero", x)) == "?"
    assert sketch.shape(sketch.add("Squeeze", x)) == "?"


def test_an_unknown_rank_stays_unknown():
    sketch = Sketch(x="2 3")
    unknown = sketch.input("unknown", None)
    assert sketch.shape(sketch.add("Add", "x", unknown)) == "?"
    assert sketch.shape(sketch.add("MatMul", "x", unknown)) == "?"
    assert sketch.shape(sketch.add("Concat", "x", unknown, axis=0)) == "?"
    assert sketch.scope.value(sketch.add("Add", "x", unknown)).dtype is DType.FLOAT


REFUSED = [
    ("Conv", ["1 2 3 3", "3 4 1 1"], {}, "AF153", "'a' float [1, 2, 3, 3] has not the channels of weight 'b'"),
    ("Conv", ["1 4 3 3", "3 2 1 1"], {"group": 2}, "AF153", "group 2 does not divide the filters of weight 'b'"),
    ("Conv", ["1 2 3 3", "3 2 1 1 1"], {}, "AF155", "differ in rank"),
    ("Conv", ["1 2 3 3", "3 2 1 1", "4"], {}, "AF153", "bias 'c' float [4] must have shape [3]"),
    ("Conv", ["1 2 3 3", "3 2 5 5"], {}, "AF153", "a window of 5 cells does not fit into 3 cells padded by 0 and 0"),
    ("ConvTranspose", ["1 2 3 3", "3 2 1 1"], {}, "AF153", "has not the channels of weight 'b'"),
    ("MaxPool", ["1 2 3"], {"kernel_shape": (2, 2)}, "AF155", "kernel_shape [2, 2] does not fit the rank"),
    ("MaxPool", ["1 2 3"], {"kernel_shape": (2,), "pads": (2, 0)}, "AF152", "must be smaller than the window"),
    ("MatMul", ["2 3", "5 4"], {}, "AF153", "'a' float [2, 3] times 'b' float [5, 4] is no product"),
    ("MatMul", ["2 3 4", "5 4 2"], {}, "AF153", "2 against 5"),
    ("MatMul", ["", "5 4"], {}, "AF155", "has rank 0, expected at least 1"),
    ("Gemm", ["2 3", "3 4"], {"transB": 1}, "AF153", "the inner extents are 3 and 4"),
    ("Gemm", ["2 3", "3 4", "5"], {}, "AF153", "input 'c' float [5] cannot be broadcast to [2, 4]"),
    ("Gemm", ["1 2 3", "3 4"], {}, "AF155", "has rank 3, expected 2"),
    (
        "Add",
        ["2 3", "2 4"],
        {},
        "AF153",
        "input 'b' float [2, 4] cannot be broadcast with 'a' float [2, 3]: 3 against 4",
    ),
    ("Concat", ["2 3", "2 4"], {"axis": 0}, "AF153", "differ along axis 1"),
    ("Concat", ["2 3", "2"], {"axis": 0}, "AF155", "differ in rank"),
    ("Transpose", ["2 3"], {"perm": (0, 0)}, "AF152", "perm [0, 0] is no permutation"),
    ("Transpose", ["2 3"], {"perm": (0, 2, 1)}, "AF155", "does not fit the rank"),
    (
        "BatchNormalization",
        ["2 3 4", "3", "3", "3", "4"],
        {},
        "AF153",
        "one element per channel of 'a' float [2, 3, 4]",
    ),
    ("LayerNormalization", ["2 3", "4"], {}, "AF153", "input 'b' float [4] cannot be broadcast to 'a'"),
    ("Einsum", ["2 3", "4 5"], {"equation": "ij,jk->ik"}, "AF153", "does not fit term 'jk': 3 against 4"),
    ("Einsum", ["2 3"], {"equation": "ij->ik"}, "AF152", "asks for ['k']"),
    ("PRelu", ["2 3", "4 2 3"], {}, "AF155", "has more axes than"),
    ("Softmax", ["2 3"], {"axis": 2}, "AF152", "axis 2 is out of range for rank 2"),
]


@pytest.mark.parametrize(("op", "shapes", "attributes", "code", "message"), REFUSED)
def test_contradictions_name_node_and_value(
    op: str, shapes: list[str], attributes: dict[str, object], code: str, message: str
):
    sketch = Sketch(**dict(zip("abcde", shapes, strict=False)))
    with pytest.raises(ModelError) as caught:
        sketch.add(op, *"abcde"[: len(shapes)], **attributes)
    assert caught.value.diagnostic.code == code
    assert caught.value.diagnostic.message.startswith(f"{op} node '{op}': ")
    assert message in caught.value.diagnostic.message


@pytest.mark.parametrize(
    ("op", "target", "message"),
    [
        ("Reshape", [4, 2], "input 'x' float [2, 3] cannot take shape [4, 2]"),
        ("Reshape", [4, -1], "nothing fits the open extent"),
        ("Reshape", [-1, -1], "leaves more than one extent open"),
        ("Reshape", [2, 3, 0], "shape copies axis 2, which input 'x' float [2, 3] has not"),
        ("Expand", [4, 3], "input 'x' float [2, 3] cannot be expanded to [4, 3]"),
        ("Squeeze", [0], "axis 0 of input 'x' float [2, 3] is not 1"),
        ("Pad", [1, 1], "2 pads do not fit 2 axes"),
        ("Pad", [-3, 0, 0, 0], "negative pads take more from 'x'"),
        ("Gather", [2], "index 2 is out of range for axis 0 of 'x' float [2, 3]"),
        ("Tile", [2], "1 repeats do not fit the rank of 'x'"),
        ("Split", [1, 2], "sizes ['1', '2'] do not add up to axis 0"),
    ],
)
def test_impossible_shape_operands(op: str, target: list[int], message: str):
    sketch = Sketch(x="2 3")
    with pytest.raises(ModelError) as caught:
        sketch.add(op, "x", sketch.constant(target), outputs=2 if op == "Split" else 1)
    assert caught.value.diagnostic.code == "AF153"
    assert message in caught.value.diagnostic.message


def test_extents_past_all_reason_are_not_followed():
    sketch = Sketch(x="n 4", y="a b c")
    grown = squared = "x"
    shape = sketch.add("Shape", "y")
    for _ in range(1200):
        grown = sketch.add("Concat", grown, grown, axis=0)
        shape = sketch.add("Mul", shape, shape)
    assert sketch.shape(grown) == "?"
    assert sketch.scope.value(shape).content is None
    for _ in range(8):
        squared = sketch.add("Concat", squared, squared, axis=0)
    assert sketch.shape(squared) == "256*n 4"


def test_element_types_must_agree():
    sketch = Sketch(x="2 3")
    sketch.input("n", "2 3", DType.INT64)
    sketch.input("t", "2 3", DType.STRING)
    with pytest.raises(
        ModelError, match="inputs 'x' float \\[2, 3\\] and 'n' int64 \\[2, 3\\] must have one element type"
    ):
        sketch.add("Add", "x", "n")
    with pytest.raises(ModelError, match="input 't' string \\[2, 3\\] has a type that 'X' does not take") as caught:
        sketch.add("Relu", "t")
    assert "float16" in caught.value.diagnostic.help
    assert sketch.scope.value(sketch.add("Less", "n", "n")).dtype is DType.BOOL
    assert sketch.scope.value(sketch.add("Shape", "t")).dtype is DType.INT64


@given(
    extent=st.integers(1, 12),
    kernel=st.integers(1, 4),
    stride=st.integers(1, 4),
    dilation=st.integers(1, 3),
    pads=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    ceil_mode=st.integers(0, 1),
)
def test_symbolic_windows_agree_with_what_is_computed(
    extent: int, kernel: int, stride: int, dilation: int, pads: tuple[int, int], ceil_mode: int
):
    span = (kernel - 1) * dilation + 1
    if max(pads) >= span or extent + sum(pads) < span:
        return
    attributes = {
        "kernel_shape": (kernel,),
        "strides": (stride,),
        "dilations": (dilation,),
        "pads": pads,
        "ceil_mode": ceil_mode,
    }
    sketch = Sketch(x="1 2 n")
    symbolic = sketch.scope.value(sketch.add("MaxPool", "x", **attributes)).shape
    computed = run(Case("MaxPool", 12, [floats(1, 2, extent)], attributes)).results[0]
    assert tuple(substitute(dim, {"n": extent}) for dim in symbolic) == computed.shape
