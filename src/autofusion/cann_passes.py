"""Names of CANN's fusion passes, and which fusions here serve the same purpose."""

from __future__ import annotations

import re


def pass_name(display: str, op: str) -> str:
    """The CANN pass of the same purpose, else the operator's name in CANN's manner (`SiluFusionPass`)."""
    return next((name for name, words in COUNTERPARTS if _serves(words, display, op)), own_pass(op))


def own_pass(op: str) -> str:
    """The pass name made from an operator: `ConvSiluFusionOp` gives `ConvSiluFusionPass`."""
    words = re.split(r"[^0-9A-Za-z]+", op.removesuffix("FusionOp"))
    return "".join(word[:1].upper() + word[1:] for word in words) + "FusionPass"


def means_fusion(name: str, display: str, op: str) -> bool:
    """True where the pass `name` includes the fusion: `Pad+Conv+BN` belongs to the passes of Pad+Conv and Conv+BN."""
    return name in (own_pass(op), own_pass(display)) or any(
        name == known and _serves(words, display, op) for known, words in COUNTERPARTS
    )


def _serves(words: str, display: str, op: str) -> bool:
    """True where the fusion is `words`, or has all of several words in that order."""
    if "+" not in words:
        return words in (display, op)
    steps = iter(display.split("+"))
    return all(word in steps for word in words.split("+"))


COUNTERPARTS = (
    ("PadConv2dFusionPass", "Pad+Conv"),
    ("PadDepthwiseConv2dFusionPass", "Pad+Conv"),
    ("AConv2dMulFusion", "Conv+Mul"),
    ("ConvScaleFusionPass", "Conv+Mul"),
    ("ConvBatchnormFusionPass", "Conv+BN"),
    ("Conv2DTransposeBatchnormFusionPass", "ConvTranspose+BN"),
    ("MatMulBiasAddFusionPass", "MatMul+BiasAdd"),
    ("GeGluV2FusionPass", "Gelu+Mul"),
    ("AddLayerNormFusionPass", "Add+LayerNorm"),
    ("AddRmsNormFusionGraphPass", "Add+RMSNorm"),
    ("LayerNormFusionPass", "LayerNorm"),
    ("LayerNormFusionPass", "LayerNormalization"),
    ("GroupNormFusionPass", "GroupNorm"),
    ("GroupNormFusionPass", "GroupNormalization"),
    ("SoftmaxFusionPass", "Softmax"),
    ("GeluFusionPass", "Gelu"),
    ("RotaryMul2RotaryPositionEmbeddingFusionPass", "RotaryEmbedding"),
)
"""Pass and fusion, as a display name or an operator; the first pass that fits is the one that reports name."""

