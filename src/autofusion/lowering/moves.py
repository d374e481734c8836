"""Operators that only move elements: views that are copied, joins, borders, repetitions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autofusion.ir import Dim, Node, Shape, Value
from autofusion.ir.dims import floor_divide, product
from autofusion.lowering.constants import read_integer, read_text
from autofusion.lowering.data_types import MOVED, UNKNOWN_SHAPE, refuse_types
from autofusion.lowering.products import MAX_RANK
from autofusion.lowering.records import Call
from autofusion.lowering.workspace import Workspace
from autofusion.ops.operands import content_of, numbers_of
from autofusion.ops.strided import Strided, apply_view, permute, reshape, whole
from autofusion.plan import MAX_OPERANDS, Setting

_PAD_MODES = ("constant", "reflect", "edge", "wrap")

_SIZED = {"Slice": (1, 2), "Expand": (1,)}
"""Operands that say how much of the first one, or how often, the result has."""


def open_strided(node: Node, workspace: Workspace) -> list[Call] | str:
    """The calls of an operator whose results are its first operand read with one stride for each axis.

    Transpose, Slice, Split, Expand and Gather by one index; chains of them are one call each on what they start from.
    """
    calls: list[Call] = []
    for place, name in enumerate(node.outputs):
        if not name:
            continue
        if reason := refuse_types(workspace, MOVED, node.input(0), name):
            return reason
        if any(content_of(node.input(index), workspace.scope) is None for index in _SIZED.get(node.op, ())):
            return "its extent is not known before the model runs"
        root, view = workspace.find_view(node.input(0))
        found = apply_view(node, view, place, workspace.scope)
        if found is None:
            root = node.input(0)
            found = apply_view(node, whole(workspace.scope.shape(root) or ()), place, workspace.scope)
        if found is None or len(found.shape) > MAX_RANK:
            return _explain(node)
        workspace.note_view(name, root, found)
        result = workspace.scope.value(name)
        if _is_whole(found, workspace.scope.shape(root) or ()):
            calls.append(Call("alias", (root,), result, {}, absorbed=node.origin))
        else:
            calls.append(copy_view(root, found, result, node.origin))
    return calls


def _is_whole(view: Strided, shape: Shape) -> bool:
    """True where a view of a root of `shape` has all its elements in their order."""
    return view.offset == 0 and view.is_packed and product(view.shape) == product(shape)


def copy_view(root: str, view: Strided, result: Value, origin: tuple[str, ...]) -> Call:
    """The call that gives `result` the elements of `root` that `view` has, row-major."""
    settings: dict[str, Setting] = {
        "extents": [_size(extent) for extent in view.shape],
        "view": [_size(step) for step in (view.offset, *view.strides)],
    }
    return Call("strided", (root,), result, settings, absorbed=origin)


def open_slice(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a Slice; backward along one axis of a known extent it looks up the places."""
    viewed = open_strided(node, workspace)
    if not isinstance(viewed, str):
        return viewed
    scope = workspace.scope
    start, end, axis, step = (numbers_of(node.input(index), scope) for index in range(1, 5))
    shape, result = scope.shape(node.input(0)), scope.value(node.outputs[0])
    if start is None or end is None or axis is None or step is None or len(axis) != 1 or shape is None:
        return viewed
    extent, place = shape[axis[0] % len(shape)], axis[0] % len(shape)
    if not isinstance(extent, int) or refuse_types(workspace, MOVED, node.input(0), result.name):
        return viewed
    places = range(extent)[slice(start[0], None if end[0] < -extent else end[0], step[0])]
    indices = workspace.add_constant(f"{node.name}:places", np.array(places, np.int64))
    return [Call("gather", (node.input(0), indices), result, {"axis": place}, absorbed=node.origin)]


def _explain(node: Node) -> str:
    if node.op == "Slice":
        return "a Slice backward along several axes, or from where is not known before the model runs"
    return f"{node.op} with operands that are not known before the model runs, or more than {MAX_RANK} axes"


def _size(dim: Dim) -> int | str:
    return dim if isinstance(dim, int) else str(dim)


