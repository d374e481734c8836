"""Generated soundness: every variant of every built-in pattern fuses into one node and computes what it replaced."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from autofusion.compiler import compile_model, save_compilation
from autofusion.frontend import read_model
from autofusion.fusion import Controls
from autofusion.ir import Graph
from autofusion.lowering import lower
from autofusion.options import CompileOptions
from autofusion.passes import run_passes
from autofusion.patternlang import Pattern
from autofusion.runtime import load
from fusion.generated import SAMPLES, GeneratedModel, generate_models
from fusion.support import builtin, run
from lowering.graphs import run_plan

DEFAULT_LEVEL = Controls().level
TEXTS = [pattern for pattern in builtin() if pattern.forms]
"""What a pass in Python finds has tests of its own."""


def read(model: GeneratedModel, folder: Path) -> Graph:
    path = folder / f"{model.name}.onnx"
    onnx.save(model.proto, path)
    graph = read_model(path).graph
    run_passes(graph)
    return graph


def check(model: GeneratedModel, actual: Iterable[np.ndarray]) -> None:
    """The results are those of the model without fusion."""
    for found, expected in zip(actual, ReferenceEvaluator(model.proto).run(None, dict(model.feeds)), strict=True):
        rtol, atol = (5e-3, 2e-3) if expected.dtype == np.float16 else (1e-4, 1e-5)
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol, err_msg=model.name)


@pytest.mark.parametrize("pattern", TEXTS, ids=lambda pattern: pattern.name)
def test_every_variant(pattern: Pattern, tmp_path: Path) -> None:
    models = list(generate_models((pattern,)))
    assert models
    for model in models:
        graph = read(model, tmp_path)
        result = run(graph, controls=Controls(level=max(pattern.level, DEFAULT_LEVEL)))
        (node,) = graph
        assert (model.name, node.display) == (model.name, model.display)
        # A norm alone is where a product could begin.
        assert [miss for miss in result.misses if pattern.stage or miss.pattern == pattern.name] == []
        check(model, run_plan(lower(graph, backend="reference"), model.feeds))


@pytest.mark.parametrize("pattern", TEXTS, ids=lambda pattern: pattern.name)
def test_some_variants_on_this_machine(pattern: Pattern, tmp_path: Path) -> None:
    models = list(generate_models((pattern,)))
    options = CompileOptions(controls=Controls(level=max(pattern.level, DEFAULT_LEVEL)))
    for model in models[:: -(-len(models) // 6)]:
        onnx.save(model.proto, tmp_path / "model.onnx")
        artifact = save_compilation(compile_model(tmp_path / "model.onnx", options), tmp_path / model.name)
        check(model, load(artifact).run(dict(model.feeds)).values())


def test_every_pattern_has_a_sample() -> None:
    assert {pattern.name for pattern in TEXTS} == set(SAMPLES)
