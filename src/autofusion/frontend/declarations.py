"""What a file declares of inputs and outputs, and whether the graph agrees."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import ValueInfoProto

from autofusion.frontend.faults import DEFAULT_CONTRADICTS, NOT_A_TENSOR, OUTPUT_CONTRADICTS, fault
from autofusion.frontend.tensors import read_dtype
from autofusion.ir import DType, Shape, Value
from autofusion.ops.element_types import DTYPES
from autofusion.ops.faults import describe


def read_input_dtype(proto: ValueInfoProto) -> DType:
    """The element type of a graph input; raises ModelError where it is no tensor of a known type."""
    _require_tensor(proto, "input")
    return read_dtype(proto.type.tensor_type.elem_type, f"input {proto.name!r}")


def read_body_input(name: str, proto: ValueInfoProto, given: Value) -> Value:
    """An input of a control-flow body that gets `given` in the first turn.

    The element type is that of `given`, or as declared; the shape is known where the file declares one
    in numbers and the first turn's agrees, since later turns may differ.
    """
    tensor = proto.type.tensor_type
    fixed = tensor.HasField("shape") and all(extent.HasField("dim_value") for extent in tensor.shape.dim)
    agrees = fixed and given.shape == tuple(extent.dim_value for extent in tensor.shape.dim)
    return Value(name, given.dtype or DTYPES.get(tensor.elem_type), given.shape if agrees else None)


def check_default(declared: Value, default: Value) -> None:
    """Raise ModelError where the initialiser of an overridable input does not fit its declaration."""
    if declared.dtype is not default.dtype or not _may_have_shape(declared.shape, default.shape):
        raise fault(
            DEFAULT_CONTRADICTS, f"input {describe(declared)} has an initialiser of another kind: {describe(default)}"
        )


def check_output(proto: ValueInfoProto, known: Value) -> None:
    """Raise ModelError where the file declares an output otherwise than the graph computes it."""
    if proto.HasField("type"):
        _require_tensor(proto, "output")
    tensor = proto.type.tensor_type
    dtype = DTYPES.get(tensor.elem_type)
    extents = [extent.dim_value if extent.HasField("dim_value") else None for extent in tensor.shape.dim]
    # Exporters that do not know the shape of an output write an empty one.
    if extents and not _may_have_shape(known.shape, extents):
        spelt = [str(extent.dim_value) if extent.HasField("dim_value") else "?" for extent in tensor.shape.dim]
        problem = f"the graph computes output {describe(known)}, but it is declared with shape [{', '.join(spelt)}]"
        raise fault(OUTPUT_CONTRADICTS, problem, "correct the declaration of the output, or remove its shape")
    if None not in (dtype, known.dtype) and dtype is not known.dtype:
        problem = f"the graph computes output {describe(known)}, but it is declared as {dtype.value if dtype else '?'}"
        raise fault(OUTPUT_CONTRADICTS, problem, "correct the declaration of the output")


def _require_tensor(proto: ValueInfoProto, what: str) -> None:
    kind = proto.type.WhichOneof("value")
    if kind != "tensor_type":
        label = "without a type" if kind is None else f"a {kind.removesuffix('_type').replace('_', ' ')}"
        raise fault(NOT_A_TENSOR, f"{what} {proto.name!r} is {label}, but only tensors are supported")


def _may_have_shape(shape: Shape | None, extents: Sequence[int | object] | None) -> bool:
    """False where the ranks differ, or a number of `shape` differs from one of `extents`."""
    if shape is None or extents is None:
        return True
    pairs = zip(shape, extents, strict=False)
    both = [(ours, theirs) for ours, theirs in pairs if isinstance(ours, int) and isinstance(theirs, int)]
    return len(shape) == len(extents) and all(ours == theirs for ours, theirs in both)
