"""Host steps: any operator, run by its reference implementation."""

from __future__ import annotations

from autofusion.ir import Node
from autofusion.lowering.nested import detach_graphs
from autofusion.lowering.workspace import Owner, Workspace
from autofusion.plan import Setting
from autofusion.plan.attributes import encode_attribute


def emit_host(owner: Owner, node: Node, workspace: Workspace, reason: str) -> None:
    """Append the host step of `node`.

    Its settings are `op`, `domain`, `opset` and `attributes`, each attribute as `plan.attributes`
    writes it.  What the node's graphs capture follows its inputs as further operands, and
    `captured` has the names by which they read it.  Raises ModelError for graphs nested too deeply.
    """
    nest = detach_graphs(node)
    constants = [workspace.add_constant(name, array) for name, array in nest.constants.items()]
    attributes: dict[str, Setting] = {name: encode_attribute(value) for name, value in nest.attributes.items()}
    settings: dict[str, Setting] = {
        "op": node.op,
        "domain": node.domain,
        "opset": node.opset,
        "attributes": attributes,
    }
    if node.subgraphs():
        settings["captured"] = [*nest.values, *nest.constants]
    workspace.emit_host(owner, node, (*node.inputs, *nest.values, *constants), settings, reason)
