"""New nodes in the place of old ones, inferred as they are added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from autofusion.ir import Attribute, Node
from autofusion.ir.scope import GraphScope
from autofusion.ops import find_operator
from autofusion.passes.shapes import refine_results
from autofusion.passes.spelling import View


def add_node(
    scope: GraphScope,
    name: str,
    op: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    attributes: Mapping[str, Attribute] | None = None,
    origin: tuple[str, ...] = (),
) -> Node:
    """Add a node of the ONNX domain in canonical form (`attributes` complete), and what is known of its results.

    `name` is made unused.
    """
    row = find_operator(op)
    version = row.version if row else 0
    kept = dict(attributes or {})
    fresh = name if name not in scope.graph else scope.fresh(name)
    node = Node(fresh, op, tuple(inputs), tuple(outputs), kept, opset=version, origin=origin)
    scope.graph.add(node)
    refine_results(node, scope)
    return node


def add_view(scope: GraphScope, name: str, source: str, view: View, result: str, origin: tuple[str, ...]) -> Node:
    """Add the operator that gives `source` another shape, as `views.spell_view` spells it."""
    operand = scope.define_constant(f"{name}_{view.place}", np.array(view.numbers, np.int64))
    return add_node(scope, name, view.op, (source, operand), (result,), view.attributes, origin)
