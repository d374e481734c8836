"""Tokens of graph text and of where-clauses, each with its place in the pattern file."""

from __future__ import annotations

import re
from dataclasses import dataclass

from autofusion.diagnostics import Diagnostic, Span
from autofusion.errors import PatternError

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r]+|\#[^\n]*)
      | (?P<newline>\n)
      | (?P<number>-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<string>"[^"\n]*"|'[^'\n]*')
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<mark>\.\.\.|::|==|!=|<=|>=|[=()<>,|?\[\].])
      | (?P<stray>.)""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Token:
    """One token; `kind` is "name", "number", "string", "mark", "newline", "stray" for anything else, or "end"."""

    kind: str
    text: str
    span: Span


@dataclass(frozen=True)
class Source:
    """A piece of text and the place of its first character in the file it came from."""

    text: str
    start: Span

    def span(self, offset: int) -> Span:
        """The place in the file of the character at `offset`."""
        line = self.text.count("\n", 0, offset)
        if not line:
            return Span(self.start.path, self.start.line, self.start.column + offset)
        column = offset - self.text.rfind("\n", 0, offset)
        return Span(self.start.path, self.start.line + line, column)


def tokenize(source: Source) -> list[Token]:
    """All tokens of `source`, ended by one of kind "end"."""
    tokens = [
        Token(str(match.lastgroup), match.group(), source.span(match.start()))
        for match in _TOKEN.finditer(source.text)
        if match.lastgroup != "space"
    ]
    return [*tokens, Token("end", "", source.span(len(source.text)))]


def syntax_error(message: str, span: Span, advice: str = "") -> PatternError:
    """The error for text that is not of the language."""
    return PatternError(Diagnostic("AF403", message, help=advice, span=span))


class TokenReader:
    """A cursor over tokens with the few verbs of a recursive-descent reader."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._place = 0

    def peek(self, ahead: int = 0) -> Token:
        """The token `ahead` places further, or the last one."""
        return self._tokens[min(self._place + ahead, len(self._tokens) - 1)]

    def next(self) -> Token:
        """Take one token."""
        token = self.peek()
        self._place += 1
        return token

    def accept(self, text: str) -> Token | None:
        """Take the next token if it is the mark or word `text`."""
        if self.peek().kind == "string" or self.peek().text != text:
            return None
        return self.next()

    def take(self, text: str) -> Token:
        """Take the mark or word `text`; raises PatternError AF403 otherwise."""
        token = self.accept(text)
        if token is None:
            raise self.unexpected(repr(text))
        return token

    def take_kind(self, kind: str, wanted: str) -> Token:
        """Take a token of `kind`, called `wanted` in the PatternError AF403 that is raised otherwise."""
        if self.peek().kind != kind:
            raise self.unexpected(wanted)
        return self.next()

    def skip_line(self) -> None:
        """Go to the next line break or to the end."""
        while self.peek().kind not in ("newline", "end"):
            self._place += 1

    def skip_newlines(self) -> None:
        """Go to the next token that is no line break."""
        while self.peek().kind == "newline":
            self._place += 1

    def unexpected(self, wanted: str) -> PatternError:
        """The error that says what should have stood here."""
        token = self.peek()
        if token.kind == "stray":
            return syntax_error(f"unexpected character {token.text!r}", token.span)
        found = {"newline": "the end of the line", "end": "the end"}.get(token.kind, repr(token.text))
        return syntax_error(f"expected {wanted}, found {found}", token.span)
