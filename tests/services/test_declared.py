"""Declared operators from the model to the artifact: compiled, run without the declaration, verified, fused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import autofusion
from autofusion.compiler import compile_model, save_compilation
from autofusion.errors import ModelError
from autofusion.fusion import Controls
from autofusion.options import CompileOptions
from autofusion.report.explanation_text import render_explanation
from autofusion.services.explain import explain_model
from autofusion.services.verify import verify_artifact
from frontend.declared import WHIRL, declare, row_scale, small_model, whirl
from frontend.models import model, node, random, save, tensor

PATTERN = """schema  = 1
name    = "conv_whirl"
summary = "Convolution and Whirl."
display = "Conv+{act}"
op      = "Conv{act}FusionOp"
kernel  = "conv"
benefit = 40
where   = ["w, b, shift are const"]

[[form]]
match = '''
conv = Conv(x, w, b?)
act  = com.acme::Whirl<count = 2> (conv, shift)
'''
"""


ODD = """schema   = 1
domain   = "com.acme"
name     = "Odd"
summary  = "Results of every kind."
inputs   = ["x", "flag?"]
outputs  = ["same", "const", "flat", "chosen"]
opset    = 17
function = '''
same   = Identity(x)
const  = Constant <value_floats = [1.0, 2.0]> ()
shape  = Shape(x)
zero   = Constant <value_ints = [0]> ()
first  = Gather(shape, zero)
minus  = Constant <value_ints = [-1]> ()
target = Concat <axis = 0> (first, minus)
flat   = Reshape(x, target)
idle   = Dropout(x)
truth  = Constant <value = bool {1}> ()
chosen = If (truth) <then_branch = t () => (float[a, b, c] p) { p = Exp(idle) },
                     else_branch = e () => (float[a, b, c] q) { q = Identity(x) }>
'''
"""


def build(folder: Path, proto: onnx.ModelProto, **options: object) -> tuple[Path, Path, CompileOptions]:
    """The model file, its artifact and the options it was compiled with."""
    mine = declare(folder)
    chosen = CompileOptions(pattern_directories=(mine,), **options)  # pyright: ignore[reportArgumentType]
    path = save(proto, folder)
    return path, save_compilation(compile_model(path, chosen), folder / "net"), chosen


def pointwise() -> onnx.ModelProto:
    """Whirl alone, on an input of open extents."""
    nodes = [node("Whirl", "x shift", "y", "whirl", "com.acme", count=4)]
    weights = {"shift": random(1, 5)}
    return model(nodes, [tensor("x", ["n", 5])], [tensor("y", None)], weights, domains={"com.acme": 1})


@pytest.mark.parametrize("backend", ["native", "reference"])
def test_runs_as_the_expression_says(tmp_path: Path, backend: str) -> None:
    _, artifact, _ = build(tmp_path, pointwise(), backend=backend)
    x = np.concatenate([random(2, 6, 5), np.array([[0.0, -0.0, np.inf, -np.inf, np.nan]], np.float32)])
    with np.errstate(all="ignore"):
        found = autofusion.load(artifact, backend=backend).run({"x": x})["y"]
        np.testing.assert_allclose(found, whirl(x, random(1, 5), 0.25, 4), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE])
@pytest.mark.parametrize("opset", [13, 18])
def test_verifies(tmp_path: Path, dtype: int, opset: int) -> None:
    path, artifact, options = build(tmp_path, small_model(dtype, opset))
    report = verify_artifact(path, artifact, pattern_directories=options.pattern_directories)
    assert report.ok
    # ONNX Runtime takes the operators of a function in the opset of the model.
    if dtype == onnx.TensorProto.FLOAT:
        assert report.oracle.split()[0] == ("onnxruntime" if opset == 18 else "onnx.reference")


def test_another_meaning_does_not_verify(tmp_path: Path) -> None:
    path, artifact, options = build(tmp_path, pointwise())
    wrong = WHIRL.replace("slope * x / count", "slope * x / count + 0.001")
    (tmp_path / "mine" / "operators" / "whirl.toml").write_text(wrong, encoding="utf-8")
    assert not verify_artifact(path, artifact, pattern_directories=options.pattern_directories, bisect=False).ok


def test_the_artifact_needs_neither_declaration_nor_onnx(tmp_path: Path) -> None:
    nodes = [node("Tame", "x", "y", "tame", "com.acme")]
    proto = model(nodes, [tensor("x", ["n", 3])], [tensor("y", None)], domains={"com.acme": 1})
    tame = WHIRL.replace("Whirl", "Tame").replace(', "shift"', "").partition("expression")[0]
    mine = declare(tmp_path)
    (mine / "operators" / "tame.toml").write_text(f"{tame}expression = 'tanh(x) * exp(-abs(x)) / 2'\n", "utf-8")
    options = CompileOptions(pattern_directories=(mine,))
    artifact = save_compilation(compile_model(save(proto, tmp_path), options), tmp_path / "net")
    for file in (mine / "operators").iterdir():
        file.unlink()
    script = f"""
import sys
import numpy as np
for name in ("onnx", "networkx", "ml_dtypes", "click"):
    sys.modules[name] = None
