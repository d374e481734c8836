"""Lowering: a fused graph becomes a plan of kernel steps and the weights that they read."""

from autofusion.lowering.lower import lower
from autofusion.lowering.records import Dealt, Lowered
from autofusion.lowering.shuffles import DEALT

__all__ = ["DEALT", "Dealt", "Lowered", "lower"]
