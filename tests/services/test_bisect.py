"""Finding the fusion at fault, and leaving it out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import autofusion
from autofusion.errors import UsageError, VerificationError
from autofusion.fusion import Controls
from autofusion.lowering.folds import batch_normalization
from autofusion.options import CompileOptions
from autofusion.report.verification import Culprit, VerifyReport
from autofusion.services.bisect import FRESH_IS_RIGHT, UNFUSED_IS_WRONG, find_culprit
from autofusion.services.examine import Examined, Examiner
from autofusion.services.guard import compile_guarded
from autofusion.services.verify import verify_artifact
from cli.models import save_block
from services.faults import WRONG_SWISH, WRONG_TANH, save_gates, write_patterns

SWISH = Culprit("swish", "Swish", "Swish", "--fusion_blacklist=wrong_swish", "wrong_swish", "wrong_swish", True)
FOLDS = CompileOptions(controls=Controls(whitelist={"conv_bn_act": "the test", "bn_act": "the test"}))
TANH = Culprit("tangent", "Tanh", "Tanh", "--fusion_blacklist=wrong_tanh", "wrong_tanh", "wrong_tanh", True)


def choose(folder: Path) -> CompileOptions:
    """The patterns in `folder`, and of the others one alone."""
    return CompileOptions(controls=Controls(whitelist={"Conv+Swish": "the test"}), pattern_directories=(folder,))


def verify(model: Path, folder: Path, *given: Path) -> VerifyReport:
    """The verdict on an artifact compiled with the patterns in `folder`."""
    artifact = model.with_suffix(".om")
    autofusion.compile(model, artifact, choose(folder))
    return verify_artifact(model, artifact, seeds=(0,), pattern_directories=given)


def test_a_spelling_that_is_wrong_by_itself(tmp_path: Path) -> None:
    folder = write_patterns(tmp_path / "mine", WRONG_SWISH)
    report = verify(save_gates(tmp_path / "net.onnx"), folder, folder)
    # The fused node round it does what its body says, which is wrong already.
    assert [(row.node, row.op, row.ok) for row in report.nodes] == [
        ("swish", "Swish", False),
        ("swish", "ConvSwishFusionOp", True),
    ]
    assert (report.ok, report.culprit) == (False, SWISH)


def test_a_spelling_in_a_nested_graph_is_found_by_halving(tmp_path: Path) -> None:
    folder = write_patterns(tmp_path / "mine", WRONG_TANH)
    report = verify(save_gates(tmp_path / "net.onnx", nested=True), folder, folder)
    assert all(row.ok for row in report.nodes)
    assert (report.ok, report.culprit) == (False, TANH)


def test_a_node_that_outputs_do_not_show(tmp_path: Path) -> None:
    folder = write_patterns(tmp_path / "mine", WRONG_TANH)
    report = verify(save_gates(tmp_path / "net.onnx", hidden=True), folder, folder)
    assert all(row.ok for row in report.outputs)
    assert (report.ok, report.culprit) == (False, TANH)


def test_of_two_faults_the_first_is_named_and_not_as_the_only_one(tmp_path: Path) -> None:
    folder = write_patterns(tmp_path / "mine", WRONG_SWISH, WRONG_TANH)
    culprit = verify(save_gates(tmp_path / "net.onnx"), folder, folder).culprit
    assert culprit is not None
    assert (culprit.name, culprit.is_confirmed) == ("wrong_swish", False)


def test_a_fault_that_is_in_the_artifact_alone(tmp_path: Path) -> None:
    folder = write_patterns(tmp_path / "mine", WRONG_TANH)
    right = WRONG_TANH.replace('op     = "Tanh"', 'op     = "Erf"').replace("Mul(x, 3)", "Mul(x, 33)")
    report = verify(save_gates(tmp_path / "net.onnx"), folder, write_patterns(tmp_path / "other" / "mine", right))
    assert not report.ok
    assert (report.culprit, report.notes) == (None, (FRESH_IS_RIGHT,))


def test_patterns_of_ones_own_are_asked_for(tmp_path: Path) -> None:
    folder = write_patterns(tmp_path / "mine", WRONG_TANH)
    model = save_gates(tmp_path / "net.onnx")
    with pytest.raises(UsageError, match=r"AF604: net\.om was compiled with the folders of patterns mine"):
        verify(model, folder)
    with pytest.raises(UsageError, match="AF604"):
        verify(model, folder, write_patterns(tmp_path / "others", WRONG_TANH))


def test_nothing_is_looked_for_where_nobody_asks(tmp_path: Path) -> None:
    folder = write_patterns(tmp_path / "mine", WRONG_TANH)
    model = save_gates(tmp_path / "net.onnx")
    autofusion.compile(model, tmp_path / "net.om", choose(folder))
    report = verify_artifact(model, tmp_path / "net.om", seeds=(0,), pattern_directories=(folder,), bisect=False)
    assert (report.ok, report.culprit, report.notes) == (False, None, ())


class AlwaysWrong(Examiner):
    """Finds every output beyond its limits, whatever was fused."""

    def is_right(self, options: CompileOptions, seed: int | None = None) -> bool:
        return False


def test_a_fault_that_is_no_fusion(tmp_path: Path) -> None:
    folder = write_patterns(tmp_path / "mine", WRONG_TANH)
    model = save_gates(tmp_path / "net.onnx")
    options = choose(folder)
    wrong = tuple(row for row in verify(model, folder, folder).outputs if not row.ok)
    finding = find_culprit(AlwaysWrong(model, options, seeds=(0,)), options, Examined(wrong))
    assert (finding.culprit, finding.note) == (None, UNFUSED_IS_WRONG)


def test_a_kernel_at_fault_is_left_out_form_by_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fold = batch_normalization.fold_batch_normalization

    def lose(
        weight: np.ndarray, bias: np.ndarray | None, axis: int, scale: np.ndarray, shift: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        return fold(weight, bias, axis, scale, shift * 1.1)

    monkeypatch.setattr(batch_normalization, "fold_batch_normalization", lose)
    save_block(tmp_path / "net.onnx")
    guarded = compile_guarded(tmp_path / "net.onnx", FOLDS, auto_disable=True)
    assert [fault.name for fault in guarded.disabled] == ["ConvBNReluFusionOp", "ConvBNFusionOp"]
    # Without the first the second takes its place, which is as wrong.
    assert [fault.is_confirmed for fault in guarded.disabled] == [False, True]
    assert guarded.verdict.ok


def test_nothing_is_left_to_disable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    factors = batch_normalization.normalization_factors

    def lose(
        gamma: np.ndarray, beta: np.ndarray, mean: np.ndarray, variance: np.ndarray, epsilon: float
    ) -> tuple[np.ndarray, np.ndarray]:
        return factors(gamma, beta, mean, variance, epsilon + 0.1)

    monkeypatch.setattr(batch_normalization, "normalization_factors", lose)
    save_block(tmp_path / "net.onnx")
    guarded = compile_guarded(tmp_path / "net.onnx", FOLDS, auto_disable=True)
    assert [fault.name for fault in guarded.disabled] == ["ConvBNReluFusionOp", "ConvBNFusionOp", "BNReluFusionOp"]
    assert (guarded.verdict.ok, guarded.verdict.culprit, guarded.verdict.notes) == (False, None, (UNFUSED_IS_WRONG,))
    with pytest.raises(VerificationError, match="AF603"):
        guarded.refuse()


def test_what_is_wrong_is_left_out(tmp_path: Path) -> None:
    folder = write_patterns(tmp_path / "mine", WRONG_SWISH, WRONG_TANH)
    model = save_gates(tmp_path / "net.onnx")
    options = choose(folder)
    guarded = compile_guarded(model, options, auto_disable=True)
    assert guarded.verdict.ok
    assert [fault.name for fault in guarded.disabled] == ["wrong_swish", "wrong_tanh"]
    misses = guarded.compilation.report.misses
    assert [miss.pattern for miss in misses if miss.reason == "DISABLED(auto_disable)"] == ["Swish", "Tanh"]
    guarded.refuse()


def test_nothing_is_written_where_verification_fails(tmp_path: Path) -> None:
    folder = write_patterns(tmp_path / "mine", WRONG_TANH)
    model = save_gates(tmp_path / "net.onnx")
    options = choose(folder)
    with pytest.raises(VerificationError, match="AF603"):
        autofusion.compile(model, tmp_path / "out", options, verify=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "net.onnx"]
    artifact = autofusion.compile(model, tmp_path / "out", options, auto_disable=True)
    assert artifact.manifest.options["disabled"] == {"wrong_tanh": "auto_disable"}
    assert verify_artifact(model, tmp_path / "out.om", seeds=(0,), pattern_directories=(folder,)).ok
