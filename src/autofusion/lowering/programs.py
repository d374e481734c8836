"""Elementwise nodes as one call of kernel `pointwise`."""

from __future__ import annotations

from collections.abc import Sequence

from autofusion.fusion.pointwise import is_pointwise, read_program
from autofusion.fusion.pointwise.vocabulary import REDUCTIONS
from autofusion.fusion.reasons import Reason
from autofusion.ir import Node
from autofusion.lowering.records import Call
from autofusion.lowering.workspace import Workspace
from autofusion.plan import Setting

PROGRAMMED = ("Softplus", "Mish", "Selu", "Softsign")
"""Operators that have no kernel of their own."""


def open_programmed(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of an operator that takes several instructions, or why no kernel can compute it."""
    call = open_program((node,), node.results, workspace)
    return call if isinstance(call, str) else [call]


def open_program(nodes: Sequence[Node], results: Sequence[str], workspace: Workspace) -> Call | str:
    """The call that computes the only one of `results` by all of `nodes`, else why there is none."""
    if len(results) != 1 or not all(is_pointwise(node) or node.op in REDUCTIONS for node in nodes):
        return "no elementwise operators alone"
    program = read_program(nodes, results[0], workspace.scope)
    if isinstance(program, Reason):
        return program.detail
    value = workspace.scope.value(program.result)
    if value.dtype not in workspace.kernel_types:
        return f"element type {value.dtype.value if value.dtype else 'unknown'}"
    instructions: list[Setting] = [list(instruction) for instruction in program.instructions]
    settings: dict[str, Setting] = {"program": instructions, "reduce": program.reduce}
    origin = tuple(dict.fromkeys(name for node in nodes for name in node.origin))
    return Call("pointwise", program.operands, value, settings, absorbed=origin)
