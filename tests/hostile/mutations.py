"""Ways to break a model: cut bytes off, or change fields of its protobuf."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from onnx import ModelProto

from hostile import declarations, nodes, tensors
from hostile.choices import FLOATS, INTEGERS, TEXTS

Mutation = Callable[[ModelProto, random.Random], None]


def cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def mutate(model: ModelProto, rng: random.Random) -> ModelProto:
    """A copy of `model` with one to three fields changed."""
    changed = ModelProto()
    changed.CopyFrom(model)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        rng.choice(MUTATIONS)(changed, rng)
    return changed


def change_any_field(model: ModelProto, rng: random.Random) -> None:
    """One field of one message, whatever it means."""
    message = rng.choice(list(walk(model)))
    field = rng.choice(message.DESCRIPTOR.fields)
    if rng.random() < 0.25:
        message.ClearField(field.name)
        return
    current = getattr(message, field.name)
    if field.is_repeated:
        if len(current) and rng.random() < 0.5:
            place = rng.randrange(len(current))
            if rng.random() < 0.5 or field.message_type:
                del current[place]
            else:
                current[place] = draw(field, rng)
        elif field.message_type:
            if len(current):
                current.append(rng.choice(list(current)))
            else:
                current.add()
        else:
            current.append(draw(field, rng))
    elif field.message_type:
        current.SetInParent()
    else:
        setattr(message, field.name, draw(field, rng))


def draw(field: FieldDescriptor, rng: random.Random) -> Any:
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_INT64:
            return rng.choice(INTEGERS)
        case FieldDescriptor.CPPTYPE_UINT64:
            return abs(rng.choice(INTEGERS))
        case FieldDescriptor.CPPTYPE_INT32:
            return rng.choice(INTEGERS[1:14])
        case FieldDescriptor.CPPTYPE_ENUM:
            return rng.choice(field.enum_type.values).number
        case FieldDescriptor.CPPTYPE_FLOAT | FieldDescriptor.CPPTYPE_DOUBLE:
            return rng.choice(FLOATS)
        case _ if field.type == FieldDescriptor.TYPE_BYTES:
            return rng.choice((b"", b"\0", b"\xff" * 7, b"abc"))
        case _:
            return rng.choice(TEXTS)


def walk(message: Message) -> Iterator[Message]:
    yield message
    for field, value in message.ListFields():
        if field.message_type:
            for inner in value if field.is_repeated else (value,):
                yield from walk(inner)


MUTATIONS: tuple[Mutation, ...] = (
    nodes.change_operator,
    *[nodes.change_to_plain] * 2,
    nodes.rename_operator,
    nodes.change_domain,
    nodes.drop_node,
    nodes.bypass_node,
    nodes.duplicate_node,
    *[nodes.insert_node] * 2,
    nodes.shuffle_nodes,
    nodes.swap_inputs,
    nodes.change_input,
    nodes.drop_input,
    nodes.add_input,
    nodes.change_output,
    nodes.change_output_count,
    nodes.change_function,
    *[tensors.change_attribute] * 3,
    *[tensors.drop_attribute] * 2,
    *[tensors.add_attribute] * 2,
    tensors.retype_attribute,
    *[tensors.change_initializer] * 3,
    *[declarations.change_graph_input] * 2,
    declarations.change_graph_output,
    declarations.add_graph_output,
    declarations.change_value_info,
    declarations.drop_declaration,
    declarations.change_versions,
    *[change_any_field] * 3,
)
