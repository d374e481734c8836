"""ONNX names of nodes, and the globs that lists of nodes may have."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from autofusion.ir import Graph, Node


def names_of(node: Node) -> tuple[str, ...]:
    """The ONNX names behind a node; its own where it has none."""
    return node.origin or (node.name,)


def fits(name: str, glob: str) -> bool:
    """True where `glob` is the name itself or fits it; names may hold brackets, which mean a choice in a glob."""
    return name == glob or fnmatchcase(name, glob)


def fits_any(names: Iterable[str], globs: Iterable[str]) -> bool:
    """True where one of `names` fits one of `globs`."""
    return any(fits(name, glob) for name in names for glob in globs)


def collect_node_names(graph: Graph) -> set[str]:
    """The ONNX names of all nodes of `graph` and of the control-flow graphs in it."""
    found: set[str] = set()
    for node in graph:
        found.update(names_of(node))
        for _, nested in node.subgraphs():
            found |= collect_node_names(nested)
    return found
