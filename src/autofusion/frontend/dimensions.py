"""Dimension texts of a model -> symbols and expressions, with the extents that the user binds."""

from __future__ import annotations

import difflib
import keyword
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from onnx import TensorShapeProto, ValueInfoProto

from autofusion.diagnostics import Diagnostic
from autofusion.errors import UsageError
from autofusion.frontend.faults import BAD_EXTENT, BOUND_EXTENT, UNKNOWN_INPUT, UNKNOWN_SYMBOL, fault
from autofusion.ir import Dim, Shape, parse_dim, symbol, symbols
from autofusion.ir.dims import Expr, substitute
from autofusion.ir.scope import Names
from autofusion.ops.inference import MAX_RANK

Limits = tuple[int, int | None]
"""The least and the greatest number that an extent may be; None for no greatest."""

_UNNAMED = frozenset({"", "?", "*", "None", "none", "-1"})
_MAX_EXPRESSION = 80
# Texts of extents are parts of a plan, where long ones have no place.
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_MAX_STEM = 40
# Plans hold extents below 2^48, which every number of so many digits is.
_MAX_DIGITS = 14


class Dimensions:
    """The symbols of a model's inputs.

    A dimension parameter that is an identifier becomes the symbol of that name, one that is
    an expression over such becomes the expression, any other text a symbol with a name made of it.
    An extent without any name becomes a symbol of its own, called after input and axis.
    """

    def __init__(self, inputs: Sequence[ValueInfoProto]) -> None:
        self.declared: dict[str, tuple[str, ...] | None] = {}
        self._shapes: dict[str, Shape | None] = {}
        self._symbols: dict[str, Dim] = {}
        self._bound: dict[str, Dim] = {}
        self._ranges: list[tuple[str, Dim, Limits]] = []
        self._limits: dict[str, Limits] = {}
        protos = {value.name: _shape_of(value) for value in inputs}
        texts = [extent.dim_param for proto in protos.values() if proto for extent in proto.dim]
        self._names = Names(filter(_is_symbol, texts))
        self._symbols.update({text: symbol(text) for text in texts if _is_symbol(text)})
        for text in texts:
            if text not in _UNNAMED and text not in self._symbols:
                self._symbols[text] = self._read_text(text)
        for name, proto in protos.items():
            self.declared[name] = None if proto is None else tuple(map(_spell_extent, proto.dim))
            self._shapes[name] = None if proto is None else tuple(self._read_extents(name, proto))

    def shape(self, name: str) -> Shape | None:
        """The shape of input `name` with every binding applied, None where its rank is unknown."""
        shape = self._shapes[name]
        return None if shape is None else tuple(self._substitute(extent) for extent in shape)

    def read_declared(self, value: ValueInfoProto) -> Shape | None:
        """The shape that the file declares for an inner value, None unless every extent is a number or a known text."""
        proto = _shape_of(value)
        extents: list[Dim] = []
        for extent in proto.dim if proto else ():
            known = extent.dim_value if extent.HasField("dim_value") else self._symbols.get(extent.dim_param)
            if known is None or (isinstance(known, int) and known < 0):
                return None
            extents.append(self._substitute(known))
        return None if proto is None else tuple(extents)

    def bind_shapes(self, shapes: Mapping[str, Sequence[int | str]]) -> None:
        """Fix the extents of whole inputs: a number, a symbol or expression, or -1 for what the model says.

        A range, such as `1~512`, leaves an extent open within limits, which hold once `limit_symbols` was called.
        Raises UsageError for an unknown input, another rank, or an extent that contradicts the model or another one.
        """
        for name, wanted in shapes.items():
            if name not in self._shapes:
                raise _unknown(UNKNOWN_INPUT, "input", name, self._shapes)
            self._bind_shape(name, wanted)

    def bind_symbols(self, dims: Mapping[str, int]) -> None:
        """Fix dimension parameters, named as in the model or by their symbol; raises UsageError for an unknown one."""
        for name, extent in dims.items():
            target = self._symbols.get(name)
            if target is None and _is_symbol(name) and name in self._known_symbols():
                target = symbol(name)
            if target is None:
                raise _unknown(UNKNOWN_SYMBOL, "dimension", name, sorted({*self._symbols, *self._known_symbols()}))
            if extent < 0:
                raise _misuse(BOUND_EXTENT, f"dimension {name!r} cannot be {extent}")
            self._unify(self._substitute(target), extent, f"dimension {name!r}")

    def limit_symbols(self) -> None:
        """Make the ranges that `bind_shapes` was given limits of their symbols; no binding may follow.

        Raises UsageError for a range that an extent of the model, or a binding, lies outside of.
        """
        for where, extent, (low, high) in self._ranges:
            settled = self._substitute(extent)
            name = _symbol_name(settled)
            if isinstance(settled, int) and low <= settled <= (settled if high is None else high):
                continue
            shown = _spell_range(low, high)
            if name is None:
                remedy = "" if isinstance(settled, int) else "give ranges to the symbols that it is made of"
                raise _misuse(BOUND_EXTENT, f"{where} is {settled}, not {shown}", remedy)
            least, most = self._limits.get(name, (0, None))
            tightest = min((bound for bound in (high, most) if bound is not None), default=None)
            self._limits[name] = max(low, least), tightest
            if tightest is not None and tightest < max(low, least):
                message = f"{where} is {name}, which cannot be both {_spell_range(least, most)} and {shown}"
                raise _misuse(BOUND_EXTENT, message, "give one range to extents of one symbol")

    def read_gears(self, gears: Sequence[Mapping[str, Sequence[int]]]) -> tuple[dict[str, int], ...]:
        """The extents of all symbols for each of `gears`, which have shapes of inputs; they limit the symbols.

        Raises UsageError where a gear contradicts the model, a range or itself, or leaves an extent open.
        """
        found = tuple(map(self._read_gear, gears))
        for name in found[0] if found else ():
            extents = [gear[name] for gear in found]
            self._limits[name] = min(extents), max(extents)
        return found

    def _read_gear(self, gear: Mapping[str, Sequence[int]]) -> dict[str, int]:
        known: dict[str, int] = {}
        given = [(name, axis, extent) for name, shape in gear.items() for axis, extent in enumerate(shape)]
        for name, axis, extent in given:
            name_of_extent = _symbol_name(self._read_axis(name, axis))
            if name_of_extent is not None:
                known.setdefault(name_of_extent, extent)
        for name, axis, extent in given:
            settled = substitute(self._read_axis(name, axis), known)
            if settled != extent:
                problem = f"a gear has {extent} for extent {axis} of input {name!r}, which is {settled} there"
                raise _misuse(BOUND_EXTENT, problem, "extents that the model calls alike are equal in every gear")
        for name in sorted(self._known_symbols()):
            low, high = self._limits.get(name, (0, None))
            if name not in known:
                remedy = "give every input with open extents in --input_shape, with -1 for what the gears tell"
                raise _misuse(BOUND_EXTENT, f"a gear leaves the extent {name!r} open", remedy)
            if not low <= known[name] <= (known[name] if high is None else high):
                raise _misuse(BOUND_EXTENT, f"a gear has {known[name]} for {name!r}, not {_spell_range(low, high)}")
        return known

    def _read_axis(self, name: str, axis: int) -> Dim:
        if name not in self._shapes:
            raise _unknown(UNKNOWN_INPUT, "input", name, self._shapes)
        shape = self.shape(name) or ()
        if axis >= len(shape):
            raise _misuse(BOUND_EXTENT, f"input {name!r} has rank {len(shape)}, which a gear exceeds")
        return shape[axis]

    def _read_text(self, text: str) -> Dim:
        extent = _parse_expression(text)
        if isinstance(extent, Expr) and symbols(extent) <= self._symbols.keys():
            return extent
        return symbol(self._names.fresh(_make_identifier(text)))

    def _read_extents(self, name: str, proto: TensorShapeProto) -> Iterator[Dim]:
        if len(proto.dim) > MAX_RANK:
            raise fault(BAD_EXTENT, f"input {name!r} has {len(proto.dim)} axes; at most {MAX_RANK} are supported")
        for axis, extent in enumerate(proto.dim):
            if extent.HasField("dim_value") and extent.dim_value >= 0:
                yield extent.dim_value
            elif extent.HasField("dim_value") and extent.dim_value != -1:
                raise fault(BAD_EXTENT, f"input {name!r} has extent {extent.dim_value} at axis {axis}")
            elif extent.dim_param not in _UNNAMED:
                yield self._symbols[extent.dim_param]
            else:
                yield symbol(self._names.fresh(f"{_make_identifier(name)}_{axis}"))

    def _bind_shape(self, name: str, wanted: Sequence[int | str]) -> None:
        shape = self._shapes[name]
        if shape is None:
            stem = _make_identifier(name)
            shape = tuple(symbol(self._names.fresh(f"{stem}_{axis}")) for axis in range(len(wanted)))
            self._shapes[name] = shape
        if len(shape) != len(wanted):
            raise _misuse(BOUND_EXTENT, f"input {name!r} has rank {len(shape)}, but {len(wanted)} extents are given")
        for axis, (extent, given) in enumerate(zip(shape, wanted, strict=True)):
            where = f"extent {axis} of input {name!r}"
            limits = read_range(given) if isinstance(given, str) else None
            if limits is not None:
                if limits[1] is not None and limits[1] < limits[0]:
                    raise _misuse(BOUND_EXTENT, f"{where} cannot be {given!r}", "a range has its smaller end first")
                self._ranges.append((where, extent, limits))
            elif given != -1:
                self._unify(self._substitute(extent), _read_given(given, where), where)

    def _unify(self, extent: Dim, given: Dim, where: str) -> None:
        given = self._substitute(given)
        if extent == given:
            return
        name = _symbol_name(extent)
        if name is None or name in symbols(given):
            if isinstance(extent, int):
                remedy = f"pass {extent}, or export the model with a dynamic axis there"
                raise _misuse(BOUND_EXTENT, f"{where} is {extent}, not {given}", remedy)
            remedy = "give the extents of the symbols that it is made of"
            raise _misuse(BOUND_EXTENT, f"{where} is {extent}, which {given} does not settle", remedy)
        self._bound[name] = given

    def _substitute(self, extent: Dim) -> Dim:
        # A binding may name a symbol that a later one binds.
        for _ in range(len(self._bound) + 1):
            following = substitute(extent, self._bound)
            if following == extent:
                break
            extent = following
        return substitute(extent, {name: symbol(name, *limits) for name, limits in self._limits.items()})

    def _known_symbols(self) -> set[str]:
        shapes = [shape for name in self._shapes if (shape := self.shape(name)) is not None]
        return {name for shape in shapes for extent in shape for name in symbols(extent)}


