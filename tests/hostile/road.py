"""The whole road of one model file through the compiler, judged by what comes out and by ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

from autofusion.compiler import compile_model, save_compilation
from autofusion.errors import AutofusionError
from autofusion.runtime import load
from autofusion.services.run_inputs import choose_dims, generate_inputs

# What these give is not defined: random numbers, and flags and modes that are neither on nor off.
RANDOM = {"Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform"}
FLAGS = {"keepdims", "ceil_mode", "count_include_pad", "exclusive", "reverse", "select_last_index", "fmod", "largest"}
# Draws 1 for the count and the condition of the model with control flow: a loop without turns says little.
SEED = 5
TOLERANCE = {2: 2e-2, 4: 1e-3, 8: 1e-6}

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Outcome:
    """`kind` is "agrees", "unchecked" (converted, but nothing to compare with), "refused" or "fault"."""

    kind: str
    detail: str = ""


def travel(path: Path, folder: Path, enter: Callable[[str], None] = lambda stage: None) -> Outcome:
    """Compile the model `path`, save it in `folder`, run it, compare; `enter` hears of every stage as it begins."""
    for left in folder.glob("artifact*"):
        left.unlink()
    enter("compile")
    try:
        artifact = save_compilation(compile_model(path), folder / "artifact")
    except Exception as error:  # noqa: BLE001 - anything that is no refusal is what we look for
        left = sorted(file.name for file in folder.glob("artifact*"))
        return Outcome("fault", f"refused, but {left} is left: {error}") if left else judge_error(error)
    enter("run")
    try:
        session = load(artifact, threads=1)
        feeds = generate_inputs(session.inputs, seed=SEED, dims=choose_dims(session.plan, {}))
        results = session.run(feeds)
    except Exception as error:  # noqa: BLE001 - as above
        return judge_error(error)
    enter("onnxruntime")
    expected = None if is_undefined(path) else run_onnxruntime(path, feeds)
    if expected is None:
        return Outcome("unchecked")
    wrong = [f"{name}: {why}" for name, array in expected.items() if (why := find_difference(results[name], array))]
    return Outcome("fault", f"differs from ONNX Runtime: {'; '.join(wrong)}") if wrong else Outcome("agrees")


def judge_error(error: Exception) -> Outcome:
    """A refusal is an error of ours with exit code 2 and a cause; anything else is a fault."""
    clean = isinstance(error, AutofusionError) and error.exit_code == 2 and error.diagnostic.message
    return Outcome("refused" if clean else "fault", f"{type(error).__name__}: {error}")


def is_undefined(path: Path) -> bool:
    """True where a node says something to which ONNX gives no meaning, or draws random numbers."""
    model = onnx.load(path)
    nodes = [node for owner in (model.graph, *model.functions) for node in owner.node]
    flags = [a for node in nodes for a in node.attribute if a.name in FLAGS]
    return any(node.op_type in RANDOM for node in nodes) or any(flag.i not in (0, 1) for flag in flags)


def run_onnxruntime(path: Path, feeds: Arrays) -> Arrays | None:
    """What ONNX Runtime without optimisation computes, None where it refuses the model or fails."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(names, dict(feeds)), strict=True))
    except Exception:  # noqa: BLE001 - its errors have no common class
        return None


def find_difference(ours: np.ndarray, theirs: np.ndarray) -> str:
    """What is wrong with an output, "" where nothing is."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"{ours.dtype} {list(ours.shape)}, not {theirs.dtype} {list(theirs.shape)}"
    if ours.dtype.kind != "f":
        return "" if np.array_equal(ours, theirs) else "other values"
    # Means over nothing and the like are NaN here and 0 there.
    wide, expected = ours.astype(np.float64), theirs.astype(np.float64)
    finite = np.isfinite(wide) & np.isfinite(expected)
    scale = max(np.abs(expected[finite]).max(initial=0), 1e-6)
    error = np.abs(wide[finite] - expected[finite]).max(initial=0)
    return "" if error <= TOLERANCE[ours.dtype.itemsize] * scale else f"off by {error:.3g} at a scale of {scale:.3g}"
