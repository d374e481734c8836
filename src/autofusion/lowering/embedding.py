"""Rows of tables that are added and normalized, as one kernel call."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from autofusion.ir import DType, Node, Shape
from autofusion.lowering.constants import read_integer
from autofusion.lowering.norms import open_row_norm
from autofusion.lowering.products import refuse_operands
from autofusion.lowering.records import Call
from autofusion.lowering.workspace import Workspace
from autofusion.plan import Setting

MAX_TERMS = 3
"""Tables and tensors that the kernel adds."""

_NORMS = ("LayerNormalization", "RMSNormalization")

_Term = tuple[str, str]
"""A table and the ids of its rows, or a tensor and "" ."""


def open_embedding(nodes: Sequence[Node], results: Collection[str], workspace: Workspace) -> Call | None:
    """The call that does all of `nodes`, a fused node's: Gathers, the Adds of their rows, a norm; None where none does.

    `results` are the values that something else reads.
    """
    if any(node.domain or node.opaque for node in nodes):
        return None
    made = {name: node for node in nodes for name in node.results}
    norm = nodes[-1] if nodes[-1].op in _NORMS else None
    total = nodes[-1].input(0) if norm is not None else nodes[-1].outputs[0]
    terms = _find_terms(total, made, workspace)
    inner = [name for name in made if name not in (total, nodes[-1].outputs[0])]
    if terms is None or not any(ids for _, ids in terms):
        return None
    if len(nodes) != len(terms) * 2 - 1 - _count_tensors(terms) + (norm is not None):
        return None
    if any(name in results for name in inner) or refuse_operands(workspace, total, *(table for table, _ in terms)):
        return None
    shape = workspace.scope.shape(total)
    if not shape or not all(_fits(term, shape, workspace) for term in terms):
        return None
    return _make_call(nodes, norm, total, terms, results, workspace)


def _find_terms(total: str, made: Mapping[str, Node], workspace: Workspace) -> list[_Term] | None:
    """What is added, such that the sum of the first two comes first."""
    node = made.get(total)
    if node is None or node.op not in ("Add", "Sum") or len(node.inputs) != 2:
        term = _read_term(total, made, workspace)
        return [term] if term is not None and term[1] else None
    first, second = node.inputs
    if second in made and made[second].op != "Gather":
        first, second = second, first
    last = _read_term(second, made, workspace)
    if last is None:
        return None
    if first in made and made[first].op != "Gather":
        before = _find_terms(first, made, workspace)
        return None if before is None or len(before) >= MAX_TERMS else [*before, last]
    begin = _read_term(first, made, workspace)
    return None if begin is None else [begin, last]


def _read_term(name: str, made: Mapping[str, Node], workspace: Workspace) -> _Term | None:
    node = made.get(name)
    if node is None:
        return name, ""
    is_rows = node.op == "Gather" and read_integer(node, "axis", 0) == 0
    is_ids = is_rows and workspace.scope.dtype(node.input(1)) in (DType.INT64, DType.INT32)
    return (node.input(0), node.input(1)) if is_ids else None


def _count_tensors(terms: Sequence[_Term]) -> int:
    return sum(not ids for _, ids in terms)


def _fits(term: _Term, shape: Shape, workspace: Workspace) -> bool:
    """True where the rows have the extent of the sum's last axis, and the rest broadcasts to it."""
    table, ids = (workspace.scope.shape(name) if name else None for name in term)
    if table is None:
        return False
    if not term[1]:
        return _broadcasts(table, shape)
    return len(table) == 2 and table[1] == shape[-1] and ids is not None and _broadcasts(ids, shape[:-1])


def _broadcasts(one: Shape, other: Shape) -> bool:
    """Extents that are open are those of the model's own sum, which holds or fails with them."""
    pairs = zip(one[::-1], other[::-1], strict=False)
    return len(one) <= len(other) and all(
        extent in (1, wanted) or not (isinstance(extent, int) and isinstance(wanted, int)) for extent, wanted in pairs
    )


def _make_call(
    nodes: Sequence[Node],
    norm: Node | None,
    total: str,
    terms: Sequence[_Term],
    results: Collection[str],
    workspace: Workspace,
) -> Call | None:
    tables = [name for term in terms for name in term]
    tables += [""] * (2 * MAX_TERMS - len(tables))
    origin = tuple(name for node in nodes for name in node.origin)
    result = workspace.scope.value(total)
    if norm is None:
        settings: dict[str, Setting] = {"norm": "", "epsilon": 0.0}
        return Call("embedding", (*tables, "", ""), result, settings, absorbed=origin)
    calls = open_row_norm(norm, workspace)
    if isinstance(calls, str) or calls[0].settings["axes"] != 1:
        return None
    made = calls[0]
    return Call(
        "embedding",
        (*tables, *made.operands[1:3]),
        made.result,
        {"norm": made.settings["kind"], "epsilon": made.settings["epsilon"]},
        absorbed=origin,
        further=(result,) if total in results else (),
    )
