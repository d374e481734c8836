"""Lowering: a fused graph becomes a plan of kernel steps and the weights that they read."""

from autofusion.lowering.lower import lower
from autofusion.lowering.records import Lowered

__all__ = ["Lowered", "lower"]
