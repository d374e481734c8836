"""Host steps: any operator, run by its reference implementation."""

from __future__ import annotations

from autofusion.diagnostics import Diagnostic
from autofusion.errors import ModelError
from autofusion.ir import Graph, Node
from autofusion.lowering.workspace import Owner, Workspace
from autofusion.plan.attributes import encode_attribute

NESTED_GRAPH = "AF170"


def emit_host(owner: Owner, node: Node, workspace: Workspace, reason: str) -> None:
    """Append the host step of `node`.

    Its settings are `op`, `domain`, `opset` and `attributes`, each attribute as
    `plan.attributes` writes it.  Raises ModelError for control flow.
    """
    attributes = {
        name: encode_attribute(value) for name, value in node.attributes.items() if not isinstance(value, Graph)
    }
    if len(attributes) != len(node.attributes):
        raise ModelError(
            Diagnostic(
                NESTED_GRAPH,
                f"{node.op} node {node.name!r} holds nested graphs, which no step of a plan can run",
                help="export the model without control flow, or with conditions that constants decide",
            )
        )
    settings = {"op": node.op, "domain": node.domain, "opset": node.opset, "attributes": {**attributes}}
    workspace.emit_host(owner, node, settings, reason)
