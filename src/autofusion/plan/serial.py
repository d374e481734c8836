"""The JSON form of a plan: `dump_plan` writes it and `parse_plan` reads it back.

The text is ASCII with sorted keys, so that equal plans have equal bytes.  Buffers, tensors and steps are columns: a
list for each of their fields.  Steps and aliases name buffers by their number, and shapes and attributes, which most
have in common with others, stand in lists of their own.  Numbers that JSON lacks are written `{"$float": "inf"}` (or
`"-inf"`, `"nan"`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, cast

from autofusion.plan.fields import ABSENT, Fields, Table, format_json, parse_json
from autofusion.plan.records import Buffer, Limits, Plan, Setting, Size, Step, Tensor

_PLAN = (
    *("backend", "inputs", "outputs", "symbols", "limits", "gears"),
    *("shapes", "attributes", "buffers", "tensors", "steps"),
)
_BUFFER, _TENSOR, _STEP = Buffer._fields, Tensor._fields, Step._fields
_FLOAT = "$float"


def dump_plan(plan: Plan) -> str:
    """The JSON text of `plan`, whose steps name buffers alone; raises ValueError for what is no `Setting`."""
    numbers = {"": ABSENT, **{name: number for number, name in enumerate(plan.buffers)}}
    shapes, attributes = _Distinct(), _Distinct()
    buffers = [
        {
            **buffer._asdict(),
            "name": name,
            "shape": None if buffer.shape is None else shapes.number(buffer.shape),
            "alias": None if buffer.alias is None else numbers[buffer.alias],
        }
        for name, buffer in plan.buffers.items()
    ]
    tensors = [{**tensor._asdict(), "shape": shapes.number(tensor.shape)} for tensor in plan.tensors]
    steps = [
        {
            **step._asdict(),
            "inputs": [numbers[name] for name in step.inputs],
            "outputs": [numbers[name] for name in step.outputs],
            "attributes": attributes.number(encode_setting(step.attributes)),
        }
        for step in plan.steps
    ]
    record = {
        "backend": plan.backend,
        "inputs": plan.inputs,
        "outputs": plan.outputs,
        "symbols": plan.symbols,
        "limits": dict(plan.limits),
        "gears": plan.gears,
        "shapes": shapes.values,
        "attributes": attributes.values,
        "buffers": _list_columns(_BUFFER, buffers),
        "tensors": _list_columns(_TENSOR, tensors),
        "steps": _list_columns(_STEP, steps),
    }
    return format_json(record)


class _Distinct:
    """JSON values, each once, in the order in which they came."""

    def __init__(self) -> None:
        self.values: list[object] = []
        self._numbers: dict[str, int] = {}

    def number(self, value: object) -> int:
        """The number of `value`, which is added where it is new."""
        text = format_json(value)
        if text not in self._numbers:
            self._numbers[text] = len(self.values)
            self.values.append(value)
        return self._numbers[text]


def _list_columns(names: tuple[str, ...], records: Sequence[Mapping[str, object]]) -> dict[str, list[object]]:
    return {name: [record[name] for record in records] for name in names}


def parse_plan(text: str | bytes) -> Plan:
    """The plan that `text` describes; raises ValueError, naming the place, for anything that is no plan.

    Only the form is checked: field names, their types and the choices of enumerations.
    """
    # Most plans hold nothing that JSON lacks and nothing nested, which host steps alone read.
    data = text.encode() if isinstance(text, str) else text
    decode = decode_setting if _FLOAT.encode() in data or b'"host"' in data else _keep
    try:
        return _read_plan(Fields("plan", parse_json(data), _PLAN), decode)
    except RecursionError as error:
        raise ValueError("a step's attributes are nested too deeply") from error


def _keep(value: object) -> object:
    return value


def encode_setting(value: object) -> object:
    """`value`, a `Setting` or a mapping of them, as JSON can hold it; raises ValueError where it cannot."""
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: repr(value)}
    if isinstance(value, list | tuple):
        return [encode_setting(item) for item in cast(list[object], value)]
    if isinstance(value, Mapping):
        settings = cast(Mapping[object, object], value)
        if not all(isinstance(key, str) and not key.startswith("$") for key in settings):
            raise ValueError(f"{sorted(map(str, settings))} are no attribute names")
        return {key: encode_setting(item) for key, item in settings.items()}
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise ValueError(f"{type(value).__name__} {value!r} is no attribute value")


def decode_setting(value: object) -> Setting:
    """The inverse of `encode_setting`; raises ValueError for what that never writes."""
    if isinstance(value, list):
        return [decode_setting(item) for item in cast(list[object], value)]
    if not isinstance(value, dict):
        return cast(Setting, value)
    settings = cast(dict[str, object], value)
    if _FLOAT not in settings:
        return {key: decode_setting(item) for key, item in settings.items()}
    if len(settings) > 1 or settings[_FLOAT] not in ("inf", "-inf", "nan"):
        raise ValueError(f"{settings!r:.40} is no number")
    return float(cast(str, settings[_FLOAT]))


def _read_plan(plan: Fields, decode: Callable[[object], object]) -> Plan:
    shapes = plan.size_lists("shapes")
    attributes = [decode(settings) for settings in plan.objects("attributes")]
    buffers = _read_buffers(Table("plan.buffers", plan.fields["buffers"], _BUFFER), shapes)
    named = {buffer.name: buffer for buffer in buffers}
    if len(named) != len(buffers):
        raise ValueError("plan.buffers holds two buffers of one name")
    return Plan(
        backend=cast(Literal["native", "reference"], plan.choice("backend", ("native", "reference"))),
        inputs=plan.texts("inputs"),
        outputs=plan.texts("outputs"),
        symbols=plan.texts("symbols"),
        buffers=named,
        tensors=_read_tensors(Table("plan.tensors", plan.fields["tensors"], _TENSOR), shapes),
        steps=_read_steps(Table("plan.steps", plan.fields["steps"], _STEP), [*named], attributes),
        limits=_read_limits(plan.object("limits")),
        gears=tuple(_read_gear(index, gear) for index, gear in enumerate(plan.items("gears"))),
    )


def _read_limits(record: dict[str, object]) -> dict[str, Limits]:
    limits: dict[str, Limits] = {}
    for symbol, value in record.items():
        match value:
            case [int() as low, int() | None as high] if type(low) is int and type(high) is not bool:
                limits[symbol] = low, high
            case _:
                raise ValueError(f"plan.limits.{symbol:.40} is {value!r:.40}, not two limits")
    return limits


def _read_gear(index: int, value: object) -> dict[str, int]:
    place = f"plan.gears[{index}]"
    if not isinstance(value, dict):
        raise ValueError(f"{place} is {value!r:.40}, not of type dict")
    gear = Fields(place, cast(object, value), tuple(cast(dict[str, object], value)))
    return {symbol: gear.number(symbol) for symbol in gear.fields}


def _read_buffers(table: Table, shapes: list[tuple[Size, ...]]) -> list[Buffer]:
    names = table.texts("name")
    columns = (
        names,
        table.texts("dtype"),
        table.optional_entries("shape", shapes),
        table.choices("role", ("input", "output", "constant", "inner")),
        table.choices("layout", ("plain", "nhwc")),
        table.optional_numbers("pitch"),
        table.optional_entries("alias", names),
        table.optional_numbers("tensor"),
        table.numbers("offset"),
    )
    return [*map(Buffer._make, zip(*columns, strict=True))]


def _read_tensors(table: Table, shapes: list[tuple[Size, ...]]) -> tuple[Tensor, ...]:
    columns = (
        table.texts("name"),
        table.texts("dtype"),
        table.entries("shape", shapes),
        table.numbers("offset"),
        table.numbers("bytes"),
    )
    for shape in set(columns[2]):
        if not all(isinstance(extent, int) for extent in shape):
            raise ValueError(f"{table.place} has the shape {shape!r:.80}, which is none of numbers")
    return tuple(map(Tensor._make, zip(*columns, strict=True)))


def _read_steps(table: Table, names: list[str], attributes: list[object]) -> tuple[Step, ...]:
    columns = (
        table.texts("kernel"),
        table.texts("node"),
        table.texts("op"),
        table.entry_lists("inputs", names),
        table.entry_lists("outputs", names),
        table.entries("attributes", attributes),
        table.tuples("origin", str),
    )
    return tuple(map(Step._make, zip(*columns, strict=True)))
