"""Mutations of nodes and of the functions that they call."""

from __future__ import annotations

import random

from onnx import ModelProto

from hostile.choices import ODD, PLAIN, TEXTS, any_graph, any_name, any_node


def change_operator(model: ModelProto, rng: random.Random) -> None:
    node = any_node(model, rng)
    if node is not None:
        node.op_type = rng.choice((*PLAIN, *ODD))


def change_to_plain(model: ModelProto, rng: random.Random) -> None:
    node = any_node(model, rng)
    if node is None:
        return
    node.op_type = rng.choice(PLAIN)
    if rng.random() < 0.6:
        del node.attribute[:]


def rename_operator(model: ModelProto, rng: random.Random) -> None:
    node = any_node(model, rng)
    if node is not None:
        node.op_type = rng.choice((*TEXTS, node.op_type.lower(), node.op_type + "2"))


def change_domain(model: ModelProto, rng: random.Random) -> None:
    node = any_node(model, rng)
    if node is not None:
        node.domain = rng.choice(("ai.onnx", "ai.onnx.ml", "com.microsoft", "x.y", ""))


def drop_node(model: ModelProto, rng: random.Random) -> None:
    graph = any_graph(model, rng)
    if graph.node:
        del graph.node[rng.randrange(len(graph.node))]


def bypass_node(model: ModelProto, rng: random.Random) -> None:
    graph = any_graph(model, rng)
    if not graph.node:
        return
    index = rng.randrange(len(graph.node))
    node = graph.node[index]
    if not node.input or not node.output:
        return
    old, new = node.output[0], node.input[0]
    del graph.node[index]
    for other in graph.node:
        for place, name in enumerate(other.input):
            if name == old:
                other.input[place] = new


def duplicate_node(model: ModelProto, rng: random.Random) -> None:
    graph = any_graph(model, rng)
    if graph.node:
        graph.node.append(rng.choice(graph.node))
        if rng.random() < 0.5:
            for place in range(len(graph.node[-1].output)):
                graph.node[-1].output[place] += "_copy"


def insert_node(model: ModelProto, rng: random.Random) -> None:
    """A new operator on the road of one value."""
    graph = any_graph(model, rng)
    places = [(node, place) for node in graph.node for place in range(len(node.input))]
    if not places:
        return
    node, place = rng.choice(places)
    fresh = f"fresh{rng.randrange(10**6)}"
    op = rng.choice(PLAIN)
    operands = [node.input[place]] + [any_name(model, rng) for _ in range(rng.choice((0, 0, 1, 2)))]
    if op in ("Add", "Mul", "Sub", "Div", "Max", "Min", "Pow", "MatMul"):
        operands = [node.input[place], rng.choice((node.input[place], any_name(model, rng)))]
    graph.node.add(op_type=op, input=operands, output=[fresh])
    node.input[place] = fresh


def shuffle_nodes(model: ModelProto, rng: random.Random) -> None:
    graph = any_graph(model, rng)
    nodes = list(graph.node)
    rng.shuffle(nodes)
    del graph.node[:]
    graph.node.extend(nodes)


def swap_inputs(model: ModelProto, rng: random.Random) -> None:
    node = any_node(model, rng)
    if node is not None and len(node.input) > 1:
        first, second = rng.sample(range(len(node.input)), 2)
        node.input[first], node.input[second] = node.input[second], node.input[first]


def change_input(model: ModelProto, rng: random.Random) -> None:
    node = any_node(model, rng)
    if node is not None and node.input:
        node.input[rng.randrange(len(node.input))] = any_name(model, rng)


def drop_input(model: ModelProto, rng: random.Random) -> None:
    node = any_node(model, rng)
    if node is not None and node.input:
        del node.input[rng.randrange(len(node.input))]


def add_input(model: ModelProto, rng: random.Random) -> None:
    node = any_node(model, rng)
    if node is not None:
        node.input.append(any_name(model, rng))


def change_output(model: ModelProto, rng: random.Random) -> None:
    node = any_node(model, rng)
    if node is not None and node.output:
        node.output[rng.randrange(len(node.output))] = rng.choice((any_name(model, rng), "fresh", ""))


def change_output_count(model: ModelProto, rng: random.Random) -> None:
    node = any_node(model, rng)
    if node is None:
        return
    if node.output and rng.random() < 0.5:
        del node.output[rng.randrange(len(node.output))]
    else:
        node.output.append(rng.choice((f"more{rng.randrange(100)}", "")))


def change_function(model: ModelProto, rng: random.Random) -> None:
    if not model.functions:
        return
    function = rng.choice(model.functions)
    match rng.randrange(6):
        case 0:
            function.name = rng.choice(TEXTS)
        case 1:
            model.functions.remove(function)
        case 2 if function.input:
            del function.input[0]
        case 3:
            function.output.append(rng.choice(("ghost", "", *function.input)))
        case 4:
            function.attribute.append(rng.choice(TEXTS))
        case _:
            if function.node:
                node = rng.choice(function.node)
                node.op_type, node.domain = function.name, function.domain
