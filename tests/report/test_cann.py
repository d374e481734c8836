"""The report in the form of CANN's fusion_result.json."""

from __future__ import annotations

import json

import pytest

from autofusion.cann_passes import pass_name
from autofusion.report.cann import render_cann
from conftest import CheckGolden
from report.samples import FULL


def test_has_cann_s_form(check_golden: CheckGolden) -> None:
    check_golden("report/full_fusion_result.json", render_cann(FULL))


def test_adds_up_the_patterns_of_one_pass() -> None:
    passes = json.loads(render_cann(FULL))["session_and_graph_id_0_0"]["graph_fusion"]
    assert passes["ConvBatchnormFusionPass"] == {"effect_times": "3", "match_times": "3"}


@pytest.mark.parametrize(
    ("display", "op", "name"),
    [
        ("Conv+BN+Add+ReLU", "ConvBNAddReluFusionOp", "ConvBatchnormFusionPass"),
        ("Pad+Conv+BN", "PadConvBNFusionOp", "PadConv2dFusionPass"),
        ("Conv+Mul+BN", "ConvMulBNFusionOp", "AConv2dMulFusion"),
        ("ConvTranspose+BN", "ConvTransposeBNFusionOp", "Conv2DTransposeBatchnormFusionPass"),
        ("MatMul+BiasAdd+Relu", "MatMulBiasReluFusionOp", "MatMulBiasAddFusionPass"),
        ("Conv+SiLU", "ConvSiluFusionOp", "ConvSiluFusionPass"),
        ("gelu_erf", "Gelu", "GeluFusionPass"),
        ("LayerNorm", "LayerNormalization", "LayerNormFusionPass"),
        ("Add+LayerNorm", "AddLayerNormFusionOp", "AddLayerNormFusionPass"),
        ("Add+RMSNorm", "AddRMSNormFusionOp", "AddRmsNormFusionGraphPass"),
        ("LayerNorm+MatMul+BiasAdd", "LayerNormMatMulBiasFusionOp", "MatMulBiasAddFusionPass"),
        ("MatMul+Gelu+Mul", "MatMulGeluMulFusionOp", "GeGluV2FusionPass"),
        ("softmax", "Softmax", "SoftmaxFusionPass"),
        ("GroupNorm", "GroupNormalization", "GroupNormFusionPass"),
        ("MatMul+Gelu", "MatMulGeluFusionOp", "MatMulGeluFusionPass"),
        ("my own", "my_own op", "MyOwnOpFusionPass"),
    ],
)
def test_names_passes_as_cann_does(display: str, op: str, name: str) -> None:
    assert name == pass_name(display, op)
