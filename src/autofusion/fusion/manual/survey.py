"""What automatic fusion would make of a graph: where the blocks that rules name are looked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from autofusion.fusion.scope import Scope


@dataclass(frozen=True)
class Rewrite:
    """One rewrite that automatic fusion would make in the graph `path`: `node` of `members`, known by `names`."""

    path: str
    node: str
    names: frozenset[str]
    members: tuple[str, ...]
    is_normal: bool


@dataclass(frozen=True)
class Picture:
    """One graph in normal forms.

    `parts` has the nodes of the graph itself behind each node of the picture, `made` the nodes that each
    rewrite would replace and the names that it goes by.
    """

    scope: Scope
    parts: Mapping[str, frozenset[str]]
    made: tuple[tuple[frozenset[str], frozenset[str]], ...]

    def expand(self, nodes: Iterable[str]) -> frozenset[str]:
        """The nodes of the graph itself behind `nodes` of the picture."""
        return frozenset(part for node in nodes for part in self.parts.get(node, (node,)))


def picture_graphs(scopes: Mapping[str, Scope], rewrites: Sequence[Rewrite]) -> dict[str, Picture]:
    """The pictures of graphs by path; `scopes` are those of the graphs in normal forms."""
    return {path: _picture(scope, [row for row in rewrites if row.path == path]) for path, scope in scopes.items()}


def _picture(scope: Scope, rewrites: Sequence[Rewrite]) -> Picture:
    parts: dict[str, frozenset[str]] = {}
    made: list[tuple[frozenset[str], frozenset[str]]] = []
    normal: dict[str, frozenset[str]] = {}
    for row in rewrites:
        nodes = frozenset(part for member in row.members for part in parts.get(member, (member,)))
        parts[row.node] = nodes
        made.append((row.names, nodes))
        if row.is_normal:
            normal[row.node] = nodes
    return Picture(scope, normal, tuple(made))
