"""Symbolic extents: integer polynomials over symbols and over floor divisions, minima and maxima of such.

A `Dim` is an int or an `Expr`.  Expressions are kept in one normal form, so that two which
are equal as polynomials compare equal (`batch*seq*768 == 768*seq*batch`).
"""

from __future__ import annotations

import ast
import keyword
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass


class Symbol(str):
    """The name of an extent, with the least and the greatest number that it may be (None for no greatest).

    Names alone tell symbols apart: where two meet that differ in their limits, one of them is kept.
    """

    __slots__ = ("high", "low")

    low: int
    high: int | None

    def __new__(cls, name: str, low: int = 0, high: int | None = None) -> Symbol:
        """The symbol called `name`; raises nothing."""
        made = super().__new__(cls, name)
        made.low, made.high = low, high
        return made


@dataclass(frozen=True)
class Call:
    """An atom that is no polynomial: `floordiv`, `mod`, `min` or `max` of two extents."""

    function: str
    left: Dim
    right: Dim

    def __str__(self) -> str:
        sign = {"floordiv": "//", "mod": "%"}.get(self.function)
        if sign is None:
            return f"{self.function}({self.left}, {self.right})"
        return f"({_operand(self.left)}{sign}{_operand(self.right)})"


Atom = Symbol | Call
Monomial = tuple[Atom, ...]


@dataclass(frozen=True)
class Expr:
    """A polynomial that is not a plain number: sorted `(monomial, coefficient)` pairs, no zero coefficient."""

    terms: tuple[tuple[Monomial, int], ...]

    def __add__(self, other: Dim) -> Dim:
        return add(self, other)

    def __mul__(self, other: Dim) -> Dim:
        return multiply(self, other)

    __radd__ = __add__
    __rmul__ = __mul__

    def __sub__(self, other: Dim) -> Dim:
        return add(self, multiply(other, -1))

    def __rsub__(self, other: Dim) -> Dim:
        return add(other, multiply(self, -1))

    def __floordiv__(self, other: Dim) -> Dim:
        return floor_divide(self, other)

    def __str__(self) -> str:
        text = ""
        for monomial, factor in self.terms:
            parts = [str(atom) for atom in monomial]
            if abs(factor) != 1 or not parts:
                parts.insert(0, str(abs(factor)))
            sign = ("-" if factor < 0 else "") if not text else (" - " if factor < 0 else " + ")
            text += sign + "*".join(parts)
        return text


Dim = int | Expr


def symbol(name: str, low: int = 0, high: int | None = None) -> Expr:
    """The extent called `name`, which is never less than `low` or more than `high`.

    Raises ValueError unless the name is an identifier that `parse_dim` reads back as itself.
    """
    # Python has no names that are keywords, and reads others in Unicode's form NFKC.
    if not name.isidentifier() or keyword.iskeyword(name) or unicodedata.normalize("NFKC", name) != name:
        raise ValueError(f"{name!r} is no symbol name")
    return Expr((((Symbol(name, low, high),), 1),))


def add(left: Dim, right: Dim) -> Dim:
    """`left + right` in normal form."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    total = dict(_terms(left))
    for monomial, factor in _terms(right):
        total[monomial] = total.get(monomial, 0) + factor
    return _normal(total)


def multiply(left: Dim, right: Dim) -> Dim:
    """`left * right` in normal form."""
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    total: dict[Monomial, int] = {}
    for a, p in _terms(left):
        for b, q in _terms(right):
            monomial = tuple(sorted((*a, *b), key=str))
            total[monomial] = total.get(monomial, 0) + p * q
    return _normal(total)


def floor_divide(left: Dim, right: Dim) -> Dim:
    """`left // right`; raises ZeroDivisionError for a divisor of 0.

    The part of `left` that `right` divides exactly leaves the floor.
    """
    if isinstance(left, int) and isinstance(right, int):
        return left // right
    divisor = _terms(right)
    if not divisor:
        raise ZeroDivisionError("division of an extent by zero")
    if left == right:
        return 1
    leading, *others = divisor
    if others:
        exact = _divide_by_sum(left, divisor)
        return _atom("floordiv", left, right) if exact is None else exact
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for monomial, factor in _terms(left):
        quotient = _divide_term(monomial, factor, *leading)
        if quotient is None:
            rest[monomial] = factor
        else:
            whole[quotient[0]] = whole.get(quotient[0], 0) + quotient[1]
    remainder = _normal(rest)
    if isinstance(remainder, int) and isinstance(right, int):
        whole[()] = whole.get((), 0) + remainder // right
    elif remainder != 0:
        return add(_normal(whole), _atom("floordiv", remainder, right))
    return _normal(whole)


def modulo(left: Dim, right: Dim) -> Dim:
    """`left % right` with the divisor's sign; 0 where the division is exact as polynomials."""
    if isinstance(left, int) and isinstance(right, int):
        return left % right
    quotient = floor_divide(left, right)
    if left == multiply(quotient, right):
        return 0
    return _atom("mod", left, right)


