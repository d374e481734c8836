"""Mutations of attributes, initialisers and their elements."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from onnx import AttributeProto, ModelProto, TensorProto, defs, numpy_helper

from hostile.choices import FLOATS, INTEGERS, SMALL, TEXTS, any_graph, any_name, any_node


def change_attribute(model: ModelProto, rng: random.Random) -> None:
    node = any_node(model, rng)
    if node is None or not node.attribute:
        return
    attribute = rng.choice(node.attribute)
    small = SMALL if rng.random() < 0.7 else INTEGERS
    match attribute.type:
        case AttributeProto.INT:
            attribute.i = rng.choice(small)
        case AttributeProto.FLOAT:
            attribute.f = rng.choice(FLOATS)
        case AttributeProto.STRING:
            attribute.s = rng.choice((*[text.encode() for text in TEXTS], b"\xff\xfe"))
        case AttributeProto.INTS if attribute.ints:
            choice = rng.randrange(4)
            place = rng.randrange(len(attribute.ints))
            if choice == 0:
                del attribute.ints[place]
            elif choice == 1:
                attribute.ints.append(rng.choice(small))
            else:
                attribute.ints[place] = rng.choice(small)
        case AttributeProto.INTS:
            attribute.ints.append(rng.choice(small))
        case AttributeProto.TENSOR:
            change_tensor(attribute.t, rng)
        case _:
            pass


def drop_attribute(model: ModelProto, rng: random.Random) -> None:
    node = any_node(model, rng)
    if node is not None and node.attribute:
        del node.attribute[rng.randrange(len(node.attribute))]


def add_attribute(model: ModelProto, rng: random.Random) -> None:
    node = any_node(model, rng)
    if node is None:
        return
    if not defs.has(node.op_type) or rng.random() < 0.1:
        node.attribute.add(name=rng.choice(TEXTS), type=AttributeProto.INT, i=1)
        return
    known = list(defs.get_schema(node.op_type).attributes.values())
    if not known:
        return
    schema = rng.choice(known)
    kind = int(schema.type.value)
    attribute = node.attribute.add(name=schema.name, type=kind)
    if kind == AttributeProto.INT:
        attribute.i = rng.choice(SMALL)
    elif kind == AttributeProto.FLOAT:
        attribute.f = rng.choice(FLOATS)
    elif kind == AttributeProto.INTS:
        attribute.ints.extend(rng.choice(SMALL) for _ in range(rng.randrange(5)))
    elif kind == AttributeProto.STRING:
        attribute.s = rng.choice(TEXTS).encode()


def retype_attribute(model: ModelProto, rng: random.Random) -> None:
    node = any_node(model, rng)
    if node is not None and node.attribute:
        attribute = rng.choice(node.attribute)
        attribute.type = rng.randrange(0, 15)
        if rng.random() < 0.3:
            attribute.name = rng.choice(TEXTS)
        if rng.random() < 0.2:
            attribute.ref_attr_name = "x"


def change_tensor(tensor: TensorProto, rng: random.Random) -> None:
    match rng.randrange(9):
        case 0 if tensor.dims:
            tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice(INTEGERS)
        case 1:
            tensor.dims.insert(rng.randrange(len(tensor.dims) + 1), rng.choice((1, 1, 0, 2, -1, 2**40)))
        case 2 if tensor.dims:
            del tensor.dims[rng.randrange(len(tensor.dims))]
        case 3:
            tensor.data_type = rng.randrange(-1, 28)
        case 4:
            tensor.raw_data = tensor.raw_data[: rng.randrange(len(tensor.raw_data) + 1)]
        case 5:
            tensor.data_location = rng.choice((0, 1))
            tensor.external_data.add(key="location", value=rng.choice((*TEXTS, ".", "m.onnx")))
        case 6:
            tensor.float_data.append(1.0)
        case _:
            change_elements(tensor, rng)


def change_elements(tensor: TensorProto, rng: random.Random) -> None:
    """Other numbers in a sound tensor, and sometimes another sound shape."""
    try:
        array = np.array(numpy_helper.to_array(tensor))
    except Exception:  # noqa: BLE001 - a tensor that is broken already stays as it is
        return
    name = tensor.name
    if array.size and array.dtype.kind in "fiu":
        flat = array.reshape(-1)
        values: Any = FLOATS if array.dtype.kind == "f" else SMALL if rng.random() < 0.8 else INTEGERS[2:14]
        if rng.random() < 0.3 and array.dtype.kind == "f":
            flat[:] = rng.choice((0.0, 1.0, -1.0))
        else:
            with np.errstate(all="ignore"):
                flat[rng.randrange(flat.size)] = np.array(rng.choice(values)).astype(array.dtype)
    if rng.random() < 0.25:
        array = array.reshape(rng.choice(((1, *array.shape), (*array.shape, 1), (-1,), array.shape[::-1])))
    if rng.random() < 0.1:
        array = array.astype(rng.choice((np.float16, np.float64, np.float32, np.int64, np.int32, np.bool_)))
    tensor.CopyFrom(numpy_helper.from_array(array, name))


def change_initializer(model: ModelProto, rng: random.Random) -> None:
    graph = any_graph(model, rng)
    if not graph.initializer:
        return
    place = rng.randrange(len(graph.initializer))
    match rng.randrange(8):
        case 0:
            del graph.initializer[place]
        case 1:
            graph.initializer.append(graph.initializer[place])
        case 2:
            graph.initializer[place].name = any_name(model, rng)
        case 3:
            graph.input.add(name=graph.initializer[place].name)
        case 4 | 5:
            change_elements(graph.initializer[place], rng)
        case _:
            change_tensor(graph.initializer[place], rng)
