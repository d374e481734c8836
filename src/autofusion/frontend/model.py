"""What the frontend hands on: the graph of a model and what the file says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autofusion.ir import Graph


@dataclass(frozen=True)
class Model:
    """A model as read.

    `digest` is the SHA-256, in hexadecimal, of the model file followed by its external data
    files in order of their locations.  `opsets` are the versions imported, by domain.
    `path` is the file's name without folders.  `operator_count` counts the nodes, those of
    control-flow graphs included and local functions expanded, without Constant nodes.
    `input_dims` are the extents as the file spells them, "?" where it says nothing, None
    where it gives no rank.  `gears` are the only extents that its symbols are wanted to have, all of
    them in each; () where any will do.  `output_names` has every text that names an output, by value or as
    `node:index`, with the output meant.
    """

    graph: Graph
    digest: str
    ir_version: int
    opsets: Mapping[str, int]
    producer: str
    path: str
    operator_count: int
    input_dims: Mapping[str, tuple[str, ...] | None]
    gears: tuple[Mapping[str, int], ...]
    output_names: Mapping[str, str]
