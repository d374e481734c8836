"""Rows of operators for which ONNX's own inference rule and reference implementation serve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autofusion.ir import Node
from autofusion.ops.conversion import keep_opaque
from autofusion.ops.table import Convert, Operator, Scope

_FORMS: Mapping[str, tuple[int, int]] = {
    "AffineGrid": (20, 20),
    "Bernoulli": (15, 15),
    "BitCast": (26, 26),
    "BlackmanWindow": (17, 17),
    "CenterCropPad": (18, 18),
    "Col2Im": (18, 18),
    "CumProd": (26, 26),
    "DFT": (20, 20),
    "DeformConv": (19, 19),
    "Det": (11, 11),
    "GRU": (14, 7),
    "GridSample": (20, 20),
    "HammingWindow": (17, 17),
    "HannWindow": (17, 17),
    "LSTM": (14, 7),
    "MaxRoiPool": (7, 7),
    "MaxUnpool": (9, 9),
    "MelWeightMatrix": (17, 17),
    "NonMaxSuppression": (10, 10),
    "RNN": (14, 7),
    "RandomNormal": (7, 7),
    "RandomNormalLike": (7, 7),
    "RandomUniform": (7, 7),
    "RandomUniformLike": (7, 7),
    "RoiAlign": (16, 16),
    "RotaryEmbedding": (23, 23),
    "STFT": (17, 17),
    "TensorScatter": (24, 24),
}
"""Version of the canonical form, and the oldest version that has this form but for attributes left at their default."""


def _keep_since(oldest: int) -> Convert:
    def convert(node: Node, version: int, scope: Scope) -> Sequence[Node]:
        return [node] if version >= oldest else keep_opaque(node)

    return convert


ROWS = tuple(Operator(name, version, convert=_keep_since(oldest)) for name, (version, oldest) in _FORMS.items())
