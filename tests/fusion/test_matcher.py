"""The semantics of the pattern language, rule by rule, on home-made patterns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from autofusion.fusion import FusionResult, fuse
from autofusion.ir import Graph, Node, Value
from autofusion.patternlang import Pattern
from frontend.declared import declare
from fusion.support import Net, builtin, ops, pattern_of, reasons, run

PLAIN = (2, 3)


def sample(folder: Path, match: str, header: str = "") -> tuple[Pattern, ...]:
    forms = "".join(f"[[form]]\nmatch = '''\n{form}\n'''\n" for form in match.split("---"))
    return pattern_of(folder, f"{header}\n{forms}")


def apply(folder: Path, match: str, graph: Graph, header: str = "") -> FusionResult:
    return run(graph, sample(folder, match, header))


def chain(*operators: str) -> Graph:
    net = Net()
    last = net.input("x", PLAIN)
    for place, op in enumerate(operators):
        last = net.op(op, last, f"v{place}")
    return net.output(last)


def test_alternatives_share_the_argument_list(tmp_path: Path) -> None:
    for op in ("Exp", "Log"):
        graph = chain(op, "Neg")
        apply(tmp_path, "a = Exp | Log (x)\nb = Neg(a)", graph)
        assert ops(graph) == ["SampleFusionOp"]


def test_optional_statement_in_the_middle(tmp_path: Path) -> None:
    for operators in (("Exp", "Abs", "Neg"), ("Exp", "Neg")):
        graph = chain(*operators)
        result = apply(tmp_path, "a = Exp(x)\nb? = Abs(a)\nc = Neg(b)", graph)
        assert ops(graph) == ["SampleFusionOp"]
        assert set(next(iter(graph)).bindings) == {"a", "b", "c"} - ({"b"} if len(operators) == 2 else set())
        assert result.misses == ()


def test_several_optional_statements_at_the_end(tmp_path: Path) -> None:
    text = "a = Exp(x)\nb = Neg(a)\nc? = Abs(b)\nd? = Sqrt(c)"
    for operators in (("Exp", "Neg"), ("Exp", "Neg", "Abs"), ("Exp", "Neg", "Sqrt"), ("Exp", "Neg", "Abs", "Sqrt")):
        graph = chain(*operators)
        apply(tmp_path, text, graph)
        assert ops(graph) == ["SampleFusionOp"]


def test_a_match_binds_two_nodes(tmp_path: Path) -> None:
    graph = chain("Exp", "Sqrt")
    apply(tmp_path, "a = Exp(x)\nb? = Neg(a)", graph)
    assert ops(graph) == ["Exp", "Sqrt"]


def test_commutative_operands_with_backtracking(tmp_path: Path) -> None:
    # Both addends are Exp; only one of them reads a Neg.
    for order in ("p q", "q p"):
        net = Net()
        net.input("x", PLAIN)
        net.op("Abs", "x", "u")
        net.op("Neg", "x", "v")
        net.op("Exp", "u", "p")
        net.op("Exp", "v", "q")
        net.op("Add", order, "y")
        graph = net.output("y")
        apply(tmp_path, "n = Neg(x)\ne = Exp(n)\ns = Add(e, other)", graph)
        assert ops(graph) == ["Abs", "Exp", "SampleFusionOp"]


def test_operands_of_other_operators_keep_their_order(tmp_path: Path) -> None:
    for order, fused in (("e r", True), ("r e", False)):
        net = Net()
        net.input("r", PLAIN)
        net.op("Exp", net.input("x", PLAIN), "e")
        net.op("Sub", order, "y")
        graph = net.output("y")
        apply(tmp_path, "e = Exp(x)\ns = Sub(e, r)", graph)
        assert (len(graph) == 1) is fused


def test_one_name_is_one_value(tmp_path: Path) -> None:
    for second, fused in (("x", True), ("u", False)):
        net = Net()
        net.input("u", PLAIN)
        net.op("Exp", net.input("x", PLAIN), "e")
        net.op("Mul", f"e {second}", "y")
        graph = net.output("y")
        result = apply(tmp_path, "e = Exp(x)\ny = Mul(e, x)", graph)
        assert (len(graph) == 1) is fused
        assert reasons(result) == ({} if fused else {"E": "OPERAND(x, u, x)"})


@pytest.mark.parametrize(
    ("value", "dtype", "fits"),
    [
        (1.0, "float32", True),
        (1.0000005, "float32", True),
        (1.00001, "float32", False),
        (1.0005, "float16", True),
        (1.01, "float16", False),
        (1, "int64", True),
        (2, "int64", False),
    ],
)
def test_numbers(tmp_path: Path, value: float, dtype: str, fits: bool) -> None:
    net = Net()
    net.const("k", np.array(value, dtype))
    net.op("Exp", net.input("x", PLAIN), "e")
    net.op("Add", "k e", "y", PLAIN)
    graph = net.output("y")
    result = apply(tmp_path, "e = Exp(x)\ny = Add(e, 1)", graph)
    assert (len(graph) == 1) is fits
    assert fits or reasons(result)["E"].startswith("CONSTANT_VALUE(")


def test_a_number_must_not_raise_the_rank(tmp_path: Path) -> None:
    for shape, reason in (((1,), None), ((1, 1), None), ((1, 1, 1), "BROADCAST(rank, 3, 0)")):
        net = Net()
        net.const("k", np.full(shape, 2, np.float32))
        net.op("Exp", net.input("x", PLAIN), "e")
        net.op("Mul", "e k", "y")
        graph = net.output("y")
        result = apply(tmp_path, "e = Exp(x)\ny = Mul(e, 2)", graph)
        assert reasons(result) == ({"E": reason} if reason else {})


def test_a_computed_value_is_no_number(tmp_path: Path) -> None:
    net = Net()
    net.input("k", ())
    net.op("Exp", net.input("x", PLAIN), "e")
    net.op("Mul", "e k", "y")
    assert reasons(apply(tmp_path, "e = Exp(x)\ny = Mul(e, 2)", net.output("y"))) == {"E": "NOT_CONSTANT(2)"}


@pytest.mark.parametrize(("axis", "fits"), [(1, True), (-1, True), (0, False)])
def test_last_axis(tmp_path: Path, axis: int, fits: bool) -> None:
    net = Net()
    net.op("Softmax", net.input("x", PLAIN), "s", PLAIN, {"axis": axis})
    net.op("Exp", "s", "y")
    graph = net.output("y")
    result = apply(tmp_path, "s = Softmax<axis = last>(x)\ny = Exp(s)", graph)
    assert (len(graph) == 1) is fits
    assert [str(miss.reason) for miss in result.misses] == ([] if fits else ["ATTRIBUTE(axis, 0, 1)"])


def test_last_axis_of_an_unknown_rank(tmp_path: Path) -> None:
    net = Net()
    net.op("Softmax", net.input("x", None), "s", None, {"axis": 1})
    net.op("Exp", "s", "y")
    result = apply(tmp_path, "s = Softmax<axis = last>(x)\ny = Exp(s)", net.output("y"))
    assert [str(miss.reason) for miss in result.misses] == ["SHAPE_UNKNOWN(x)"]


def test_attribute_lists_and_strings(tmp_path: Path) -> None:
    for mode, perm, fused in (("linear", (1, 0), True), ("cubic", (1, 0), False), ("linear", (0, 1), False)):
        net = Net()
        net.op("Transpose", net.input("x", (3, 3)), "t", (3, 3), {"perm": perm})
        net.const("scales", (2,))
        net.op("Resize", "t _ scales", "y", (3, 3), {"mode": mode})
        graph = net.output("y")
        apply(tmp_path, "t = Transpose<perm = [1, 0]>(x)\ny = Resize<mode = 'linear'>(t, ...)", graph)
        assert (len(graph) == 1) is fused


def test_wildcard_rest_and_optional_operands(tmp_path: Path) -> None:
    for operands, match, fused in (
        ("e lo hi", "y = Clip(e, _, _)", True),
        ("e lo", "y = Clip(e, _, _)", False),
        ("e lo", "y = Clip(e, _?, _?)", True),
        ("e lo hi", "y = Clip(e, ...)", True),
        ("e lo hi", "y = Clip(e, lo)", False),
        ("e _ hi", "y = Clip(e, lo?, hi)", True),
        ("e _ hi", "y = Clip(e, lo, hi)", False),
    ):
        net = Net()
        net.const("lo", np.array(0, np.float32))
        net.const("hi", np.array(1, np.float32))
        net.op("Exp", net.input("x", PLAIN), "e")
        net.op("Clip", operands, "y")
        graph = net.output("y")
        apply(tmp_path, f"e = Exp(x)\n{match}", graph)
        assert (len(graph) == 1) is fused, (operands, match)


def test_further_results_have_names(tmp_path: Path) -> None:
    net = Net()
    net.op("Split", net.input("x", (4,)), "a b", (2,), {"num_outputs": 2})
    net.op("Mul", "a b", "y")
    graph = net.output("y")
    apply(tmp_path, "a, b = Split(x, ...)\ny = Mul(a, b)", graph)
    assert ops(graph) == ["SampleFusionOp"]


def test_results_are_not_interchangeable(tmp_path: Path) -> None:
    net = Net()
    net.op("Split", net.input("x", (4,)), "a b", (2,), {"num_outputs": 2})
    net.op("Sub", "b a", "y")
    graph = net.output("y")
    apply(tmp_path, "a, b = Split(x, ...)\ny = Sub(a, b)", graph)
    assert len(graph) == 2


def escape_graph() -> Graph:
    net = Net()
    net.op("Exp", net.input("x", PLAIN), "e")
    net.op("Neg", "e", "y")
    net.op("Abs", "e", "z")
    return net.output("y", "z")


def test_the_owner_of_a_model_is_not_told_to_change_built_in_patterns() -> None:
    net = Net()
    net.conv(net.input("x", (1, 4, 6, 6)), "c")
    net.op("Relu", "c", "y")
    net.op("Abs", "c", "z")
    shared = fuse(net.output("y", "z"), builtin()).misses
    assert [miss.help for miss in shared] == [
        "fusing would compute 'c' twice: let nothing else read it, or accept two kernels"
    ]
    net = Net()
    net.conv(net.input("x", (1, 4, 6, 6)), "c")
    net.op("Relu", "c", "y")
    kept = fuse(net.output("y", "c"), builtin()).misses
    assert [miss.help for miss in kept] == ["drop 'c' from the graph outputs, or accept two kernels"]


def test_an_inner_value_leaves_by_escape_alone(tmp_path: Path) -> None:
    graph = escape_graph()
    result = apply(tmp_path, "e = Exp(x)\ny = Neg(e)", graph)
    assert reasons(result) == {"E": "MULTI_READER(e, Z)"}
    assert result.misses[0].help == "list 'e' under escape if the kernel can also write it out"
    graph = escape_graph()
    apply(tmp_path, "e = Exp(x)\ny = Neg(e)", graph, 'escape = ["e"]')
    assert ops(graph) == ["Abs", "SampleFusionOp"]
    assert graph.node("Y").outputs == ("y", "e")


def test_an_escaping_value_that_comes_back(tmp_path: Path) -> None:
    net = Net()
    net.op("Exp", net.input("x", PLAIN), "e")
    net.op("Abs", "e", "z")
    net.op("Add", "e z", "y")
    graph = net.output("y")
    result = apply(tmp_path, "e = Exp(x)\ny = Add(e, r)", graph, 'escape = ["e"]')
    assert reasons(result) == {"E": "CYCLE(e)"}
    assert len(graph) == 3


def test_matches_that_escape_into_each_other(tmp_path: Path) -> None:
    # Each match alone is free of cycles, both together are not.
    net = Net()
    net.input("x", PLAIN)
    net.op("Exp", "x", "e1")
    net.op("Exp", "x", "e2")
    net.op("Add", "e1 e2", "y1")
    net.op("Add", "e2 e1", "y2")
    graph = net.output("y1", "y2")
    apply(tmp_path, "e = Exp(x)\ny = Add(e, r)", graph, 'escape = ["e"]')
    assert len(graph) == 3
    graph.topological()


def test_forms_are_tried_one_after_the_other(tmp_path: Path) -> None:
    for first, second in (("Exp", "Neg"), ("Log", "Abs")):
        graph = chain(first, second)
        apply(tmp_path, "a = Exp(x)\nb = Neg(a)---a = Log(x)\nb = Abs(a)", graph)
        assert ops(graph) == ["SampleFusionOp"]
    graph = chain("Exp", "Abs")
    apply(tmp_path, "a = Exp(x)\nb = Neg(a)---a = Log(x)\nb = Abs(a)", graph)
    assert ops(graph) == ["Abs", "Exp"]


def test_other_domains(tmp_path: Path) -> None:
    for domain, fused in (("com.acme", True), ("", False)):
        graph = chain("Exp")
        graph.outputs = ("y",)
        graph.add(Node("Y", "RowScale", ("v0",), ("y",), domain=domain), [Value("y", None, PLAIN)])
        apply(declare(tmp_path), "e = Exp(x)\ny = com.acme::RowScale(e)", graph)
        assert (len(graph) == 1) is fused


def test_nodes_that_were_left_unconverted_match_nothing(tmp_path: Path) -> None:
    net = Net()
    net.input("x", PLAIN)
    graph = net.output("z")
    graph.add(Node("E", "Exp", ("x",), ("e",), opset=99, opaque=True), [Value("e", None, PLAIN)])
    net.op("Neg", "e", "y")
    net.op("Abs", "y", "z")
    result = apply(tmp_path, "e = Exp(x)\ny = Neg(e)\nz = Abs(y)", graph)
    assert reasons(result) == {"Z": "OPSET(99)"}


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("x.rank == 2", ""),
        ("x.rank < 2", "KERNEL_LIMIT(x.rank, 2, < 2)"),
        ("x.shape[1] == 3", ""),
        ("x.shape[-1] == 4", "KERNEL_LIMIT(x.shape[-1], 3, 4)"),
        ("x.shape[2] == 4", "AXIS(2)"),
        ("x.shape[0] == e.shape[0]", ""),
        ("x.shape == e.shape", ""),
        ("x.dtype == 'float'", ""),
        ("x.dtype == 'float16'", "DTYPE(x, float, float16)"),
        ("k is const", ""),
        ("x is const", "NOT_CONSTANT(x)"),
        ("k is scalar const", ""),
        ("x is scalar", "BROADCAST(x, [2, 3], [])"),
        ("k == 6", ""),
        ("k != 6", "CONSTANT_VALUE(6.0, != 6)"),
        ("k > 0", ""),
        ("k >= 7", "CONSTANT_VALUE(6.0, >= 7)"),
        ("x > 0", "NOT_CONSTANT(x)"),
        ("e.op == 'Elu'", ""),
        ("e.op != 'Elu'", "ATTRIBUTE(op, Elu, != Elu)"),
        ("e.alpha == 1", ""),
        ("e.alpha < 1", "ATTRIBUTE(alpha, 1.0, < 1)"),
        ("lo is const", ""),
        ("lo == 4", ""),
        ("one_float_type(lo, x, k)", ""),
        ("one_float_type(lo, i)", "DTYPE(i, int64, float)"),
        ("same_shape(lo, x)", ""),
        ("same_shape(k, x)", "BROADCAST(0, [], [2, 3])"),
    ],
)
def test_clauses(tmp_path: Path, where: str, reason: str) -> None:
    net = Net()
    net.const("k", np.array(6, np.float32))
    net.const("n", np.array(2, np.int64))
    net.op("Elu", net.input("x", PLAIN), "e")
    net.op("Clip", "e _ k", "c")
    net.op("Pow", "c n", "y")
    graph = net.output("y")
    result = apply(tmp_path, "e = Elu(x)\nc = Clip(e, lo?, k)\ny = Pow(c, i)", graph, f'where = ["{where}"]')
    assert [str(miss.reason) for miss in result.misses] == ([reason] if reason else [])
    assert (len(graph) == 1) is not bool(reason)


def test_symbols_have_no_order(tmp_path: Path) -> None:
    for where, fused in (("x.shape[0] == e.shape[0]", True), ("x.shape[0] <= 4", False), ("x.shape[0] != 4", False)):
        net = Net()
        net.op("Exp", net.input("x", ("n", 3)), "e")
        net.op("Neg", "e", "y")
        graph = net.output("y")
        apply(tmp_path, "e = Exp(x)\ny = Neg(e)", graph, f'where = ["{where}"]')
        assert (len(graph) == 1) is fused, where


def test_normalization_reaches_a_fixed_point(tmp_path: Path) -> None:
    pattern = pattern_of(
        tmp_path,
        "[[form]]\nmatch = '''\na = Neg | Twice (x)\nb = Neg(a)\n'''\n[emit]\nop = 'Twice'\ninputs = ['x']\n",
    )
    graph = chain("Neg", "Neg", "Neg")
    result = run(graph, pattern)
    (node,) = graph
    assert (node.op, node.inputs) == ("Twice", ("x",))
    assert [step.inside is None for step in result.normalized] == [False, True]


def test_emitted_operands_attributes_and_constants(tmp_path: Path) -> None:
    pattern = pattern_of(
        tmp_path,
        """
where = ["k is scalar const"]
[[form]]
match = '''
e = Elu(x)
s = Mul(e, k)
y = Clip(s, lo?, hi?)
'''
[emit]
op     = "ScaledElu"
inputs = ["x", "lo", "hi"]
attrs  = { alpha = "e.alpha", scale = "k", low = "lo", inner = "e.op", version = 2 }
""",
    )
    net = Net()
    for name, number in (("k", 0.5), ("hi", 6)):
        net.const(name, np.array(number, np.float32))
    net.op("Mul", f"{net.op('Elu', net.input('x', PLAIN), 'e')} k", "s")
    graph = net.output(net.op("Clip", "s _ hi", "y"))
    run(graph, pattern)
    (node,) = graph
    assert (node.op, node.display, node.inputs) == ("ScaledElu", "ScaledElu", ("x", "", "hi"))
    assert node.attributes == {"alpha": 1.0, "scale": 0.5, "inner": "Elu", "version": 2}
    assert node.body is not None
    assert (node.body.inputs, list(node.body.constants)) == (("x", "hi"), ["k"])
    assert list(graph.constants) == ["hi"]
