"""TOML document -> CustomOperator: an operator that a user declares in a folder called `operators`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import cast

from autofusion.diagnostics import Diagnostic
from autofusion.ir import Attribute
from autofusion.ops.custom import (
    BODY_OPSET,
    KINDS,
    AttributeKind,
    CustomAttribute,
    CustomInput,
    CustomOperator,
    is_of_kind,
)
from autofusion.ops.custom_function import check_function
from autofusion.ops.schema import OLDEST_OPSET, newest_opset, schema_of
from autofusion.patternlang.document import Document
from autofusion.patternlang.expression import parse_expression
from autofusion.patternlang.fields import FieldReader

FOLDER = "operators"
"""The name of the folders, inside a folder of patterns, whose files declare operators."""

SCHEMA = 1
"""The version of the file format."""

OPERATOR_FIELDS: Mapping[str, type] = {
    "schema": int,
    "domain": str,
    "name": str,
    "summary": str,
    "inputs": list,
    "attributes": dict,
    "expression": str,
    "outputs": list,
    "opset": int,
    "function": str,
}
_ATTRIBUTE_FIELDS = ("type", "default")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DOMAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*")


def read_operator(document: Document) -> tuple[CustomOperator | None, list[Diagnostic]]:
    """The operator that `document` declares, or None and every fault of the file (AF402, AF421 to AF423)."""
    reader = _OperatorReader(document)
    operator = reader.read()
    return (None if reader.findings else operator), reader.findings


class _OperatorReader(FieldReader):
    """Reads one declaration."""

    def read(self) -> CustomOperator:
        data = self.document.data
        self.check_fields((), data, OPERATOR_FIELDS)
        if self.number("schema", SCHEMA) != SCHEMA:
            self.report(f"schema is {self.number('schema', SCHEMA)}, this version reads {SCHEMA}", "schema")
        self.require("schema", "domain", "name", "summary", "inputs")
        is_function = "function" in data
        if is_function == ("expression" in data):
            said = "both" if is_function else "neither"
            self.report(f"the meaning is `expression` or `function`, {said} is given", "expression")
        if not is_function:
            self._forbid("outputs", "opset")
        operator = CustomOperator(
            domain=self._matching("domain", _DOMAIN),
            name=self._matching("name", _NAME),
            inputs=self._inputs(is_function),
            outputs=self._outputs() if is_function else ("",),
            attributes=self._attributes(),
            opset=self._opset() if is_function else BODY_OPSET,
            summary=self.text("summary"),
            span=self.document.span("name"),
        )
        self._check_key(operator)
        return self._with_body(operator) if is_function else self._with_expression(operator)

    def _forbid(self, *keys: str) -> None:
        for key in keys:
            if key in self.document.data:
                self.report(f"an operator with an expression has no field {key!r}", key)

    def _matching(self, key: str, form: re.Pattern[str]) -> str:
        text = self.text(key)
        if key in self.document.data and not form.fullmatch(text):
            self.report(f"{text!r} is no {key}", key, advice="write letters, digits and `_`")
        return text

    def _names(self, key: str) -> Iterator[tuple[str, bool]]:
        """The names of a list, each with whether a question mark follows it."""
        seen: set[str] = set()
        for source in self.strings(key):
            name = source.text.removesuffix("?")
            if not _NAME.fullmatch(name):
                self.findings.append(Diagnostic("AF402", f"{source.text!r} is no name", span=source.start))
            elif name in seen:
                self.findings.append(Diagnostic("AF402", f"{name!r} is listed twice", span=source.start))
            else:
                seen.add(name)
                yield name, source.text.endswith("?")

    def _inputs(self, is_function: bool) -> tuple[CustomInput, ...]:
        inputs = tuple(CustomInput(*item) for item in self._names("inputs"))
        for item in inputs:
            if item.optional and not is_function:
                self.report(f"input {item.name!r} of an expression cannot be absent", "inputs")
        if not inputs and self.document.data.get("inputs") == []:
            self.report("an operator needs at least one input", "inputs")
        return inputs

    def _outputs(self) -> tuple[str, ...]:
        self.require("outputs")
        outputs: list[str] = []
        for name, optional in self._names("outputs"):
            if optional:
                self.report(f"output {name!r} cannot be absent", "outputs")
            outputs.append(name)
        if not outputs and self.document.data.get("outputs") == []:
            self.report("an operator needs at least one output", "outputs")
        return tuple(outputs)

    def _opset(self) -> int:
        self.require("opset")
        opset = self.number("opset", BODY_OPSET)
        if not OLDEST_OPSET <= opset <= newest_opset():
            self.report(f"opset is {opset}, not {OLDEST_OPSET} to {newest_opset()}", "opset")
        return opset

    def _attributes(self) -> dict[str, CustomAttribute]:
        attributes: dict[str, CustomAttribute] = {}
        table = self.field("attributes", cast(type[dict[str, object]], dict), {})
        for name, value in table.items():
            fields = cast(dict[str, object], value) if isinstance(value, dict) else {}
            kind = fields.get("type")
            if not isinstance(value, dict) or not set(fields) <= set(_ATTRIBUTE_FIELDS) or kind not in KINDS:
                advice = f"the types are {', '.join(KINDS)}; without a default every node must give it"
                self.report(
                    f'attribute {name} must be {{ type = "..", default = .. }}', "attributes", name, advice=advice
                )
                continue
            default = _read_default(fields.get("default"), kind)
            if "default" in fields and default is None:
                self.report(f"the default of attribute {name} is not of type {kind}", "attributes", name)
            attributes[name] = CustomAttribute(name, kind, default)
        for name in attributes.keys() & {source.text.removesuffix("?") for source in self.strings("inputs")}:
            self.report(f"{name!r} is an input and an attribute", "attributes", name)
        return attributes

    def _check_key(self, operator: CustomOperator) -> None:
        if operator.domain in ("ai.onnx", "") or schema_of(operator.name, operator.domain) is None:
            if operator.domain == "ai.onnx":
                self.report("the domain 'ai.onnx' is ONNX's own", "domain", advice="choose a domain of your own")
            return
        message = f"ONNX has an operator {operator.key}"
        self.findings.append(Diagnostic("AF423", message, span=self.document.span("name")))

    def _with_expression(self, operator: CustomOperator) -> CustomOperator:
        text = self.document.data.get("expression")
        if not isinstance(text, str):
            return operator
        inputs = [item.name for item in operator.inputs]
        kinds = {item.name: item.kind for item in operator.attributes.values()}
        source = self.document.source(text, "expression")
        result = next(name for name in ("y", "result", "result_") if name not in inputs)
        terms = [*self.collect(lambda: parse_expression(source, inputs, kinds))]
        return replace(operator, outputs=(result,), expression=terms[0] if terms else None)

    def _with_body(self, operator: CustomOperator) -> CustomOperator:
        text = self.document.data.get("function")
        if not isinstance(text, str):
            return operator
        if not self.document.is_block("function"):
            self.report("function must be written as a ''' block", "function")
            return operator
        complete = replace(operator, body=text)
        source = self.document.source(text, "function")
        starts = [0, *(match.end() for match in re.finditer("\n", text))]
        for error in check_function(complete):
            span = source.span(starts[error.line] + error.offset)
            self.findings.append(Diagnostic("AF422", str(error), span=span))
        return complete


def _read_default(value: object, kind: AttributeKind) -> Attribute | None:
    """`value` as an attribute of `kind`, None where it is none; an integer does for a float."""
    is_float = kind in ("float", "floats")
    if not isinstance(value, list):
        found = _widen(value) if is_float else value
    else:
        items = cast(list[object], value)
        found = tuple(_widen(item) if is_float else item for item in items)
    return cast(Attribute, found) if is_of_kind(found, kind) else None


def _widen(value: object) -> object:
    """An integer as a float; one of more than 64 bits stays what it is, which is no float."""
    return float(value) if type(value) is int and is_of_kind(value, "int") else value
