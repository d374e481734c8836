from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from autofusion.frontend.wire import BULK_BYTES, EMBEDDED_KEY, WireError, lift_weights, read_embedded
from frontend.models import FLOAT, model, node, random, tensor

SIDE = 20


def bulky(name: str, seed: int = 0) -> onnx.TensorProto:
    return numpy_helper.from_array(random(seed, SIDE, SIDE), name)


def lift(proto: onnx.ModelProto) -> tuple[bytes, onnx.ModelProto]:
    data = proto.SerializeToString()
    return data, onnx.ModelProto.FromString(lift_weights(memoryview(data)))


def read_back(data: bytes, lifted: onnx.TensorProto) -> np.ndarray:
    (entry,) = lifted.external_data
    assert entry.key == EMBEDDED_KEY
    offset, length = read_embedded(entry.value)
    return np.frombuffer(data[offset : offset + length], np.float32).reshape(lifted.dims)


def test_small_tensors_stay() -> None:
    proto = model([node("Relu", "x", "y")], [tensor("x", [2])], [tensor("y", [2])], {"w": random(0, 3)})
    assert proto == lift(proto)[1]


def test_bulky_initializers_leave_their_place_behind() -> None:
    weights = {name: random(seed, SIDE, SIDE) for seed, name in enumerate("abc")}
    proto = model([node("Relu", "x", "y")], [tensor("x", [2])], [tensor("y", [2])], weights)
    data, lifted = lift(proto)
    assert len(lifted.SerializeToString()) < BULK_BYTES
    for name, found in zip("abc", lifted.graph.initializer, strict=True):
        np.testing.assert_array_equal(weights[name], read_back(data, found))


def test_tensors_are_found_in_nodes_nested_graphs_and_functions() -> None:
    constant = helper.make_node("Constant", [], ["k"], value=bulky("k"))
    branch = helper.make_graph([constant], "branch", [], [tensor("k", [SIDE, SIDE])])
    choice = node("If", "c", "y", then_branch=branch, else_branch=branch)
    function = helper.make_function("local", "F", [], ["k"], [constant], [helper.make_opsetid("", 17)])
    inputs, outputs = [tensor("c", [], onnx.TensorProto.BOOL)], [tensor("y", [SIDE, SIDE])]
    data, lifted = lift(model([choice], inputs, outputs, functions=[function]))
    found = [attribute.g.node[0].attribute[0].t for attribute in lifted.graph.node[0].attribute]
    found.append(lifted.functions[0].node[0].attribute[0].t)
    for item in found:
        np.testing.assert_array_equal(random(0, SIDE, SIDE), read_back(data, item))


def test_typed_fields_stay() -> None:
    proto = model([node("Relu", "x", "y")], [tensor("x", [2])], [tensor("y", [2])])
    proto.graph.initializer.append(helper.make_tensor("w", FLOAT, [1000], [0.5] * 1000))
    assert proto == lift(proto)[1]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"this is text", "no field of a model begins at byte 1"),
        (b"\x3a\x05ab", "field 7 at byte 0 runs past the end of its message"),
        (b"\x08", "a number breaks off at byte 1"),
        (b"\x08" + b"\xff" * 12, "a number breaks off at byte 11"),
        (b"\x3d\x00\x00", "no field of a model begins at byte 1"),
    ],
)
def test_malformed_bytes_are_refused(data: bytes, problem: str) -> None:
    with pytest.raises(WireError, match=problem):
        lift_weights(memoryview(data))


def test_endless_nesting_is_refused() -> None:
    data = b""
    for _ in range(60):
        # A graph in an attribute in a node in a graph.
        for tag in (b"\x32", b"\x2a", b"\x0a"):
            data = (
                tag + varint(len(data) + BULK_BYTES) + data + b"\x12" + varint(BULK_BYTES - 3) + b"n" * (BULK_BYTES - 3)
            )
    data = b"\x3a" + varint(len(data)) + data
    with pytest.raises(WireError, match="nested deeper than 100"):
        lift_weights(memoryview(data))


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


@pytest.mark.parametrize("text", ["", "5", "5:", ":5", "-1:5", "1:2:3", "a:b", "1:" + "9" * 50])
def test_places_are_two_numbers(text: str) -> None:
    with pytest.raises(ValueError):
        read_embedded(text)