def open_tile(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a Tile: every axis is walked once more, without a stride, for each repetition."""
    if reason := refuse_types(workspace, MOVED, node.input(0), node.outputs[0]):
        return reason
    x, repeats = workspace.scope.shape(node.input(0)) or (), content_of(node.input(1), workspace.scope)
    if repeats is None or len(repeats) != len(x):
        return "repetitions are not known before the model runs"
    source = whole(x)
    shape: list[Dim] = []
    strides: list[Dim] = []
    for repeat, extent, stride in zip(repeats, x, source.strides, strict=True):
        if repeat != 1:
            shape.append(repeat)
            strides.append(0)
        shape.append(extent)
        strides.append(stride)
    return _copy(node, workspace, Strided(tuple(shape), tuple(strides)))


def open_depth(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a DepthToSpace or SpaceToDepth."""
    if reason := refuse_types(workspace, MOVED, node.input(0), node.outputs[0]):
        return reason
    x, block = workspace.scope.shape(node.input(0)) or (), read_integer(node, "blocksize", 1)
    if len(x) != 4:
        return f"{node.op} of rank {len(x)}"
    batch, channels, height, width = x
    if node.op == "SpaceToDepth":
        split = (batch, channels, floor_divide(height, block), block, floor_divide(width, block), block)
        order = (0, 3, 5, 1, 2, 4)
    elif read_text(node, "mode", "DCR") == "DCR":
        split = (batch, block, block, floor_divide(channels, block * block), height, width)
        order = (0, 3, 4, 1, 5, 2)
    else:
        split = (batch, floor_divide(channels, block * block), block, block, height, width)
        order = (0, 1, 4, 2, 5, 3)
    cells = reshape(whole(x), split)
    return UNKNOWN_SHAPE if cells is None else _copy(node, workspace, permute(cells, order))


def open_constant_of_shape(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call that repeats one number over a shape that follows from the inputs' shapes."""
    shape, result = content_of(node.input(0), workspace.scope), workspace.scope.value(node.outputs[0])
    given = node.attributes.get("value")
    value = np.asarray(given if isinstance(given, np.ndarray) else np.zeros(1, np.float32)).reshape(())
    if shape is None or len(shape) > MAX_RANK or result.shape is None or result.dtype not in MOVED:
        return UNKNOWN_SHAPE
    root = workspace.add_constant(f"{node.name}:value", value)
    return [copy_view(root, Strided(shape, (0,) * len(shape)), result, node.origin)]


def _copy(node: Node, workspace: Workspace, view: Strided) -> list[Call] | str:
    if len(view.shape) > MAX_RANK:
        return f"more than {MAX_RANK} axes"
    return [copy_view(node.input(0), view, workspace.scope.value(node.outputs[0]), node.origin)]


def open_concat(node: Node, workspace: Workspace) -> list[Call] | str:
    """The calls of a Concat: one for every ten operands, and for every ten of their results."""
    result = workspace.scope.value(node.outputs[0])
    if reason := refuse_types(workspace, MOVED, *node.inputs, result.name):
        return reason
    axis = read_integer(node, "axis", 0) % max(len(result.shape or ()), 1)
    calls: list[Call] = []
    names = list(node.inputs)
    while len(names) > MAX_OPERANDS:
        groups = [names[first : first + MAX_OPERANDS] for first in range(0, len(names), MAX_OPERANDS)]
        names = [_join_group(node, group, axis, result, calls, workspace) for group in groups]
    calls.append(Call("concat", tuple(names), result, {"axis": axis}, absorbed=node.origin))
    return calls


def _join_group(
    node: Node, names: Sequence[str], axis: int, result: Value, calls: list[Call], workspace: Workspace
) -> str:
    if len(names) == 1:
        return names[0]
    shapes = [workspace.scope.shape(name) or () for name in names]
    shape = (*shapes[0][:axis], _add([part[axis] for part in shapes]), *shapes[0][axis + 1 :])
    part = workspace.add_value(f"{result.name}:part", result, shape)
    calls.append(Call("concat", tuple(names), part, {"axis": axis}, absorbed=node.origin))
    return part.name


def _add(extents: Sequence[Dim]) -> Dim:
    total: Dim = 0
    for extent in extents:
        total = total + extent
    return total


def open_pad(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a Pad, or why no kernel can compute it."""
    scope = workspace.scope
    value = node.input(2)
    names = [node.input(0), node.outputs[0], *([value] if value else [])]
    if reason := refuse_types(workspace, MOVED, *names):
        return reason
    shape = scope.shape(node.input(0)) or ()
    mode, pads = read_text(node, "mode", "constant"), numbers_of(node.input(1), scope)
    axes = numbers_of(node.input(3), scope) if node.input(3) else tuple(range(len(shape)))
    if pads is None or axes is None or len(pads) != 2 * len(axes) or mode not in _PAD_MODES:
        return "pads are not known before the model runs"
    fill = scope.shape(value) if value else ()
    if len(shape) > MAX_RANK or fill is None or product(fill) != 1:
        return f"more than {MAX_RANK} axes, or a value that is no scalar"
    full = [0] * (2 * len(shape))
    for place, axis in enumerate(axes):
        full[axis % len(shape)] = pads[place]
        full[len(shape) + axis % len(shape)] = pads[len(axes) + place]
    settings: dict[str, Setting] = {"pads": [*full], "mode": mode}
    return [Call("pad", (node.input(0), value), scope.value(node.outputs[0]), settings, absorbed=node.origin)]
