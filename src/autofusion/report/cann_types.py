"""CANN's names of element types."""

from __future__ import annotations

OUTPUT_TYPES = {
    "FP32": "float",
    "FP16": "float16",
    "BF16": "bfloat16",
    "DOUBLE": "double",
    "INT8": "int8",
    "INT16": "int16",
    "INT32": "int32",
    "INT64": "int64",
    "UINT8": "uint8",
    "UINT16": "uint16",
    "UINT32": "uint32",
    "UINT64": "uint64",
}
"""The types that an output may be given, by CANN's name, as ONNX spells them."""
