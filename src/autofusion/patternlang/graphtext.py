"""Graph text -> statements.

    statement = name {"," name} ["?"] "=" call {"|" call}
    call      = [domain "::"] operator ["<" name "=" value {"," name "=" value} ">"] ["(" arguments ")"]
    argument  = name ["?"] | "_" ["?"] | number | "..."

A call without arguments takes those of the next one.  A line that starts with `|` continues
the line above.  `#` starts a comment.
"""

from __future__ import annotations

from autofusion.diagnostics import Diagnostic, Span
from autofusion.errors import PatternError
from autofusion.patternlang.lexer import Source, Token, TokenReader, syntax_error, tokenize
from autofusion.patternlang.model import AttributeTest, Call, Form, Number, Reference, Scalar, Statement, Term, Wildcard


def parse_form(source: Source) -> Form:
    """The form that `source` spells; raises PatternError AF403 with line and column where it is malformed."""
    form, findings = read_form(source)
    if findings:
        raise PatternError(findings[0])
    return form


def read_form(source: Source) -> tuple[Form, list[Diagnostic]]:
    """The form of the statements of `source` that can be read, and the finding AF403 of every one that cannot."""
    reader = TokenReader(_join_lines(tokenize(source)))
    statements: list[Statement] = []
    findings: list[Diagnostic] = []
    reader.skip_newlines()
    while reader.peek().kind != "end":
        try:
            statements.append(_read_statement(reader, source))
        except PatternError as error:
            findings.append(error.diagnostic)
            reader.skip_line()
        reader.skip_newlines()
    if not statements and not findings:
        findings.append(syntax_error("a form needs at least one statement", source.start).diagnostic)
    return Form(tuple(statements), source.start), findings


def read_scalar(reader: TokenReader) -> Scalar:
    """A number, a quoted string or a list of such."""
    token = reader.peek()
    if reader.accept("["):
        return _read_list(reader)
    if token.kind == "number":
        return read_number(reader.next().text)
    if token.kind == "string":
        return reader.next().text[1:-1]
    raise reader.unexpected("a value")


def read_number(text: str) -> int | float:
    """An int where the text is one, else a float."""
    return float(text) if set(text) & set(".eE") else int(text)


def _join_lines(tokens: list[Token]) -> list[Token]:
    """The tokens without the line breaks inside parentheses and before a line that starts with `|`.

    A line that begins a statement ends the one above, whatever it left open.
    """
    kept: list[Token] = []
    depth = 0
    for place, (token, following) in enumerate(zip(tokens, [*tokens[1:], tokens[-1]], strict=True)):
        depth = max(depth + (token.text == "(") - (token.text == ")"), 0)
        if token.kind == "newline" and _begins_statement(tokens, place + 1):
            depth = 0
        if token.kind != "newline":
            kept.append(token)
        elif not depth and following.kind != "newline":
            if following.text == "|":
                # Blank and comment lines between the alternatives belong to the statement too.
                while kept and kept[-1].kind == "newline":
                    kept.pop()
            else:
                kept.append(token)
    return kept


def _begins_statement(tokens: list[Token], place: int) -> bool:
    """True where the tokens from `place` on are names, perhaps a question mark, and `=`."""
    while tokens[place].kind == "name" and tokens[place + 1].text == ",":
        place += 2
    if tokens[place].kind != "name":
        return False
    place += 1
    return tokens[place + (tokens[place].text == "?")].text == "="


def _read_statement(reader: TokenReader, source: Source) -> Statement:
    first = reader.take_kind("name", "a statement")
    names = [_check_name(first)]
    while reader.accept(","):
        names.append(_check_name(reader.take_kind("name", "the name of a further result")))
    optional = reader.accept("?") is not None
    reader.take("=")
    calls = [_read_call(reader)]
    while reader.accept("|"):
        calls.append(_read_call(reader))
    if reader.peek().kind not in ("newline", "end"):
        raise reader.unexpected("`|` or the end of the line")
    return Statement(tuple(names), optional, _share_arguments(calls), first.span, _line_of(source, first.span))


def _check_name(token: Token) -> str:
    if token.text == "_":
        raise syntax_error("`_` is no name for a statement", token.span)
    return token.text


def _line_of(source: Source, span: Span) -> str:
    return source.text.split("\n")[span.line - source.start.line].strip()


def _share_arguments(calls: list[tuple[Call, bool]]) -> tuple[Call, ...]:
    """The calls, those without an argument list of their own with the next one's."""
    shared: list[Call] = []
    for call, has_list in reversed(calls):
        if has_list:
            shared.append(call)
        elif not shared:
            raise syntax_error(f"{call.op} has no argument list", call.span, "write the arguments in parentheses")
        else:
            donor = shared[-1]
            shared.append(
                Call(
                    call.op,
                    call.domain,
                    call.is_pattern,
                    call.attributes,
                    donor.arguments,
                    donor.has_rest,
                    call.span,
                )
            )
    return tuple(reversed(shared))


def _read_call(reader: TokenReader) -> tuple[Call, bool]:
    start = reader.take_kind("name", "an operator")
    op, domain = start.text, ""
    if reader.peek().text in (".", "::"):
        while reader.accept("."):
            op += "." + reader.take_kind("name", "the rest of a domain").text
        reader.take("::")
        op, domain = reader.take_kind("name", "an operator").text, op
    attributes = _read_attributes(reader)
    has_list = reader.accept("(") is not None
    arguments, has_rest = _read_arguments(reader) if has_list else ((), False)
    is_pattern = not domain and op[0].islower()
    return Call(op, domain, is_pattern, attributes, arguments, has_rest, start.span), has_list


def _read_attributes(reader: TokenReader) -> tuple[AttributeTest, ...]:
    tests: list[AttributeTest] = []
    if not reader.accept("<"):
        return ()
    while True:
        name = reader.take_kind("name", "an attribute")
        reader.take("=")
        if reader.accept("last"):
            tests.append(AttributeTest(name.text, -1, True, name.span))
        else:
            tests.append(AttributeTest(name.text, read_scalar(reader), False, name.span))
        if reader.accept(">"):
            return tuple(tests)
        reader.take(",")


def _read_arguments(reader: TokenReader) -> tuple[tuple[Term, ...], bool]:
    terms: list[Term] = []
    if reader.accept(")"):
        return (), False
    while True:
        if reader.accept("..."):
            reader.take(")")
            return tuple(terms), True
        terms.append(_read_term(reader))
        if reader.accept(")"):
            return tuple(terms), False
        reader.take(",")


def _read_term(reader: TokenReader) -> Term:
    token = reader.peek()
    if token.kind == "number":
        return Number(float(reader.next().text), token.span)
    name = reader.take_kind("name", "an argument").text
    optional = reader.accept("?") is not None
    return Wildcard(optional, token.span) if name == "_" else Reference(name, optional, token.span)


def _read_list(reader: TokenReader) -> Scalar:
    items: list[int | float | str] = []
    while not reader.accept("]"):
        token = reader.peek()
        if token.kind == "number":
            items.append(read_number(reader.next().text))
        else:
            items.append(reader.take_kind("string", "a number or a string").text[1:-1])
        if not reader.accept(","):
            reader.take("]")
            break
    if all(isinstance(item, int) for item in items):
        return tuple(item for item in items if isinstance(item, int))
    if all(isinstance(item, str) for item in items):
        return tuple(item for item in items if isinstance(item, str))
    if any(isinstance(item, str) for item in items):
        raise reader.unexpected("a list of numbers or of strings")
    return tuple(float(item) for item in items)
