"""Expected values from implementations that are not ours: ONNX Runtime without optimisation, else ONNX's reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from autofusion.frontend import change_model
from autofusion.ops.custom import Operators

if TYPE_CHECKING:
    from onnx import ModelProto

Run = Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]


@dataclass(frozen=True)
class Oracle:
    """Something that runs the unfused model; `name` says what, with its version."""

    name: str
    run: Run


def open_oracles(
    model: Path, outputs: Sequence[str] = (), operators: Operators = MappingProxyType({})
) -> Iterator[Oracle]:
    """ONNX Runtime with all optimisation off where it is installed and can load `model`, then `onnx.reference`.

    `outputs` names the values that they compute instead of the model's outputs, as `frontend.read_model` takes
    them.  What `operators` declare becomes local functions of the model, since neither knows them.  The second is
    opened where it is asked for: it is far slower.
    """
    changed = change_model(model, outputs, operators) if outputs or operators else None
    fast = _open_onnxruntime(model, changed)
    if fast is not None:
        yield fast
    yield _open_reference(model, changed)


def _open_onnxruntime(model: Path, changed: ModelProto | None) -> Oracle | None:
    try:
        import onnxruntime  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        return None
    package = cast(Any, onnxruntime)
    settings = package.SessionOptions()
    settings.graph_optimization_level = package.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.log_severity_level = 4
    source: str | bytes = str(model)
    if changed is not None:
        # A model from memory does not know in which folder its external data lies.
        settings.add_session_config_entry("session.model_external_initializers_file_folder_path", str(model.parent))
        source = changed.SerializeToString()
    try:
        session = package.InferenceSession(source, settings, providers=["CPUExecutionProvider"])
    except Exception:  # noqa: BLE001  it has no common base class for "cannot load this model"
        return None
    names: list[str] = [output.name for output in session.get_outputs()]

    def run(feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return dict(zip(names, session.run(names, dict(feeds)), strict=True))

    return Oracle(f"onnxruntime {onnxruntime.__version__} without optimisation", run)


def _open_reference(model: Path, changed: ModelProto | None) -> Oracle:
    import onnx
    from onnx.external_data_helper import load_external_data_for_model
    from onnx.reference import ReferenceEvaluator

    if changed is not None:
        load_external_data_for_model(changed, str(model.parent))
    evaluator: Any = ReferenceEvaluator(str(model) if changed is None else changed)
    names = [str(name) for name in evaluator.output_names]

    def run(feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return dict(zip(names, evaluator.run(names, dict(feeds)), strict=True))

    return Oracle(f"onnx.reference {onnx.__version__}", run)
