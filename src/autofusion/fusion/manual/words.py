"""The words for building blocks that rules may use, and the chains of operators that they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Literal

Other = Literal["any", "constant", "computed"]


@dataclass(frozen=True)
class Unit:
    """A node of a chain: its operator or display name, what its other operand is, whether it has a third (`biased`)."""

    ops: frozenset[str]
    other: Other = "any"
    biased: bool | None = None


Chain = tuple[Unit, ...]


def _unit(*ops: str, other: Other = "any", biased: bool | None = None) -> Unit:
    return Unit(frozenset(ops), other, biased)


PRODUCT = _unit("MatMul", "Gemm", other="constant")
BIAS = _unit("Add", other="constant")
_BIASED = _unit("Gemm", other="constant", biased=True)
_RESIDUAL = _unit("Add", "Sum", other="computed")
_CONV = _unit("Conv", "ConvTranspose")
_BATCH_NORM = _unit("BatchNormalization")
_LAYER_NORM = _unit("LayerNormalization", "ChannelNorm")
_ROW_NORM = _unit("LayerNormalization", "ChannelNorm", "RMSNormalization")
_NORM = _unit(
    "LayerNormalization",
    "ChannelNorm",
    "RMSNormalization",
    "BatchNormalization",
    "GroupNormalization",
    "InstanceNormalization",
    "LpNormalization",
)
_ACTIVATIONS: Mapping[str, Unit] = {
    "gelu": _unit("Gelu", "QuickGelu"),
    "relu": _unit("Relu"),
    "silu": _unit("SiLU", "Swish"),
    "tanh": _unit("Tanh"),
    "sigmoid": _unit("Sigmoid"),
    "activation": _unit(
        *("Relu", "LeakyRelu", "PRelu", "Elu", "Selu", "Celu", "Gelu", "SiLU", "Swish", "Mish", "HardSwish"),
        *("Sigmoid", "HardSigmoid", "Tanh", "Clip", "Softplus", "Softsign", "ThresholdedRelu"),
    ),
}

_BIASED_DENSE: tuple[Chain, ...] = ((PRODUCT, BIAS), (_BIASED,))
_DENSE: tuple[Chain, ...] = (*_BIASED_DENSE, (PRODUCT,))
_DENSE_ADD: tuple[Chain, ...] = (*_BIASED_DENSE, *((*dense, _RESIDUAL) for dense in _DENSE))
_CONV_NORM: tuple[Chain, ...] = ((_CONV, _BATCH_NORM),)


def _then(chains: tuple[Chain, ...], *units: Unit) -> tuple[Chain, ...]:
    return tuple((*chain, *units) for chain in chains)


def _feed_forward() -> tuple[Chain, ...]:
    return tuple((*first, _ACTIVATIONS["activation"], *second) for first, second in product(_DENSE, _DENSE))


CHAINS: Mapping[str, tuple[Chain, ...]] = {
    "dense": _DENSE,
    "linear": _DENSE,
    "fc": _DENSE,
    "dense_add": _DENSE_ADD,
    **{f"dense_{name}": _then(_DENSE, unit) for name, unit in _ACTIVATIONS.items()},
    **{f"dense_add_{name}": _then(_BIASED_DENSE, unit) for name, unit in _ACTIVATIONS.items()},
    **{name: ((unit,),) for name, unit in _ACTIVATIONS.items()},
    "ffn": _feed_forward(),
    "add": ((_unit("Add", "Sum"),),),
    "residual": ((_RESIDUAL,),),
    "norm": ((_NORM,),),
    "layer_norm": ((_LAYER_NORM,),),
    "rms_norm": ((_unit("RMSNormalization"),),),
    "batch_norm": ((_BATCH_NORM,),),
    "add_norm": ((_RESIDUAL, _NORM),),
    "add_layer_norm": ((_RESIDUAL, _ROW_NORM),),
    "attn_add_layer_norm": ((_RESIDUAL, _ROW_NORM),),
    "ffn_add_layer_norm": ((_RESIDUAL, _ROW_NORM),),
    "conv": ((_CONV,),),
    "conv_bn": _CONV_NORM,
    "conv_relu": ((_CONV, _ACTIVATIONS["relu"]),),
    "conv_bn_relu": _then(_CONV_NORM, _ACTIVATIONS["relu"]),
    "pool": ((_unit("MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool"),),),
    "rotary": ((_unit("Rotary", "RotaryEmbedding"),),),
}
"""Words for chains: each alternative in the order of preference, its nodes in dataflow order."""

ATTENTION_WORDS: Mapping[str, str] = {
    "attention": "core",
    "qkv": "projections",
    "multi_head_attention": "both",
    "mha": "both",
}
"""Words for parts of attention: the core, the projections with their way to it, or both."""

WORDS = frozenset({*CHAINS, *ATTENTION_WORDS})
"""All words of the table."""


def operator_word(word: str, op: str) -> bool:
    """True where `word` is the operator `op`, as it is or in snake case: `max_pool` is `MaxPool`."""
    return word == op or word.replace("_", "").casefold() == op.casefold()