def read_range(text: str) -> Limits | None:
    """The limits that `1~512` means, or `1~-1` for no greatest; None for a text that is no range."""
    low, tilde, high = (part.strip() for part in text.partition("~"))
    if not (tilde and low.isdecimal() and (high.isdecimal() or high == "-1")):
        return None
    if max(len(low), len(high)) > _MAX_DIGITS:
        return None
    return int(low), None if high == "-1" else int(high)


def _spell_range(low: int, high: int | None) -> str:
    return f"{low}~{-1 if high is None else high}"


def _shape_of(value: ValueInfoProto) -> TensorShapeProto | None:
    tensor = value.type.tensor_type
    return tensor.shape if tensor.HasField("shape") else None


def _spell_extent(extent: TensorShapeProto.Dimension) -> str:
    return str(extent.dim_value) if extent.HasField("dim_value") else extent.dim_param or "?"


def _is_symbol(text: str) -> bool:
    # An expression is read back from its text, where a keyword could not stand.
    return _IDENTIFIER.fullmatch(text) is not None and not keyword.iskeyword(text) and text not in _UNNAMED


def _make_identifier(text: str) -> str:
    stem = re.sub(r"[^A-Za-z0-9]+", "_", text[:_MAX_STEM]).strip("_") or "dim"
    return stem if _is_symbol(stem) else f"dim_{stem}"