import autofusion
x = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)
y = autofusion.load({str(artifact)!r}).run({{"x": x}})["y"]
np.testing.assert_allclose(y, np.tanh(x) * np.exp(-np.abs(x)) / 2, rtol=1e-5)
"""
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_pattern_names_it(tmp_path: Path) -> None:
    declare(tmp_path)
    (tmp_path / "mine" / "conv_whirl.toml").write_text(PATTERN, encoding="utf-8")
    path, artifact, options = build(tmp_path, small_model())
    compilation = compile_model(path, options)
    assert [(row.pattern, row.op) for row in compilation.report.fused] == [("Conv+Whirl", "ConvWhirlFusionOp")]
    assert compilation.report.operators_after == 2
    report = verify_artifact(path, artifact, pattern_directories=options.pattern_directories)
    assert (report.ok, [row.op for row in report.nodes]) == (True, ["ConvWhirlFusionOp"])
    functions = {
        (item.domain, item.name) for item in onnx.load_from_string(autofusion.read_artifact(artifact).graph).functions
    }
    assert functions == {("autofusion", "ConvWhirlFusionOp"), ("com.acme", "Whirl"), ("com.acme", "RowScale")}


@pytest.mark.parametrize(
    "controls",
    [
        Controls(disabled={"Whirl": "--disable"}),
        Controls(no_fusion_ops={"Whirl": "--no-fusion-op"}),
        Controls(disabled={"Conv+Whirl": "--disable"}),
        Controls(skip_nodes={"whirl": "skip.cfg"}),
        Controls(auto_fusion=False),
    ],
)
def test_controls_hold_for_it(tmp_path: Path, controls: Controls) -> None:
    declare(tmp_path)
    (tmp_path / "mine" / "conv_whirl.toml").write_text(PATTERN, encoding="utf-8")
    _, artifact, _ = build(tmp_path, small_model(), controls=controls)
    assert autofusion.read_artifact(artifact).report
    compilation = compile_model(
        tmp_path / "model.onnx", CompileOptions(controls=controls, pattern_directories=(tmp_path / "mine",))
    )
    assert [row.op for row in compilation.report.fused] == []


def test_what_does_not_fit_is_explained(tmp_path: Path) -> None:
    declare(tmp_path)
    (tmp_path / "mine" / "conv_whirl.toml").write_text(PATTERN.replace("count = 2", "count = 3"), encoding="utf-8")
    path, _, options = build(tmp_path, small_model())
    text = render_explanation(explain_model(path, options, pattern="conv_whirl"))
    assert "failed at act: ATTRIBUTE(count, 2, 3)" in text


def test_both_results_are_computed(tmp_path: Path) -> None:
    nodes = [node("RowScale", "x", "y root", "scale", "com.acme", epsilon=0.25)]
    x, outputs = tensor("x", ["n", 4]), [tensor("root", None), tensor("y", None)]
    _, artifact, _ = build(tmp_path, model(nodes, [x], outputs, opset=18, domains={"com.acme": 1}))
    given = random(7, 3, 4)
    found = autofusion.load(artifact).run({"x": given})
    y, root = row_scale(given, 0.25)
    np.testing.assert_allclose(found["y"], y, rtol=1e-5)
    np.testing.assert_allclose(found["root"], root, rtol=1e-5)


def test_bodies_of_every_kind(tmp_path: Path) -> None:
    """Results that are an operand, a constant, a view of computed shape and the result of control flow."""
    mine = declare(tmp_path)
    (mine / "operators" / "odd.toml").write_text(ODD, encoding="utf-8")
    nodes = [
        node("Odd", "x", "same const flat chosen", "one", "com.acme"),
        node("Odd", "same", "_ _ _ again", "two", "com.acme"),
        node("Mul", "flat flat", "square", "mul"),
    ]
    outputs = [tensor(name, None) for name in ("same", "const", "chosen", "again", "square")]
    proto = model(nodes, [tensor("x", ["n", 3, 4])], outputs, domains={"com.acme": 1})
    path, artifact, options = build(tmp_path, proto)
    assert compile_model(path, options).model.operator_count == 3
    x = random(4, 2, 3, 4)
    found = autofusion.load(artifact).run({"x": x})
    np.testing.assert_array_equal(found["same"], x)
    np.testing.assert_array_equal(found["const"], np.float32([1, 2]))
    np.testing.assert_allclose(found["again"], np.exp(x), rtol=1e-6)
    np.testing.assert_allclose(found["square"], x.reshape(2, 12) ** 2, rtol=1e-6)
    assert verify_artifact(path, artifact, pattern_directories=options.pattern_directories).ok


def test_equal_inputs_give_equal_bytes(tmp_path: Path) -> None:
    first, second = ((tmp_path / name) for name in ("one", "two"))
    files = []
    for folder in (first, second):
        folder.mkdir()
        files.append(build(folder, small_model())[1].read_bytes())
    assert files[0] == files[1]


def test_without_the_folder_the_operator_is_unknown(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        compile_model(save(small_model(), tmp_path))
    assert (caught.value.diagnostic.code, "--pattern_dir" in caught.value.diagnostic.help) == ("AF125", True)


def test_an_elementwise_operator_is_one_program(tmp_path: Path) -> None:
    inputs = [tensor("x", [2, 4, 5, 7]), tensor("shift", [4, 1, 1])]
    nodes = [node("Whirl", "x shift", "y", "whirl", "com.acme", slope=0.5)]
    path = save(model(nodes, inputs, [tensor("y", None)], opset=18, domains={"com.acme": 1}), tmp_path)
    compiled = compile_model(path, CompileOptions(pattern_directories=(declare(tmp_path),)))
    assert [step.kernel for step in compiled.lowered.plan.steps] == ["pointwise"]
    x, shift = random(1, 2, 4, 5, 7), random(2, 4, 1, 1)
    artifact = save_compilation(compiled, tmp_path / "net")
    found = autofusion.load(artifact).run({"x": x, "shift": shift})
    np.testing.assert_allclose(found["y"], whirl(x, shift, 0.5), rtol=1e-5, atol=1e-6)
