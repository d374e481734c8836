"""ONNX's own word on one node: its inference rule and its reference implementation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from autofusion.ir import Attribute, Dim, Graph, Node, Value, parse_dim
from autofusion.ops.element_types import CODES, DTYPES
from autofusion.ops.faults import EVALUATION_FAILED, NOT_EVALUABLE, SHAPES_CONTRADICT, fault
from autofusion.ops.operands import CONTENT_LIMIT, numbers_of
from autofusion.ops.schema import newest_opset
from autofusion.ops.table import Scope

if TYPE_CHECKING:
    from onnx import AttributeProto, NodeProto, OperatorSetIdProto, TensorProto, TypeProto, ValueInfoProto


class _Evaluator(Protocol):
    rt_nodes_: Sequence[object]

    def run(self, output_names: None, feed_inputs: dict[str, np.ndarray], /) -> Any: ...


def infer_by_reference(node: Node, scope: Scope) -> Sequence[Value]:
    """Results of `node` by ONNX's rule, one per output place; an extent it leaves open makes the shape unknown."""
    import onnx.checker
    import onnx.defs
    import onnx.shape_inference
    from onnx import OperatorSetIdProto

    types: dict[str, TypeProto] = {}
    data: dict[str, TensorProto] = {}
    for name in node.operands:
        known = _write_type(scope.value(name))
        if known is None:
            return ()
        types[name] = known
        if (tensor := _write_content(name, scope)) is not None:
            data[name] = tensor
    if node.subgraphs():
        return ()
    opset = _opset_of(node)
    try:
        found = onnx.shape_inference.infer_node_outputs(
            onnx.defs.get_schema(node.op, opset, node.domain),
            _write_node(node),
            types,
            data,
            opset_imports=[OperatorSetIdProto(domain=node.domain, version=opset)],
        )
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError) as error:
        raise fault(SHAPES_CONTRADICT, node, _last_line(error)) from error
    return [_read_type(found.get(name)) for name in node.outputs]


def has_reference(node: Node) -> bool:
    """True where ONNX has an implementation of the operator of `node`, whatever its operands."""
    return has_implementation(_write_node(node), _opset_of(node))


def has_implementation(proto: NodeProto, opset: int) -> bool:
    """`has_reference` for a node of a file that is written in version `opset` of its domain."""
    from onnx import helper
    from onnx.reference import ReferenceEvaluator

    inputs = [helper.make_empty_tensor_value_info(name) for name in proto.input if name]
    outputs = [helper.make_empty_tensor_value_info(name) for name in proto.output if name]
    graph = helper.make_graph([proto], "node", inputs, outputs)
    try:
        ReferenceEvaluator(helper.make_model(graph, opset_imports=_make_imports(proto.domain, opset)))
    except (NotImplementedError, RuntimeError):
        return False
    return True


def evaluate_by_reference(node: Node, operands: Sequence[np.ndarray | None]) -> tuple[np.ndarray, ...]:
    """Results of `node`, one per named output place, by the reference implementation.

    Raises ModelError where ONNX has no implementation, or where it fails on these operands.
    """
    from onnx import helper
    from onnx.reference import ReferenceEvaluator

    feeds = {name: array for name, array in zip(node.inputs, operands, strict=True) if name and array is not None}
    inputs = [_declare(name, array) for name, array in feeds.items()]
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.results]
    graph = helper.make_graph([_write_node(node)], node.name or "node", inputs, outputs)
    opset = _opset_of(node)
    model = helper.make_model(graph, opset_imports=_make_imports(node.domain, opset))
    try:
        evaluator = cast(_Evaluator, ReferenceEvaluator(model))
    except (NotImplementedError, RuntimeError) as error:
        reason = f"has no implementation in version {opset} of domain {node.domain or 'ai.onnx'!r}"
        raise fault(NOT_EVALUABLE, node, reason) from error
    # A sequence is a list and has no type.
    if any(getattr(array, "dtype", None) == np.float64 for array in feeds.values()):
        _widen_attributes(evaluator)
    try:
        found = evaluator.run(None, feeds)
    except Exception as error:
        raise fault(EVALUATION_FAILED, node, f"failed on its operands: {_last_line(error)}") from error
    return tuple(found)


