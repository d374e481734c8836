"""Arrays for the inputs of an artifact: generated from a seed, or read from files."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from autofusion.artifact import TensorInfo
from autofusion.diagnostics import Diagnostic
from autofusion.errors import InputError
from autofusion.ir import DType
from autofusion.plan import Plan, evaluate_shape, evaluate_size
from autofusion.plan.dtypes import element_type
from autofusion.plan.sizes import size_symbols

SMALL = 2
"""The extent of a symbol that nobody chose: not 1, which hides a mix-up of extents, but quick."""

MAX_GENERATED = 1 << 32
"""Bytes of the largest input that is generated: a model that declares a larger one is broken, or gets it elsewhere."""


def choose_dims(plan: Plan, dims: Mapping[str, int]) -> dict[str, int]:
    """`dims`, and extents for the plan's other symbols: those of the first gear that has `dims`, else the number next
    to `SMALL` within their limits, or the least one where sums of symbols are limited and would be too large.
    """
    fitting = (gear for gear in plan.gears if all(gear.get(name) == dims[name] for name in dims))
    gear = next(fitting, dict[str, int]())
    chosen = dict(dims)
    for symbol in plan.symbols:
        low, high = plan.limits.get(symbol, (0, None))
        chosen.setdefault(symbol, gear.get(symbol, max(low, SMALL if high is None else min(SMALL, high))))
    for size, (_, most) in plan.limits.items():
        for symbol in sorted(size_symbols(size) - dims.keys() - gear.keys()):
            if most is not None and evaluate_size(size, chosen) > most:
                chosen[symbol] = plan.limits.get(symbol, (0, None))[0]
    return chosen


def generate_inputs(
    inputs: Sequence[TensorInfo], seed: int, dims: Mapping[str, int] | None = None
) -> dict[str, np.ndarray]:
    """An array for every input; the same seed gives the same arrays, whatever the order of the inputs.

    Floats are drawn from the standard normal distribution, integers of 8 bits from their whole range,
    wider ones from {0, 1}, which serve as indices, lengths and masks alike.  Symbols that `dims` lacks
    have the extent `SMALL`.  Raises InputError AF541 for an input of unknown shape, AF545 for an extent in
    `dims` that no input leaves open, AF533 for an input larger than `MAX_GENERATED`.
    """
    extents = {**dict.fromkeys(_open_extents(inputs), SMALL), **_check_dims(inputs, dims or {})}
    shapes = {info.name: _require_reasonable(info, _static_shape(info, extents)) for info in inputs}
    return {info.name: _draw(info, shapes[info.name], seed) for info in inputs}


def complete_inputs(
    inputs: Sequence[TensorInfo],
    given: Mapping[str, np.ndarray],
    seed: int,
    dims: Mapping[str, int] | None = None,
    plan: Plan | None = None,
) -> dict[str, np.ndarray]:
    """`given` and a generated array for every other input, in the model's order.

    Symbols that `dims` lacks take the extents that the given arrays have, others those that `choose_dims` finds for
    `plan`.  Raises as `generate_inputs` does, and
    InputError AF532 where an array contradicts `dims`.
    """
    seen = dict(_check_dims(inputs, dims or {}))
    for info in inputs:
        if info.name in given:
            for size, extent in zip(info.shape or (), given[info.name].shape, strict=False):
                if isinstance(size, str) and size.isidentifier():
                    _check_extent(size, extent, info.name, dims or {})
                    seen.setdefault(size, extent)
    missing = [info for info in inputs if info.name not in given]
    seen = seen if plan is None else choose_dims(plan, seen)
    known = {symbol: extent for symbol, extent in seen.items() if symbol in _open_extents(missing)}
    rest = generate_inputs(missing, seed, known)
    return {info.name: given[info.name] if info.name in given else rest[info.name] for info in inputs}


def read_inputs(
    sources: Sequence[str], inputs: Sequence[TensorInfo], dims: Mapping[str, int] | None = None
) -> dict[str, np.ndarray]:
    """The arrays that `sources` name.

    A source is `name=FILE` or, for an archive that holds arrays under the names of inputs, `FILE.npz`.
    Files: `.npy`, `.npz` (the array called like the input, or the only one), `.bin` (raw elements of the
    input's type and shape, open extents from `dims`).  Raises InputError AF540 for a file that cannot be
    read, AF541 for an open extent, AF542 for an unknown name, AF543 for a file that does not fit.
    """
    arrays: dict[str, np.ndarray] = {}
    by_name = {info.name: info for info in inputs}
    for source in sources:
        name = max((name for name in by_name if source.startswith(f"{name}=")), key=len, default=None)
        if name is not None:
            found = {name: _read_array(Path(source[len(name) + 1 :]), by_name[name], dims or {})}
        elif Path(source).suffix == ".npz":
            found = _read_archive(Path(source), by_name)
        else:
            raise _unknown_input(source.partition("=")[0], by_name)
        if twice := arrays.keys() & found.keys():
            message = f"input {min(twice)!r} is given twice"
            raise InputError(Diagnostic("AF543", message, help="name one file for every input"))
        arrays |= {name: _restore(array, by_name[name]) for name, array in found.items()}
    return arrays


def _restore(array: np.ndarray, info: TensorInfo) -> np.ndarray:
    """`array` in the input's type where numpy stored bare bytes, for it lacks the type."""
    dtype = _array_type(info)
    return array.view(dtype) if array.dtype.kind == dtype.kind == "V" and array.itemsize == dtype.itemsize else array


def _array_type(info: TensorInfo) -> np.dtype[Any]:
    return DType(element_type(info.dtype)).numpy


def _symbols(info: TensorInfo) -> frozenset[str]:
    return frozenset(symbol for size in info.shape or () for symbol in size_symbols(size))


def _open_extents(inputs: Sequence[TensorInfo]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(symbol for info in inputs for symbol in sorted(_symbols(info))))


def _check_dims(inputs: Sequence[TensorInfo], dims: Mapping[str, int]) -> Mapping[str, int]:
    symbols = _open_extents(inputs)
    for name in dims:
        if name not in symbols:
            remedy = f"open extents: {', '.join(symbols)}" if symbols else "the model leaves no extent open"
            raise InputError(Diagnostic("AF545", f"no input leaves an extent {name!r} open", help=remedy))
    return dims


def _check_extent(symbol: str, extent: int, name: str, dims: Mapping[str, int]) -> None:
    if dims.get(symbol, extent) != extent:
        message = f"--dim {symbol}={dims[symbol]} contradicts input {name!r}, whose array makes it {extent}"
        raise InputError(Diagnostic("AF532", message, help=f"leave --dim {symbol} out, or give another array"))


def _static_shape(info: TensorInfo, dims: Mapping[str, int]) -> tuple[int, ...]:
    if info.shape is None:
        message = f"the shape of input {info.name!r} is not known"
        raise InputError(Diagnostic("AF541", message, help=f"pass an array: --input {info.name}=FILE.npy"))
    return evaluate_shape(info.shape, dims)


def _require_reasonable(info: TensorInfo, shape: tuple[int, ...]) -> tuple[int, ...]:
    size = math.prod(shape) * _array_type(info).itemsize
    if size > MAX_GENERATED:
        message = f"input {info.name!r} ({info.dtype} {list(shape)}) takes {size >> 30} GiB, too much to generate"
        raise InputError(Diagnostic("AF533", message, help=f"pass an array: --input {info.name}=FILE.npy"))
    return shape


def _draw(info: TensorInfo, shape: tuple[int, ...], seed: int) -> np.ndarray:
    # Each input has its own stream, so that an input more does not change the others.
    random = np.random.default_rng([seed, zlib.crc32(info.name.encode())])
    dtype = _array_type(info)
    if info.dtype == DType.STRING.value:
        return np.full(shape, "text", dtype=object)
    if info.dtype in (DType.INT8.value, DType.UINT8.value):
        low = 0 if info.dtype == DType.UINT8.value else -128
        return random.integers(low, low + 256, shape).astype(dtype)
    if dtype.kind in "iub" or info.dtype in (DType.INT4.value, DType.UINT4.value):
        return random.integers(0, 2, shape).astype(dtype)
    drawn = random.standard_normal(shape)
    return (drawn + 1j * random.standard_normal(shape) if dtype.kind == "c" else drawn).astype(dtype)


def _read_array(path: Path, info: TensorInfo, dims: Mapping[str, int]) -> np.ndarray:
    if path.suffix == ".npy":
        return _read(path, lambda: np.load(path, allow_pickle=False))
    if path.suffix == ".npz":
        archive = _read_members(path)
        if info.name not in archive and len(archive) != 1:
            message = f"{str(path)!r} holds no array called {info.name!r}"
            raise InputError(Diagnostic("AF543", message, notes=(f"it holds {', '.join(archive) or 'nothing'}",)))
        return archive[info.name] if info.name in archive else next(iter(archive.values()))
    if path.suffix == ".bin":
        return _read_raw(path, info, dims)
    message = f"{str(path)!r} for input {info.name!r} is no file of arrays"
    raise InputError(Diagnostic("AF543", message, help="pass a .npy, .npz or .bin file"))


def _read_raw(path: Path, info: TensorInfo, dims: Mapping[str, int]) -> np.ndarray:
    if missing := sorted(_symbols(info) - dims.keys()):
        message = f"the extent of {', '.join(map(repr, missing))} is open, and raw bytes do not tell it"
        raise InputError(Diagnostic("AF541", message, help=" ".join(f"--dim {symbol}=1" for symbol in missing)))
    shape, dtype = _static_shape(info, dims), _array_type(info)
    data = _read(path, path.read_bytes)
    expected = int(np.prod(shape)) * dtype.itemsize
    if len(data) != expected:
        message = (
            f"{str(path)!r} has {len(data)} bytes, input {info.name!r} takes {expected} ({info.dtype} {list(shape)})"
        )
        raise InputError(Diagnostic("AF543", message))
    return np.frombuffer(data, dtype).reshape(shape)


def _read_archive(path: Path, by_name: Mapping[str, TensorInfo]) -> dict[str, np.ndarray]:
    archive = _read_members(path)
    for name in archive:
        if name not in by_name:
            raise _unknown_input(name, by_name)
    return archive


def _read_members(path: Path) -> dict[str, np.ndarray]:
    def read() -> dict[str, np.ndarray]:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}

    return _read(path, read)


Data = TypeVar("Data")


def _read(path: Path, read: Callable[[], Data]) -> Data:
    try:
        return read()
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(Diagnostic("AF540", f"cannot read {str(path)!r}: {_explain(error)}")) from error


def _explain(error: Exception) -> str:
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    if "pickle" in reason:
        # numpy takes whatever does not begin like an array for a pickle, and advises to load it.
        return "it holds no array of numbers or text"
    return reason[:1].lower() + reason[1:]


def _unknown_input(name: str, by_name: Mapping[str, TensorInfo]) -> InputError:
    inputs = ", ".join(f"{info.name} {info.dtype} {_shape_text(info)}" for info in by_name.values())
    message = f"the model has no input called {name!r}"
    return InputError(Diagnostic("AF542", message, notes=(f"its inputs: {inputs}",), help="write --input NAME=FILE"))


def _shape_text(info: TensorInfo) -> str:
    return "of unknown shape" if info.shape is None else "[" + ", ".join(str(size) for size in info.shape) + "]"
