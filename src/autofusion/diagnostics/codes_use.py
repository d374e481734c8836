"""Codes of options and usage (AF2xx), of verification and checks (AF6xx), and of our own faults (AF9xx)."""

from __future__ import annotations

from autofusion.diagnostics.code import Code

_REPORT = "Run the command again with --debug and send its output, and the model if you may, to the issue tracker."
_EXPLAIN = "Read the report of the compiled model, which has the reason for everything that was not fused."

USE_CODES = (
    Code("AF201", "unknown option", "`atc` has no option of that name.", "Run `atc --help`."),
    Code("AF202", "option without value", "An option of `atc` needs a value.", "Write --name=value.", "E10004"),
    Code("AF203", "stray word", "A word on the command line of `atc` belongs to no option.", "Write --name=value."),
    Code("AF204", "extent of a dimension", "`--dim` is not of the form NAME=NUMBER.", "Write --dim batch=2."),
    Code(
        "AF205",
        "malformed shape",
        "`--input_shape` cannot be read.",
        'Write --input_shape="x:1,3,224,224;y:1,8"; -1 leaves an extent open.',
        "E10002",
    ),
    Code(
        "AF206",
        "option without effect",
        "A warning: CANN has the option, this compiler has no use for it, and results do not depend on it.",
        "Leave the option out.",
    ),
    Code("AF207", "missing option", "An option that is needed is missing or empty.", "Pass it.", "E10054"),
    Code(
        "AF208",
        "cannot write",
        "A file or folder cannot be written: it does not exist, is protected, or the disk is full.",
        "Name a file in a folder that exists and that you may write to, on a disk with space left.",
        "E13004",
    ),
    Code(
        "AF209",
        "framework",
        "`--framework` is missing or names another framework than ONNX.",
        "Export the model to ONNX and pass --framework=5.",
        "E10007",
    ),
    Code(
        "AF210",
        "option not supported",
        "The option would change results, and this compiler cannot do what it asks for.",
        "The message says what to do instead.",
        "E10055",
    ),
    Code("AF211", "mode", "`--mode` names a mode that is not available.", "Use mode 0, 1, 3 or 6.", "E10055"),
    Code("AF212", "path without file name", "`--output` names a folder.", "Add the artifact's name.", "E10022"),
    Code(
        "AF213",
        "target",
        "`--soc_version` names an Ascend chip; this compiler makes artifacts for x86-64 and aarch64 processors.",
        "Leave the option out, or use the `atc` that comes with CANN.",
        "E10055",
    ),
    Code(
        "AF214",
        "invalid value",
        "The value of an option is not among those allowed.",
        "Run the command with --help.",
        "E10001",
    ),
    Code("AF215", "stage", "`dump` has no such stage for the model or artifact.", "The message lists the stages."),
    Code(
        "AF216",
        "pass without counterpart",
        "A warning: the name is that of a pass of CANN, and no fusion of this compiler serves its purpose.",
        "Leave the name out, or name a fusion of this compiler.",
    ),
    Code(
        "AF217",
        "content of a control file",
        "A file of switches, of nodes to skip or of manual rules has another form, a name twice or a wrong value.",
        "Correct the file.",
        "E20003",
    ),
    Code(
        "AF218",
        "no control file",
        "A file of switches, of nodes to skip or of manual rules is absent or empty.",
        "Name another file.",
        "E21001",
    ),
    Code(
        "AF219",
        "options that exclude each other",
        "Two options ask for the same thing in different ways.",
        "Pass one of them.",
        "E10001",
    ),
    Code(
        "AF601", "another model", "The artifact was not made from the model it is compared with.", "Compile it again."
    ),
    Code(
        "AF602",
        "oracle and evaluation disagree",
        "The unfused model gives different results in the independent implementation and in float64.",
        "Nothing is verified then; please report the model.",
    ),
    Code(
        "AF603",
        "not verified",
        "What was compiled computes something else than the model does; nothing was written.",
        "Leave the fusion out that the notes name, or pass --auto_disable; report it where it is a built-in one.",
    ),
    Code(
        "AF604",
        "other patterns",
        "`verify` was not given the folders of patterns that the artifact was compiled with.",
        "Pass the folders that were given to `compile`.",
    ),
    Code("AF610", "baseline", "The baseline of `check` cannot be read.", "Name a .fusion.json file.", "E13005"),
    Code("AF611", "too few fusions", "A fusion matched less often than `--min` demands.", _EXPLAIN),
    Code("AF612", "too many operators", "More operators are left than `--max-operators` allows.", _EXPLAIN),
    Code("AF613", "too many host steps", "More steps run on the host than `--max-host-steps` allows.", _EXPLAIN),
    Code(
        "AF614",
        "change against the baseline",
        "The fusion report differs from the baseline; an error where something got worse, a note otherwise.",
        "Where the change is meant, commit the new report as the baseline.",
    ),
    Code("AF901", "internal error", "The compiler itself is at fault.", _REPORT, "E19999"),
    Code("AF902", "damaged installation", "Files of the package are missing.", "Install the package again.", "E19999"),
    Code("AF911", "impossible plan", "The compiler made a plan that does not hang together.", _REPORT, "E19999"),
)
