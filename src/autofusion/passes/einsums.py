"""Einsums that are a matrix product, or a Transpose, in the operators that fusions know.

A letter of both operands and the result counts matrices, one of a single operand and the result counts
its rows or columns, and one of both operands alone is summed over.  Nothing else may occur.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autofusion.ir import Dim, DType, Graph, Node, Shape
from autofusion.ir.dims import product
from autofusion.ir.scope import GraphScope
from autofusion.ops.einsum import read_equation
from autofusion.passes.build import add_node, add_view
from autofusion.passes.spelling import spell_view
from autofusion.passes.sweep import sweep

_FLOATS = frozenset({DType.FLOAT16, DType.BFLOAT16, DType.FLOAT, DType.DOUBLE})
_REST = "..."


@dataclass(frozen=True)
class _Side:
    """An operand: its value, its letters as they stand and as the product wants them, and the last groups of those."""

    value: str
    letters: tuple[str, ...]
    batch: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]

    @property
    def order(self) -> tuple[str, ...]:
        return (*self.batch, *self.rows, *self.columns)


@dataclass(frozen=True)
class _Product:
    """`left @ right`, whose result has the letters `order` before it is brought into those of the equation."""

    left: _Side
    right: _Side
    target: tuple[str, ...]

    @property
    def order(self) -> tuple[str, ...]:
        return (*self.left.batch, *self.left.rows, *self.right.columns)

    @property
    def turns(self) -> int:
        """How many Transposes it takes."""
        return sum((side.letters != side.order) for side in (self.left, self.right)) + (self.order != self.target)


def rewrite_einsums(graph: Graph) -> int:
    """Write Einsums of one operand as Transpose, and of two as MatMul; returns the Einsums rewritten.

    Operands of a product, and its result, get a Transpose where their letters stand in another order, and a Reshape
    where several letters make one axis of a matrix.  Extents that broadcast, diagonals and sums over a letter
    of one operand stay Einsums.
    """
    return sweep(graph, _rewrite)


def _rewrite(node: Node, scope: GraphScope) -> int:
    if node.op != "Einsum" or len(node.inputs) > 2 or scope.value(node.input(0)).dtype not in _FLOATS:
        return 0
    shapes = [scope.value(name).shape for name in node.inputs]
    known = [shape for shape in shapes if shape is not None]
    spelt = _spell_letters(node, known) if len(known) == len(shapes) else None
    if spelt is None:
        return 0
    *terms, target = spelt
    extents: dict[str, Dim] = {}
    for term, shape in zip(terms, known, strict=True):
        for letter, extent in zip(term, shape, strict=True):
            if extents.setdefault(letter, extent) != extent:
                return 0
    if any(len(set(letters)) != len(letters) for letters in spelt):
        return 0
    if len(terms) == 1:
        return _write_transpose(node, terms[0], target, scope)
    forms = [form for form in _find_products(node, terms, target) if _can_spell(form, extents)]
    if not forms:
        return 0
    _write_product(node, min(forms, key=lambda form: form.turns), extents, scope)
    return 1


def _spell_letters(node: Node, shapes: Sequence[Shape]) -> list[tuple[str, ...]] | None:
    """The letters of each operand and of the result; those of an ellipsis are numbers, counted from the last."""
    terms, target = read_equation(node)
    spelt: list[tuple[str, ...]] = []
    widest = 0
    for term, shape in zip(terms, shapes, strict=True):
        before, dots, after = term.partition(_REST)
        rest = len(shape) - len(before) - len(after) if dots else 0
        widest = max(widest, rest)
        spelt.append((*before, *_number(rest), *after))
    before, dots, after = target.partition(_REST)
    spelt.append((*before, *(_number(widest) if dots else ()), *after))
    return spelt


def _number(count: int) -> tuple[str, ...]:
    return tuple(str(place) for place in range(count, 0, -1))


def _find_products(node: Node, terms: Sequence[tuple[str, ...]], target: tuple[str, ...]) -> list[_Product]:
    left, right = terms
    if set(target) - set(left) - set(right):
        return []
    kept = set(target)
    batch = tuple(letter for letter in target if letter in left and letter in right)
    summed = tuple(letter for letter in left if letter not in kept)
    rows = tuple(letter for letter in target if letter not in right)
    columns = tuple(letter for letter in target if letter not in left)
    if not rows or not columns or not summed or set(summed) != set(right) - kept:
        return []
    one, other = node.inputs
    forms: list[_Product] = []
    for order in dict.fromkeys((batch, tuple(letter for letter in left if letter in batch))):
        straight = _Side(one, left, order, rows, summed), _Side(other, right, order, summed, columns)
        swapped = _Side(other, right, order, columns, summed), _Side(one, left, order, summed, rows)
        forms += [_Product(*straight, target), _Product(*swapped, target)]
    return forms


def _can_spell(form: _Product, extents: Mapping[str, Dim]) -> bool:
    """True where a Reshape can say every merged shape, and the shape of the result."""
    for side, shape in zip((form.left, form.right), _matrices(form, extents), strict=True):
        if spell_view(shape, tuple(extents[letter] for letter in side.order)) is None:
            return False
    result = tuple(extents[letter] for letter in form.order)
    return spell_view(result, _merged_result(form, extents)) is not None


def _matrix(side: _Side, extents: Mapping[str, Dim], *, merges_rows: bool) -> Shape:
    batch = tuple(extents[letter] for letter in side.batch)
    rows, columns = (tuple(extents[letter] for letter in part) for part in (side.rows, side.columns))
    return (*batch, *((product(rows),) if merges_rows else rows), product(columns))


def _matrices(form: _Product, extents: Mapping[str, Dim]) -> tuple[Shape, Shape]:
    """The shapes of both operands; rows of a single matrix may lie on many axes."""
    left = _matrix(form.left, extents, merges_rows=bool(form.left.batch))
    return left, _matrix(form.right, extents, merges_rows=True)


def _merged_result(form: _Product, extents: Mapping[str, Dim]) -> Shape:
    left, right = _matrices(form, extents)
    return (*left[:-1], right[-1])


def _write_transpose(node: Node, term: tuple[str, ...], target: tuple[str, ...], scope: GraphScope) -> int:
    if set(term) != set(target):
        return 0
    scope.graph.remove(node.name)
    order = {"perm": tuple(term.index(letter) for letter in target)}
    add_node(scope, node.name, "Transpose", node.inputs, node.outputs, order, node.origin)
    return 1


def _write_product(node: Node, form: _Product, extents: Mapping[str, Dim], scope: GraphScope) -> None:
    scope.graph.remove(node.name)
    sides = zip((form.left, form.right), _matrices(form, extents), strict=True)
    operands = [_write_side(node, side, shape, extents, scope) for side, shape in sides]
    shape, merged = tuple(extents[letter] for letter in form.order), _merged_result(form, extents)
    target = spell_view(shape, merged)
    assert target is not None
    steps = [kind for kind, needed in (("view", shape != merged), ("turn", form.order != form.target)) if needed]
    names = [*(scope.fresh(f"{node.outputs[0]}_{step}") for step in ("product", *steps[:-1])), node.outputs[0]]
    names = names if steps else [node.outputs[0]]
    add_node(scope, node.name, "MatMul", operands, (names[0],), {}, node.origin)
    for step, source, result in zip(steps, names, names[1:], strict=False):
        name = scope.fresh(f"{node.name}_{step}")
        if step == "view":
            add_view(scope, name, source, target, result, node.origin)
        else:
            perm = {"perm": tuple(form.order.index(letter) for letter in form.target)}
            add_node(scope, name, "Transpose", (source,), (result,), perm, node.origin)


def _write_side(node: Node, side: _Side, shape: Shape, extents: Mapping[str, Dim], scope: GraphScope) -> str:
    """The operand as a matrix, or as matrices, of that shape."""
    value = side.value
    if side.letters != side.order:
        result, perm = scope.fresh(f"{value}_turn"), tuple(side.letters.index(letter) for letter in side.order)
        add_node(scope, scope.fresh(f"{node.name}_turn"), "Transpose", (value,), (result,), {"perm": perm}, node.origin)
        value = result
    given = tuple(extents[letter] for letter in side.order)
    target = spell_view(shape, given)
    if given == shape or target is None:
        return value
    result = scope.fresh(f"{side.value}_matrix")
    add_view(scope, scope.fresh(f"{node.name}_matrix"), value, target, result, node.origin)
    return result
