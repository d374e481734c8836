"""The options of `atc`: one row each, with what this compiler makes of it and why.

Names and values are those of CANN's tool.  `docs/atc-options.md` is written from this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal


class Treatment(Enum):
    """What happens to an option that is given."""

    HONOURED = "honoured"
    INERT = "accepted with a warning"
    REFUSED = "refused"


Kind = Literal["text", "integer", "boolean"]


@dataclass(frozen=True)
class AtcOption:
    """One row.

    `usual` lists values that ask for what happens anyway: they are accepted without a word whatever
    the treatment.  `values` is shown in the help; `reason` completes "accepted with a warning: ..."
    or "refused: ...", `help` says what to do instead.  An option with `modes` has an effect in those alone.
    `choices` are the values that CANN knows, () where there is no such list.
    """

    name: str
    treatment: Treatment
    values: str
    reason: str
    help: str = ""
    usual: tuple[str, ...] = ()
    kind: Kind = "text"
    modes: tuple[int, ...] = ()
    choices: tuple[str, ...] = ()


def _yes(
    name: str,
    values: str,
    meaning: str,
    kind: Kind = "text",
    modes: tuple[int, ...] = (),
    usual: tuple[str, ...] = (),
    choices: tuple[str, ...] | None = None,
) -> AtcOption:
    known = _split_choices(values, kind) if choices is None else choices
    return AtcOption(name, Treatment.HONOURED, values, meaning, "", usual, kind, modes, known)


def _warn(
    name: str,
    values: str,
    reason: str,
    usual: tuple[str, ...] = (),
    kind: Kind = "text",
    choices: tuple[str, ...] | None = None,
) -> AtcOption:
    known = _split_choices(values, kind) if choices is None else choices
    return AtcOption(name, Treatment.INERT, values, reason, "", usual, kind, choices=known)


def _no(
    name: str,
    values: str,
    reason: str,
    remedy: str,
    usual: tuple[str, ...] = (),
    kind: Kind = "text",
    choices: tuple[str, ...] | None = None,
) -> AtcOption:
    known = _split_choices(values, kind) if choices is None else choices
    return AtcOption(name, Treatment.REFUSED, values, reason, remedy, usual, kind, choices=known)


def _split_choices(values: str, kind: Kind) -> tuple[str, ...]:
    """The values that a list such as `0|1` allows; a boolean has its own spellings."""
    return tuple(values.split("|")) if "|" in values and kind != "boolean" else ()


_OFF = ("0", "false", "f", "n", "no")
_ON = ("1", "true", "t", "y", "yes")
_FLOAT = "drop the option; --keep_dtype names nodes that keep their type"
_CONVERT = "convert the arrays to that type before they are given, or change the type of the input in the model"
_PRECISIONS = (
    "force_fp16",
    "force_fp32",
    "cube_fp16in_fp32out",
    "allow_mix_precision",
    "allow_fp32_to_fp16",
    "must_keep_origin_dtype",
    "allow_mix_precision_fp16",
    "allow_mix_precision_bf16",
    "allow_fp32_to_bf16",
)
_PRECISIONS_V2 = (
    "fp16",
    "origin",
    "cube_fp16in_fp32out",
    "mixed_float16",
    "mixed_bfloat16",
    "cube_hif8",
    "mixed_hif8",
)
_NO_DEVICE = "there is no device to choose"
_LOSSLESS = "weights are stored as they are"
_ONE_MACHINE = "a model runs on one machine"
_NO_CACHE = "kernels are not compiled per model, so none are cached"

GROUPS: dict[str, dict[str, tuple[AtcOption, ...]]] = {
    "Basic Functionality": {
        "General": (
            _yes("help", "", "Show this text."),
            _yes(
                "mode",
                "0|1|3|6",
                "0: convert a model to an .om (default); 1: write a model or an .om as JSON; "
                "3: only check a model; 6: show what an .om says of itself.",
                "integer",
                choices=(),
            ),
        ),
        "Input": (
            _yes("model", "FILE", "The ONNX model.", modes=(0, 3)),
            _yes("framework", "5", "5 (ONNX); may be left out for a file called *.onnx.", "integer", (0, 1, 3)),
            _yes("om", "FILE", "What mode 1 writes as JSON, an artifact or a model, and mode 6 shows.", modes=(1, 6)),
            _yes(
                "input_format",
                "NCHW|NCDHW|ND",
                "Layout of the inputs; ONNX models have no other.",
                choices=("NCHW", "NHWC", "ND", "NCDHW", "NDHWC"),
            ),
            _yes(
                "input_shape",
                '"x:1,3,224,224;y:1~8,8"',
                "Extents of the inputs; -1 leaves one open, 1~8 within limits, a name makes it a symbol.",
                modes=(0, 1, 3),
            ),
            _warn("weight", "FILE", "weight files belong to Caffe models"),
            _no("singleop", "FILE", "single operators are not compiled", "put the operator into an ONNX model"),
            _no(
                "input_shape_range",
                "RANGES",
                "CANN deprecated it as well",
                'write the ranges into --input_shape, as in "x:1~8,3,224,224"',
            ),
            _warn("input_hint_shape", "SHAPES", "no shape is preferred over others"),
            _yes("dynamic_batch_size", '"1,2,4"', "The only batches, for -1 as an input's first extent.", modes=(0, 3)),
            _yes(
                "dynamic_image_size",
                '"416,416;832,832"',
                "The only heights and widths, for -1 in input_shape.",
                modes=(0, 3),
            ),
            _yes(
                "dynamic_dims",
                '"1,2;3,4"',
                "The only extents, for each -1 in input_shape; needs input_format=ND.",
                modes=(0, 3),
            ),
        ),
        "Output": (
            _yes("output", "PATH", "Where the artifact goes; the suffix .om is added where it is missing.", modes=(0,)),
            _yes(
                "output_type",
                'FP32 or "node:0:FP16"',
                "Element type of all outputs, or of each; a Cast is put before them.",
                modes=(0, 3),
            ),
            _yes(
                "out_nodes",
                '"node:0;value"',
                "Outputs to compute instead of the model's, by node and index or by value; the rest is cut off.",
                modes=(0, 3),
            ),
            _yes(
                "display_model_info", "0|1", "1 shows after the conversion what mode 6 shows.", "integer", (0,), ("0",)
            ),
            _yes("json", "FILE", "Where mode 1 writes the JSON.", modes=(1,)),
            _yes("check_report", "FILE", "Where mode 3 writes its report (check_result.json).", modes=(3,)),
            _no(
                "external_weight",
                "0|1|2",
                "an artifact is one file with its weights inside",
                "drop the option; the weights are mapped into memory from the artifact all the same",
                ("0",),
                "integer",
            ),
            _warn("save_original_model", "false|true", "the model file is not copied", _OFF, "boolean"),
            _warn("host_env_os", "linux", "one artifact runs on every supported machine", ("linux",)),
            _warn("host_env_cpu", "x86_64|aarch64", "one artifact runs on every processor", ("x86_64", "aarch64")),
        ),
        "Target": (
            _yes("soc_version", "cpu", "The target; cpu is the default and the only one.", modes=(0, 3)),
            _warn("core_type", "AiCore|VectorCore", _NO_DEVICE),
            _warn("aicore_num", "N", _NO_DEVICE),
            _warn("virtual_type", "0|1", _NO_DEVICE, ("0",), "integer"),
            _warn("device_id", "N", _NO_DEVICE, ("0",), "integer"),
        ),
    },
    "Advanced Functionality": {
        "Feature": (
            _no("input_fp16_nodes", '"a;b"', "inputs keep the type that the model gives them", _CONVERT),
            _no(
                "insert_op_conf",
                "FILE",
                "image preprocessing (AIPP) is not compiled in",
                "scale, crop and normalise the images before they are given to the model, or put those nodes into it",
            ),
            _no("is_input_adjust_hw_layout", "false|true", "inputs keep their layout", _FLOAT, _OFF, "boolean"),
            _no("is_output_adjust_hw_layout", "false|true", "outputs keep their layout", _FLOAT, _OFF, "boolean"),
            _warn("op_name_map", "FILE", "it belongs to Caffe models"),
            _warn("cluster_config", "FILE", _ONE_MACHINE),
            _warn("hccl_sub_comm_config", "FILE", _ONE_MACHINE),
        ),
        "Model Tuning": (
            _yes(
                "optimization_switch",
                '"NameA:off;NameB:on"',
                "Fusions to turn off or on, by pattern, fused operator or pass; wins over fusion_switch_file.",
                modes=(0, 3),
            ),
            _yes(
                "fusion_switch_file",
                "FILE",
                "Switches as JSON or as lines of NAME:off; ALL is the rest.",
                modes=(0, 3),
            ),
            _yes("oo_level", "O1|O3", "O1 turns every fusion off; O3 is the default.", modes=(0, 3)),
            _warn("oo_constant_folding", "true|false", "constants are always folded", _ON, "boolean"),
            _warn("oo_dead_code_elimination", "true|false", "unused nodes are always removed", _ON, "boolean"),
            _warn("enable_scope_fusion_passes", '"A,B"', "scope passes belong to TensorFlow models"),
            _warn("topo_sorting_mode", "0|1|2|3", "the order of steps is chosen by the compiler", ("1",), "integer"),
            _warn(
                "buffer_optimize", "l2_optimize|l1_optimize|off_optimize", "there are no such buffers", ("l2_optimize",)
            ),
            _warn("disable_reuse_memory", "0|1", "memory of dead values is always used again", ("0",), "integer"),
            _warn("jit_compile", "0|1|2", "nothing is compiled while a model runs", ("1",), "integer"),
            _warn("static_model_ops_lower_limit", "N", "static and open shapes are compiled alike", ("4",), "integer"),
            _warn("enable_small_channel", "0|1", "layouts are chosen per layer by the compiler", ("0",), "integer"),
            _warn("enable_single_stream", "false|true", "there is one stream", (*_OFF, *_ON), "boolean"),
            _warn("ac_parallel_enable", "0|1", "there are no AI CPU operators", ("0",), "integer"),
            _warn("tiling_schedule_optimize", "0|1", "there is no tiling on a device", ("0",), "integer"),
            _warn("h2d_overlapped_with_compute", "0|1", "nothing is copied to a device", ("0",), "integer"),
            _warn("sparsity", "0|1", "sparse weights are computed like others", ("0",), "integer"),
            _warn("enable_compress_weight", "false|true", _LOSSLESS, _OFF, "boolean"),
            _warn("compress_weight_conf", "FILE", _LOSSLESS),
            _warn("enable_attr_compression", "true|false", "attributes are stored as they are", _ON, "boolean"),
            _no("compression_optimize_conf", "FILE", "it would quantise the model", "quantise the model beforehand"),
            _no("cal_conf", "FILE", "it would quantise the model", "quantise the model beforehand"),
            _warn("is_weight_clip", "1|0", "weights keep their type, so none is clipped", ("1",), "integer"),
            _warn("quant_dumpable", "0|1", "the model is not quantised", ("0",), "integer"),
            _warn("deterministic", "0|1", "results are always reproducible", ("0", "1"), "integer"),
            _warn("deterministic_level", "0|1|2|3", "results are always reproducible", ("0", "1", "2", "3"), "integer"),
            _yes("mdl_bank_path", "FOLDER|FILE", "A tuning bank for what shares a step.", modes=(0, 3), choices=()),
            _yes("op_bank_path", "FOLDER|FILE", "A tuning bank for algorithms of layers.", modes=(0, 3), choices=()),
            _no("auto_tune_mode", "MODES", "CANN took it out as well", "drop the option"),
            _no("raw_ge_options", "FILE", "its keys may change results, and are not read", "use the named options"),
            _warn("raw_ge_options_ignore_unsupported", "false|true", "see raw_ge_options", _OFF, "boolean"),
            _warn("build_config", "FILE", "there is nothing to configure there"),
            _warn("shape_generalized_build_mode", "MODE", "CANN deprecated it as well"),
            _warn("atomic_clean_policy", "0|1", "no memory has to be cleared", ("0",), "integer"),
        ),
        "Fusion, not in CANN": (
            _yes("auto_fusion", "on|off", "off turns every fusion off but those of fusion_rules.", modes=(0, 3)),
            _yes("fusion_level", "1|2|3", "1 conservative, 2 balanced (default), 3 aggressive.", "integer", (0, 3)),
            _yes("fusion_blacklist", '"A,B"', "Fusions or operator types to leave out.", modes=(0, 3)),
            _yes("fusion_whitelist", '"A,B"', "The only fusions to apply.", modes=(0, 3)),
            _yes("no_fusion_ops", '"OpA,OpB"', "Operator types that stay out of every fusion.", modes=(0, 3)),
            _yes("skip_node_names_cfg", "FILE", "Nodes that stay out, below [ByNodeName], [ByNodeType].", modes=(0, 3)),
            _yes("fusion_scope", '"GLOB,GLOB"', "The only nodes that may fuse, by ONNX name.", modes=(0, 3)),
            _yes("verify", "on|off", "on compares with the unfused model before writing.", modes=(0,), usual=("off",)),
            _yes(
                "auto_disable",
                "on|off",
                "on leaves out fusions that put results beyond their limits; implies verify.",
                modes=(0,),
                usual=("off",),
            ),
            _yes("fusion_rules", "FILE", "Manual rules, as TOML or JSON: what becomes one node.", modes=(0, 3)),
            _yes(
                "bank_target",
                "any|x86-64-v3|..",
                "The instruction set whose choices to take from banks before those for any (default).",
                modes=(0, 3),
                usual=("any",),
                choices=(),
            ),
            _yes("pattern_dir", '"FOLDER,FOLDER"', "More patterns, and declared operators.", modes=(0, 1, 3)),
        ),
        "Operator Tuning": (
            _yes(
                "precision_mode",
                "must_keep_origin_dtype|allow_fp32_to_fp16|allow_fp32_to_bf16|force_fp32",
                "allow_fp32_to_fp16 and allow_fp32_to_bf16 store float32 weights in two bytes and compute in float32; "
                "force_fp32 keeps values of float16 and bfloat16 in float32; other modes of CANN are refused.",
                modes=(0, 3),
                choices=_PRECISIONS,
                usual=("must_keep_origin_dtype",),
            ),
            _no(
                "precision_mode_v2",
                "origin",
                "operators are not computed in mixed precision",
                "--precision_mode=allow_fp32_to_fp16 or allow_fp32_to_bf16 stores weights in two bytes",
                ("origin",),
                choices=_PRECISIONS_V2,
            ),
            _yes(
                "keep_dtype",
                "FILE",
                "Nodes that are left out of precision_mode: one name, or OpType::TYPE, a line.",
                modes=(0, 3),
            ),
            _no("customize_dtypes", "FILE", "it would change the type of operators", _FLOAT),
            _warn("op_precision_mode", "FILE", "every operator is computed in high precision"),
            _warn("modify_mixlist", "FILE", "there is no mixed precision"),
            _warn("allow_hf32", "false|true", "float32 is computed as float32", _OFF, "boolean"),
            _yes(
                "op_select_implmode",
                "high_precision|high_performance",
                "high_precision leaves out algorithms that round more than plain sums, as Winograd's filtering.",
                modes=(0,),
                usual=("high_performance", "high_performance_for_all"),
                choices=("high_precision", "high_performance", "high_precision_for_all", "high_performance_for_all"),
            ),
            _warn("optypelist_for_implmode", '"OpA,OpB"', "see op_select_implmode"),
            _warn("op_compiler_cache_dir", "FOLDER", _NO_CACHE),
            _warn("op_compiler_cache_mode", "disable|enable|force", _NO_CACHE, ("disable",)),
        ),
        "Debug": (
            _yes("log", "debug|info|warning|error|null", "debug and info show the fusion report."),
            _yes("debug", "", "Show the traceback of an error."),
            _yes("dump_mode", "0|1", "1 adds the inferred shapes to the JSON of a model.", "integer", (1,), ("0",)),
            _warn("export_compile_stat", "0|1|2", "the fusion result is always written", ("1", "2"), "integer"),
            _warn("debug_dir", "FOLDER", "there are no intermediate files"),
            _warn("op_debug_level", "0|1|2|3|4", "there are no intermediate files", ("0",), "integer"),
            _warn("op_debug_config", "FILE", "there are no intermediate files"),
            _warn("status_check", "0|1", "there is no device to check", ("0",), "integer"),
        ),
    },
}

OPTIONS: dict[str, AtcOption] = {
    option.name: option for groups in GROUPS.values() for rows in groups.values() for option in rows
}
