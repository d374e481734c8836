"""Options as the manifest records them, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from autofusion.errors import ArtifactError
from autofusion.fusion import Controls, Rule
from autofusion.ir import DType
from autofusion.options import EVERY_OUTPUT, CompileOptions
from autofusion.precision import MODES, Precision
from autofusion.tuning import Bank, Choice, Key

FULL = CompileOptions(
    backend="reference",
    controls=Controls(
        False,
        3,
        {"Conv": "--disable"},
        {"Gelu": "--whitelist"},
        {"Add": "--no-fusion-op"},
        {"s.cfg": {"ALL": False, "Conv+BN": True}},
        {"conv1": "x.ini"},
        {"layer*": "--fusion_scope"},
        (Rule("ffn", ("dense", "relu"), "ops", ("*",), ("layer*",), "r.toml"), Rule("stem", ("conv1",))),
    ),
    dims={"batch": 2},
    shapes={"x": (1, "n", -1, "1~8"), "s": ()},
    gears=({"x": (1, 3, 1, 4), "s": ()}, {"x": (1, 3, 2, 4), "s": ()}),
    fold_budget=7,
    exact=True,
    outputs=("a", "node:0"),
    output_types={EVERY_OUTPUT: DType.FLOAT, "a": DType.FLOAT16},
    precision=Precision("allow_fp32_to_bf16", {"conv*": "keep.cfg"}, {"Gather": "keep.cfg"}),
    bank=Bank(
        "b.json",
        {
            Key("operators", "any", "conv a"): Choice("winograd", 4, "made"),
            Key("graph", "aarch64", "conv_pool a"): Choice("apart"),
        },
        "aarch64",
    ),
)


BANK = cast("dict[str, object]", FULL.to_settings()["bank"])


@pytest.mark.parametrize("options", [CompileOptions(), FULL])
def test_settings_come_back(options: CompileOptions) -> None:
    assert CompileOptions.from_settings(options.to_settings()) == options


def test_folders_of_patterns_are_recorded_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    folders = (Path("somewhere/mine"), Path())
    settings = CompileOptions(pattern_directories=folders).to_settings()
    assert settings["patterns"] == ["mine", "here"]
    assert CompileOptions.from_settings(settings, folders).pattern_directories == folders


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"level": None}, "options.level is None, not of type int"),
        ({"level": True}, "options.level is True, not of type int"),
        ({"backend": "gpu"}, "options.backend is 'gpu', not one of native, reference"),
        (
            {"precision": {"mode": "fp8", "keep_nodes": {}, "keep_types": {}}},
            f"options.precision.mode is 'fp8', not one of {', '.join(MODES)}",
        ),
        ({"auto_fusion": 1}, "options.auto_fusion is 1, not of type bool"),
        ({"disabled": {"Conv": 1}}, "options.disabled.Conv is 1, not of type str"),
        ({"no_fusion_ops": None}, "options.no_fusion_ops is None, not of type dict"),
        ({"switches": [{"by": "s", "states": {"A": "on"}}]}, "options.switches[0].states.A is 'on', not of type bool"),
        ({"dims": {"n": "1"}}, "options.dims.n is '1', not of type int"),
        ({"shapes": {"x": 3}}, "options.shapes.x is 3, not of type list"),
        ({"shapes": {"x": [1.5]}}, "options.shapes.x is 1.5, not of type int"),
        (
            {"output_types": {"y": "fp99"}},
            f"options.output_types.y is 'fp99', not one of {', '.join(dtype.value for dtype in DType)}",
        ),
        ({"bank": {"name": "b"}}, "options.bank lacks or should not have: choices, digest, target"),
        ({"bank": BANK | {"digest": "0"}}, "options.bank.digest is not that of its choices"),
        ({"bank": BANK | {"choices": {"ops": {}}}}, "it has 'ops', which is none of operators, graph"),
        ({"gears": [3]}, "options.gears has 3, which is no gear"),
        ({"gears": [{"x": ["n"]}]}, "options.gears.x is 'n', not of type int"),
        ({"extra": 1}, "options lacks or should not have: extra"),
    ],
)
def test_odd_settings_are_refused(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(ArtifactError) as caught:
        CompileOptions.from_settings({**FULL.to_settings(), **change})
    found = caught.value.diagnostic
    assert found.code == "AF511"
    assert found.message == f"the options that the artifact records cannot be read: {reason}"
    assert found.help == "compile the model again; the artifact was changed or comes from another version"


@pytest.mark.parametrize("name", sorted(FULL.to_settings()))
def test_a_missing_setting_is_refused(name: str) -> None:
    settings = FULL.to_settings()
    del settings[name]
    with pytest.raises(ArtifactError, match=f"lacks or should not have: {name}"):
        CompileOptions.from_settings(settings)
