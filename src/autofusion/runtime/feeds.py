"""Checks of what a caller gives a session: arrays for the inputs and arrays to write outputs into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from autofusion.plan import Buffer, Plan
from autofusion.plan.dtypes import ARRAY_NAMES, EXTENSIONS, STRING, storage_type
from autofusion.runtime.refusals import input_error
from autofusion.runtime.shapes import Shape, show_shape
from autofusion.runtime.views import array_type, store

if TYPE_CHECKING:
    from autofusion.errors import InputError


def check_feeds(plan: Plan, feeds: Mapping[str, Any], defaults: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The inputs in storage types, C-contiguous, aligned and read-only, by name; copied only where they are not.

    `defaults` has the inputs that may be left out.
    Raises InputError: AF530 for names, AF531 for element types.
    """
    _check_names(feeds, plan, plan.inputs, "input")
    missing = [name for name in plan.inputs if name not in feeds and name not in defaults]
    if missing:
        takes = f"the model takes {_list_values(plan, plan.inputs)}"
        raise input_error("AF530", f"input {missing[0]!r} is missing", help=takes)
    return {name: _take_array(plan, name, feeds[name]) if name in feeds else defaults[name] for name in plan.inputs}


def check_results(
    plan: Plan, out: Mapping[str, np.ndarray], shapes: Mapping[str, Shape], feeds: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """The arrays of `out` in storage types, by name; `shapes` has the outputs' shapes as far as they are known.

    Raises InputError: AF530 for names, AF534 for an array that cannot take its output: of another type or shape,
    read-only, or sharing memory with an input or with another one.
    """
    _check_names(out, plan, plan.outputs, "output")
    taken: dict[str, np.ndarray] = {}
    for name, array in out.items():
        dtype = plan.buffers[name].dtype
        problem = _judge_result(array, dtype, shapes.get(name))
        others = [other for other, given in (*feeds.items(), *taken.items()) if _overlap(array, given)]
        if problem is None and others:
            problem = f"it shares memory with the array of {others[0]!r}"
        if problem is not None:
            text = f"the array for output {name!r} cannot take it: {problem}"
            raise input_error("AF534", text, help="leave it out, and a fitting array is made")
        taken[name] = store(array, dtype) if array.dtype != storage_type(dtype) else array
    return taken


def is_direct(array: np.ndarray) -> bool:
    """True where kernels may work on the array where it is."""
    flags = array.flags
    # Looking an address up takes longer than all else: what is aligned for its own type needs it for small ones alone.
    return flags.c_contiguous and flags.aligned and (array.itemsize >= 4 or array.ctypes.data % 4 == 0)


def _check_names(given: Mapping[str, Any], plan: Plan, names: Sequence[str], what: str) -> None:
    if not isinstance(cast(object, given), Mapping):
        text = f"arrays must be given by {what} name, not as {type(given).__name__}"
        raise input_error("AF530", text, help="pass a dict: name -> array")
    for name in given:
        if name not in names:
            import difflib

            close = difflib.get_close_matches(str(name), names, 1)
            meant = f"did you mean {close[0]!r}? " if close else ""
            verb = "takes" if what == "input" else "gives"
            remedy = f"{meant}the model {verb} {_list_values(plan, names) or 'nothing'}"
            raise input_error("AF530", f"the model has no {what} {name!r}", help=remedy)


def _take_array(plan: Plan, name: str, value: Any) -> np.ndarray:
    dtype = plan.buffers[name].dtype
    try:
        array = np.asarray(value)
    except ValueError as error:
        text = f"input {name!r} is no array, and numpy cannot make it one"
        raise input_error("AF531", text, help="give an array; nested lists must have equal lengths") from error
    if dtype == STRING:
        if array.dtype.kind not in "OUT":
            raise _wrong_type(name, array, dtype)
        return array.astype(np.object_)
    if not _has_type(array, dtype):
        raise _wrong_type(name, array, dtype)
    array = store(array, dtype) if array.dtype != storage_type(dtype) else array
    array = array.view() if is_direct(array) else _copy_aligned(array)
    array.flags.writeable = False
    return array


def _copy_aligned(array: np.ndarray) -> np.ndarray:
    # Memory that numpy allocates is aligned well enough for every type.
    return np.array(array, order="C")


def _has_type(array: np.ndarray, dtype: str) -> bool:
    return array.dtype == storage_type(dtype) or (dtype in EXTENSIONS and array.dtype == array_type(dtype))


def _wrong_type(name: str, array: np.ndarray, dtype: str) -> InputError:
    text = f"input {name!r} has elements of type {array.dtype}, the model takes {ARRAY_NAMES[dtype]}"
    wanted = "str" if dtype == STRING else array_type(dtype).name
    return input_error("AF531", text, help=f"convert it: array.astype({wanted!r})")


def _judge_result(array: Any, dtype: str, shape: Shape | None) -> str | None:
    if not isinstance(array, np.ndarray):
        return f"it is a {type(array).__name__}"
    given = cast("np.ndarray[Any, Any]", array)
    if shape is None or dtype == STRING:
        return "only a run can tell how much memory it needs"
    if not _has_type(given, dtype):
        return f"its elements are {given.dtype}, those of the output {ARRAY_NAMES[dtype]}"
    if given.shape != shape:
        return f"its shape is {show_shape(given.shape)}, that of the output {show_shape(shape)}"
    return None if given.flags.writeable else "it is read-only"


def _overlap(first: np.ndarray, second: np.ndarray) -> bool:
    # Comparing bounds is enough: interleaved arrays are refused as well, which nobody misses.
    return np.may_share_memory(first, second)


def _list_values(plan: Plan, names: Sequence[str]) -> str:
    return ", ".join(_describe(plan.buffers[name]) for name in names)


def _describe(buffer: Buffer) -> str:
    shape = "" if buffer.shape is None else show_shape(buffer.shape)
    return f"{buffer.name} {ARRAY_NAMES.get(buffer.dtype, '')}{shape}"
