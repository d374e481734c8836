"""The verdict of a verification as a table."""

from __future__ import annotations

from autofusion.report.tables import render_shape, render_table
from autofusion.report.verification import Comparison, NodeComparison, VerifyReport


def render_verification(report: VerifyReport) -> str:
    """Outputs, the nodes that went wrong, the culprit and the verdict, with a final line break.

    `error` and `allowed` are relative to the slice's own scale, `max|a-b|` is the plain difference.
    """
    lines = [f"backend {report.backend} against {report.oracle}", ""]
    lines += _lines([["output", *_COLUMNS], *([row.name, *_cells(row)] for row in report.outputs)])
    wrong = [row for row in report.nodes if not row.ok]
    if wrong:
        lines += ["", *_lines([["node", "fusion", *_COLUMNS], *(_node_cells(row) for row in wrong)])]
    if report.nodes:
        lines += ["", f"fused nodes: {len(report.nodes) - len(wrong)} of {len(report.nodes)} within their limits"]
    lines += [f"note: {note}" for note in report.notes]
    if report.culprit is not None:
        fault = report.culprit
        lines += [
            "",
            f"at fault: {fault.node} ({fault.pattern}, {fault.fused_op})",
            f"  = help: compile with {fault.option} to leave it out",
        ]
    lines += ["", _verdict(report)]
    return "\n".join(lines) + "\n"


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


def _verdict(report: VerifyReport) -> str:
    wrong = [row for row in report.outputs if not row.ok]
    if not report.outputs:
        return "not verified: there was no output to compare"
    if wrong:
        return f"not verified: {len(wrong)} of {len(report.outputs)} comparisons of outputs went wrong"
    largest = max(row.max_difference for row in report.outputs)
    return f"verified: {len(report.outputs)} comparisons of outputs, largest difference {largest:.2e}"
