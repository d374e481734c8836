"""Faults of a model file, as errors that name what is wrong and where."""

from __future__ import annotations

from autofusion.diagnostics import Diagnostic
from autofusion.errors import ModelError

NO_FILE = "AF100"
EMPTY_FILE = "AF101"
NOT_A_MODEL = "AF102"
IR_VERSION = "AF103"
OPSET = "AF104"
NO_OUTPUTS = "AF105"
NAME_TWICE = "AF106"
UNDEFINED_VALUE = "AF107"
UNDEFINED_OUTPUT = "AF108"
CYCLE = "AF109"
ELEMENT_TYPE = "AF110"
CORRUPT_TENSOR = "AF111"
EXTERNAL_PATH = "AF112"
EXTERNAL_MISSING = "AF113"
EXTERNAL_RANGE = "AF114"
SPARSE_TENSOR = "AF115"
CONSTANT_NODE = "AF116"
ATTRIBUTE = "AF117"
FUNCTION = "AF118"
RECURSION = "AF119"
NOT_A_TENSOR = "AF120"
BAD_EXTENT = "AF121"
OUTPUT_CONTRADICTS = "AF122"
TOO_LARGE = "AF123"
DEFAULT_CONTRADICTS = "AF124"
UNKNOWN_OPERATOR = "AF125"
UNNAMED = "AF126"
UNKNOWN_SYMBOL = "AF130"
UNKNOWN_INPUT = "AF131"
BOUND_EXTENT = "AF132"
UNKNOWN_OUTPUT = "AF133"


def fault(code: str, problem: str, remedy: str = "") -> ModelError:
    """The error to raise for `problem` of the model file."""
    return ModelError(Diagnostic(code, problem, help=remedy))
