"""Codes AF1xx: the model file."""

from __future__ import annotations

from autofusion.diagnostics.code import Code

_EXPORT = "Export the model again, or correct it with the onnx package."
_CORRECT = "Correct the node, or export the model again."

MODEL_CODES = (
    Code(
        "AF100",
        "no model file",
        "The file does not exist, is a folder or cannot be read.",
        "Name an ONNX file.",
        "E13001",
    ),
    Code("AF101", "empty model file", "The file has no bytes.", "Export or download it again.", "E13003"),
    Code("AF102", "no ONNX model", "The file is damaged, cut off or of another kind.", _EXPORT, "E13005"),
    Code(
        "AF103",
        "IR version",
        "The model's IR version cannot be read.",
        "Export it again or install a newer onnx package.",
    ),
    Code(
        "AF104",
        "operator set",
        "The model imports no operator set, one twice, or one that is too old or too new.",
        "Export the model in another opset, or use onnx.version_converter.",
        "E16005",
    ),
    Code("AF105", "no outputs", "The graph has no outputs, so there is nothing to compute.", "Name outputs.", "E16004"),
    Code("AF106", "name used twice", "A value, initialiser or function is defined twice.", _EXPORT, "E13009"),
    Code("AF107", "undefined value", "A node reads a value that nothing defines.", _EXPORT),
    Code("AF108", "undefined output", "An output of a graph or function is produced by nothing.", _EXPORT),
    Code("AF109", "cycle", "A node depends on its own result.", _EXPORT),
    Code(
        "AF110",
        "element type",
        "A tensor has an element type that is unknown or not supported.",
        "Export the model with another type there, float for instance.",
    ),
    Code("AF111", "damaged tensor", "The stored bytes of a tensor do not fit its type and shape.", _EXPORT, "E13005"),
    Code(
        "AF112", "path of external data", "External data lies outside the model's folder.", "Put it beside the model."
    ),
    Code("AF113", "external data missing", "A file of external data does not exist.", "Copy it too.", "E13001"),
    Code(
        "AF114",
        "range of external data",
        "A tensor lies outside its file of external data.",
        "The file is cut off or belongs to another model: copy it again.",
        "E13003",
    ),
    Code("AF115", "sparse tensor", "A sparse tensor has wrong indices or values.", _EXPORT),
    Code("AF116", "Constant node", "A Constant node has no value or more than one.", _EXPORT),
    Code("AF117", "attribute", "An attribute is given twice or is of a kind that cannot be read.", _EXPORT),
    Code("AF118", "call of a function", "A node calls a local function with wrong operands.", _EXPORT),
    Code("AF119", "recursive function", "A local function calls itself.", "ONNX functions may not recurse."),
    Code(
        "AF120",
        "no tensor",
        "An input or output is a sequence, map or optional value.",
        "Export a model of tensors only.",
    ),
    Code("AF121", "extent of an input", "An input declares an impossible extent.", _EXPORT),
    Code("AF122", "declared output", "An output is declared otherwise than the graph computes it.", _EXPORT),
    Code("AF123", "too large", "A tensor or the expanded functions take more memory than a machine has.", _EXPORT),
    Code("AF124", "declared default", "An input's default does not fit its declaration.", _EXPORT),
    Code(
        "AF125",
        "unknown operator",
        "A node's operator is known neither here nor as a local function.",
        "Check the spelling and the domain, or define the operator as a local function of the model.",
        "E16002",
    ),
    Code("AF126", "no name", "An input or initialiser has no name.", _EXPORT),
    Code(
        "AF130",
        "unknown dimension",
        "An extent is given for a dimension that the model does not have.",
        "The message lists the model's dimensions.",
        "E10016",
    ),
    Code(
        "AF131",
        "unknown input",
        "A shape is given for an input that the model does not have.",
        "The message lists the model's inputs.",
        "E10016",
    ),
    Code(
        "AF132",
        "contradicting extent",
        "A given extent contradicts the model or another one that is given.",
        "Give the extents that the model leaves open only.",
        "E10049",
    ),
    Code(
        "AF133",
        "unknown output",
        "An option names an output that the model does not have, or a value that no node of it computes.",
        "The message lists what comes near.",
        "E10016",
    ),
    Code(
        "AF134",
        "type of an output",
        "An output cannot be converted to the type that is asked for.",
        "Leave the output out of the option.",
        "E10001",
    ),
    Code("AF150", "number of operands", "A node has too few or too many operands or results.", _CORRECT),
    Code("AF151", "missing attribute", "A node lacks an attribute that its operator needs.", _CORRECT),
    Code("AF152", "bad attribute", "An attribute of a node has an impossible value.", _CORRECT),
    Code("AF153", "contradicting shapes", "The shapes of a node's operands do not fit together.", _CORRECT),
    Code("AF154", "contradicting types", "The types of a node's operands do not fit together.", _CORRECT),
    Code("AF155", "wrong rank", "An operand has more or fewer axes than its operator takes.", _CORRECT),
    Code(
        "AF156",
        "cannot be evaluated",
        "A node has no implementation that can run it.",
        "Replace the node, or export the model for another opset.",
        "E10501",
    ),
    Code(
        "AF157",
        "evaluation failed",
        "A node cannot be computed for the operands at hand.",
        "Give inputs that it can be computed for.",
    ),
    Code(
        "AF170",
        "deeply nested graphs",
        "Graphs of control flow lie in one another more deeply than a plan can hold.",
        "Export with less control flow.",
    ),
    Code(
        "AF171",
        "shape of an input",
        "An input has no declared rank, or extents that do not follow from symbols which stand alone.",
        "Give its shape when compiling.",
        "E10001",
    ),
    Code("AF190", "graph text", "A text form of a graph is malformed.", "Write it as dumps do."),
)
