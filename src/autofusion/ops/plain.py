"""Rows of operators for which ONNX's own inference rule and reference implementation serve."""

from __future__ import annotations

from collections.abc import Sequence

from autofusion.ir import Node
from autofusion.ops.conversion import keep_opaque
from autofusion.ops.table import Operator, Scope


def _convert_attention(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    """The seventh input of opset 24 has no place in the canonical form."""
    return [node] if len(node.inputs) <= 6 else keep_opaque(node)


_FORMS = {
    "AffineGrid": 20,
    "Bernoulli": 15,
    "BlackmanWindow": 17,
    "CenterCropPad": 18,
    "Col2Im": 18,
    "DFT": 20,
    "DeformConv": 19,
    "Det": 11,
    "GRU": 14,
    "GridSample": 20,
    "HammingWindow": 17,
    "HannWindow": 17,
    "LSTM": 14,
    "MaxRoiPool": 1,
    "MaxUnpool": 11,
    "MelWeightMatrix": 17,
    "NonMaxSuppression": 11,
    "RNN": 14,
    "RandomNormal": 1,
    "RandomNormalLike": 1,
    "RandomUniform": 1,
    "RandomUniformLike": 1,
    "RoiAlign": 16,
    "RotaryEmbedding": 23,
    "STFT": 17,
}
"""Version of the canonical form; every version in which the operator differs from it is written out below or opaque."""


def _keep_newer(oldest: int):
    def convert(node: Node, version: int, scope: Scope) -> Sequence[Node]:
        return [node] if version >= oldest else keep_opaque(node)

    return convert


ROWS = (
    *(Operator(name, version, convert=_keep_newer(version)) for name, version in _FORMS.items()),
    Operator("Attention", 23, convert=_convert_attention),
)
