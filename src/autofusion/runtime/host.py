"""Steps that run in Python: ONNX operators by `ops`, and tensors of extents."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from autofusion.diagnostics import Diagnostic
from autofusion.errors import ArtifactError, AutofusionError
from autofusion.plan import Plan, Setting, Size, Step, evaluate_size
from autofusion.plan.attributes import decode_attribute
from autofusion.plan.dtypes import ARRAY_NAMES
from autofusion.plan.nested import NestedNode, check_attributes
from autofusion.runtime.damage import damaged_plan
from autofusion.runtime.nested import make_node
from autofusion.runtime.shapes import Shape, refuse_dims, show_shape
from autofusion.runtime.views import array_type

if TYPE_CHECKING:
    from autofusion.ir import Node

T = TypeVar("T")

HostStep = Callable[[Sequence["np.ndarray | None"]], Sequence[np.ndarray]]
"""Operands of a host step, one per input place, None where absent -> its results, one per output place."""


def prepare_host_steps(plan: Plan) -> dict[int, HostStep]:
    """What runs each host step of `plan`, by the step's index.

    Raises ArtifactError: AF519 where the packages that host steps need are not installed, AF514 where the
    settings of one make no sense.
    """
    indices = [index for index, step in enumerate(plan.steps) if step.kernel == "host"]
    if not indices:
        return {}
    operators = sorted({str(plan.steps[index].attributes.get("op")) for index in indices})
    if importlib.util.find_spec("onnx") is None:
        raise _missing_package("onnx", operators)
    try:
        return {index: _read_operation(plan.steps[index]).run for index in indices}
    except ModuleNotFoundError as error:
        raise _missing_package(str(error.name), operators) from error


def compute_extents(step: Step, dims: Mapping[str, int], dtype: str, shape: Shape) -> np.ndarray:
    """The tensor of an `extents` step: the size expressions `values` under `dims`.

    Raises InputError (AF533) where one divides by zero or does not fit the type.
    """
    values = cast(Sequence[Size], step.attributes["values"])
    try:
        return np.array([evaluate_size(size, dims) for size in values], array_type(dtype)).reshape(shape)
    except (ZeroDivisionError, OverflowError) as error:
        raise refuse_dims(step.outputs[0], shape, dims, f"and an element that is none: {error}") from error


def check_result(step: Step, name: str, array: np.ndarray, dtype: str, shape: Shape | None) -> None:
    """Raise ArtifactError (AF520) unless `array`, result `name` of `step`, is what the plan says: None is any shape.

    Where it gives neither type nor shape, the result may be a sequence, which is a list of arrays.
    """
    problem = ""
    if isinstance(array, list):
        problem = "a sequence, not a tensor" if dtype or shape is not None else ""
    elif dtype and array.dtype != array_type(dtype):
        problem = f"elements of type {array.dtype}, not {ARRAY_NAMES.get(dtype, dtype)}"
    elif shape is not None and array.shape != shape:
        problem = f"shape {show_shape(array.shape)}, not {show_shape(shape)}"
    if problem:
        raise ArtifactError(
            Diagnostic(
                "AF520",
                f"step {step.node!r} ({step.op}) gave value {name!r} {problem}",
                help="the shapes that the model declares may contradict what it computes",
            )
        )


@dataclass(frozen=True)
class _Operation:
    """A node that a host step runs, and the names by which its graphs read the operands after its own."""

    node: Node
    captured: tuple[str, ...]

    def run(self, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
        from autofusion.ops import evaluate

        node, own = self.node, len(self.node.inputs)
        captured = {name: array for name, array in zip(self.captured, operands[own:], strict=True) if array is not None}
        try:
            return evaluate(node, operands[:own], captured=captured)
        except AutofusionError:
            raise
        except Exception as error:
            # The operator's code meets attributes from a file: whatever it makes of wrong ones is the file's fault.
            text = f"step {node.name!r} ({node.op}) failed: {type(error).__name__}: {error}"
            raise ArtifactError(Diagnostic("AF520", text, help="compile the model again")) from error


def _read_operation(step: Step) -> _Operation:
    settings = step.attributes
    try:
        op, domain, opset = (
            _expect(str, settings["op"]),
            _expect(str, settings["domain"]),
            _expect(int, settings["opset"]),
        )
        written = cast(Mapping[str, Setting], _expect(dict, settings["attributes"]))
        attributes = {name: decode_attribute(value) for name, value in written.items()}
        names = cast(Sequence[Setting], _expect(list, settings.get("captured", [])))
        captured = tuple(_expect(str, name) for name in names)
        own = len(step.inputs) - len(captured)
        if own < 0 or not all(step.inputs[own:]) or len(set(captured)) < len(captured):
            raise ValueError(f"{len(captured)} captured values do not fit {len(step.inputs)} operands")
        check_attributes(attributes, set(captured))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise damaged_plan(f"host step {step.node!r} has impossible settings: {error}") from error
    node = NestedNode(step.node, op, domain, opset, step.inputs[:own], step.outputs, attributes)
    return _Operation(make_node(node, step.origin), captured)


def _expect(kind: type[T], value: object) -> T:
    if type(value) is not kind:
        raise TypeError(f"{value!r:.40} is not of type {kind.__name__}")
    return value


def _missing_package(package: str, operators: Sequence[str]) -> ArtifactError:
    return ArtifactError(
        Diagnostic(
            "AF519",
            f"package {package} is not installed, and operators without a kernel need it: {', '.join(operators)}",
            help=f"install {package}",
        )
    )
