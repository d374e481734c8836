"""Explanations as text: what fits on a screen, what is told together, what became of a node."""

from __future__ import annotations

from autofusion.report.explanation import (
    Explanation,
    LoweredStory,
    NodeStory,
    PatternStory,
    PrecisionStory,
    Rewrite,
    StepStory,
)
from autofusion.report.explanation_text import SCREEN, render_explanation
from autofusion.report.records import MissedNode
from conftest import CheckGolden
from report.samples import STORED, TUNED

KINDS = "ABCDEFGH"


def make_miss(node: str, pattern: str = "Conv+BN") -> MissedNode:
    return MissedNode(
        node,
        pattern,
        f"MULTI_READER(v_{node}, Neg_1)",
        f"'v_{node}' is also read by Neg_1",
        "let nothing else read the value, or accept two kernels",
        1,
        2,
        "conv.toml:9",
        sentence=f"conv nearly matched at {node}: matched 1 of 2; failed at conv: MULTI_READER(v_{node}, Neg_1)",
        text="conv = Conv(x, w)",
        bound={"conv": node},
    )


MANY = Explanation(
    "net.onnx",
    misses=tuple(make_miss(f"{kind}{number}", f"Conv+{kind}") for number in range(5) for kind in KINDS),
    beginnings=(make_miss("far"),),
    strangers={"Softmax": ("s0", "s1")},
)


def test_a_screen_of_what_fails_alike(check_golden: CheckGolden) -> None:
    text = render_explanation(MANY)
    assert text.count("\n") <= SCREEN
    check_golden("report/explanation.txt", text)


def test_everything_where_it_is_wanted() -> None:
    text = render_explanation(MANY, everything=True)
    assert text.count("note[AF301]") == 41
    assert text.endswith("no pattern begins or goes on with:\n  Softmax: 2 (s0, s1)\n")
    assert "more" not in text


def test_one_block_is_shown_however_long() -> None:
    long = Explanation("net.onnx", strangers={f"Op{number}": ("n",) for number in range(40)})
    assert render_explanation(long).count("\n") == 41


def test_what_became_of_a_node(check_golden: CheckGolden) -> None:
    gelu = Rewrite("mul", "Gelu", "gelu", "Gelu", {"erf": "Erf", "mul": "Mul"}, is_spelling=True)
    product = Rewrite("mul", "MatMulGeluFusionOp", "matmul_act", "MatMul+Gelu", {"mm": "MatMul", "mul": ""}, False)
    stories = (
        NodeStory("erf", "Erf", (gelu, product), (make_miss("m"), make_miss("o", "Other"))),
        NodeStory("idle", "Identity", (), (), is_removed=True),
        NodeStory("sort", "TopK", (), ()),
        NodeStory("form", "Erf", (gelu,), ()),
    )
    check_golden("report/explanation_nodes.txt", render_explanation(Explanation("net.onnx", stories)))


def test_what_a_pattern_did(check_golden: CheckGolden) -> None:
    parts = {f"node{number}": "Mul" for number in range(9)}
    rewrites = tuple(Rewrite(f"n{number}", "F", "own", "A+B", parts, False) for number in range(5))
    explanation = Explanation("net.onnx", pattern=PatternStory("own", rewrites), misses=(make_miss("m"),))
    check_golden("report/explanation_pattern.txt", render_explanation(explanation))


def test_what_lowering_made_of_a_node(check_golden: CheckGolden) -> None:
    """Its steps and those of others in them, its layers, its weights; what runs on the host says why."""
    lowered = LoweredStory(
        (StepStory("conv", ("conv1", "relu1", "a", "b", "c")), StepStory("host", ("conv1",), "x has no shape")),
        TUNED.layers[:2],
        STORED.weights[-2:],
    )
    story = NodeStory("conv1", "Conv", (), (), lowered=lowered)
    failed = NodeStory("conv2", "", (), (), lowered=LoweredStory(failure="the shape of 'x' is not known"))
    idle = NodeStory("flat", "Flatten", (), (), lowered=LoweredStory())
    check_golden(
        "report/explanation_lowered.txt", render_explanation(Explanation("net", (story, failed, idle)), everything=True)
    )


def test_what_is_stored_in_two_bytes(check_golden: CheckGolden) -> None:
    story = PrecisionStory(
        "allow_fp32_to_fp16", ("bfloat16",), STORED.weights, STORED.halves, {"float16": (11, 241_110_000)}
    )
    plain = PrecisionStory("must_keep_origin_dtype", (), (), (), {})
    texts = [render_explanation(Explanation("net", precision=each)) for each in (story, plain)]
    check_golden("report/explanation_precision.txt", "\n".join(texts))
