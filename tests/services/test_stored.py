"""Verification of weights in two bytes: what must be equal is, and a wrong channel is seen under any type."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from autofusion.compiler import Compilation, compile_model, save_compilation
from autofusion.options import CompileOptions
from autofusion.precision import Mode, Precision
from autofusion.services.verify import verify_artifact, verify_compilation
from cli.models import save_dense

MODES: list[Mode] = ["allow_fp32_to_fp16", "allow_fp32_to_bf16"]


@pytest.fixture(params=MODES)
def compiled(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Compilation]:
    save_dense(tmp_path / "net.onnx")
    options = CompileOptions(precision=Precision(request.param))
    return tmp_path / "net.onnx", compile_model(tmp_path / "net.onnx", options)


def change(compilation: Compilation, index: int, weight: np.ndarray) -> Compilation:
    weights = list(compilation.lowered.weights)
    weights[index] = weight
    return replace(compilation, lowered=replace(compilation.lowered, weights=tuple(weights)))


def test_an_artifact_is_verified_and_its_cost_told(compiled: tuple[Path, Compilation], tmp_path: Path) -> None:
    model, compilation = compiled
    artifact = save_compilation(compilation, tmp_path / "net")
    verdict = verify_artifact(model, artifact)
    assert verdict.ok
    assert verdict.stored is not None
    assert (verdict.stored.tensors, verdict.stored.wrong) == (3, {})
    assert len(verdict.stored.dtypes) == 1
    # The weights are numbers of four digits, which two bytes hold.
    assert all(row.share < 1e-6 and row.computed.error == 0 for row in verdict.stored.costs)


@pytest.mark.parametrize("index", [0, 1, 2])
def test_one_percent_on_one_channel_is_seen(compiled: tuple[Path, Compilation], index: int) -> None:
    model, compilation = compiled
    weight = compilation.lowered.weights[index]
    columns = weight.reshape(weight.shape[0], -1) if weight.ndim == 2 else weight.reshape(-1, 16)
    wrong = columns.astype(np.float32)
    wrong[:, 2] *= 1.01
    changed = change(compilation, index, wrong.astype(weight.dtype).reshape(weight.shape))
    verdict = verify_compilation(model, changed, bisect=False)
    assert not verdict.ok
    assert verdict.stored is not None
    assert list(verdict.stored.wrong) == [compilation.lowered.plan.tensors[index].name]


def test_a_weight_that_is_not_there_is_seen(compiled: tuple[Path, Compilation]) -> None:
    model, compilation = compiled
    plan = compilation.lowered.plan
    first = plan.tensors[0]._replace(name="other")
    changed = plan._replace(tensors=(first, *plan.tensors[1:]))
    lowered = replace(compilation.lowered, plan=changed)
    verdict = verify_compilation(model, replace(compilation, lowered=lowered), bisect=False)
    assert verdict.stored is not None
    assert set(verdict.stored.wrong) == {plan.tensors[0].name, "other"}


def test_a_reference_plan_is_verified(tmp_path: Path) -> None:
    save_dense(tmp_path / "net.onnx")
    options = CompileOptions(backend="reference", precision=Precision("allow_fp32_to_fp16"))
    verdict = verify_compilation(tmp_path / "net.onnx", compile_model(tmp_path / "net.onnx", options))
    assert verdict.ok
    assert verdict.stored is not None
    assert verdict.stored.tensors == 3
