"""Expected values from implementations that are not ours: ONNX Runtime without optimisation, else ONNX's reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

Run = Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]


@dataclass(frozen=True)
class Oracle:
    """Something that runs the unfused model; `name` says what, with its version."""

    name: str
    run: Run


def open_oracle(model: Path) -> Oracle:
    """ONNX Runtime with all optimisation off where it is installed and can load `model`, else `onnx.reference`."""
    return _open_onnxruntime(model) or _open_reference(model)


def _open_onnxruntime(model: Path) -> Oracle | None:
    try:
        import onnxruntime  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        return None
    package = cast(Any, onnxruntime)
    settings = package.SessionOptions()
    settings.graph_optimization_level = package.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.log_severity_level = 4
    try:
        session = package.InferenceSession(str(model), settings, providers=["CPUExecutionProvider"])
    except Exception:  # noqa: BLE001  it has no common base class for "cannot load this model"
        return None
    names: list[str] = [output.name for output in session.get_outputs()]

    def run(feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return dict(zip(names, session.run(names, dict(feeds)), strict=True))

    return Oracle(f"onnxruntime {onnxruntime.__version__} without optimisation", run)


def _open_reference(model: Path) -> Oracle:
    import onnx
    from onnx.reference import ReferenceEvaluator

    evaluator: Any = ReferenceEvaluator(str(model))
    names = [str(name) for name in evaluator.output_names]

    def run(feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return dict(zip(names, evaluator.run(names, dict(feeds)), strict=True))

    return Oracle(f"onnx.reference {onnx.__version__}", run)
