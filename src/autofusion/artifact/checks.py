"""Checks of a plan that came from a file: whatever a runtime relies on, short of what depends on the dims."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from math import prod

from autofusion.plan import KERNELS, Buffer, Plan, Setting, Size, Step, size_symbols
from autofusion.plan.dtypes import STORAGE, STRING, storage_type
from autofusion.plan.kernels import Kernel
from autofusion.plan.stripes import Coverage, Stripe, find_stripe, is_view

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
    _check_tensors(plan, weight_bytes)
    _check_shapes(plan, symbols, known_sizes)
    for buffer in plan.buffers.values():
        _check_buffer(buffer, plan)
    signatures: dict[str, _Signature] = {}
    unknown_shapes = {name for name, buffer in plan.buffers.items() if buffer.shape is None}
    for step in plan.steps:
        kernel = _check_names(step, plan)
        if kernel.name not in signatures:
            signatures[kernel.name] = _Signature(kernel)
        signature = signatures[kernel.name]
        signature.check_attributes(step)
        if step.kernel == "host":
            continue
        signature.check_operands(step)
        if unknown_shapes and not unknown_shapes.isdisjoint((*step.inputs, *step.outputs)):
            raise ValueError(f"step {step.node!r} works on a buffer whose shape only a run can tell")
        _check_step_sizes(step, kernel, plan, symbols, known_sizes)
    _check_flow(plan)


def _check_extents_allowed(plan: Plan) -> None:
    """Limits are those of symbols or sizes over them, and every gear has an extent within them for each symbol."""
    for size, (low, high) in plan.limits.items():
        if not size_symbols(size) <= set(plan.symbols):
            raise ValueError(f"limits are those of {size!r}, which is no size over symbols of the plan")
        if not 0 <= low < _MAX_EXTENT or (high is not None and not low <= high < _MAX_EXTENT):
            raise ValueError(f"extent {size!r} has the impossible limits {low} and {high}")
    for gear in plan.gears:
        if set(gear) != set(plan.symbols):
            raise ValueError("a gear does not have an extent for each symbol")
        for symbol, extent in gear.items():
            low, high = plan.limits.get(symbol, (0, None))
            if not low <= extent <= (_MAX_EXTENT - 1 if high is None else high):
                raise ValueError(f"a gear has the impossible extent {extent} for {symbol!r}")


def _check_tensors(plan: Plan, weight_bytes: int) -> None:
    item_bytes = {dtype: storage_type(dtype).itemsize for dtype in {tensor.dtype for tensor in plan.tensors}}
    for name, dtype, shape, offset, size in plan.tensors:
        if len(shape) > _MAX_RANK or min(shape, default=0) < 0:
            raise ValueError(f"tensor {name!r} has no possible shape")
        if offset < 0 or offset % 64 or size < 0 or offset + size > weight_bytes:
            raise ValueError(f"tensor {name!r} does not lie inside the weights")
        if size != prod(shape) * item_bytes[dtype] and dtype != STRING:
            raise ValueError(f"tensor {name!r} has {size} bytes, which its shape does not fill")


def _check_shapes(plan: Plan, symbols: frozenset[str], known: set[str]) -> None:
    """Every extent of a buffer is possible; most occur often and are looked at once."""
    shapes = dict.fromkeys(buffer.shape or () for buffer in plan.buffers.values())
    if max(map(len, shapes), default=0) > _MAX_RANK:
        name = next(name for name, buffer in plan.buffers.items() if len(buffer.shape or ()) > _MAX_RANK)
        raise ValueError(f"buffer {name!r} has too many axes")
    for size in dict.fromkeys(chain.from_iterable(shapes)):
        try:
            _check_size(size, symbols, known)
        except ValueError as error:
            name = next(name for name, buffer in plan.buffers.items() if size in (buffer.shape or ()))
            raise ValueError(f"buffer {name!r} {error}") from error


def _check_buffer(buffer: Buffer, plan: Plan) -> None:
    name, dtype, shape, role, layout, pitch, alias, tensor, offset = buffer
    if dtype not in STORAGE and (dtype or shape is not None):
        storage_type(dtype)
    if tensor is not None:
        if not 0 <= tensor < len(plan.tensors):
            raise ValueError(f"buffer {name!r} names a tensor that is not there")
        if alias is not None or role not in ("constant", "input"):
            raise ValueError(f"buffer {name!r} has a tensor and is computed")
    elif role == "constant" and alias is None:
        raise ValueError(f"buffer {name!r} is a constant without bytes")
    if layout == "nhwc" and (shape is None or not 3 <= len(shape) <= 5):
        raise ValueError(f"buffer {name!r} has a rank that layout nhwc does not have")
    if pitch is not None and not _has_pitch(buffer):
        raise ValueError(f"buffer {name!r} has a pitch that its layout does not have")
    if offset and (alias is None or pitch is None):
        raise ValueError(f"buffer {name!r} has an offset and is no view")
    if alias is not None:
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


def _check_size(size: Size, symbols: frozenset[str], known: set[str]) -> None:
    if isinstance(size, int):
        if not 0 <= size < _MAX_EXTENT:
            raise ValueError(f"has the impossible extent {size}")
        return
    if size in known:
        return
    if len(size) > _MAX_SIZE_TEXT:
        raise ValueError(f"has an extent of {len(size)} characters")
    unknown = size_symbols(size) - symbols
    if unknown:
        raise ValueError(f"depends on {min(unknown)!r}, which is no symbol of the plan")
    known.add(size)


def _check_names(step: Step, plan: Plan) -> Kernel:
    """The step's kernel; raises ValueError where there is none, or its operands are no buffers."""
    kernel = KERNELS.get(step.kernel)
    if kernel is None:
        raise ValueError(f"step {step.node!r} names kernel {step.kernel!r}, which does not exist")
    for name in (*step.inputs, *step.outputs):
        if name and name not in plan.buffers:
            raise ValueError(f"step {step.node!r} names {name!r}, which is no buffer")
    return kernel


