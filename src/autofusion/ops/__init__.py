"""The operator table: canonical form, symbolic inference and evaluation of one node of each ONNX operator."""

from autofusion.ops.canonical import canonicalize, refine
from autofusion.ops.evaluation import evaluate
from autofusion.ops.inference import infer
from autofusion.ops.precision import widen_array
from autofusion.ops.rows import find_operator, operators
from autofusion.ops.schema import NEWEST_OPSET, AttributeRule, Schema, Slot, schema_of
from autofusion.ops.table import Operator, Scope

__all__ = [
    "NEWEST_OPSET",
    "AttributeRule",
    "Operator",
    "Schema",
    "Scope",
    "Slot",
    "canonicalize",
    "evaluate",
    "find_operator",
    "infer",
    "operators",
    "refine",
    "schema_of",
    "widen_array",
]
