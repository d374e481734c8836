"""The verdict of a verification as a table."""

from __future__ import annotations

from collections.abc import Iterator

from autofusion.report.tables import render_shape, render_table
from autofusion.report.verification import (
    Comparison,
    Culprit,
    NodeComparison,
    StorageCost,
    StoredWeights,
    VerifyReport,
)
from autofusion.report.wording import count


def render_verification(report: VerifyReport) -> str:
    """Outputs, the nodes that went wrong, the culprit and the verdict, with a final line break.

    The relative numbers are those of the slice that came nearest to its limit.
    """
    lines = [f"backend {report.backend} against {report.oracle}", ""]
    lines += _lines([["output", *_COLUMNS], *([row.name, *_cells(row)] for row in report.outputs)])
    if report.outputs:
        lines.append(_LEGEND)
    wrong = [row for row in report.nodes if not row.ok]
    if wrong:
        lines += ["", *_lines([["node", "fusion", *_COLUMNS], *(_node_cells(row) for row in wrong)])]
    if report.nodes:
        lines += ["", f"fused nodes: {len(report.nodes) - len(wrong)} of {len(report.nodes)} within their limits"]
    if report.stored is not None:
        lines += ["", *_stored_lines(report.stored)]
    lines += [f"note: {note}" for note in report.notes]
    if report.culprit is not None:
        lines += ["", *_culprit_lines(report.culprit)]
    lines += ["", render_verdict(report)]
    return "\n".join(lines) + "\n"


def render_verdict(report: VerifyReport) -> str:
    """The verdict in one line, without a line break."""
    wrong = [row for row in report.outputs if not row.ok]
    nodes = [row for row in report.nodes if not row.ok]
    if not report.outputs:
        return "not verified: there was no output to compare"
    if wrong:
        return f"not verified: {len(wrong)} of {len(report.outputs)} comparisons of outputs went wrong"
    if nodes:
        return f"not verified: the outputs lie within their limits, but {count(len(nodes), 'fused node')} beyond"
    stored = report.stored
    if stored is not None and not stored.ok:
        return f"not verified: weights in {_types(stored)} are not those of the model, or not computed as such"
    largest = max(row.max_difference for row in report.outputs)
    relative = max(row.error for row in report.outputs)
    made = count(len(report.outputs), "comparison")
    verdict = f"verified: {made} of outputs, largest difference {largest:.2e}, largest relative error {relative:.2e}"
    if stored is None:
        return verdict
    cost = max(row.share for row in stored.costs)
    return f"{verdict}; weights in {_types(stored)} cost {cost:.2e} of the largest value"


def _stored_lines(stored: StoredWeights) -> Iterator[str]:
    yield f"weights in {_types(stored)}: {count(stored.tensors, 'tensor')}"
    yield from (f"  WRONG: {name}: {count(wrong, 'element')} not the model's" for name, wrong in stored.wrong.items())
    yield from _lines([["output", *_COST_COLUMNS], *([row.computed.name, *_cost_cells(row)] for row in stored.costs)])
    yield _COST_LEGEND


def _types(stored: StoredWeights) -> str:
    return ", ".join(stored.dtypes) or "two bytes"


def _cost_cells(row: StorageCost) -> list[str]:
    computed = row.computed
    dims = ",".join(f"{name}={extent}" for name, extent in computed.dims.items()) or "-"
    numbers = [f"{number:.2e}" for number in (row.max_difference, row.share, computed.error, computed.allowed)]
    return [str(computed.seed), dims, *numbers, "ok" if computed.ok else "WRONG"]


_COST_COLUMNS = ("seed", "dims", "cost", "share", "error", "allowed", "verdict")
_COST_LEGEND = (
    "(what is above has float32 weights; cost: largest difference to float64, share: of the largest value, neither is "
    "limited; error: against float32 arithmetic on the same rounded weights)"
)


def _culprit_lines(fault: Culprit) -> Iterator[str]:
    names = dict.fromkeys((fault.pattern, fault.fused_op, f"made by {fault.source}" if fault.source else ""))
    yield f"at fault: {fault.node} ({', '.join(filter(None, names))})"
    if not fault.name:
        yield "  = help: take its nodes out of the manual rules"
        return
    if fault.is_confirmed:
        yield "  = note: without it everything lies within its limits"
    else:
        yield "  = note: without it something is beyond its limits still, so it is not the only fault"
    yield f"  = help: compile with {fault.option}, or GE_FUSION_DISABLE_LIST={fault.name}, to leave it out"


_LEGEND = "(error and allowed: against float64, relative to the scale of the slice; max|a-b|: absolute)"
_COLUMNS = ("dtype", "shape", "seed", "dims", "max|a-b|", "error", "allowed", "verdict")


def _cells(row: Comparison) -> list[str]:
    dims = ",".join(f"{name}={extent}" for name, extent in row.dims.items()) or "-"
    verdict = "ok" if row.ok else "WRONG"
    if row.reason or (row.where and not row.ok):
        verdict += ": " + ", ".join(part for part in (row.where, row.reason) if part)
    numbers = [f"{number:.2e}" for number in (row.max_difference, row.error, row.allowed)]
    return [row.dtype, render_shape(row.shape), str(row.seed), dims, *numbers, verdict]


def _node_cells(row: NodeComparison) -> list[str]:
    return [row.node, row.pattern, *_cells(row.result)]


def _lines(rows: list[list[str]]) -> list[str]:
    return render_table(rows).splitlines()
