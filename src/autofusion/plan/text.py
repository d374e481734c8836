"""A plan as text for people: what goes in and out, then one step a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from autofusion.plan.dtypes import ARRAY_NAMES
from autofusion.plan.records import Buffer, Plan, Setting, Step
from autofusion.plan.stripes import is_view


def render_plan(plan: Plan) -> str:
    """The plan with a final line break: inputs and outputs with types and shapes, then every step.

    A step is its kernel, its node, operands and results with their shapes, and attributes other than those that
    are off.  `@nhwc` marks a value that is stored with its channels innermost, `@nhwc:y+16` one that lies in the
    storage of `y` from element 16 on, `const` a constant, `_` an operand that is left out.
    """
    lines = [f"backend {plan.backend}", ""]
    for heading, names in (("inputs", plan.inputs), ("outputs", plan.outputs)):
        rows = [(f"  {name}", _dtype(plan.buffers[name]), _shape(plan.buffers[name])) for name in names]
        lines += [heading, *_align(rows), ""]
    lines.append(f"steps ({len(plan.steps)})")
    lines += _align([_cells(number, step, plan) for number, step in enumerate(plan.steps)])
    return "\n".join(lines) + "\n"


def _cells(number: int, step: Step, plan: Plan) -> tuple[str, ...]:
    operands = ", ".join(_operand(name, plan) for name in step.inputs)
    results = ", ".join(_operand(name, plan) for name in step.outputs)
    kernel = f"host {step.attributes.get('op', '')}" if step.kernel == "host" else step.kernel
    return f"  {number}", kernel, step.node, f"{operands} -> {results}", _attributes(step)


def _operand(name: str, plan: Plan) -> str:
    if not name:
        return "_"
    buffer = plan.buffers[name]
    place = f":{buffer.alias}+{buffer.offset}" if is_view(buffer) else ""
    mark = f"@nhwc{place}" if buffer.layout == "nhwc" else ""
    kind = "const " if buffer.role == "constant" else ""
    return f"{kind}{name}{mark} {_shape(buffer)}"


def _dtype(buffer: Buffer) -> str:
    return ARRAY_NAMES.get(buffer.dtype, "?")


def _shape(buffer: Buffer) -> str:
    return "[?]" if buffer.shape is None else f"[{', '.join(map(str, buffer.shape))}]"


def _attributes(step: Step) -> str:
    """`{pads=[1, 1, 1, 1], strides=[2, 2]}`; of a host step those of its operator, with nested ones left out."""
    found = step.attributes
    if step.kernel == "host":
        inner = found.get("attributes")
        found = inner if isinstance(inner, dict) else {}
    shown = [
        f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in sorted(found.items())
        if not _is_off(value) and not isinstance(value, dict)
    ]
    return f"{{{', '.join(shown)}}}" if shown else ""


def _is_off(value: Setting) -> bool:
    """True of what stands for nothing, unlike the number 0, which may be an axis."""
    return value is None or value is False or value == "" or (isinstance(value, float) and not value)


def _align(rows: Iterable[Sequence[str]]) -> list[str]:
    """The rows with every column as wide as its longest cell."""
    table = list(rows)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
