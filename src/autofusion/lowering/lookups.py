"""Elements at places that indices name, progressions, triangles, and images in other extents."""

from __future__ import annotations

import numpy as np

from autofusion.ir import Dim, DType, Expr, Node, Shape
from autofusion.ir.dims import floor_divide, multiply
from autofusion.lowering.constants import read_float, read_integer, read_integers, read_text
from autofusion.lowering.data_types import COUNTED, INDICES, MOVED, refuse_types
from autofusion.lowering.moves import open_strided
from autofusion.lowering.products import MAX_RANK, refuse_operands
from autofusion.lowering.records import Call
from autofusion.lowering.workspace import Workspace
from autofusion.ops.bounds import is_at_least
from autofusion.ops.operands import content_of, numbers_of
from autofusion.plan import Setting

_ADDED = frozenset({DType.FLOAT, DType.DOUBLE, DType.INT32, DType.INT64})

_COORDINATES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric")


def open_gather(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a Gather; a view where it takes one place that is known."""
    if numbers_of(node.input(1), workspace.scope) is not None:
        viewed = open_strided(node, workspace)
        if not isinstance(viewed, str):
            return viewed
    return _look_up(node, "gather", {"axis": _read_axis(node, workspace)}, workspace)


def open_gather_elements(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a GatherElements."""
    return _look_up(node, "gather_elements", {"axis": _read_axis(node, workspace)}, workspace)


def open_gather_blocks(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a GatherND."""
    settings: dict[str, Setting] = {"batch_dims": read_integer(node, "batch_dims", 0)}
    return _look_up(node, "gather_blocks", settings, workspace)


def _look_up(node: Node, kernel: str, settings: dict[str, Setting], workspace: Workspace) -> list[Call] | str:
    result = workspace.scope.value(node.outputs[0])
    if reason := refuse_types(workspace, MOVED, node.input(0), result.name):
        return reason
    if reason := refuse_types(workspace, INDICES, node.input(1)):
        return reason
    if _has_many_axes(node, workspace):
        return f"more than {MAX_RANK} axes"
    return [Call(kernel, node.inputs[:2], result, settings, absorbed=node.origin)]


def open_scatter(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a ScatterElements or ScatterND."""
    result, reduction = workspace.scope.value(node.outputs[0]), read_text(node, "reduction", "none")
    allowed = MOVED if reduction == "none" else _ADDED
    if reason := refuse_types(workspace, allowed, node.input(0), node.input(2), result.name):
        return reason
    if reason := refuse_types(workspace, INDICES, node.input(1)):
        return reason
    if _has_many_axes(node, workspace):
        return f"more than {MAX_RANK} axes"
    settings: dict[str, Setting] = {"reduction": reduction}
    kernel = "scatter_blocks"
    if node.op == "ScatterElements":
        kernel, settings["axis"] = "scatter_elements", _read_axis(node, workspace)
    return [Call(kernel, node.inputs[:3], result, settings, absorbed=node.origin)]


def _read_axis(node: Node, workspace: Workspace) -> int:
    return read_integer(node, "axis", 0) % max(len(workspace.scope.shape(node.input(0)) or ()), 1)


def _has_many_axes(node: Node, workspace: Workspace) -> bool:
    return any(len(workspace.scope.shape(name) or ()) > MAX_RANK for name in node.operands)


def open_range(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a Range whose length follows from the shapes of the inputs."""
    result = workspace.scope.value(node.outputs[0])
    if reason := refuse_types(workspace, COUNTED, *node.inputs, result.name):
        return reason
    if any(content_of(name, workspace.scope) is None for name in node.inputs) and not _is_constant(node, workspace):
        return "its length is not known before the model runs"
    return [Call("range", (node.input(0), node.input(2)), result, {}, absorbed=node.origin)]


def _is_constant(node: Node, workspace: Workspace) -> bool:
    return all(workspace.scope.constant(name) is not None for name in node.inputs)


def open_triangle(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a Trilu."""
    result = workspace.scope.value(node.outputs[0])
    if reason := refuse_types(workspace, MOVED, node.input(0), result.name):
        return reason
    diagonal = content_of(node.input(1), workspace.scope) if node.input(1) else (0,)
    if diagonal is None or len(diagonal) != 1 or len(result.shape or ()) < 2:
        return "the diagonal is not known before the model runs"
    right, down = _split_signs(diagonal[0])
    if not (is_at_least(right, 0) and is_at_least(down, 0)):
        return "the sign of the diagonal is not known before the model runs"
    settings: dict[str, Setting] = {
        "diagonal": [dim if isinstance(dim, int) else str(dim) for dim in (right, down)],
        "upper": bool(read_integer(node, "upper", 1)),
    }
    return [Call("triangle", (node.input(0),), result, settings, absorbed=node.origin)]


def _split_signs(number: Dim) -> tuple[Dim, Dim]:
    """Two extents of which the first less the second is `number`: what it adds, and what it subtracts."""
    if isinstance(number, int):
        return max(number, 0), max(-number, 0)
    added: Dim = 0
    for monomial, factor in number.terms:
        if factor > 0:
            added = added + factor * (Expr(((monomial, 1),)) if monomial else 1)
    return added, added - number


def open_resize(node: Node, workspace: Workspace) -> list[Call] | str:
    """The call of a Resize of the spatial axes of images."""
    x, result = workspace.scope.value(node.input(0)), workspace.scope.value(node.outputs[0])
    if reason := refuse_operands(workspace, x.name, result.name):
        return reason
    if x.shape is None or result.shape is None or not 3 <= len(x.shape) <= 5 or x.shape[:2] != result.shape[:2]:
        return "a Resize of other axes than those of an image"
    coordinates = read_text(node, "coordinate_transformation_mode", "half_pixel")
    is_stretched = read_text(node, "keep_aspect_ratio_policy", "stretch") == "stretch"
    if coordinates not in _COORDINATES or read_integer(node, "antialias", 0) or not is_stretched:
        return "cropping, antialiasing or kept proportions"
    scales = _find_scales(node, x.shape, result.shape, workspace)
    if scales is None:
        return "scales are not known before the model runs"
    settings: dict[str, Setting] = {
        "mode": read_text(node, "mode", "nearest"),
        "scales": [*scales],
        "coordinates": coordinates,
        "rounding": read_text(node, "nearest_mode", "round_prefer_floor"),
        "cubic": read_float(node, "cubic_coeff_a", -0.75),
        "exclude_outside": bool(read_integer(node, "exclude_outside", 0)),
    }
    return [Call("resize", (x.name,), result, settings, absorbed=node.origin)]


def _find_scales(node: Node, x: Shape, y: Shape, workspace: Workspace) -> list[float] | None:
    """One number per spatial axis; None where a scale is not known, or another axis has one too."""
    given = workspace.scope.constant(node.input(2)) if node.input(2) else None
    if node.input(3):
        found = [_divide(after, before) for before, after in zip(x, y, strict=True)]
        numbers = [number for number in found if number is not None]
        return numbers[2:] if len(numbers) == len(x) else None
    if given is None:
        return None
    axes = [axis % len(x) for axis in read_integers(node, "axes", range(len(x)))]
    scales = dict(zip(axes, np.asarray(given, np.float64).reshape(-1).tolist(), strict=True))
    if any(scales.get(axis, 1.0) != 1 for axis in (0, 1)):
        return None
    return [float(scales.get(axis, 1.0)) for axis in range(2, len(x))]


def _divide(after: Dim, before: Dim) -> float | None:
    """The quotient of two extents where it is one number, whatever their symbols are."""
    if isinstance(after, int) and isinstance(before, int):
        return after / before if before else None
    for divisor, dividend, is_inverse in ((before, after, False), (after, before, True)):
        factor = floor_divide(dividend, divisor) if divisor != 0 else None
        if isinstance(factor, int) and factor > 0 and multiply(factor, divisor) == dividend:
            return 1 / factor if is_inverse else float(factor)
    return None
