"""Definition of kernel `attention`: scaled dot-product attention with masks, grouped heads, past keys and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autofusion.ops.definitions.precision import operand, required, widen
from autofusion.ops.definitions.views import view


def attention(
    inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], out_shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(y, present_key, present_value): y = softmax(scale * q k^T + masks) v for every sample and head.

    `extents` are batch, heads, key heads, queries, keys, size, value size, past.  q [batch, heads, queries, size],
    k [batch, key heads, keys, size], v [batch, key heads, keys, value size] are read, y [batch, heads, queries,
    value size] is written through views.  Head h reads key head h // (heads / key heads).  past_key and past_value
    [batch, key heads, past, (value) size] stand ahead of the keys and values; the present ones are both in a row.

    Scores s [batch, heads, queries, past + keys], in this order: s = scale * q k^T; `keep_mode` "first" puts `fill`
    where keep drops an element; s += bias; s += mask; "add" adds `fill` where keep drops, "last" puts it there;
    `causal` puts -inf where the key comes after query + past.  keep drops where it is false, with `keep_drops` where
    it is true.  bias, mask and keep broadcast to s, but an extent of axis 0 that divides batch repeats.
    p = softmax over the last axis; `guard` makes NaN in p to 0.  Formula: ONNX Attention-23.
    """
    q = required(inputs, 0)
    batch, heads, key_heads, queries, keys, size, value_size, past = (int(extent) for extent in attributes["extents"])
    source = [widen(np.ascontiguousarray(required(inputs, place))) for place in range(3)]
    query = view(source[0], (batch, heads, queries, size), attributes["q_view"])
    key = view(source[1], (batch, key_heads, keys, size), attributes["k_view"])
    value = view(source[2], (batch, key_heads, keys, value_size), attributes["v_view"])
    past_key, past_value = operand(inputs, 6), operand(inputs, 7)
    if past_key is not None and past_value is not None:
        key = np.concatenate([past_key.reshape(batch, key_heads, past, size), key], axis=2)
        value = np.concatenate([past_value.reshape(batch, key_heads, past, value_size), value], axis=2)
    with np.errstate(all="ignore"):
        copies = heads // key_heads
        scores = np.matmul(query, np.repeat(key, copies, axis=1).swapaxes(2, 3))
        scores = np.multiply(scores, query.dtype.type(attributes["scale"]))
        scores = _mask(scores, inputs, attributes, past)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
        weights /= weights.sum(axis=-1, keepdims=True)
        if attributes["guard"]:
            weights[np.isnan(weights)] = 0
        result = np.matmul(weights, np.repeat(value, copies, axis=1))
    y = np.empty(out_shape, q.dtype)
    view(y, (batch, heads, queries, value_size), attributes["y_view"])[...] = result
    return y, key.astype(q.dtype), value.astype(q.dtype)


def _mask(
    scores: np.ndarray, inputs: Sequence[np.ndarray | None], attributes: Mapping[str, Any], past: int
) -> np.ndarray:
    bias, mask = (_repeat(operand(inputs, place), scores.shape) for place in (3, 4))
    keep = _repeat(inputs[5] if len(inputs) > 5 else None, scores.shape)
    dropped = None if keep is None else keep if attributes["keep_drops"] else ~keep
    mode, fill = str(attributes["keep_mode"]), float(attributes["fill"])
    if dropped is not None and mode == "first":
        scores = _put(scores, dropped, fill)
    for term in (bias, mask):
        if term is not None:
            scores = np.add(scores, term)
    if dropped is not None and mode == "add":
        scores = np.add(scores, _put(np.zeros(scores.shape, scores.dtype), dropped, fill))
    if dropped is not None and mode == "last":
        scores = _put(scores, dropped, fill)
    if attributes["causal"]:
        queries, keys = map(int, scores.shape[2:])
        scores = _put(scores, np.arange(keys) > np.arange(queries)[:, None] + past, -np.inf)
    return scores


def _put(scores: np.ndarray, dropped: np.ndarray, fill: float) -> np.ndarray:
    return np.where(dropped, scores.dtype.type(fill), scores)


def _repeat(term: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray | None:
    """`term` with four axes, the first as often as it takes to fill that of `shape`; raises ValueError otherwise."""
    if term is None:
        return None
    term = term.reshape((1,) * (4 - term.ndim) + term.shape)
    if term.shape[0] > 1:
        term = np.tile(term, (shape[0] // term.shape[0], 1, 1, 1))
    return np.broadcast_to(term, shape)