_NAMES = """
AABiasaddConvFusion ConvConcatFusionPass SplitConvConcatFusionPass ASplitConv2dConcatPass SameInputConv2dPass
Conv2DSqueezeBiasaddFusionPass ConvCastFusionPass ConvToFullyConnectionFusionPass ConvWeightCompressFusionPass
DeconvWeightTransFusionPass StrideHoistingPass PoolingFusionPass ADepthwiseFusionPass DepthwiseFusionPass
DepthwiseToConv2dFusionPass DepthwiseDfFusionPass DepthwiseDwMulFusionPass MatmulCastFusionPass
MatmulTransdataFusionPass MatmulReshapeFusionPass MatmulReshapeTransposeFusionPass MatMulReshapeBiasAddFusionPass
MatMulUnsqueezeSqueezeFusionPass MatMulToMatmulV3FusionPass MatMul2MatMulV2FusionPass BatchMatMulFusionPass
BatchMatMulV2ReshapeFusionPass BatchMatMulReduceMeanFusionPass BatchMatMul2MulFusionPass AFullyConnectionReshapePass
FullyConnectionPowerPass WeightQuantBatchMatmulV2TransposeFusionPass
BatchNormBnInferFusionPass SingleBatchNormFusion FusedBatchnormFusionPass FusedBatchNormBertFusionPass
HostBNFusionPass ReluFusionPass InplaceAddRmsNormFusionPass
NormalizeFusionPass MaskedSoftmaxWithRelPosBiasFusionPass DropOutDoMaskFusionPass
InterleaveRope2RotaryPositionEmbeddingFusionPass IncreFlashAttentionQuantFusionPass
PromptFlashAttentionQuantFusionPass FusedInferAttentionScoreQuantFusionPass V100RequantFusionPass
V200RequantFusionPass V100NotRequantFusionPass V200NotRequantFusionPass ConcatQuantFusionPass QuantizeAddLayerNormPass
AddRmsNormQuantFusionPass AddRmsNormDynamicQuantFusionPass GeluQuantFusionPass
TransposeReshapeFusionPass ReshapeTransposeFusionPass StridedSliceConcatFusionPass ConcatTileFusionPass
CastReluCastFusionPass CastRemoveFusionPass RealDiv2MulsFusionPass MulAddNPass AddNFusionPass TopKFusionPass
AInplaceAddFusionPass AInplaceSubFusionPass AInplaceUpdateFusionPass YoloxBoundingBoxDecodeONNXFusionPass
AReduceMeanFusionPass AReduceSumFusionPass ConstToAttrPass ConstToAttrReduceSumFusion ConstToAttrGatherV2Fusion
PackFusionPass UnpackFusionPass ZConcatDFusionPass ZSplitVDFusionPass ZSplitVFusionPass EinsumPass Globalavgpoolpass
AvgPool3DFusionPass MaxPoolWithArgmaxFusionPass PermuteFusionPass COPYPass YoloPass SPPPass PriorBoxPass
ProposalFusionPass TransdataCastFusionPass RNNFusionPass CommonLSTMFusionPass ALSTMFusionPass FlattenV2Pass
CommonSubexpressionEliminationPass FixPipeAbilityProcessPass HostShapeOptimizationPass
AutomaticUbFusion TbeEltwiseFusionPass TbeEltwiseQuantFusionPass TbeEltwiseCastFusionPass TbeElemwiseQuantFusionPass
TbeReduceElemwiseFusionPass TbeMultiOutputFusionPass TbeDynamicElemwiseBroadcastFusionPass
TbeDynamicElemwiseReduceFusionPass ATbeMatMulElemwiseFusionPass TbeBatchMatmulElementWiseFusionPass
TbeFullyconnectionElemwiseDequantFusionPass MatmulReduceSumUbFusion MatmulConfusiontransposeUbFusion
BatchMatmulConfusiontransposeUbFusion MatMulGelugradUbFusion MatmulGeneralizedUbFusion TbeConvDoubleInFusionPass
ConvClipByValueFusionPass TbeConv2dAddRelu6MulMulFusionPass TbeConv2dAddClipMulDivFusionPass
TbeConvSigmoidMulQuantFusionPass TbeConvDequantVaddReluFusionPass TbeConvDequantVaddReluQuantFusionPass
TbeDepthwiseConvElemwiseFusionPass TbeConv3dElemwisePass TbeConvBnreduceFusionPass TbeAippCommonFusionPass
TbeAippConvReluMaxpoolingFusion TbeConvFixPipeFusionPass TbePool2dQuantFusionPass FusionVirtualOpSetSwitch
TbeReadSelectEltwiseFusionPass TbeEltwiseWriteSelectFusionPass TbeFixPipeFusionPass AddLayerNormV3FusionPass
TbeConvCommonRules0FusionPass TbeConvCommonRules2FusionPass TbeAntiquantMaxpoolingFusionPass TbeConvRequantFusionPass
TbeConvDequantS16FusionPass ArgMaxWithFusionPass DeformableOffsetsFusionPass DepthwiseInsertTransDataFusionPass
TfMergeSubFusionPass
"""

UNMATCHED = frozenset(_NAMES.split())
"""Passes that CANN documents and that have no counterpart here."""
