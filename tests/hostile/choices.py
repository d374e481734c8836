"""What mutations draw from: numbers at the edges, texts, operators, and the parts of a model."""

from __future__ import annotations

import random

from onnx import GraphProto, ModelProto, NodeProto

INTEGERS = (-(2**63), -(2**31), -3, -2, -1, 0, 1, 2, 3, 4, 5, 7, 8, 2**31 - 1, 2**31, 2**40, 2**63 - 1)
SMALL = (-2, -1, 0, 1, 2, 3, 4)
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-30, 1e38, float("inf"), float("-inf"), float("nan"))
TEXTS = ("", "x", "SAME_UPPER", "VALID", "constant", "\u00e9 \u4e2d", "a" * 300, "../x", "a\nb", "NOTSET")
# Written out, so that a seed means the same mutations under every version of onnx.
PLAIN = (
    "Relu",
    "Sigmoid",
    "Tanh",
    "Neg",
    "Abs",
    "Exp",
    "Sqrt",
    "Floor",
    "Identity",
    "Softmax",
    "Flatten",
    "Transpose",
    "Not",
    "Shape",
    "Size",
    "Ceil",
    "Softplus",
    "LeakyRelu",
    "Elu",
    "HardSigmoid",
    "HardSwish",
    "Erf",
    "Reciprocal",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "Selu",
    "LogSoftmax",
    "Sign",
    "Round",
    "Squeeze",
    "Unsqueeze",
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Pow",
    "Max",
    "Min",
    "Sum",
    "Mean",
    "Equal",
    "Greater",
    "Less",
    "And",
    "Or",
    "MatMul",
    "Gemm",
    "Concat",
    "Gather",
    "Expand",
    "Reshape",
    "Where",
    "Conv",
    "MaxPool",
    "AveragePool",
    "BatchNormalization",
    "ReduceMean",
    "ReduceSum",
    "ReduceMax",
    "Clip",
    "Pad",
    "Slice",
    "Split",
    "Cast",
    "PRelu",
    "ConvTranspose",
    "InstanceNormalization",
    "LayerNormalization",
    "Dropout",
    "LRN",
    "Tile",
    "Mod",
    "Gelu",
    "Mish",
    "CumSum",
    "ArgMax",
)
ODD = (
    "Attention",
    "BitShift",
    "Compress",
    "ConcatFromSequence",
    "Constant",
    "ConstantOfShape",
    "DepthToSpace",
    "DequantizeLinear",
    "Einsum",
    "GRU",
    "GatherElements",
    "GatherND",
    "GridSample",
    "If",
    "IsNaN",
    "LSTM",
    "LpPool",
    "Loop",
    "MaxRoiPool",
    "MaxUnpool",
    "MelWeightMatrix",
    "Multinomial",
    "NonMaxSuppression",
    "NonZero",
    "OneHot",
    "OptionalGetElement",
    "QLinearConv",
    "QuantizeLinear",
    "RNN",
    "RandomNormal",
    "Range",
    "Resize",
    "ReverseSequence",
    "RoiAlign",
    "STFT",
    "Scan",
    "ScatterElements",
    "ScatterND",
    "SequenceAt",
    "SequenceConstruct",
    "SequenceMap",
    "SoftmaxCrossEntropyLoss",
    "SpaceToDepth",
    "SplitToSequence",
    "StringNormalizer",
    "TfIdfVectorizer",
    "TopK",
    "Trilu",
    "Unique",
    "Upsample",
)


def graphs(model: ModelProto) -> list[GraphProto]:
    found = [model.graph]
    for graph in found:
        for node in graph.node:
            for attribute in node.attribute:
                found += [attribute.g] if attribute.HasField("g") else []
                found += attribute.graphs
    return found


def any_graph(model: ModelProto, rng: random.Random) -> GraphProto:
    return rng.choice(graphs(model))


def any_node(model: ModelProto, rng: random.Random) -> NodeProto | None:
    nodes = [node for graph in graphs(model) for node in graph.node] + [n for f in model.functions for n in f.node]
    return rng.choice(nodes) if nodes else None


def any_name(model: ModelProto, rng: random.Random) -> str:
    names = ["", "ghost"]
    for graph in graphs(model):
        names += [value.name for value in graph.input] + [tensor.name for tensor in graph.initializer]
        names += [name for node in graph.node for name in node.output]
    return rng.choice(names)
