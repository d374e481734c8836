"""Lowering: a fused graph becomes a plan of kernel steps and the weights that they read."""

from autofusion.lowering.lower import lower
from autofusion.lowering.records import HostStep, Lowered, StoredWeight

__all__ = ["HostStep", "Lowered", "StoredWeight", "lower"]
