"""The intermediate representation: typed values, frozen nodes, the graph that holds them, and its text form."""

from autofusion.ir.dims import Dim, Expr, parse_dim, symbol, symbols
from autofusion.ir.graph import CAPTURED, Graph, Use, substitute_operands
from autofusion.ir.node import FUSED_DOMAIN, MANUAL, Attribute, Node
from autofusion.ir.types import DType, Shape, Value

__all__ = [
    "CAPTURED",
    "FUSED_DOMAIN",
    "MANUAL",
    "Attribute",
    "DType",
    "Dim",
    "Expr",
    "Graph",
    "Node",
    "Shape",
    "Use",
    "Value",
    "parse_dim",
    "substitute_operands",
    "symbol",
    "symbols",
]
