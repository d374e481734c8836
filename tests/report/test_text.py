"""The text form: the article's block to the letter, then what the article leaves out."""

from __future__ import annotations

from dataclasses import replace

from autofusion.diagnostics.text import render_text as render_note
from autofusion.report.layers_text import render_layers
from autofusion.report.misses import explain_misses
from autofusion.report.records import MissedNode
from autofusion.report.text import render_text, summarize
from conftest import CheckGolden
from report.samples import ARTICLE, FULL, STORED, TUNED

ARTICLE_TEXT = """\
[GE] Graph Fusion Report:
[GE] ======================
[GE] Pattern: Conv+BN+ReLU
[GE]   Matched: 53 times
[GE]   Fused into: ConvBNReluFusionOp
[GE]   Estimated speedup: 1.35x
[GE]
[GE] Pattern: MatMul+BiasAdd+Relu
[GE]   Matched: 2 times
[GE]   Fused into: MatMulBiasReluFusionOp
[GE]   Estimated speedup: 1.28x
[GE]
[GE] Total operators before fusion: 156
[GE] Total operators after fusion: 98
[GE] Overall speedup: 1.42x
"""


def test_is_the_article_to_the_letter() -> None:
    assert render_text(ARTICLE) == ARTICLE_TEXT


def test_shows_inner_matches_host_steps_and_misses(check_golden: CheckGolden) -> None:
    check_golden("report/full.txt", render_text(FULL))


def test_shows_the_totals_where_nothing_was_fused() -> None:
    lines = render_text(replace(ARTICLE, patterns=())).splitlines()
    assert lines[2] == "[GE] Total operators before fusion: 156"


def test_names_the_largest_groups_of_misses_and_how_to_see_all() -> None:
    misses = tuple(MissedNode(f"n{i}", f"P{i // 2}", "CONST", "w is computed") for i in range(40))
    lines = render_text(replace(ARTICLE, misses=misses)).splitlines()
    assert "[GE] Not fused: 40" in lines
    assert sum("2 x CONST" in line for line in lines) == 8
    assert lines[-1].endswith("autofusion report ARTIFACT --why")


def test_summarizes_in_one_line() -> None:
    assert summarize(ARTICLE) == "fused 55 times by 2 patterns, operators 156 -> 98, estimated speedup 1.42x"
    assert summarize(FULL).startswith("fused 3 times by 2 patterns, normalized 7 times, operators 12 -> 6, ")
    assert summarize(FULL).endswith(", host steps 2, not fused 3")
    once = replace(ARTICLE, patterns=(replace(ARTICLE.patterns[0], matched=1),))
    assert summarize(once).startswith("fused 1 time by 1 pattern, ")


def test_explains_every_miss() -> None:
    shared, disabled, _ = explain_misses(FULL)
    assert render_note(shared) == (
        "note[AF301]: conv nearly matched at relu3: matched 2 of 3; failed at bn: MULTI_READER(y, Add_17)\n"
        " --> conv.toml:9\n"
        "  = note: bn = BatchNormalization(conv, ...)\n"
        "  = note: bound: conv -> conv3, bn -> bn3\n"
        "  = note: value 'y' is also read by Add_17\n"
        "  = help: let nothing else read 'y', or accept two kernels\n"
    )
    assert (disabled.message, disabled.span) == ("turned off by --disable", None)


def test_says_which_weights_were_lowered(check_golden: CheckGolden) -> None:
    check_golden("report/stored.txt", render_text(STORED) + summarize(STORED) + "\n")


def test_says_where_no_weight_was_lowered() -> None:
    left = replace(STORED, weights=STORED.weights[-1:])
    lines = render_text(left).splitlines()
    assert lines[-3:] == [
        "[GE] Weights stored in two bytes: none",
        "[GE] Weights left in float32: 1 tensor, 96 bytes",
        "[GE]   head (mm): keep.cfg keeps the type of mm",
    ]
    assert summarize(left).endswith(", weights in two bytes 0")


def test_shows_layers_and_what_became_of_a_bank(check_golden: CheckGolden) -> None:
    lines = [*render_layers(TUNED.layers), "", *render_layers(()), "", *render_text(TUNED).splitlines()[-1:]]
    check_golden("report/layers.txt", "".join(f"{line}\n" for line in lines))
