"""Conversion to canonical form: every old spelling against somebody else's run of that spelling."""

from __future__ import annotations

import numpy as np
import onnx.helper as oh
import pytest

from autofusion.errors import ModelError
from autofusion.ir import DType, Graph, Node, Value, symbol
from autofusion.ir.scope import GraphScope
from autofusion.ops import canonicalize, find_operator, operators, refine, schema_of
from ops.cases import Case, check, convert, floats, ints, scope_of

X = floats(2, 3, 5, 4)
IMAGE = floats(2, 4, 9, 7)
WEIGHT = floats(6, 4, 3, 2, seed=1)
STATISTICS = [floats(4, seed=2), floats(4, seed=3), floats(4, seed=4), np.abs(floats(4, seed=5)) + 0.5]
HALF = np.array(0.5, np.float32)

CASES = [
    *(Case("Clip", opset, [X], {"min": -0.5, "max": 0.25}) for opset in (7, 10)),
    Case("Clip", 7, [X], {"max": 0.25}),
    *(Case("Clip", opset, [X, -HALF, HALF], {}, [1, 2]) for opset in (11, 12, 13)),
    Case("Clip", 13, [X, None, HALF], {}, [2]),
    Case("Clip", 13, [X, -HALF.reshape(1), HALF.reshape(1)], {}, [1, 2]),
    *(
        Case(op, opset, [X], {"axes": [0, -2], "keepdims": 0})
        for op in ("ReduceMean", "ReduceMax")
        for opset in (11, 13)
    ),
    *(Case("ReduceSum", opset, [X], {"axes": [1], "keepdims": 1}) for opset in (7, 11, 12)),
    Case("ReduceSum", 13, [X, ints(1, -1)], {"keepdims": 0}, [1]),
    Case("ReduceSum", 13, [X], {"noop_with_empty_axes": 1}),
    *(Case("ReduceMean", opset, [X]) for opset in (7, 13, 18)),
    Case("ReduceL2", 18, [X, ints(-1)], {}, [1]),
    *(Case("Squeeze", opset, [floats(1, 3, 1)], {"axes": [0]}) for opset in (7, 11, 12)),
    Case("Squeeze", 11, [floats(1, 3, 1)], {"axes": [-1]}),
    Case("Squeeze", 13, [floats(1, 3, 1), ints(-1)], {}, [1]),
    Case("Squeeze", 13, [floats(1, 3, 1)]),
    *(Case("Unsqueeze", opset, [floats(3, 2)], {"axes": [0, 3]}) for opset in (7, 11, 12)),
    Case("Unsqueeze", 11, [floats(3, 2)], {"axes": [-1, 1]}),
    Case("Unsqueeze", 13, [floats(3, 2), ints(-1, 1)], {}, [1]),
    *(Case("Pad", opset, [floats(2, 3)], {"pads": [0, 1, 2, 0], "value": 1.5}) for opset in (7, 10)),
    Case("Pad", 7, [floats(3, 4)], {"pads": [1, 1, 2, 0], "mode": "reflect"}),
    Case("Pad", 11, [floats(3, 4), ints(1, 1, 2, 0)], {"mode": "edge"}, [1]),
    Case("Pad", 13, [floats(3, 4), ints(-1, 1, 2, -2), HALF], {}, [1, 2]),
    Case("Pad", 18, [floats(3, 4, 2), ints(1, 2), HALF, ints(-2)], {}, [1, 2, 3]),
    Case("Slice", 7, [X], {"starts": [1, -3], "ends": [3, 2**31 - 1], "axes": [1, 2]}),
    Case("Slice", 9, [X], {"starts": [0, 1], "ends": [1, 2]}),
    Case("Slice", 10, [X, ints(0, -1), ints(2, -5), ints(1, 3), ints(1, -1)], {}, [1, 2, 3, 4]),
    Case("Slice", 13, [X, ints(1), ints(2**63 - 1), ints(-1)], {}, [1, 2, 3]),
    Case("Slice", 13, [X, ints(4), ints(-(2**63)), ints(2), ints(-2)], {}, [1, 2, 3, 4]),
    *(Case("Split", opset, [X], {"axis": 2, "split": [2, 3]}, outputs=2) for opset in (7, 11)),
    *(Case("Split", opset, [X], {"axis": -1}, outputs=2) for opset in (11, 13)),
    Case("Split", 13, [X, ints(1, 2)], {"axis": 1}, [1], outputs=2),
    Case("Split", 18, [X], {"axis": 2, "num_outputs": 2}, outputs=2),
    *(Case("Dropout", opset, [X], {"ratio": 0.3}) for opset in (7, 10)),
    Case("Dropout", 12, [X, HALF], {}, [1]),
    Case("Dropout", 13, [X, HALF, np.array(False)], {}, [1, 2], outputs=2),
    Case("TopK", 9, [X], {"k": 2, "axis": 2}, outputs=2),
    Case("TopK", 10, [X, ints(2)], {"axis": -2}, [1], outputs=2),
    Case("TopK", 11, [X, ints(2)], {"largest": 0}, [1], outputs=2),
    *(
        Case(op, opset, [X], {} if axis is None else {"axis": axis})
        for op in ("Softmax", "LogSoftmax", "Hardmax")
        for opset in (7, 11, 13)
        for axis in (None, 0, 2, 3)
    ),
    Case("Softmax", 11, [X], {"axis": -2}),
    *(Case("BatchNormalization", opset, [IMAGE, *STATISTICS], {"epsilon": 1e-3}) for opset in (7, 9, 14, 15)),
    Case("BatchNormalization", 15, [IMAGE, *STATISTICS], {"training_mode": 1}, outputs=3),
    *(Case("Gemm", opset, [floats(3, 4), floats(4, 5), floats(5)], {"alpha": 0.5}) for opset in (7, 9, 11, 13)),
    Case("Gemm", 11, [floats(4, 3), floats(5, 4)], {"transA": 1, "transB": 1}),
    *(Case(op, opset, [X, X + 1, X * 2]) for op in ("Sum", "Max", "Min", "Mean") for opset in (7, 8, 13)),
    *(Case(op, 8, [X]) for op in ("Sum", "Max", "Min", "Mean")),
    Case("Sum", 8, [X, X]),
    *(
        Case("Conv", 11, [IMAGE, WEIGHT], {"auto_pad": mode, "strides": [2, 3]})
        for mode in ("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET")
    ),
    Case("Conv", 11, [IMAGE, WEIGHT], {"auto_pad": "VALID", "strides": [2, 3], "dilations": [2, 1]}),
    *(
        Case("MaxPool", 12, [IMAGE], {"auto_pad": mode, "kernel_shape": [3, 2], "strides": [2, 3]})
        for mode in ("SAME_UPPER", "SAME_LOWER", "VALID")
    ),
    *(
        Case("MaxPool", 12, [IMAGE], {"auto_pad": mode, "kernel_shape": [2, 2], "strides": [2, 3], "ceil_mode": 1})
        for mode in ("SAME_UPPER", "SAME_LOWER", "VALID")
    ),
    *(
        Case("ConvTranspose", 7, [IMAGE, WEIGHT.transpose(1, 0, 2, 3).copy()], {"auto_pad": mode, "strides": [2, 1]})
        for mode in ("SAME_UPPER", "SAME_LOWER")
    ),
    *(
        Case("ConvTranspose", 11, [IMAGE, WEIGHT.transpose(1, 0, 2, 3).copy()], {"auto_pad": mode, "strides": [2, 1]})
        for mode in ("SAME_UPPER", "SAME_LOWER", "VALID")
    ),
    Case("ConvTranspose", 11, [IMAGE, WEIGHT.transpose(1, 0, 2, 3).copy()], {"output_shape": [10, 8]}),
    *(
        Case("ConvTranspose", 11, [IMAGE, floats(4, 6, *kernel)], {"strides": [2, 2], "output_shape": extents})
        for kernel, extents in (((3, 1), [18, 14]), ((1, 3), [18, 14]), ((1, 1), [18, 14]))
    ),
    Case("Upsample", 7, [IMAGE], {"scales": [1.0, 1.0, 2.0, 3.0]}),
    Case("Upsample", 9, [IMAGE, np.array([1, 1, 2, 1.5], np.float32)], {}, [1]),
    Case("Upsample", 9, [IMAGE, np.array([1, 1, 2, 2], np.float32)], {"mode": "linear"}, [1]),
    Case("Resize", 10, [IMAGE, np.array([1, 1, 2, 0.5], np.float32)], {}, [1]),
    Case("Resize", 11, [IMAGE, floats(0), np.array([1, 1, 2, 1.5], np.float32)], {}, [1, 2]),
    Case("Resize", 11, [IMAGE, floats(0), floats(0), ints(2, 4, 5, 21)], {"mode": "linear"}, [1, 2, 3]),
    Case("Resize", 13, [IMAGE, None, None, ints(2, 4, 5, 21)], {"mode": "cubic"}, [3]),
    Case("Transpose", 7, [X]),
    *(Case("Flatten", opset, [X], {"axis": 4}) for opset in (9, 13)),
    Case("Flatten", 11, [X], {"axis": -1}),
    *(Case("Concat", opset, [X, X], {"axis": axis}) for opset, axis in ((7, 1), (11, -1), (13, 0))),
    *(Case("Shape", 15, [X], {"start": start, "end": end}) for start, end in ((1, 3), (-3, -1), (-9, 9), (3, 1))),
    Case("Shape", 9, [X]),
    *(Case("Cast", opset, [X * 3], {"to": 7}) for opset in (7, 9, 13, 19)),
    Case("ConstantOfShape", 9, [ints(2, 3)], {}, [0]),
    Case("ConstantOfShape", 9, [ints(2, 3)], {"value": oh.make_tensor("value", 7, [1], [4])}),
    *(Case("Gather", opset, [X, ints(1, 0)], {"axis": 1}, [1]) for opset in (7, 11)),
    Case("Gather", 13, [X, ints(-1)], {"axis": -2}, [1]),
    Case("Scatter", 9, [floats(3, 3), ints(1, 0).reshape(1, 2), floats(1, 2)], {"axis": 1}),
    Case("GatherND", 11, [X, ints(1, 0).reshape(1, 2)]),
    Case("AveragePool", 7, [IMAGE], {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "count_include_pad": 1}),
    Case("AveragePool", 10, [IMAGE], {"kernel_shape": [2, 2], "ceil_mode": 1, "strides": [3, 2]}),
    Case("PRelu", 7, [X, np.array([[[0.1]], [[0.2]], [[0.3]]], np.float32)]),
    Case("Identity", 7, [X]),
    Case("LSTM", 7, [floats(3, 2, 4), floats(1, 20, 4), floats(1, 20, 5)], {"hidden_size": 5}, outputs=3),
    Case("QuantizeLinear", 10, [X, HALF, np.array(3, np.uint8)]),
    Case("QuantizeLinear", 13, [X, np.array([0.5, 0.2, 0.1], np.float32), np.array([1, -1, 0], np.int8)], {"axis": -3}),
    Case("DequantizeLinear", 10, [np.array([[1, 200]], np.uint8), HALF]),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_canonical_nodes_mean_the_same(case: Case):
    outcome = check(case)
    for part in outcome.nodes:
        row = find_operator(part.op)
        assert row is not None
        assert not part.opaque
        assert part.opset == row.version
        assert part.origin == ("node",)
        schema = schema_of(part.op, "", row.version)
        assert schema is not None
        assert set(part.attributes) <= set(schema.attributes)
        assert {rule.name for rule in schema.attributes.values() if rule.default is not None} <= set(part.attributes)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_canonical_form_is_a_fixed_point(case: Case):
    scope = scope_of(case)
    for part in convert(case, scope):
        (again,) = canonicalize(part, part.opset, scope)
        assert not again.opaque
        assert (again.op, again.inputs, again.outputs, again.opset) == (part.op, part.inputs, part.outputs, part.opset)
        assert str(again.attributes) == str(part.attributes)
        assert refine(part, scope) is part


def node(op: str, inputs: str, outputs: str = "y", **attributes: object) -> Node:
    return Node("node", op, tuple(inputs.split()), tuple(outputs.split()), attributes, origin=("node",))


def scope_with(**shapes: tuple[object, ...] | None) -> GraphScope:
    scope = GraphScope(Graph("graph"))
    for name, shape in shapes.items():
        scope.graph.set_value(Value(name, DType.FLOAT, shape))
    return scope


OPAQUE = [
    (node("Add", "x x", broadcast=1, axis=0), 6),
    (node("Gemm", "x x x", broadcast=1), 6),
    (node("BatchNormalization", "x s s s s", spatial=0), 7),
    (node("BatchNormalization", "x s s s s", "y a b c d"), 9),
    (node("Dropout", "x", "y mask"), 7),
    (node("Softmax", "unknown", axis=1), 11),
    (node("Clip", "untyped", min=0.0), 6),
    (node("Cast", "x", to=17, saturate=0), 19),
    (node("GridSample", "x x", mode="bilinear"), 16),
    (node("Swiglu", "x"), 20),
    (node("Relu", "x"), 6),
    (Node("node", "Scan", ("", "s", "x"), ("a", "b"), {"body": Graph("body"), "num_scan_inputs": 1}), 8),
]


@pytest.mark.parametrize(("given", "version"), OPAQUE, ids=lambda value: getattr(value, "op", value))
def test_what_cannot_be_converted_stays_as_it_was_written(given: Node, version: int):
    scope = scope_with(x=(2, 3), s=(3,), unknown=None)
    (kept,) = canonicalize(given, version, scope)
    assert kept.opaque
    assert kept.opset == version
    assert (kept.op, kept.inputs, kept.outputs) == (given.op, given.inputs, given.outputs)
    assert given.attributes.items() <= kept.attributes.items()


def test_old_training_form_of_batch_normalization():
    (kept,) = canonicalize(node("BatchNormalization", "x s s s s", "y mean var"), 9, scope_with(x=(2, 3, 4)))
    assert not kept.opaque
    assert kept.attributes["training_mode"] == 1
    assert kept.outputs == ("y", "mean", "var")


def test_a_newer_attribute_at_its_default_is_dropped():
    (cast,) = canonicalize(node("Cast", "x", to=1), 25, scope_with(x=(2,)))
    assert cast.attributes == {"to": 1}
    assert cast.opset == 13


def test_symbolic_extents_keep_the_softmax_of_old_opsets_exact():
    batch = symbol("batch")
    nodes = canonicalize(node("Softmax", "x", axis=1), 11, scope_with(x=(batch, 3, 4)))
    assert [part.op for part in nodes] == ["Flatten", "Softmax", "Shape", "Reshape"]
    assert nodes[0].inputs == ("x",)
    assert nodes[-1].outputs == ("y",)
    (plain,) = canonicalize(node("Softmax", "x", axis=2), 11, scope_with(x=(batch, 3, 4)))
    assert plain.attributes["axis"] == 2


def test_same_padding_is_explicit_where_it_does_not_depend_on_a_symbol():
    height = symbol("height")
    scope = scope_with(x=(1, 2, height, 8), w=(4, 2, 3, 3))
    (dense,) = canonicalize(node("Conv", "x w", auto_pad="SAME_LOWER"), 11, scope)
    assert (dense.attributes["auto_pad"], dense.attributes["pads"]) == ("NOTSET", (1, 1, 1, 1))
    (strided,) = canonicalize(node("Conv", "x w", auto_pad="SAME_LOWER", strides=(2, 2)), 11, scope)
    assert strided.attributes["auto_pad"] == "SAME_LOWER"


def test_negative_axes_stay_where_the_rank_is_unknown():
    scope = scope_with(unknown=None, x=(2, 3, 4))
    assert canonicalize(node("Gather", "unknown i", axis=-1), 13, scope)[0].attributes["axis"] == -1
    assert canonicalize(node("Gather", "x i", axis=-1), 13, scope)[0].attributes["axis"] == 2


def test_a_node_is_refined_by_what_became_known_later():
    scope = scope_with(x=None)
    (early,) = canonicalize(node("Softmax", "x", axis=-1), 13, scope)
    assert refine(early, scope) is early
    scope.graph.set_value(Value("x", DType.FLOAT, (2, symbol("n"), 4)))
    later = refine(early, scope)
    assert later.attributes["axis"] == 2
    assert (later.name, later.inputs, later.outputs, later.origin) == ("node", ("x",), ("y",), ("node",))
    assert refine(later, scope) is later


def test_absent_reduction_axes_are_written_out():
    scope = scope_with(x=(2, 3, 4), unknown=None)
    (mean,) = canonicalize(node("ReduceMean", "x"), 13, scope)
    assert scope.constant(mean.inputs[1]).tolist() == [0, 1, 2]
    assert canonicalize(node("ReduceMean", "unknown"), 13, scope)[0].inputs == ("unknown",)
    assert canonicalize(node("ReduceMean", "x", noop_with_empty_axes=1), 18, scope)[0].inputs == ("x",)


def test_pads_of_some_axes_are_written_out_for_all():
    scope = scope_with(x=(2, 3, 4))
    scope.graph.add_constant("p", ints(1, 2))
    scope.graph.add_constant("a", ints(-1))
    padded = Node("node", "Pad", ("x", "p", "", "a"), ("y",), {})
    (full,) = canonicalize(padded, 18, scope)
    assert len(full.inputs) == 2
    assert scope.constant(full.inputs[1]).tolist() == [0, 0, 1, 0, 0, 2]


def test_group_normalization_of_opset_18_gets_one_scale_per_channel():
    scope = scope_with(x=(2, 6, 5))
    scope.graph.add_constant("s", np.array([1, 2], np.float32))
    (wide,) = canonicalize(node("GroupNormalization", "x s s", num_groups=2), 18, scope)
    assert scope.constant(wide.inputs[1]).tolist() == [1, 1, 1, 2, 2, 2]
    assert canonicalize(node("GroupNormalization", "x s s", num_groups=2), 21, scope)[0].inputs == ("x", "s", "s")
    scope.graph.set_value(Value("free", DType.FLOAT, (2,)))
    assert canonicalize(node("GroupNormalization", "x free s", num_groups=2), 18, scope)[0].opaque


REFUSED = [
    (node("Relu", "x x"), 13, "AF150", "has 2 inputs, expected 1"),
    (node("MatMul", "x"), 13, "AF150", "has 1 inputs, expected 2"),
    (node("Relu", "x", "y z"), 13, "AF150", "has 2 outputs, expected 1"),
    (Node("node", "MatMul", ("x", ""), ("y",)), 13, "AF150", "input 'B' is empty but must be given"),
    (node("Cast", "x"), 13, "AF151", "required attribute 'to' is missing"),
    (node("Relu", "x", slope=1.0), 13, "AF152", "attribute 'slope' is unknown in opset 13"),
    (node("Softmax", "x", axis=5), 13, "AF152", "axis 5 is out of range for rank 2"),
    (node("Unsqueeze", "x", axes=(0, 0)), 11, "AF152", "axes [0, 0] name one axis twice"),
    (node("Conv", "image w", kernel_shape=(2, 3)), 11, "AF153", "kernel_shape [2, 3] differs from weight"),
    (node("Conv", "image w", pads=(1, 1)), 11, "AF152", "pads [1, 1] must have 4 elements"),
    (node("Conv", "image w", auto_pad="SAME"), 11, "AF152", "auto_pad 'SAME' is unknown"),
    (node("Split", "x", "a b c", axis=0), 13, "AF153", "axis 0 of 2 cannot be cut into 3"),
]


@pytest.mark.parametrize(
    ("given", "version", "code", "message"), REFUSED, ids=lambda value: getattr(value, "op", value)
)
def test_impossible_nodes_are_refused(given: Node, version: int, code: str, message: str):
    scope = scope_with(x=(2, 3), image=(1, 2, 8, 8), w=(4, 2, 3, 3))
    with pytest.raises(ModelError) as caught:
        canonicalize(given, version, scope)
    assert caught.value.diagnostic.code == code
    assert caught.value.diagnostic.message.startswith(f"{given.op} node 'node': ")
    assert message in caught.value.diagnostic.message


def test_every_row_follows_a_form_that_onnx_has():
    for (domain, name), row in operators().items():
        schema = schema_of(name, domain, row.version)
        assert schema is not None, name
