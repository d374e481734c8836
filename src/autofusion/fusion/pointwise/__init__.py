"""Groups of elementwise nodes as programs of kernel `pointwise`: what fusion may put together and lowering emits."""

from autofusion.fusion.pointwise.activations import ACTIVATION_OPERATORS, Activation, read_activation
from autofusion.fusion.pointwise.program import (
    MAX_INSTRUCTIONS,
    Program,
    is_pointwise,
    know_bodies,
    read_program,
)

__all__ = [
    "ACTIVATION_OPERATORS",
    "MAX_INSTRUCTIONS",
    "Activation",
    "Program",
    "is_pointwise",
    "know_bodies",
    "read_activation",
    "read_program",
]
