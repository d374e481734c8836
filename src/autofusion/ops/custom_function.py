"""A declared operator as a local function of ONNX: what it is inlined from, and what an oracle is given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from autofusion.ir import Attribute
from autofusion.ops.custom import CustomOperator, Literal64, Symbol, Term
from autofusion.ops.schema import schema_of

if TYPE_CHECKING:
    from onnx import AttributeProto, FunctionProto, NodeProto

_PARSE_PLACE = re.compile(r"position \(line: (\d+) column: (\d+)\)\]\s*Error context:[^\n]*\n(.*)", re.DOTALL)
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|#[^\n]*|[{}]')


class FunctionError(ValueError):
    """What is wrong with the text of a function's body, at the `offset`-th character of line `line` of it, from 0."""

    def __init__(self, problem: str, line: int = 0, offset: int = 0) -> None:
        super().__init__(problem)
        self.line = line
        self.offset = offset


def build_function(operator: CustomOperator) -> FunctionProto:
    """The local function that means `operator`; raises FunctionError for a body that cannot be parsed."""
    from onnx import helper

    return helper.make_function(
        operator.domain,
        operator.name,
        [place.name for place in operator.inputs],
        list(operator.outputs),
        _write_nodes(operator),
        [helper.make_opsetid("", operator.opset)],
        [item.name for item in operator.attributes.values() if item.default is None],
        [write_attribute(item.name, item.default) for item in operator.attributes.values() if item.default is not None],
    )


def check_function(operator: CustomOperator) -> list[FunctionError]:
    """What is wrong with the body of `operator`, in the order of its text; an expression is right by construction."""
    if operator.expression is not None:
        return []
    try:
        nodes = _parse_body(operator.body, operator.opset)
    except FunctionError as error:
        return [error]
    return list(_find_problems(nodes, operator))


def write_attribute(name: str, value: Attribute) -> AttributeProto:
    """`value` as the attribute `name` of a node or function."""
    from onnx import AttributeProto, helper

    if value == ():
        return helper.make_attribute(name, value, attr_type=AttributeProto.INTS)
    return helper.make_attribute(name, value)


def _write_nodes(operator: CustomOperator) -> list[NodeProto]:
    if operator.expression is None:
        return _parse_body(operator.body, operator.opset)
    writer = _ExpressionWriter(operator)
    writer.write(operator.expression, operator.outputs[0])
    return writer.nodes


class _ExpressionWriter:
    """Writes one node for each part of an expression; equal parts are written once."""

    def __init__(self, operator: CustomOperator) -> None:
        self.nodes: list[NodeProto] = []
        self._operator = operator
        self._names: dict[Term, str] = {}
        self._taken = {*operator.outputs, *(place.name for place in operator.inputs)}

    def write(self, term: Term, result: str = "") -> str:
        """The name of the value of `term`: `result` where one is given."""
        from onnx import helper

        if isinstance(term, Symbol) and not term.is_attribute:
            if result:
                self.nodes.append(helper.make_node("Identity", [term.name], [result]))
            return result or term.name
        if term in self._names:
            return self._names[term]
        name = result or self._fresh()
        if isinstance(term, Literal64 | Symbol):
            self._write_constant(term, name)
        else:
            operands = [self.write(operand) for operand in term.operands]
            self.nodes.append(helper.make_node(term.op, operands, [name]))
        self._names[term] = name
        return name

    def _write_constant(self, term: Literal64 | Symbol, name: str) -> None:
        """A constant in the element type of the inputs."""
        from onnx import AttributeProto, helper, numpy_helper

        plain = self._fresh()
        if isinstance(term, Literal64):
            tensor = numpy_helper.from_array(np.array(term.value, np.float64))
            constant = helper.make_node("Constant", [], [plain], value=tensor)
        else:
            kind = self._operator.attributes[term.name].kind
            number = AttributeProto.INT if kind == "int" else AttributeProto.FLOAT
            constant = helper.make_node("Constant", [], [plain])
            constant.attribute.append(AttributeProto(name=f"value_{kind}", type=number, ref_attr_name=term.name))
        self.nodes.append(constant)
        self.nodes.append(helper.make_node("CastLike", [plain, self._operator.inputs[0].name], [name]))

    def _fresh(self) -> str:
        name = next(name for number in range(len(self._taken) + 1) if (name := f"t{number}") not in self._taken)
        self._taken.add(name)
        return name


