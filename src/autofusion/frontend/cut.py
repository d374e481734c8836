"""Cutting of a model at chosen values: they become its outputs, and what only the old outputs needed goes."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence

from onnx import GraphProto, NodeProto, ValueInfoProto

from autofusion.diagnostics import Diagnostic
from autofusion.errors import UsageError
from autofusion.frontend.attributes import kind_of
from autofusion.frontend.faults import UNKNOWN_OUTPUT

_SHOWN = 3


def cut_outputs(graph: GraphProto, wanted: Sequence[str]) -> None:
    """Make the values `wanted` the outputs of `graph`, in their order, and take out the nodes that none of them needs.

    A value is named by itself or as `node:index` by the node that computes it.  Inputs and initialisers stay.
    Raises UsageError AF133 for what no node of the graph computes.
    """
    spellings = name_results(graph)
    declared = {value.name: value for value in (*graph.value_info, *graph.output)}
    names = dict.fromkeys(_find_value(text, spellings, graph) for text in wanted)
    outputs = [
        ValueInfoProto.FromString(declared[name].SerializeToString()) if name in declared else None for name in names
    ]
    del graph.output[:]
    graph.output.extend(value or ValueInfoProto(name=name) for name, value in zip(names, outputs, strict=True))
    kept = [node for node, needed in zip(graph.node, _mark_needed(graph.node, names), strict=True) if needed]
    del graph.node[:]
    graph.node.extend(kept)


def name_results(graph: GraphProto) -> dict[str, str]:
    """Every value that a node of `graph` computes or that is an output, by every text that names it.

    `node:index` is no name where several nodes are called so.
    """
    results = [(node.name, place, value) for node in graph.node for place, value in enumerate(node.output) if value]
    placed: dict[str, str | None] = {}
    for node, place, value in results:
        if node:
            text = f"{node}:{place}"
            placed[text] = None if text in placed else value
    values = [*(value for _, _, value in results), *(value.name for value in graph.output)]
    return {text: value for text, value in placed.items() if value} | {value: value for value in values}


def _find_value(text: str, spellings: Mapping[str, str], graph: GraphProto) -> str:
    value = spellings.get(text)
    if value is not None:
        return value
    nodes = [node for node in graph.node if node.name == (text.rpartition(":")[0] or text) or node.name == text]
    if len(nodes) > 1:
        message = f"{len(nodes)} nodes of the model are called {nodes[0].name!r}"
        remedy = "name one of their results: " + _list(value for node in nodes for value in node.output)
    elif nodes:
        choices = [f"{nodes[0].name}:{place}" for place, result in enumerate(nodes[0].output) if result]
        message = f"node {nodes[0].name!r} has no output {text!r}"
        remedy = f"it computes {_list(choices)}"
    else:
        message = f"no node of the model computes {text!r}"
        close = difflib.get_close_matches(text, spellings, _SHOWN)
        remedy = f"did you mean {_list(close)}?" if close else "name a value of the model, or node:index"
    raise UsageError(Diagnostic(UNKNOWN_OUTPUT, message, help=remedy))


def _list(names: Iterator[str] | Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def _mark_needed(nodes: Sequence[NodeProto], outputs: Mapping[str, None]) -> list[bool]:
    """For each node whether an output depends on it."""
    producers = {value: index for index, node in enumerate(nodes) for value in node.output if value}
    needed = [False] * len(nodes)
    pending = [producers[value] for value in outputs if value in producers]
    while pending:
        index = pending.pop()
        if needed[index]:
            continue
        needed[index] = True
        pending += [producers[value] for value in _read_values(nodes[index]) if value in producers]
    return needed


def _read_values(node: NodeProto) -> Iterator[str]:
    """What `node` reads, and every name that its control-flow graphs mention."""
    yield from node.input
    for attribute in node.attribute:
        graphs = [attribute.g] if kind_of(attribute) == attribute.GRAPH else list(attribute.graphs)
        for graph in graphs:
            yield from (value.name for value in graph.output)
            for inner in graph.node:
                yield from _read_values(inner)