class _Signature:
    """What steps of a kernel may have, made once for all of them."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._attributes = frozenset(kernel.attributes)
        names = enumerate(kernel.operands)
        self._required = [(index, name) for index, name in names if not name.endswith(("?", "..."))]

    def check_attributes(self, step: Step) -> None:
        """Raise ValueError for an attribute that the kernel does not have."""
        if not step.attributes.keys() <= self._attributes:
            strange = min(step.attributes.keys() - self._attributes)
            raise ValueError(f"step {step.node!r} has attribute {strange!r}, which kernel {step.kernel} does not have")

    def check_operands(self, step: Step) -> None:
        """Raise ValueError unless the kernel takes as many operands, has those that it needs, and as many results."""
        place, kernel = f"step {step.node!r}", self._kernel
        if len(step.inputs) > len(kernel.operands) and kernel.operands != ("...",):
            raise ValueError(f"{place} has more operands than kernel {step.kernel}")
        if not 1 <= len(step.outputs) <= len(kernel.results) or not step.outputs[0]:
            raise ValueError(f"{place} has {len(step.outputs)} results, which kernel {step.kernel} has not")
        for index, operand in self._required:
            if index >= len(step.inputs) or not step.inputs[index]:
                raise ValueError(f"{place} lacks operand {operand}")


def _check_step_sizes(step: Step, kernel: Kernel, plan: Plan, symbols: frozenset[str], known: set[str]) -> None:
    """Attributes that are size expressions are such, over the plan's symbols."""
    for name in kernel.sizes:
        _check_sizes(step.attributes.get(name), f"attribute {name} of step {step.node!r}", symbols, known)
    if step.kernel == "extents":
        _check_extents(step, plan.buffers[step.outputs[0]], symbols, known)


def _check_sizes(values: Setting, place: str, symbols: frozenset[str], known: set[str]) -> None:
    if not isinstance(values, list):
        raise ValueError(f"{place} is no list of sizes")
    for value in values:
        if type(value) is not int and not isinstance(value, str):
            raise ValueError(f"{place} has {value!r:.40}, which is no size")
        if isinstance(value, str):
            _check_text(value, place, symbols, known)


