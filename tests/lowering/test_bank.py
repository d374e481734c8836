"""What a tuning bank says of layers holds where it is possible, and everything else is as without one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import autofusion
from autofusion.compiler import Compilation, compile_model, save_compilation
from autofusion.decisions import LayerChoice
from autofusion.lowering import lower
from autofusion.options import CompileOptions
from autofusion.services.tuning import as_choice, collect_choices
from autofusion.services.verify import verify_artifact, verify_compilation
from autofusion.tuning import Bank, Choice, Key, digest_bank, write_bank
from lowering import test_depth_first, test_pooled
from lowering.test_winograd import make_graph

KINDS = (
    Choice("direct"),
    *(Choice("winograd", tile, filters) for tile in (2, 4) for filters in ("stored", "made")),
)


def bank_of(choices: Mapping[str, Choice], section: str = "operators", target: str = "any") -> Bank:
    return Bank("b.json", {Key(section, target, layer): choice for layer, choice in choices.items()})  # type: ignore[arg-type]


def lay_out(*, filters: int = 64, size: int = 56, bank: Bank | None = None, exact: bool = False) -> LayerChoice:
    (layer,) = lower(make_graph(filters, filters, [size, size]), backend="native", bank=bank, exact=exact).layers
    return layer


def test_the_text_of_a_layer() -> None:
    assert lay_out().layer == (
        "conv x=1x64x56x56 filter=64x64x3x3 y=1x64x56x56 dilations=1,1 group=1 pads=1,1,1,1 strides=1,1"
    )
    (layer,) = lower(make_graph(8, 4, ["h", 9]), backend="native").layers
    assert layer.layer.startswith("conv x=1x4x?x9 filter=8x4x3x3 y=1x8x?x9 ")


@pytest.mark.parametrize("size", [56, 3])
@pytest.mark.parametrize("choice", KINDS, ids=str)
def test_every_algorithm_overrules_the_cost_model(choice: Choice, size: int) -> None:
    layer = lay_out(size=size, bank=bank_of({lay_out(size=size).layer: choice}))
    assert as_choice(layer.chosen) == choice
    assert (layer.source, layer.refused) == ("bank", "")


def test_other_layers_are_as_without() -> None:
    assert lay_out(bank=bank_of({"conv x=1x1x1x1": Choice("direct")})) == lay_out()
    own = bank_of({lay_out().layer: Choice("direct")}, target="aarch64")
    assert lay_out(bank=own) == lay_out()
    assert lay_out(bank=replace(own, target="aarch64")).source == "bank"


def test_what_a_layer_cannot_take_is_refused() -> None:
    usual = lay_out()
    layer = lay_out(bank=bank_of({usual.layer: Choice("winograd", 6, "stored")}))
    assert layer == replace(usual, refused=layer.refused)
    assert layer.refused.startswith("winograd 6x6, filters stored: the layer can be computed by direct; winograd 2x2")


def test_exact_results_come_first() -> None:
    usual = lay_out()
    layer = lay_out(bank=bank_of({usual.layer: Choice("winograd", 4, "made")}), exact=True)
    assert (layer.chosen.algorithm, layer.source) == ("direct", "exact")
    assert layer.refused.startswith("winograd 4x4, filters made: exact results are asked for")
    assert lay_out(bank=bank_of({usual.layer: Choice("direct")}), exact=True).refused == ""


def test_why_a_layer_is_computed_so() -> None:
    assert lay_out().source == "cost"
    assert re.fullmatch(
        r"\d\.\d\d times as fast as plain sums by its estimate; what is faster needs .*", lay_out().reason
    )
    narrow = lay_out(filters=2)
    assert (narrow.chosen.algorithm, narrow.source) == ("direct", "cost")
    assert narrow.reason == "no other is 1.2 times as fast by its estimate"
    (only,) = lower(make_graph(8, 8, [9, 9], strides=(2, 2)), backend="native").layers
    assert (only.source, only.reason, len(only.options)) == ("only", "no other algorithm suits the layer", 1)
    assert lay_out(exact=True).reason == "exact results are asked for, and the others round more"


def compile_with(path: Path, bank: Bank | None) -> Compilation:
    return compile_model(path, CompileOptions(bank=bank))


@pytest.mark.parametrize(
    ("changes", "usual"),
    [({}, "joined"), ({"size": 8}, "apart"), ({"size": 16, "kernel": 3, "channels": 3}, "apart")],
)
def test_a_depthwise_convolution_is_joined_or_not(tmp_path: Path, changes: dict[str, int], usual: str) -> None:
    path = test_depth_first.save_block(tmp_path / "net.onnx", **changes)  # type: ignore[arg-type]
    _check_joining(path, usual, "conv_depthwise")


@pytest.mark.parametrize(
    ("changes", "usual"),
    [
        ({}, "joined"),
        ({"size": 9}, "apart"),
        ({"pool": "GlobalAveragePool", "filters": 5}, "apart"),
        ({"pool": "GlobalMaxPool", "filters": 33}, "joined"),
    ],
)
def test_a_pool_is_joined_or_not(tmp_path: Path, changes: dict[str, object], usual: str) -> None:
    path = test_pooled.save_block(tmp_path / "net.onnx", **changes)  # type: ignore[arg-type]
    _check_joining(path, usual, "conv_pool")


def _check_joining(path: Path, usual: str, kernel: str) -> None:
    (layer,) = (layer for layer in compile_with(path, None).report.layers if layer.section == "graph")
    assert (layer.chosen.algorithm, layer.source) == (usual, "cost")
    for algorithm in ("joined", "apart"):
        made = compile_with(path, bank_of({layer.layer: Choice(algorithm)}, "graph"))
        (found,) = (found for found in made.report.layers if found.section == "graph")
        assert (found.chosen.algorithm, found.source) == (algorithm, "bank")
        kernels = [step.kernel for step in made.lowered.plan.steps]
        assert (kernel in kernels) == (algorithm == "joined")
        if algorithm != usual:
            assert verify_compilation(path, made, seeds=(0,)).ok


def save_pooled(folder: Path) -> Path:
    return test_pooled.save_block(folder / "net.onnx", size=17)


@pytest.mark.parametrize("choice", KINDS, ids=str)
def test_results_are_right_whatever_the_choice(tmp_path: Path, choice: Choice) -> None:
    path = save_pooled(tmp_path)
    (layer,) = (layer for layer in compile_with(path, None).report.layers if layer.section == "operators")
    made = compile_with(path, bank_of({layer.layer: choice}))
    assert made.report.bank is not None
    assert made.report.bank.taken == 1
    assert verify_compilation(path, made, seeds=(0,)).ok


def test_an_artifact_has_the_choices_it_was_made_by(tmp_path: Path) -> None:
    """And is verified by them, in two bytes as well, whatever became of the file."""
    path = save_pooled(tmp_path)
    usual = compile_with(path, None)
    choices = collect_choices(usual.report.layers)
    (key,) = (key for key in choices if key.section == "operators")
    full = {**choices, key: Choice("winograd", 2, "stored"), Key("operators", "any", "conv of another"): KINDS[0]}
    write_bank(tmp_path / "b.json", Bank("", full))
    opened = autofusion.compile(path, tmp_path / "net.om", bank=tmp_path / "b.json")
    taken = Bank("b.json", {key: choice for key, choice in full.items() if key.layer != "conv of another"})
    recorded = CompileOptions.from_settings(opened.manifest.options).bank
    assert recorded == taken
    made = compile_with(path, Bank("b.json", full))
    assert made.options.bank == taken
    use = made.report.bank
    assert use is not None
    assert (use.name, use.taken, use.refused, use.unused, use.digest) == ("b.json", 2, 0, 1, digest_bank(taken))
    (tmp_path / "b.json").unlink()
    assert verify_artifact(path, tmp_path / "net.om", seeds=(0,)).ok
    again = save_compilation(made, tmp_path / "again.om")
    assert again.read_bytes() == (tmp_path / "net.om").read_bytes()
    assert compile_with(path, taken).lowered.plan == opened.plan


def test_what_is_written_gives_the_same_artifact(tmp_path: Path) -> None:
    path = save_pooled(tmp_path)
    usual = compile_with(path, None)
    made = compile_with(path, Bank("", collect_choices(usual.report.layers)))
    assert made.lowered.plan == usual.lowered.plan
    for before, after in zip(usual.lowered.weights, made.lowered.weights, strict=True):
        np.testing.assert_array_equal(before, after)
