"""Reports that several tests look at."""

from __future__ import annotations

from dataclasses import replace

from autofusion.decisions import BankUse, HostStep, LayerChoice, Option, StoredWeight
from autofusion.report.records import (
    FusedNode,
    FusionReport,
    MissedNode,
    NormalizedCount,
    PatternCount,
)

ARTICLE = FusionReport(
    operators_before=156,
    operators_after=98,
    steps=98,
    patterns=(
        PatternCount("Conv+BN+ReLU", "ConvBNReluFusionOp", 1, 53, 0, 1.35),
        PatternCount("MatMul+BiasAdd+Relu", "MatMulBiasReluFusionOp", 1, 2, 0, 1.28),
    ),
    normalized=(),
    fused=(),
    misses=(),
    host=(),
    by_type_before={},
    by_type_after={},
    estimated_speedup=1.42,
)

FULL = FusionReport(
    operators_before=12,
    operators_after=6,
    steps=7,
    patterns=(
        PatternCount("Conv+BN+ReLU", "ConvBNReluFusionOp", 1, 2, 1, 1.351, sources={"conv_bn_act": 2}),
        PatternCount("Conv+BN+ReLU+Pool", "ConvBNReluPoolFusionOp", 2, 1, 0, 1.5, 1.62, {"conv_pool": 1}),
        PatternCount("Conv+BN", "ConvBNFusionOp", 1, 0, 0, 1.0),
    ),
    normalized=(
        NormalizedCount("Gelu", "Gelu", 3, {"gelu_erf": 2, "gelu_tanh": 1}),
        NormalizedCount("SiLU", "SiLU", 4),
    ),
    fused=(
        FusedNode("pool", "Conv+BN+ReLU+Pool", "ConvBNReluPoolFusionOp", ("conv1", "bn1", "relu1", "pool")),
        FusedNode("relu1", "Conv+BN+ReLU", "ConvBNReluFusionOp", ("conv1", "bn1", "relu1"), "Conv+BN+ReLU+Pool"),
        FusedNode("relu2", "Conv+BN+ReLU", "ConvBNReluFusionOp", ("conv2", "bn2", "relu2")),
    ),
    misses=(
        MissedNode(
            "conv3",
            "Conv+BN+ReLU",
            "MULTI_READER(y, Add_17)",
            "value 'y' is also read by Add_17",
            "let nothing else read 'y', or accept two kernels",
            2,
            3,
            "conv.toml:9",
            sentence="conv nearly matched at relu3: matched 2 of 3; failed at bn: MULTI_READER(y, Add_17)",
            text="bn = BatchNormalization(conv, ...)",
            bound={"conv": "conv3", "bn": "bn3"},
        ),
        MissedNode("conv4", "Conv+BN+ReLU", "DISABLED(--disable)", "turned off by --disable", instead="Conv+BN"),
        MissedNode("conv5", "Conv+BN+ReLU", "DISABLED(a)", "turned off by --disable", instead="Conv+BN"),
    ),
    host=(HostStep("Resize_1", "Resize"), HostStep("Erf_2", "Erf", "x has an unknown shape")),
    by_type_before={"Relu": 2, "Conv": 2},
    by_type_after={"Resize": 1, "Erf": 1},
    estimated_speedup=1.204,
)
_OPTIONS = (
    Option("direct", 116.2e6),
    Option("winograd", 43.9e6, 4, stored=True, growth=442_368),
    Option("winograd", 48.6e6, 4),
)
_LAYER = "conv x=1x64x56x56 filter=64x64x3x3 y=1x64x56x56"
TUNED = replace(
    ARTICLE,
    layers=(
        LayerChoice(("conv1", "relu1"), "operators", _LAYER, _OPTIONS[1], _OPTIONS, "bank", "the tuning bank says so"),
        LayerChoice(
            ("conv2",), "operators", _LAYER, _OPTIONS[0], _OPTIONS, "exact", "exact results", "winograd 4x4: inexact"
        ),
        LayerChoice(
            (), "graph", "conv_pool", Option("joined"), (Option("joined"), Option("apart")), "cost", "33 lines"
        ),
        LayerChoice(("conv3",), "operators", "conv", Option("direct"), (Option("direct"),), "only", "no other"),
    ),
    bank=BankUse("b.json", "any", "1f", 1, 2, 3),
)
STORED = replace(
    ARTICLE,
    precision="allow_fp32_to_fp16",
    carried=("bfloat16",),
    halves=(
        StoredWeight("h0", ("fc0",), "bfloat16", 96, 48, 0.0),
        StoredWeight("h1", ("fc1",), "float", 96, 96, 0.0, "bfloat16 cannot hold its numbers"),
    ),
    weights=(
        *(StoredWeight(f"w{i}", ("norm", f"fc{i}"), "float16", 4000 * i, 2000 * i, 2e-4) for i in range(1, 11)),
        StoredWeight("table", ("gather",), "float16", 482_000_000, 241_000_000, 4.8e-4),
        StoredWeight("head", ("mm",), "float", 96, 96, 0.0, "keep.cfg keeps the type of mm"),
    ),
)
