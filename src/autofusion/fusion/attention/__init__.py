"""Attention as its kernel takes it: the core between the products, and the views round it."""

from autofusion.fusion.attention.nodes import flatten_attention
from autofusion.fusion.attention.reading import Reading, read_attention

__all__ = ["Reading", "flatten_attention", "read_attention"]