def minimum(left: Dim, right: Dim) -> Dim:
    """The smaller of two extents."""
    return _extreme("min", left, right)


def maximum(left: Dim, right: Dim) -> Dim:
    """The larger of two extents."""
    return _extreme("max", left, right)


def product(dims: tuple[Dim, ...]) -> Dim:
    """The product of all extents, 1 for none."""
    total: Dim = 1
    for dim in dims:
        total = multiply(total, dim)
    return total


def symbols(dim: Dim) -> frozenset[str]:
    """Names of the symbols that `dim` depends on."""
    names: set[str] = set()
    for monomial, _ in _terms(dim):
        for atom in monomial:
            if isinstance(atom, str):
                names.add(atom)
            else:
                names |= symbols(atom.left) | symbols(atom.right)
    return frozenset(names)


def weigh(dim: Dim) -> int:
    """How much there is to `dim`: its factors and terms, those of atoms included, and the bytes of its numbers."""
    if isinstance(dim, int):
        return 1 + dim.bit_length() // 8
    total = 0
    for monomial, factor in dim.terms:
        total += 1 + factor.bit_length() // 8
        total += sum(1 if isinstance(atom, str) else weigh(atom.left) + weigh(atom.right) for atom in monomial)
    return total


def substitute(dim: Dim, known: Mapping[str, Dim]) -> Dim:
    """`dim` with symbols replaced; symbols that `known` lacks stay."""
    if isinstance(dim, int):
        return dim
    total: Dim = 0
    for monomial, factor in dim.terms:
        part: Dim = factor
        for atom in monomial:
            if isinstance(atom, str):
                part = multiply(part, known.get(atom, Expr((((atom,), 1),))))
            else:
                part = multiply(
                    part, _APPLY[atom.function](substitute(atom.left, known), substitute(atom.right, known))
                )
        total = add(total, part)
    return total


def parse_dim(text: str) -> Dim:
    """Read what `str` of a Dim writes; raises ValueError for anything else."""
    try:
        return _read(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError as error:
        raise ValueError(f"{text!r} is no extent") from error


def _operand(dim: Dim) -> str:
    text = str(dim)
    return text if text.isalnum() else f"({text})"


def _terms(dim: Dim) -> tuple[tuple[Monomial, int], ...]:
    if isinstance(dim, Expr):
        return dim.terms
    return (((), dim),) if dim else ()


def _normal(total: Mapping[Monomial, int]) -> Dim:
    kept = {monomial: factor for monomial, factor in total.items() if factor}
    if not kept:
        return 0
    if list(kept) == [()]:
        return kept[()]
    # The constant comes last, as people write it.
    order = sorted(kept, key=lambda monomial: (not monomial, -len(monomial), [str(atom) for atom in monomial]))
    return Expr(tuple((monomial, kept[monomial]) for monomial in order))


def _atom(function: str, left: Dim, right: Dim) -> Expr:
    return Expr((((Call(function, left, right),), 1),))


def _extreme(function: str, left: Dim, right: Dim) -> Dim:
    if isinstance(left, int) and isinstance(right, int):
        return min(left, right) if function == "min" else max(left, right)
    if left == right:
        return left
    gap = add(left, multiply(right, -1))
    if isinstance(gap, int):
        return left if (gap < 0) == (function == "min") else right
    left, right = sorted((left, right), key=str)
    return _atom(function, left, right)


def _divide_term(monomial: Monomial, factor: int, by: Monomial, divisor: int) -> tuple[Monomial, int] | None:
    if factor % divisor:
        return None
    rest = list(monomial)
    for atom in by:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest), factor // divisor


def _divide_by_sum(left: Dim, divisor: tuple[tuple[Monomial, int], ...]) -> Dim | None:
    """Exact quotient by a polynomial of several terms, or None: long division by the leading term."""
    quotient: Dim = 0
    rest = left
    for _ in range(16):
        if rest == 0:
            return quotient
        step = None
        for monomial, factor in _terms(rest):
            step = _divide_term(monomial, factor, *divisor[0])
            if step is not None:
                break
        if step is None:
            return None
        part = _normal({step[0]: step[1]})
        quotient = add(quotient, part)
        rest = add(rest, multiply(multiply(part, Expr(divisor)), -1))
    return None


_APPLY = {"floordiv": floor_divide, "mod": modulo, "min": minimum, "max": maximum}


def _read(node: ast.expr) -> Dim:
    match node:
        case ast.Constant(value=int() as number):
            return number
        case ast.Name(id=name):
            return symbol(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return multiply(_read(operand), -1)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return add(_read(left), _read(right))
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return add(_read(left), multiply(_read(right), -1))
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return multiply(_read(left), _read(right))
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
            return floor_divide(_read(left), _read(right))
        case ast.BinOp(left=left, op=ast.Mod(), right=right):
            return modulo(_read(left), _read(right))
        case ast.Call(func=ast.Name(id="min" | "max" as function), args=[left, right]):
            return _extreme(function, _read(left), _read(right))
        case _:
            raise ValueError(f"{ast.unparse(node)!r} is no extent")