def _check_text(size: str, place: str, symbols: frozenset[str], known: set[str]) -> None:
    try:
        _check_size(size, symbols, known)
    except ValueError as error:
        raise ValueError(f"{place} {error}") from error


def _check_extents(step: Step, result: Buffer, symbols: frozenset[str], known: set[str]) -> None:
    place = f"step {step.node!r}"
    values = step.attributes.get("values")
    if not isinstance(values, list):
        raise ValueError(f"{place} has no values")
    if result.dtype not in ("int64", "int32") or result.shape not in ((len(values),), () if len(values) == 1 else None):
        raise ValueError(f"{place} has {len(values)} values for {result.dtype} of shape {result.shape}")
    for value in values:
        if type(value) is not int and not isinstance(value, str):
            raise ValueError(f"{place} has a value that is no extent")
        if isinstance(value, str):
            _check_text(value, place, symbols, known)


def _check_flow(plan: Plan) -> None:
    """Raise ValueError unless every name is written before it is read, and nothing twice.

    Outputs are written, and not in memory that later steps may use.  All names that steps have are buffers.
    """
    _check_distinct(plan.inputs, "input")
    _check_distinct(plan.outputs, "output")
    written = _Written(plan)
    buffers = plan.buffers
    for name in plan.inputs:
        if name not in buffers or buffers[name].role != "input" or buffers[name].shape is None:
            raise ValueError(f"input {name!r} is no input buffer")
        written.add(name)
    for name, buffer in buffers.items():
        if buffer.role == "input" and not written.has(name):
            raise ValueError(f"buffer {name!r} is an input that the plan does not list")
        if buffer.tensor is not None:
            written.add(name)
    _check_order(plan, written)
    for name in plan.outputs:
        if name not in buffers or not written.has(name):
            raise ValueError(f"output {name!r} is not written")
        if buffers[buffers[name].alias or name].role == "inner":
            raise ValueError(f"output {name!r} lies in memory that later steps may use")


def _check_order(plan: Plan, written: _Written) -> None:
    roots, whole = written.roots, written.whole
    for step in plan.steps:
        for name in step.inputs:
            # Most are what is written as a whole, and need no call.
            if name and roots[name] not in whole and not written.has(name):
                raise ValueError(f"step {step.node!r} reads {name!r} before it is written")
        for name in step.outputs:
            if name and not written.add(name):
                raise ValueError(f"step {step.node!r} writes {name!r}, which is written already")


class _Written:
    """The buffers that are written so far; of those with views the elements that are.

    `roots` has the buffer whose bytes each one has, itself or that of which it is an alias, and `whole` the buffers
    without views that are written.
    """

    def __init__(self, plan: Plan) -> None:
        self._buffers = plan.buffers
        self.roots = {name: buffer.alias or name for name, buffer in plan.buffers.items()}
        self.whole: set[str] = set()
        self._parted = {buffer.alias: Coverage() for buffer in plan.buffers.values() if is_view(buffer)}
        self._stripes: dict[str, Stripe] = {}

    def add(self, name: str) -> bool:
        """Note that buffer `name` is written; False where some of it was before."""
        root = self.roots[name]
        if root in self._parted:
            return self._parted[root].write(self._find_stripe(name, root))
        if root in self.whole:
            return False
        self.whole.add(root)
        return True

    def has(self, name: str) -> bool:
        """True where all of buffer `name` is written."""
        root = self.roots[name]
        return root in self.whole or (root in self._parted and self._parted[root].covers(self._find_stripe(name, root)))

    def _find_stripe(self, name: str, root: str) -> Stripe:
        stripe = self._stripes.get(name)
        if stripe is None:
            stripe = self._stripes[name] = find_stripe(self._buffers[name], self._buffers[root])
        return stripe


def _check_distinct(names: Iterable[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{what} {name!r} occurs twice")
        seen.add(name)
