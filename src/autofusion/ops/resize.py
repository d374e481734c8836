"""Rows of Resize and of Upsample, its elder form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor

import numpy as np

from autofusion.ir import Dim, Node, Value
from autofusion.ir.dims import floor_divide
from autofusion.ops.conversion import (
    attribute_to_input,
    normalize_axes_attribute,
    trim_inputs,
    with_attributes,
    without,
)
from autofusion.ops.faults import SHAPES_CONTRADICT, describe, fault
from autofusion.ops.interpolation import evaluate_resize
from autofusion.ops.operands import content_of, integers, resolve_axes, result, text
from autofusion.ops.table import Operator, Scope


def _convert_upsample(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    """Upsample took each result cell from the source cell at its place divided by the scale."""
    moved = node
    if version < 9:
        moved = attribute_to_input(node, "scales", 1, scope, np.float32)
    x, scales = moved.inputs
    mode = text(node, "mode", "nearest")
    attributes = {
        **without(moved.attributes, "scales"),
        "mode": "linear" if mode in ("linear", "bilinear") else mode,
        "coordinate_transformation_mode": "asymmetric",
        "nearest_mode": "floor",
    }
    return [replace(moved, op="Resize", inputs=(x, "", scales), attributes=attributes)]


def _convert_resize(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    """Empty tensors for scales or sizes become absent places; opset 10 had the scales second and one rounding."""
    if version < 11:
        x, scales = node.inputs
        old = with_attributes(node, coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        return [replace(old, inputs=(x, "", scales))]
    inputs = [name if index == 0 or not _is_empty(name, scope) else "" for index, name in enumerate(node.inputs)]
    if text(node, "coordinate_transformation_mode") != "tf_crop_and_resize" and len(inputs) > 1:
        inputs[1] = ""
    return [normalize_axes_attribute(trim_inputs(replace(node, inputs=tuple(inputs))), scope)]


def _is_empty(name: str, scope: Scope) -> bool:
    shape = scope.value(name).shape if name else ()
    return shape is not None and 0 in shape


def _infer_resize(node: Node, scope: Scope) -> Sequence[Value]:
    x = scope.value(node.input(0))
    if x.shape is None:
        return []
    axes = integers(node, "axes")
    chosen = tuple(range(len(x.shape))) if axes is None else resolve_axes(node, axes, len(x.shape))
    if node.input(3):
        sizes = content_of(node.input(3), scope)
        if sizes is None or text(node, "keep_aspect_ratio_policy", "stretch") != "stretch":
            return []
        _check_length(node, x, len(sizes), len(chosen))
        replaced = dict(zip(chosen, sizes, strict=True))
    else:
        scales = scope.constant(node.input(2)) if node.input(2) else None
        if scales is None:
            return []
        _check_length(node, x, scales.size, len(chosen))
        factors = [Fraction(float(scale)) for scale in scales.reshape(-1)]
        replaced = {axis: _scale(x.shape[axis], factor) for axis, factor in zip(chosen, factors, strict=True)}
    return [result(tuple(replaced.get(axis, extent) for axis, extent in enumerate(x.shape)))]


def _scale(extent: Dim, factor: Fraction) -> Dim:
    """floor(extent * factor), exact for the binary fraction that a float is."""
    if isinstance(extent, int):
        return floor(extent * factor)
    return floor_divide(extent * factor.numerator, factor.denominator)


def _check_length(node: Node, x: Value, given: int, expected: int) -> None:
    if given != expected:
        raise fault(SHAPES_CONTRADICT, node, f"{given} scales or sizes do not fit input {describe(x)}")


ROWS = (
    Operator("Resize", 18, convert=_convert_resize, infer=_infer_resize, evaluate=evaluate_resize),
    Operator("Upsample", 9, convert=_convert_upsample),
)