def _parse_body(text: str, opset: int) -> list[NodeProto]:
    """The nodes that `text` spells; what the parser of ONNX passes over, after a brace too many, is an error."""
    import onnx.parser

    _check_braces(text)
    head = f'<opset_import: ["" : {opset}]> body () => () {{\n'
    try:
        return list(onnx.parser.parse_function(f"{head}{text}\n}}").node)
    except onnx.parser.ParseError as error:
        raise _explain(error, text) from error
    except UnicodeDecodeError as error:
        raise FunctionError("a name or a string is not UTF-8") from error


def _check_braces(text: str) -> None:
    depth = 0
    last = 0
    for match in _TEXT.finditer(text):
        depth += {"{": 1, "}": -1}.get(match.group(), 0)
        last = match.start() if match.group() in ("{", "}") else last
        if depth < 0:
            raise FunctionError("a brace closes what none opened", *_place(text, match.start()))
    if depth:
        raise FunctionError("a brace is not closed", *_place(text, last))


def _place(text: str, offset: int) -> tuple[int, int]:
    """Line and place in it, both from 0, of the character at `offset`."""
    return text.count("\n", 0, offset), offset - text.rfind("\n", 0, offset) - 1


def _explain(error: Exception, text: str) -> FunctionError:
    """The error of ONNX's parser, which is the text of a byte string and counts the head's line, as ours."""
    told: object = error.args[0]
    raw = told.decode("utf-8", "replace") if isinstance(told, bytes) else str(told)
    found = _PARSE_PLACE.search(raw)
    if found is None:
        return FunctionError(raw)
    lines = text.split("\n")
    line = min(int(found[1]) - 2, len(lines) - 1)
    problem = found[3].strip().rstrip(".").replace("\n", " ")
    return FunctionError(problem[:1].lower() + problem[1:], line, min(max(int(found[2]) - 1, 0), len(lines[line])))


def _find_problems(nodes: list[NodeProto], operator: CustomOperator) -> Iterator[FunctionError]:
    """What the nodes do that no function may: unknown operators, undefined values, results defined twice."""
    known = {place.name for place in operator.inputs}
    offset = 0
    for node in nodes:
        found = re.compile(rf"\b{re.escape(node.op_type)}\s*[<(]").search(operator.body, offset)
        offset = offset if found is None else found.start()
        place = _place(operator.body, offset)
        problems = [*_check_operator(node, operator)]
        unread = [name for name in node.input if name and name not in known]
        problems += [f"{node.op_type} reads {name!r}, which is no input and no result above it" for name in unread]
        problems += [f"value {name!r} is defined twice" for name in node.output if name in known]
        yield from (FunctionError(problem, *place) for problem in problems)
        offset += 1
        known.update(node.output)
    end = _place(operator.body, len(operator.body.rstrip()))
    for name in operator.outputs:
        if name not in known:
            yield FunctionError(f"output {name!r} is not produced", *end)


def _check_operator(node: NodeProto, operator: CustomOperator) -> Iterator[str]:
    """What ONNX says against the node: its operator, the number of operands, its attributes."""
    if node.domain not in ("", "ai.onnx"):
        yield f"{node.domain}::{node.op_type} is of another domain than ONNX's own"
        return
    schema = schema_of(node.op_type, "", operator.opset)
    if schema is None or schema.deprecated:
        yield f"ONNX has no operator {node.op_type!r} in opset {operator.opset}"
        return
    least, most = schema.input_count
    if not least <= len(node.input) <= most:
        wanted = f"{least}" if least == most else f"{least} to {most}"
        yield f"{node.op_type} takes {wanted} operands, not {len(node.input)}"
    for attribute in node.attribute:
        if attribute.name not in schema.attributes:
            yield f"{node.op_type} has no attribute {attribute.name!r}"
        if attribute.ref_attr_name and attribute.ref_attr_name not in operator.attributes:
            yield f"{node.op_type} refers to {attribute.ref_attr_name!r}, which is no attribute of {operator.key}"