def _widen_attributes(evaluator: _Evaluator) -> None:
    """Keep what is computed of attributes, such as the root of a scale, from being rounded to float32."""
    for step in evaluator.rt_nodes_:
        attributes: dict[str, Any] = vars(step)
        found = [name for name, value in attributes.items() if getattr(value, "dtype", None) == np.float32]
        attributes |= {name: attributes[name].item() for name in found if np.ndim(attributes[name]) == 0}


def _declare(name: str, array: np.ndarray) -> ValueInfoProto:
    """The input `name` that `array` is given for; sequences, which are lists, have no declared type."""
    from onnx import helper

    if isinstance(array, list):
        return helper.make_empty_tensor_value_info(name)
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def _make_imports(domain: str, opset: int) -> list[OperatorSetIdProto]:
    from onnx import helper

    imports = [helper.make_opsetid(domain, opset)]
    return [*imports, helper.make_opsetid("", 18)] if domain else imports


def _opset_of(node: Node) -> int:
    """The newest opset for a canonical node, which takes more element types; else the one it was written in."""
    return node.opset if node.opaque or node.domain else newest_opset()


def _write_node(node: Node) -> NodeProto:
    from onnx import helper

    proto = helper.make_node(node.op, node.inputs, node.outputs, name=node.name, domain=node.domain)
    proto.attribute.extend(_write_attribute(name, value, node) for name, value in node.attributes.items())
    return proto


def _write_attribute(name: str, value: Attribute, node: Node) -> AttributeProto:
    from onnx import AttributeProto, helper, numpy_helper

    if isinstance(value, Graph):
        raise fault(NOT_EVALUABLE, node, f"nested graph {name!r} cannot be handed to the reference implementation")
    if isinstance(value, np.ndarray):
        return helper.make_attribute(name, numpy_helper.from_array(value))
    if value == ():
        return helper.make_attribute(name, value, attr_type=AttributeProto.INTS)
    return helper.make_attribute(name, value)


def _write_type(value: Value) -> TypeProto | None:
    from onnx import helper

    if value.dtype is None or value.shape is None:
        return None
    extents = [extent if isinstance(extent, int) else str(extent) for extent in value.shape]
    return helper.make_tensor_type_proto(CODES[value.dtype], extents)


def _write_content(name: str, scope: Scope) -> TensorProto | None:
    from onnx import numpy_helper

    array = scope.constant(name)
    if array is not None:
        return numpy_helper.from_array(array) if array.size <= CONTENT_LIMIT else None
    value, numbers = scope.value(name), numbers_of(name, scope)
    if numbers is None or value.dtype is None or value.shape is None:
        return None
    return numpy_helper.from_array(np.array(numbers, value.dtype.numpy).reshape([-1] * len(value.shape)))


def _read_type(proto: TypeProto | None) -> Value:
    if proto is None or not proto.HasField("tensor_type"):
        return Value("")
    tensor = proto.tensor_type
    dtype = DTYPES.get(tensor.elem_type)
    if not tensor.HasField("shape"):
        return Value("", dtype)
    extents = [_read_extent(extent.dim_value, extent.dim_param) for extent in tensor.shape.dim]
    known = tuple(extent for extent in extents if extent is not None)
    return Value("", dtype, known if len(known) == len(extents) else None)


def _read_extent(number: int, parameter: str) -> Dim | None:
    if not parameter:
        # ONNX writes an extent that it does not know as one without number and name.
        return number or None
    try:
        return parse_dim(parameter)
    except ValueError:
        return None


def _last_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else type(error).__name__
