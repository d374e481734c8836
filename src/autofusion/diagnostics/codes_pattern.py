"""Codes of fusion (AF3xx) and of pattern files (AF4xx)."""

from __future__ import annotations

from autofusion.diagnostics.code import Code

_NOTES = "The notes name the statement, node and value; the help says what would make it match."

PATTERN_CODES = (
    Code("AF301", "near miss", "A note: a pattern matched in part, and nothing was applied.", _NOTES),
    Code("AF302", "near miss, smaller match", "A note: a pattern matched in part, a smaller one was applied.", _NOTES),
    Code("AF303", "switched off", "A note: a pattern matched, but a list or the level forbids it.", _NOTES),
    Code("AF304", "nodes taken", "A note: a pattern matched, but a better one took its nodes.", _NOTES),
    Code(
        "AF310",
        "unknown name",
        "A list of fusions names something that is no operator, pattern or fused operator.",
        "The message names similar ones.",
        "E10016",
    ),
    Code("AF311", "fusion level", "There is no such fusion level.", "The levels are 1, 2 and 3.", "E10013"),
    Code(
        "AF312",
        "unknown node",
        "A name or glob of nodes to skip, or of the scope of fusion, fits no node of the model.",
        "Correct the name; `autofusion dump MODEL` shows those of the nodes.",
    ),
    Code(
        "AF320",
        "emission",
        "A normalize pattern matched, but its operator cannot be made from what it matched.",
        "Correct the [emit] section of the pattern: an attribute holds a number, a string or a list of such.",
    ),
    Code("AF401", "no pattern file", "The file or folder cannot be read or is no TOML.", "Correct the file.", "E13005"),
    Code("AF402", "header", "A key of the header is missing, unknown or of a wrong kind.", "Correct the header."),
    Code(
        "AF403",
        "syntax",
        "The graph text or a template is malformed.",
        "Write `name = Operator(operands)`, one node a line.",
    ),
    Code(
        "AF404",
        "unknown operator",
        "A statement names an operator or pattern that does not exist.",
        "Name an operator of ONNX, or a pattern.",
    ),
    Code(
        "AF405",
        "unknown attribute",
        "An operator has no such attribute, or a value no such property.",
        "Name one that it has.",
    ),
    Code(
        "AF406",
        "number of operands",
        "A call has a number of operands that its operator never has.",
        "Give as many as it takes; `...` stands for the rest.",
    ),
    Code(
        "AF407",
        "unbound name",
        "A clause or [emit] uses a name that no form binds.",
        "Use a name that stands in a statement.",
    ),
    Code(
        "AF408",
        "clause",
        "A condition under `where` is malformed or names no known predicate.",
        "Write `x is const`, `x.rank == 2`, or a predicate of its operands.",
    ),
    Code("AF409", "order of statements", "A name is used before its statement, or defined twice.", "Reorder them."),
    Code("AF410", "unreachable statement", "A statement does not feed the root.", "The last statement is the root."),
    Code(
        "AF411",
        "optional statement",
        "An optional statement has no single first argument to stand for it.",
        "Give every alternative the same first argument.",
    ),
    Code(
        "AF412",
        "correlated alternatives",
        "Two statements have alternatives that depend on one another; every combination would match.",
        "Write two [[form]]s.",
    ),
    Code("AF413", "nothing to fuse", "A form has fewer than two statements, or only optional ones.", "Add statements."),
    Code("AF414", "template", "A part of a name depends on something that no form binds.", "Write {text?name}."),
    Code("AF415", "stage", "A pattern stands on nodes that a later stage makes.", "Change the stage."),
    Code(
        "AF416",
        "lost value",
        "A normalize pattern drops a value that is not constant, or leaves operands unnamed.",
        "Add the value to the inputs of [emit], or say that it is const.",
    ),
    Code("AF417", "pattern defined twice", "Two files define a pattern of one name.", "Rename one."),
    Code(
        "AF421",
        "expression",
        "The expression of a declared operator is malformed, or names something unknown.",
        "Write arithmetic over inputs and numeric attributes, comparisons inside select(condition, a, b).",
    ),
    Code(
        "AF422",
        "function body",
        "The function of a declared operator is malformed, or its nodes are no valid operators of ONNX.",
        "Write one node a line, `name = Operator(operands)`, as in the text form of ONNX.",
    ),
    Code(
        "AF423",
        "operator defined twice",
        "An operator is declared that another file, ONNX or the model defines.",
        "Choose another name, or leave out one of the definitions.",
    ),
)
