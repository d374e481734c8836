"""Mutations of what a model declares: inputs, outputs, inner values, versions."""

from __future__ import annotations

import random

from onnx import ModelProto, ValueInfoProto

from hostile.choices import INTEGERS, SMALL, TEXTS, any_graph, any_name


def change_value(value: ValueInfoProto, model: ModelProto, rng: random.Random) -> None:
    tensor = value.type.tensor_type
    match rng.randrange(10):
        case 0:
            tensor.elem_type = rng.randrange(-1, 28)
        case 1:
            tensor.ClearField("shape")
        case 2:
            value.ClearField("type")
        case 3:
            value.name = any_name(model, rng)
        case 4:
            tensor.shape.dim.add(dim_value=rng.choice(INTEGERS))
        case 5 if tensor.shape.dim:
            del tensor.shape.dim[rng.randrange(len(tensor.shape.dim))]
        case 6:
            value.type.sequence_type.elem_type.tensor_type.elem_type = 1
        case 7 if tensor.shape.dim:
            rng.choice(tensor.shape.dim).dim_param = rng.choice(("n", "N+1", "2*n", *TEXTS))
        case _ if tensor.shape.dim:
            extent = rng.choice(tensor.shape.dim)
            extent.dim_value = rng.choice(SMALL if rng.random() < 0.7 else INTEGERS)
        case _:
            pass


def change_graph_input(model: ModelProto, rng: random.Random) -> None:
    graph = any_graph(model, rng)
    if graph.input:
        change_value(rng.choice(graph.input), model, rng)


def change_graph_output(model: ModelProto, rng: random.Random) -> None:
    graph = any_graph(model, rng)
    if graph.output:
        change_value(rng.choice(graph.output), model, rng)


def add_graph_output(model: ModelProto, rng: random.Random) -> None:
    any_graph(model, rng).output.add(name=any_name(model, rng))


def change_value_info(model: ModelProto, rng: random.Random) -> None:
    graph = any_graph(model, rng)
    value = graph.value_info.add(name=any_name(model, rng))
    value.type.tensor_type.elem_type = rng.choice((1, 7, 9, 10))
    for _ in range(rng.randrange(4)):
        value.type.tensor_type.shape.dim.add(dim_value=rng.choice(SMALL))


def drop_declaration(model: ModelProto, rng: random.Random) -> None:
    graph = any_graph(model, rng)
    values = rng.choice((graph.input, graph.output))
    if values:
        place = rng.randrange(len(values))
        if rng.random() < 0.5:
            del values[place]
        else:
            values.append(values[place])


def change_versions(model: ModelProto, rng: random.Random) -> None:
    match rng.randrange(4):
        case 0:
            model.ir_version = rng.choice((*INTEGERS[:-1], 2**62))
        case 1 if model.opset_import:
            model.opset_import[0].version = rng.choice(INTEGERS)
        case 2:
            model.opset_import.add(domain=rng.choice(("", "x.y", "ai.onnx")), version=rng.choice(INTEGERS))
        case _ if model.opset_import:
            model.opset_import[0].version = rng.randrange(6, 27)
        case _:
            pass
