"""Scalar expressions of declared operators.

    choice     = conjunction {"or" conjunction}
    conjunction = condition {"and" condition}
    condition  = "not" condition | sum [comparison sum]
    sum        = product {("+" | "-") product}
    product    = factor {("*" | "/") factor}
    factor     = "-" factor | number | name | function "(" choice {"," choice} ")" | "(" choice ")"
    comparison = "==" | "!=" | "<" | "<=" | ">" | ">="

Names are inputs and numeric attributes.  A comparison gives a truth value, which `select(condition, a, b)` and the
words `not`, `and` and `or` take, and nothing else.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from autofusion.diagnostics import Diagnostic, Span
from autofusion.errors import PatternError
from autofusion.ops.custom import Apply, Literal64, Symbol, Term
from autofusion.patternlang.findings import report_unknown
from autofusion.patternlang.lexer import Source

MAX_WORDS = 400
"""Numbers, names and signs of one expression."""

MAX_DEPTH = 64
"""Parentheses, calls and signs that may stand inside one another."""

FUNCTIONS: Mapping[str, tuple[str, int]] = {
    "abs": ("Abs", 1),
    "ceil": ("Ceil", 1),
    "cos": ("Cos", 1),
    "erf": ("Erf", 1),
    "exp": ("Exp", 1),
    "floor": ("Floor", 1),
    "log": ("Log", 1),
    "max": ("Max", 2),
    "min": ("Min", 2),
    "pow": ("Pow", 2),
    "round": ("Round", 1),
    "select": ("Where", 3),
    "sigmoid": ("Sigmoid", 1),
    "sign": ("Sign", 1),
    "sin": ("Sin", 1),
    "softplus": ("Softplus", 1),
    "sqrt": ("Sqrt", 1),
    "tanh": ("Tanh", 1),
}
"""Functions, the operators of ONNX that they are, and how many arguments they take; `max` and `min` take more too."""

_MORE = ("max", "min")
_COMPARISONS = {
    "==": "Equal",
    "!=": "Equal",
    "<": "Less",
    "<=": "LessOrEqual",
    ">": "Greater",
    ">=": "GreaterOrEqual",
}
_SUMS = {"+": "Add", "-": "Sub"}
_PRODUCTS = {"*": "Mul", "/": "Div"}
_WORDS = {"or": "Or", "and": "And", "not": "Not"}
_TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)
      | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<mark>==|!=|<=|>=|[-+*/<>(),])""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    span: Span


@dataclass(frozen=True)
class _Part:
    """A term, whether it is a truth value, and where it begins."""

    term: Term
    is_truth: bool
    span: Span


def parse_expression(source: Source, inputs: Collection[str], attributes: Mapping[str, str]) -> Term:
    """The expression that `source` spells over the names of `inputs` and of `attributes`, given with their kinds.

    Raises PatternError AF421 with line and column for what is malformed, unknown or a truth value where a number
    belongs, and for an input that the expression does not read.
    """
    return _Parser(source, inputs, attributes).parse()


class _Parser:
    def __init__(self, source: Source, inputs: Collection[str], attributes: Mapping[str, str]) -> None:
        self._inputs = inputs
        self._attributes = attributes
        self._read: set[str] = set()
        self._depth = 0
        self._tokens = _tokenize(source)
        self._place = 0

    def parse(self) -> Term:
        start = self._peek().span
        whole = self._choice()
        if self._peek().kind != "end":
            raise self._unexpected("an operator or the end", self._peek())
        found = self._number(whole)
        unread = [name for name in self._inputs if name not in self._read]
        if unread:
            raise _fault(f"the expression does not read input {unread[0]!r}", start, "take it off the inputs")
        return found

    def _choice(self) -> _Part:
        return self._join("or", self._conjunction)

    def _conjunction(self) -> _Part:
        return self._join("and", self._condition)

    def _join(self, word: str, read: Callable[[], _Part]) -> _Part:
        left = read()
        while self._accept(word):
            terms = (self._truth(left), self._truth(read()))
            left = _Part(Apply(_WORDS[word], terms), True, left.span)
        return left

    def _condition(self) -> _Part:
        start = self._peek()
        if self._accept("not"):
            self._descend(start.span)
            term = Apply("Not", (self._truth(self._condition()),))
            self._depth -= 1
            return _Part(term, True, start.span)
        left = self._sum()
        sign = self._peek().text
        if self._peek().kind != "mark" or sign not in _COMPARISONS:
            return left
        self._next()
        compared = Apply(_COMPARISONS[sign], (self._number(left), self._number(self._sum())))
        return _Part(Apply("Not", (compared,)) if sign == "!=" else compared, True, left.span)

    def _sum(self) -> _Part:
        left = self._product()
        while self._peek().text in _SUMS:
            op = _SUMS[self._next().text]
            left = _Part(Apply(op, (self._number(left), self._number(self._product()))), False, left.span)
        return left

    def _product(self) -> _Part:
        left = self._factor()
        while self._peek().text in _PRODUCTS:
            op = _PRODUCTS[self._next().text]
            left = _Part(Apply(op, (self._number(left), self._number(self._factor()))), False, left.span)
        return left

    def _factor(self) -> _Part:
        token = self._next()
        self._descend(token.span)
        part = self._read_factor(token)
        self._depth -= 1
        return part

    def _read_factor(self, token: _Token) -> _Part:
        if token.text == "-":
            inner = self._number(self._factor())
            # Minus zero is not zero.
            if isinstance(inner, Literal64) and inner.value:
                return _Part(Literal64(-inner.value), False, token.span)
            return _Part(Apply("Neg", (inner,)), False, token.span)
        if token.text == "(":
            inner = self._choice()
            self._take(")")
            return _Part(inner.term, inner.is_truth, token.span)
        if token.kind == "number":
            value = float(token.text)
            if math.isinf(value):
                raise _fault(f"{token.text} is too large a number", token.span)
            return _Part(Literal64(value), False, token.span)
        if token.kind != "name" or token.text in _WORDS:
            raise self._unexpected("a number, a name, a function or `(`", token)
        if self._peek().text == "(":
            return self._call(token)
        return _Part(self._symbol(token), False, token.span)

    def _call(self, token: _Token) -> _Part:
        if token.text not in FUNCTIONS:
            message = f"unknown function {token.text!r}"
            raise PatternError(report_unknown("AF421", message, token.text, FUNCTIONS, token.span))
        op, count = FUNCTIONS[token.text]
        self._take("(")
        arguments = [self._choice()]
        while self._accept(","):
            arguments.append(self._choice())
        self._take(")")
        if len(arguments) < count or (len(arguments) > count and token.text not in _MORE):
            wanted = f"at least {count}" if token.text in _MORE else str(count)
            noun = "argument" if count == 1 else "arguments"
            raise _fault(f"{token.text} takes {wanted} {noun}, not {len(arguments)}", token.span)
        terms = [self._number(part) for part in arguments[op == "Where" :]]
        if op == "Where":
            terms.insert(0, self._truth(arguments[0]))
        return _Part(Apply(op, tuple(terms)), False, token.span)

    def _symbol(self, token: _Token) -> Symbol:
        if token.text in self._inputs:
            self._read.add(token.text)
            return Symbol(token.text, is_attribute=False)
        kind = self._attributes.get(token.text)
        if kind is None:
            known = [*self._inputs, *self._attributes]
            found = report_unknown("AF421", f"unknown name {token.text!r}", token.text, known, token.span)
            raise PatternError(found)
        if kind not in ("float", "int"):
            raise _fault(f"attribute {token.text!r} is of type {kind}, which is no number", token.span)
        return Symbol(token.text, is_attribute=True)

    def _number(self, part: _Part) -> Term:
        if part.is_truth:
            raise _fault("a truth value stands where a number belongs", part.span, "write select(condition, a, b)")
        return part.term

    def _truth(self, part: _Part) -> Term:
        if not part.is_truth:
            raise _fault("a number stands where a truth value belongs", part.span, "compare it, such as `x > 0`")
        return part.term

    def _descend(self, span: Span) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _fault(f"the expression is nested more than {MAX_DEPTH} deep", span)

    def _peek(self) -> _Token:
        return self._tokens[self._place]

    def _next(self) -> _Token:
        token = self._peek()
        self._place = min(self._place + 1, len(self._tokens) - 1)
        return token

    def _accept(self, text: str) -> bool:
        if self._peek().text != text:
            return False
        self._next()
        return True

    def _take(self, text: str) -> None:
        if not self._accept(text):
            raise self._unexpected(f"`{text}`", self._peek())

    def _unexpected(self, wanted: str, token: _Token) -> PatternError:
        found = "the end" if token.kind == "end" else repr(token.text)
        return _fault(f"expected {wanted}, found {found}", token.span)


def _tokenize(source: Source) -> list[_Token]:
    tokens: list[_Token] = []
    offset = 0
    while offset < len(source.text):
        match = _TOKEN.match(source.text, offset)
        if match is None:
            raise _fault(f"unexpected character {source.text[offset]!r}", source.span(offset))
        if match.lastgroup != "space":
            tokens.append(_Token(str(match.lastgroup), match.group(), source.span(offset)))
        offset = match.end()
    if len(tokens) > MAX_WORDS:
        raise _fault(f"the expression has more than {MAX_WORDS} words", tokens[MAX_WORDS].span)
    return [*tokens, _Token("end", "", source.span(len(source.text)))]


def _fault(message: str, span: Span, advice: str = "") -> PatternError:
    return PatternError(Diagnostic("AF421", message, help=advice, span=span))
