"""Steps that run in Python: ONNX operators by `ops`, and tensors of extents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from autofusion.plan import Plan, Size, Step, evaluate_size
from autofusion.plan.dtypes import ARRAY_NAMES
from autofusion.runtime.refusals import artifact_error
from autofusion.runtime.shapes import Shape, refuse_dims, show_shape
from autofusion.runtime.views import array_type

if TYPE_CHECKING:
    from autofusion.errors import ArtifactError

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
    # Most plans have no such steps and do not wait for what runs them.
    import importlib.util

    from autofusion.runtime.operation import read_operation

    operators = sorted({str(plan.steps[index].attributes.get("op")) for index in indices})
    if importlib.util.find_spec("onnx") is None:
        raise _missing_package("onnx", operators)
    try:
        return {index: read_operation(plan.steps[index]).run for index in indices}
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
        raise artifact_error(
            "AF520",
            f"step {step.node!r} ({step.op}) gave value {name!r} {problem}",
            help="the shapes that the model declares may contradict what it computes",
        )


def _missing_package(package: str, operators: Sequence[str]) -> ArtifactError:
    return artifact_error(
        "AF519",
        f"package {package} is not installed, and operators without a kernel need it: {', '.join(operators)}",
        help=f"install {package}",
    )
