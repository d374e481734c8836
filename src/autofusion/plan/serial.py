"""The JSON form of a plan: `dump_plan` writes it and `parse_plan` reads it back.

The text is ASCII with sorted keys, so that equal plans have equal bytes.  Numbers that JSON
lacks are written `{"$float": "inf"}` (or `"-inf"`, `"nan"`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, cast

from autofusion.plan.fields import Fields, format_json, parse_json
from autofusion.plan.records import Buffer, Layout, Plan, Role, Setting, Step, Tensor

_PLAN = ("backend", "inputs", "outputs", "symbols", "buffers", "tensors", "steps")
_BUFFER = ("name", "dtype", "shape", "role", "layout", "pitch", "alias", "tensor")
_TENSOR = ("name", "dtype", "shape", "offset", "bytes")
_STEP = ("kernel", "node", "op", "inputs", "outputs", "attributes", "origin")
_FLOAT = "$float"


def dump_plan(plan: Plan) -> str:
    """The JSON text of `plan`; raises ValueError for a step attribute that is no `Setting`."""
    record = {
        "backend": plan.backend,
        "inputs": plan.inputs,
        "outputs": plan.outputs,
        "symbols": plan.symbols,
        "buffers": [{**vars(buffer), "name": name} for name, buffer in plan.buffers.items()],
        "tensors": [vars(tensor) for tensor in plan.tensors],
        "steps": [{**vars(step), "attributes": encode_setting(step.attributes)} for step in plan.steps],
    }
    return format_json(record)


def parse_plan(text: str | bytes) -> Plan:
    """The plan that `text` describes; raises ValueError, naming the place, for anything that is no plan.

    Only the form is checked: field names, their types and the choices of enumerations.
    """
    try:
        return _read_plan(Fields("plan", parse_json(text), _PLAN))
    except RecursionError as error:
        raise ValueError("a step's attributes are nested too deeply") from error


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


def _read_plan(plan: Fields) -> Plan:
    buffers = [_read_buffer(fields) for fields in plan.records("buffers", _BUFFER)]
    named = {buffer.name: buffer for buffer in buffers}
    if len(named) != len(buffers):
        raise ValueError("plan.buffers holds two buffers of one name")
    return Plan(
        backend=cast(Literal["native", "reference"], plan.choice("backend", ("native", "reference"))),
        inputs=plan.texts("inputs"),
        outputs=plan.texts("outputs"),
        symbols=plan.texts("symbols"),
        buffers=named,
        tensors=tuple(_read_tensor(fields) for fields in plan.records("tensors", _TENSOR)),
        steps=tuple(_read_step(fields) for fields in plan.records("steps", _STEP)),
    )


def _read_buffer(fields: Fields) -> Buffer:
    return Buffer(
        name=fields.text("name"),
        dtype=fields.text("dtype"),
        shape=fields.optional_sizes("shape"),
        role=cast(Role, fields.choice("role", ("input", "output", "constant", "inner"))),
        layout=cast(Layout, fields.choice("layout", ("plain", "nhwc"))),
        pitch=fields.optional_number("pitch"),
        alias=fields.optional_text("alias"),
        tensor=fields.optional_number("tensor"),
    )


def _read_tensor(fields: Fields) -> Tensor:
    return Tensor(
        name=fields.text("name"),
        dtype=fields.text("dtype"),
        shape=fields.numbers("shape"),
        offset=fields.number("offset"),
        bytes=fields.number("bytes"),
    )


def _read_step(fields: Fields) -> Step:
    return Step(
        kernel=fields.text("kernel"),
        node=fields.text("node"),
        op=fields.text("op"),
        inputs=fields.texts("inputs"),
        outputs=fields.texts("outputs"),
        attributes={name: decode_setting(value) for name, value in fields.object("attributes").items()},
        origin=fields.texts("origin"),
    )