def _symbol_name(extent: Dim) -> str | None:
    """The name of an extent that is one symbol and nothing else."""
    text = str(extent)
    return text if isinstance(extent, Expr) and _is_symbol(text) else None


def _read_given(given: int | str, where: str) -> Dim:
    extent = given if isinstance(given, int) else _parse_expression(given)
    if extent is None:
        raise _misuse(BOUND_EXTENT, f"{where} cannot be {given!r}", "give a number, a name or an expression")
    if isinstance(extent, int) and extent < 0:
        raise _misuse(BOUND_EXTENT, f"{where} cannot be {extent}")
    return extent


def _parse_expression(text: str) -> Dim | None:
    # A product of sums has exponentially many terms: nobody writes a long one.
    if len(text) > _MAX_EXPRESSION:
        return None
    try:
        return parse_dim(text)
    except (ValueError, ZeroDivisionError):
        return None


def _misuse(code: str, problem: str, remedy: str = "") -> UsageError:
    return UsageError(Diagnostic(code, problem, help=remedy))


def _unknown(code: str, what: str, name: str, known: Iterable[str]) -> UsageError:
    choices = list(known)
    problem = f"the model has no {what} {name!r}"
    if not choices:
        return _misuse(code, problem, f"the model has no {what}s to bind")
    close = difflib.get_close_matches(name, choices, 3)
    if close:
        return _misuse(code, problem, f"did you mean {', '.join(map(repr, close))}?")
    return _misuse(code, problem, f"known are {', '.join(map(repr, choices))}")
