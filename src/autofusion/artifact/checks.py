"""Checks of a plan that came from a file: whatever a runtime relies on, short of what depends on the dims."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from autofusion.plan import KERNELS, Buffer, Plan, Setting, Size, Step, Tensor, size_symbols
from autofusion.plan.dtypes import STRING, storage_type
from autofusion.plan.kernels import Kernel
from autofusion.plan.stripes import Coverage, find_stripe, is_view

_MAX_EXTENT = 1 << 48
_MAX_RANK = 64
_MAX_SIZE_TEXT = 4096


def check_plan(plan: Plan, weight_bytes: int) -> None:
    """Raise ValueError, naming the buffer or step, unless `plan` hangs together over weights of `weight_bytes`.

    Names are defined, and before they are used; every buffer is written once; an alias names a
    buffer that is none; outputs are not in memory that later steps use; constants lie inside the
    weights; kernels, their operands and attributes are those of the kernel table; every extent is a
    number or an expression over the plan's symbols.
    """
    known_sizes: set[str] = set()
    symbols = frozenset(plan.symbols)
    if len(symbols) != len(plan.symbols):
        raise ValueError("a symbol occurs twice")
    _check_extents_allowed(plan)
    for tensor in plan.tensors:
        _check_tensor(tensor, weight_bytes)
    for buffer in plan.buffers.values():
        _check_buffer(buffer, plan)
        for size in buffer.shape or ():
            _check_size(size, f"buffer {buffer.name!r}", symbols, known_sizes)
    for step in plan.steps:
        _check_step(step, plan, symbols, known_sizes)
    _check_flow(plan)


def _check_extents_allowed(plan: Plan) -> None:
    """Limits are those of symbols, and every gear has an extent within them for each symbol."""
    for symbol, (low, high) in plan.limits.items():
        if symbol not in plan.symbols:
            raise ValueError(f"limits are those of {symbol!r}, which is no symbol of the plan")
        if not 0 <= low < _MAX_EXTENT or (high is not None and not low <= high < _MAX_EXTENT):
            raise ValueError(f"symbol {symbol!r} has the impossible limits {low} and {high}")
    for gear in plan.gears:
        if set(gear) != set(plan.symbols):
            raise ValueError("a gear does not have an extent for each symbol")
        for symbol, extent in gear.items():
            low, high = plan.limits.get(symbol, (0, None))
            if not low <= extent <= (_MAX_EXTENT - 1 if high is None else high):
                raise ValueError(f"a gear has the impossible extent {extent} for {symbol!r}")


def _check_tensor(tensor: Tensor, weight_bytes: int) -> None:
    place = f"tensor {tensor.name!r}"
    storage = storage_type(tensor.dtype)
    if any(extent < 0 for extent in tensor.shape) or len(tensor.shape) > _MAX_RANK:
        raise ValueError(f"{place} has no possible shape")
    if tensor.offset < 0 or tensor.offset % 64 or tensor.bytes < 0 or tensor.offset + tensor.bytes > weight_bytes:
        raise ValueError(f"{place} does not lie inside the weights")
    if tensor.dtype != STRING and tensor.bytes != prod(tensor.shape) * storage.itemsize:
        raise ValueError(f"{place} has {tensor.bytes} bytes, which its shape does not fill")


def _check_buffer(buffer: Buffer, plan: Plan) -> None:
    place = f"buffer {buffer.name!r}"
    if buffer.dtype or buffer.shape is not None:
        storage_type(buffer.dtype)
    if buffer.shape is not None and len(buffer.shape) > _MAX_RANK:
        raise ValueError(f"{place} has too many axes")
    if buffer.tensor is not None and not 0 <= buffer.tensor < len(plan.tensors):
        raise ValueError(f"{place} names a tensor that is not there")
    if buffer.tensor is not None and (buffer.alias is not None or buffer.role not in ("constant", "input")):
        raise ValueError(f"{place} has a tensor and is computed")
    if buffer.role == "constant" and buffer.tensor is None and buffer.alias is None:
        raise ValueError(f"{place} is a constant without bytes")
    if buffer.layout == "nhwc" and (buffer.shape is None or not 3 <= len(buffer.shape) <= 5):
        raise ValueError(f"{place} has a rank that layout nhwc does not have")
    if buffer.pitch is not None and not _has_pitch(buffer):
        raise ValueError(f"{place} has a pitch that its layout does not have")
    if buffer.offset and (buffer.alias is None or buffer.pitch is None):
        raise ValueError(f"{place} has an offset and is no view")
    if buffer.alias is not None:
        _check_alias(buffer, plan)


def _has_pitch(buffer: Buffer) -> bool:
    channels = buffer.shape[1] if buffer.layout == "nhwc" and buffer.shape is not None else None
    return isinstance(channels, int) and buffer.pitch is not None and buffer.pitch >= max(channels, 1)


def _check_alias(buffer: Buffer, plan: Plan) -> None:
    target = plan.buffers.get(buffer.alias or "")
    if target is None:
        raise ValueError(f"buffer {buffer.name!r} shares the bytes of {buffer.alias!r}, which is not there")
    if target.alias is not None:
        raise ValueError(f"buffer {buffer.name!r} shares the bytes of {target.name!r}, which has none of its own")
    if buffer.shape is None or target.shape is None:
        raise ValueError(f"buffer {buffer.name!r} shares bytes whose extent only a run can tell")
    if target.dtype != buffer.dtype:
        raise ValueError(f"buffer {buffer.name!r} shares the bytes of {target.name!r}, which has another type")
    if buffer.role == "input":
        raise ValueError(f"input {buffer.name!r} shares the bytes of {target.name!r}")
    if is_view(buffer) and plan.backend == "reference":
        raise ValueError(f"buffer {buffer.name!r} is a view, which a reference plan does not have")
    if is_view(buffer):
        find_stripe(buffer, target)


def _check_size(size: Size, place: str, symbols: frozenset[str], known: set[str]) -> None:
    if isinstance(size, int):
        if not 0 <= size < _MAX_EXTENT:
            raise ValueError(f"{place} has the impossible extent {size}")
        return
    if size in known:
        return
    if len(size) > _MAX_SIZE_TEXT:
        raise ValueError(f"{place} has an extent of {len(size)} characters")
    unknown = size_symbols(size) - symbols
    if unknown:
        raise ValueError(f"{place} depends on {min(unknown)!r}, which is no symbol of the plan")
    known.add(size)


def _check_step(step: Step, plan: Plan, symbols: frozenset[str], known: set[str]) -> None:
    place = f"step {step.node!r}"
    kernel = KERNELS.get(step.kernel)
    if kernel is None:
        raise ValueError(f"{place} names kernel {step.kernel!r}, which does not exist")
    strange = set(step.attributes) - set(kernel.attributes)
    if strange:
        raise ValueError(f"{place} has attribute {min(strange)!r}, which kernel {step.kernel} does not have")
    for name in (*step.inputs, *step.outputs):
        if name and name not in plan.buffers:
            raise ValueError(f"{place} names {name!r}, which is no buffer")
    if step.kernel == "host":
        return
    _check_counts(step, kernel, place)
    for index, operand in enumerate(kernel.operands):
        if not operand.endswith(("?", "...")) and (index >= len(step.inputs) or not step.inputs[index]):
            raise ValueError(f"{place} lacks operand {operand}")
    if any(plan.buffers[name].shape is None for name in (*step.inputs, *step.outputs) if name):
        raise ValueError(f"{place} works on a buffer whose shape only a run can tell")
    for name in kernel.sizes:
        _check_sizes(step.attributes.get(name), f"attribute {name} of {place}", symbols, known)
    if step.kernel == "extents":
        _check_extents(step, place, plan.buffers[step.outputs[0]], symbols, known)


def _check_counts(step: Step, kernel: Kernel, place: str) -> None:
    if len(step.inputs) > len(kernel.operands) and kernel.operands != ("...",):
        raise ValueError(f"{place} has more operands than kernel {step.kernel}")
    if not 1 <= len(step.outputs) <= len(kernel.results) or not step.outputs[0]:
        raise ValueError(f"{place} has {len(step.outputs)} results, which kernel {step.kernel} has not")


def _check_sizes(values: Setting, place: str, symbols: frozenset[str], known: set[str]) -> None:
    if not isinstance(values, list):
        raise ValueError(f"{place} is no list of sizes")
    for value in values:
        if type(value) is not int and not isinstance(value, str):
            raise ValueError(f"{place} has {value!r:.40}, which is no size")
        if isinstance(value, str):
            _check_size(value, place, symbols, known)


def _check_extents(step: Step, place: str, result: Buffer, symbols: frozenset[str], known: set[str]) -> None:
    values = step.attributes.get("values")
    if not isinstance(values, list):
        raise ValueError(f"{place} has no values")
    if result.dtype not in ("int64", "int32") or result.shape not in ((len(values),), () if len(values) == 1 else None):
        raise ValueError(f"{place} has {len(values)} values for {result.dtype} of shape {result.shape}")
    for value in values:
        if type(value) is not int and not isinstance(value, str):
            raise ValueError(f"{place} has a value that is no extent")
        if isinstance(value, str):
            _check_size(value, place, symbols, known)


def _check_flow(plan: Plan) -> None:
    """Every name is defined before it is read, and nothing is written twice."""
    _check_distinct(plan.inputs, "input")
    _check_distinct(plan.outputs, "output")
    written = _Written(plan)
    for name in plan.inputs:
        if name not in plan.buffers or plan.buffers[name].role != "input" or plan.buffers[name].shape is None:
            raise ValueError(f"input {name!r} is no input buffer")
        written.add(name)
    for buffer in plan.buffers.values():
        if buffer.role == "input" and not written.has(buffer.name):
            raise ValueError(f"buffer {buffer.name!r} is an input that the plan does not list")
        if buffer.tensor is not None:
            written.add(buffer.name)
    for step in plan.steps:
        _check_order(step, written)
    for name in plan.outputs:
        if name not in plan.buffers or not written.has(name):
            raise ValueError(f"output {name!r} is not written")
        if plan.buffers[_root(name, plan)].role == "inner":
            raise ValueError(f"output {name!r} lies in memory that later steps may use")


def _check_order(step: Step, written: _Written) -> None:
    for name in filter(None, step.inputs):
        if not written.has(name):
            raise ValueError(f"step {step.node!r} reads {name!r} before it is written")
    for name in filter(None, step.outputs):
        if not written.add(name):
            raise ValueError(f"step {step.node!r} writes {name!r}, which is written already")


class _Written:
    """The buffers that are written so far; of those with views the elements that are."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._whole: set[str] = set()
        self._parted = {buffer.alias: Coverage() for buffer in plan.buffers.values() if is_view(buffer)}

    def add(self, name: str) -> bool:
        """Note that buffer `name` is written; False where some of it was before."""
        root = _root(name, self._plan)
        if root in self._parted:
            return self._parted[root].write(find_stripe(self._plan.buffers[name], self._plan.buffers[root]))
        is_new = root not in self._whole
        self._whole.add(root)
        return is_new

    def has(self, name: str) -> bool:
        """True where all of buffer `name` is written."""
        root = _root(name, self._plan)
        if root in self._parted:
            return self._parted[root].covers(find_stripe(self._plan.buffers[name], self._plan.buffers[root]))
        return root in self._whole


def _check_distinct(names: Iterable[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{what} {name!r} occurs twice")
        seen.add(name)


def _root(name: str, plan: Plan) -> str:
    return plan.buffers[name].alias or name
