"""Scenarios of the codes AF3xx and AF4xx: fusions that did not happen, and pattern files that are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from autofusion.fusion import Controls, FusionResult
from cli.models import save_block
from diagnostics.scenarios import Outcome, Scenario, first_with, write_model
from diagnostics.scenarios_model import relu
from fusion.support import Net, pattern_of, run

HEADER = """schema  = 1
name    = "sample"
summary = "s"
display = "Sample"
op      = "SampleFusionOp"
kernel  = "chain"
"""
NORMAL = """schema  = 1
name    = "sample"
summary = "s"
"""


def form(*lines: str) -> str:
    return "[[form]]\nmatch = '''\n" + "\n".join(lines) + "\n'''\n"


DECLARATION = """schema  = 1
domain  = "com.acme"
name    = "Whirl"
summary = "s"
inputs  = ["x"]
"""
FORM = form("a = Exp(x)", "b = Neg(a)")
EMIT = "[emit]\nop = 'Whirl'\ninputs = ['x']\n"


SUM = """benefit = 2
[[form]]
match = '''
conv = Conv(x, w)
bn?  = BatchNormalization(conv, scale, beta, mean, var)
sum? = Add(bn, other)
act? = Relu(sum)
'''
"""


def missing(code: str, net: Net, controls: Controls | None = None) -> Scenario:
    """The note on a fusion of `net` that did not happen."""

    def scenario(monkeypatch: pytest.MonkeyPatch) -> Outcome:
        result: FusionResult = run(net.graph, pattern_of(Path("mine"), SUM), controls)
        return first_with(code, [miss.diagnostic() for miss in result.misses])

    return scenario


def shared_conv() -> Net:
    net = Net()
    net.conv(net.input("x", (1, 4, 6, 6)), "c")
    net.norm("c", "n")
    net.op("Exp", "c", "e")
    net.output("n", "e")
    return net


def shared_norm() -> Net:
    net = Net()
    net.conv(net.input("x", (1, 4, 6, 6)), "c")
    net.norm("c", "n")
    net.op("Relu", "n", "r")
    net.op("Exp", "n", "e")
    net.output("r", "e")
    return net


def plain() -> Net:
    net = Net()
    net.conv(net.input("x", (1, 4, 6, 6)), "c")
    net.norm("c", "n")
    net.op("Relu", "n", "r")
    net.output("r")
    return net


def two_sums() -> Net:
    """Two convolutions that one sum could take."""
    net = Net()
    net.input("x", (1, 4, 6, 6))
    net.conv("x", "c")
    net.conv("x", "d")
    net.op("Add", "c d", "s")
    net.output("s")
    return net


def compiling_with(text: str, *words: str, name: str = "sample.toml") -> Scenario:
    """`autofusion compile` with a folder that holds one pattern file."""

    def scenario(monkeypatch: pytest.MonkeyPatch) -> Outcome:
        Path("mine").mkdir()
        (Path("mine") / name).write_text(text, encoding="utf-8")
        save_block(Path("net.onnx"))
        return ["compile", "net.onnx", "-o", "net", "--patterns", "mine", *words]

    return scenario


def twice(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    for folder in ("one", "two"):
        Path(folder).mkdir()
        (Path(folder) / "sample.toml").write_text(HEADER + FORM, encoding="utf-8")
    return ["compile", write_model(relu()), "-o", "net", "--patterns", "one", "--patterns", "two"]


def declaring(text: str, header: str = DECLARATION) -> Scenario:
    """`autofusion patterns lint` of a file that declares an operator."""

    def scenario(monkeypatch: pytest.MonkeyPatch) -> Outcome:
        (Path("mine") / "operators").mkdir(parents=True)
        (Path("mine") / "operators" / "whirl.toml").write_text(header + text, encoding="utf-8")
        return ["patterns", "lint", "mine"]

    return scenario


def level_4(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    run(plain().graph, controls=Controls(level=4))
    raise AssertionError("there is such a level")


def unknown_name(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    return ["compile", write_model(relu()), "-o", "net", "--disable", "ConvBnReluFusionOp"]


def unknown_node(monkeypatch: pytest.MonkeyPatch) -> Outcome:
    return ["compile", write_model(relu()), "-o", "net", "--fusion-scope", "encoder*"]


SCENARIOS: dict[str, Scenario] = {
    "AF301": missing("AF301", shared_conv()),
    "AF302": missing("AF302", shared_norm()),
    "AF303": missing("AF303", plain(), Controls(disabled={"SampleFusionOp": "--disable"})),
    "AF304": missing("AF304", two_sums()),
    "AF310": unknown_name,
    "AF311": level_4,
    "AF312": unknown_node,
    "AF320": compiling_with(
        NORMAL
        + 'where = ["w is const"]\n'
        + form("a = Relu(x)", "b = Conv(a, w)")
        + EMIT.replace("'x'", "'x', 'w'")
        + "attrs = { k = 'w.value' }\n"
    ),
    "AF401": compiling_with("schema = \n"),
    "AF402": compiling_with(HEADER.replace("kernel ", "kernal ") + FORM),
    "AF403": compiling_with(HEADER + form("a = Exp(x", "b = Neg(a)")),
    "AF404": compiling_with(HEADER + form("a = Exq(x)", "b = Neg(a)")),
    "AF405": compiling_with(HEADER + form("a = Elu<alpa = 1>(x)", "b = Neg(a)")),
    "AF406": compiling_with(HEADER + form("a = Exp(x, y)", "b = Neg(a)")),
    "AF407": compiling_with(HEADER + 'where = ["v is const"]\n' + FORM),
    "AF408": compiling_with(HEADER + 'where = ["same_shap(x, a)"]\n' + FORM),
    "AF409": compiling_with(HEADER + form("b = Neg(a)", "a = Exp(x)", "c = Add(a, b)")),
    "AF410": compiling_with(HEADER + form("a = Exp(x)", "n = Neg(x)", "b = Abs(a)")),
    "AF411": compiling_with(HEADER + form("a = Exp(x)", "b? = Add(a, y) | Mul(y, a)", "c = Neg(b)")),
    "AF412": compiling_with(HEADER + form("p = Exp(x)", "q = Mul(x, p) | Mul(x, 0.5)", "o = Mul(q, 0.5) | Mul(q, p)")),
    "AF413": compiling_with(HEADER + form("a = Exp(x)")),
    "AF414": compiling_with(HEADER.replace('"Sample"', '"S{+BN}"') + FORM),
    "AF415": compiling_with(HEADER + form("a = conv_bn_act(x, ...)", "b = Neg(a)")),
    "AF416": compiling_with(NORMAL + FORM + "[emit]\nop = 'Whirl'\ninputs = []\n"),
    "AF417": twice,
    "AF421": declaring('expression = "x * tahn(1.5 * x)"\n'),
    "AF422": declaring("opset = 17\noutputs = ['y']\nfunction = '''\ny = Relu(x)\n}\nz = Exp(y)\n'''\n"),
    "AF423": declaring('expression = "-x"\n', DECLARATION.replace("com.acme", "ai.onnx.ml").replace("Whirl", "Scaler")),
}
