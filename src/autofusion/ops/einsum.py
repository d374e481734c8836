"""Einsum: the equation against the operands' shapes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autofusion.ir import Dim, Node, Shape, Value
from autofusion.ops.broadcast import broadcast_extents, broadcast_shapes
from autofusion.ops.faults import BAD_ATTRIBUTE, SHAPES_CONTRADICT, WRONG_RANK, describe, fault
from autofusion.ops.operands import result, text
from autofusion.ops.precision import widen_halves
from autofusion.ops.table import Scope

_REST = "..."


def infer_einsum(node: Node, scope: Scope) -> Sequence[Value]:
    """Extents by their letters; raises ModelError where equation and operands do not fit."""
    terms, target = read_equation(node)
    if len(terms) != len(node.inputs):
        raise fault(BAD_ATTRIBUTE, node, f"the equation has {len(terms)} terms for {len(node.inputs)} inputs")
    extents: dict[str, Dim] = {}
    rest: Shape = ()
    complete = True
    for term, name in zip(terms, node.inputs, strict=True):
        shape = scope.value(name).shape
        if shape is None:
            complete = False
            continue
        letters, ellipsis = _split_axes(node, term, name, shape, scope)
        try:
            for letter, extent in letters:
                extents[letter] = broadcast_extents(extents.get(letter, 1), extent)
            rest = broadcast_shapes([rest, ellipsis])
        except ValueError as error:
            problem = f"input {describe(scope.value(name))} does not fit term {term!r}: {error}"
            raise fault(SHAPES_CONTRADICT, node, problem) from error
    if not complete:
        return [result()]
    return [result(_collect(target, extents, rest))]


def evaluate_einsum(node: Node, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
    """The sum of products, by numpy."""
    given = [array for array in operands if array is not None]
    terms, target = read_equation(node)
    equation = ",".join(terms) + "->" + target
    total = np.einsum(equation, *(widen_halves(array) for array in given), optimize=True)
    return [np.asarray(total).astype(given[0].dtype, copy=False)]


def read_equation(node: Node) -> tuple[list[str], str]:
    """The terms of an Einsum's operands and that of its result, written out where the equation leaves it to the rule.

    Raises ModelError for what is no equation.
    """
    equation = text(node, "equation").replace(" ", "")
    left, arrow, target = equation.partition("->")
    terms = left.split(",")
    letters = left.replace(_REST, "").replace(",", "")
    if not all(letter.isalpha() for letter in letters + target.replace(_REST, "")):
        raise fault(BAD_ATTRIBUTE, node, f"equation {equation!r} holds something that is no letter")
    if not arrow:
        once = sorted(letter for letter in set(letters) if letters.count(letter) == 1)
        target = (_REST if _REST in left else "") + "".join(once)
    unknown = set(target.replace(_REST, "")) - set(letters)
    if unknown:
        raise fault(BAD_ATTRIBUTE, node, f"equation {equation!r} asks for {sorted(unknown)}, which no input has")
    return terms, target


def _split_axes(node: Node, term: str, name: str, shape: Shape, scope: Scope) -> tuple[list[tuple[str, Dim]], Shape]:
    before, dots, after = term.partition(_REST)
    count = len(before) + len(after)
    if len(shape) < count or (not dots and len(shape) != count):
        problem = f"term {term!r} names {count} axes of input {describe(scope.value(name))}"
        raise fault(WRONG_RANK, node, problem)
    last = len(shape) - len(after)
    pairs = [*zip(before, shape[: len(before)], strict=True), *zip(after, shape[last:], strict=True)]
    return pairs, shape[len(before) : last]


def _collect(target: str, extents: dict[str, Dim], rest: Shape) -> Shape:
    before, dots, after = target.partition(_REST)
    named = [tuple(extents[letter] for letter in part) for part in (before, after)]
    return (*named[0], *(rest if dots else ()), *named[1])
