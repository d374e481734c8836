"""Codes AF5xx: artifacts, the runtime and its inputs."""

from __future__ import annotations

from autofusion.diagnostics.code import Code

_AGAIN = "Compile the model again."

ARTIFACT_CODES = (
    Code(
        "AF510",
        "no artifact file",
        "The file does not exist or cannot be read.",
        "Name an .om file that this compiler wrote.",
        "E13001",
    ),
    Code("AF511", "no artifact", "The file is no artifact of this compiler, or damaged.", _AGAIN, "E10041"),
    Code("AF512", "format version", "The artifact has a format version that is not read.", _AGAIN, "E10041"),
    Code("AF513", "digest", "Bytes of the artifact do not fit their digest: the file was changed.", _AGAIN, "E10041"),
    Code("AF514", "plan", "The artifact's plan does not hang together.", _AGAIN, "E10041"),
    Code(
        "AF515",
        "cannot write artifact",
        "The artifact or a file beside it cannot be written.",
        "Check the folder.",
        "E13004",
    ),
    Code(
        "AF516",
        "disk full",
        "There is no space left for the artifact; no file was changed.",
        "Free some space.",
        "E13004",
    ),
    Code(
        "AF517",
        "another backend",
        "The artifact was compiled for another backend than it is loaded with.",
        "Load it with the backend it was compiled for, or compile it again.",
    ),
    Code(
        "AF518",
        "undetermined extent",
        "A buffer depends on an extent that no input's shape tells.",
        "Give that extent a number when the model is compiled.",
    ),
    Code(
        "AF519",
        "missing packages",
        "Compiling, the commands or host steps need packages that are not installed; loading and running does not.",
        "Install the packages that the message names.",
    ),
    Code("AF520", "step failed", "A step that runs in Python failed, or gave another result than planned.", _AGAIN),
    Code("AF521", "platform", "There are no native kernels for this platform.", "Compile with --backend=reference."),
    Code("AF522", "no kernel library", "The kernel library was not built.", "Install the package again."),
    Code("AF523", "kernel library", "The kernel library cannot be loaded.", "Install the package again."),
    Code("AF524", "invalid step", "A step of the plan has impossible attributes or operands.", _AGAIN, "E10041"),
    Code("AF525", "damaged plan", "A step of the plan would reach outside its memory.", _AGAIN, "E10041"),
    Code(
        "AF530",
        "names of inputs",
        "An input is missing, or there is none of that name.",
        "Give one array for every input, under its name.",
        "E10016",
    ),
    Code("AF531", "type of an input", "An array has another element type than its input.", "Convert the array."),
    Code(
        "AF532",
        "shape of an input",
        "Ranks or extents of arrays do not fit the model or one another.",
        "Give arrays of shapes that fit.",
    ),
    Code(
        "AF533", "impossible extent", "The extents of the inputs give an inner value an impossible one.", "Change them."
    ),
    Code("AF534", "array for an output", "An array that was given cannot take its output.", "Leave it out."),
    Code(
        "AF535",
        "session",
        "There is no such backend, or no such number of threads.",
        "Choose native or reference, and a thread or more.",
        "E10001",
    ),
    Code(
        "AF536",
        "index out of range",
        "An index that the model computed, or was given, names no element.",
        "Give inputs whose numbers are in range.",
    ),
    Code(
        "AF537",
        "extent beyond its limits",
        "An extent of an input lies outside of the range that the model was compiled for, or that its tables allow.",
        "Give inputs of other extents.",
        "E10050",
    ),
    Code(
        "AF538",
        "no gear",
        "The model was compiled for certain shapes alone, and the inputs have others.",
        "Give inputs of the shapes that the message lists.",
        "E10050",
    ),
    Code(
        "AF540",
        "file of inputs",
        "A file of arrays cannot be read.",
        "Name a .npy or .npz file that numpy wrote, or a .bin file of raw elements.",
        "E13003",
    ),
    Code("AF541", "open extent", "An extent must be known to make an input or to read raw bytes.", "Pass --dim."),
    Code("AF542", "unknown input", "The model has no input of that name.", "The message lists its inputs.", "E10016"),
    Code(
        "AF543",
        "unsuitable file",
        "A file does not hold what the input takes.",
        "Give elements of the type and shape that the input has.",
    ),
    Code("AF545", "no such extent", "`--dim` names an extent that no input leaves open.", "The message lists them."),
    Code("AF544", "report in the artifact", "The fusion report inside the artifact cannot be read.", _AGAIN),
)
