"""Constant matrices of products, put side by side or turned, folds included; rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from autofusion.lowering.constants import fits, read_vector
from autofusion.lowering.records import NO_EPILOGUE, Call, Product
from autofusion.lowering.workspace import Workspace


def take_matrix(call: Call, workspace: Workspace) -> Call | None:
    """The product on a constant matrix [K, N] of rank 2 that is not transposed; None where it has no such."""
    matrix = _read_matrix(call, workspace)
    if matrix is None or not call.settings["trans_b"]:
        return None if matrix is None else call
    if call.product is not None and call.product.weight is not None:
        product = replace(call.product, axis=1, weight=matrix)
        return replace(call, settings={**call.settings, "trans_b": False}, product=product)
    name = workspace.add_constant(f"{call.operands[1]}:turned", matrix)
    product = None if call.product is None else replace(call.product, axis=1)
    operands = (call.operands[0], name, *call.operands[2:])
    return replace(call, operands=operands, settings={**call.settings, "trans_b": False}, product=product)


def join_columns(calls: Sequence[Call], workspace: Workspace) -> Call | None:
    """One product whose columns are those of `calls`, one after the other; None where it would not give the same.

    They read one value as rows, by constant matrices of rank 2, with constant biases or none, and do nothing after.
    Its first result stands for all columns and has no place in the plan.
    """
    first = calls[0]
    if any(not _is_plain(call) or call.operands[0] != first.operands[0] for call in calls):
        return None
    matrices = [_read_scaled(call, workspace) for call in calls]
    biases = [_read_bias(call, workspace) for call in calls]
    dtype, shape = first.result.dtype, first.result.shape
    if dtype is None or shape is None or any(matrix is None for matrix in matrices):
        return None
    if any(bias is None for bias in biases) or len({call.result.dtype for call in calls}) != 1:
        return None
    columns = np.concatenate(cast(list[np.ndarray], matrices), axis=1)
    shift = np.concatenate(cast(list[np.ndarray], biases))
    if not fits(columns, dtype.numpy) or not fits(shift, dtype.numpy):
        return None
    stem = first.result.name
    bias = ""
    if any(call.operands[2] or (call.product and call.product.bias is not None) for call in calls):
        bias = workspace.add_constant(f"{stem}:biases", shift.astype(dtype.numpy))
    matrix = workspace.add_constant(f"{stem}:columns", columns.astype(dtype.numpy, copy=False))
    whole = replace(first.result, name=workspace.fresh(f"{stem}:all"), shape=(*shape[:-1], columns.shape[1]))
    return replace(
        first,
        operands=(first.operands[0], matrix, bias, ""),
        result=whole,
        settings={**first.settings, "trans_b": False, "scale": 1.0},
        product=Product(1, 1, columns.shape[1], can_scale=True, can_shift=True),
    )


def _is_plain(call: Call) -> bool:
    is_rows = call.kernel == "matmul" and not call.settings["trans_a"] and not call.settings.get("norm")
    is_single = not call.further and not call.settings.get("gated")
    return is_rows and is_single and call.epilogue == NO_EPILOGUE and not any(call.operands[3:])


def _read_matrix(call: Call, workspace: Workspace) -> np.ndarray | None:
    """The matrix [K, N], in float64 where something was folded into it."""
    folded = call.product.weight if call.product is not None else None
    array = folded if folded is not None else workspace.scope.constant(call.operands[1])
    if array is None or array.ndim != 2:
        return None
    return array.T if call.settings["trans_b"] else array


def _read_scaled(call: Call, workspace: Workspace) -> np.ndarray | None:
    matrix, scale = _read_matrix(call, workspace), float(cast(float, call.settings["scale"]))
    if matrix is None or scale == 1:
        return matrix
    with np.errstate(all="ignore"):
        return matrix.astype(np.float64) * scale


def _read_bias(call: Call, workspace: Workspace) -> np.ndarray | None:
    """The bias [N] in float64, zeros where there is none; None where it is no constant."""
    columns = call.result.shape[-1] if call.result.shape else None
    if not isinstance(columns, int):
        return None
    if call.product is not None and call.product.bias is not None:
        return call.product.bias
    if not call.operands[2]:
        return np.zeros(columns)
    return read_vector(workspace.scope, call.operands[2], columns)
