"""The options that every command which compiles has, and the `CompileOptions` that they mean."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from autofusion.cli.environment import disabled_fusions
from autofusion.cli.gears import read_gears
from autofusion.cli.output import warn_of_kept_types, warn_of_passes
from autofusion.cli.values import parse_dims, parse_shapes, parse_switches, split_names

if TYPE_CHECKING:
    from autofusion.options import CompileOptions

Function = TypeVar("Function", bound=Callable[..., Any])


def compile_options(function: Function) -> Function:
    """Add the options to a command; their values are kept in the context for `read_options`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def read_options(ctx: click.Context) -> CompileOptions:
    """What the options of the command mean, with GE_FUSION_DISABLE_LIST; raises UsageError."""
    from autofusion.cli.keep_file import read_precision
    from autofusion.cli.skip_file import read_skip_file
    from autofusion.cli.switch_file import gather_switches
    from autofusion.fusion import Controls, read_rules
    from autofusion.options import CompileOptions

    given = ctx.meta[_KEY]
    disabled = dict.fromkeys(disabled_fusions(), "GE_FUSION_DISABLE_LIST")
    disabled |= dict.fromkeys(split_names(given["disable"]), "--disable")
    skipped = read_skip_file(given["skip_node_names_cfg"])
    controls = Controls(
        auto_fusion=given["auto_fusion"] == "on",
        level=given["level"],
        disabled=disabled,
        whitelist=dict.fromkeys(split_names(given["whitelist"]), "--whitelist") or None,
        no_fusion_ops=skipped.types | dict.fromkeys(split_names(given["no_fusion_op"]), "--no-fusion-op"),
        switches=gather_switches(
            parse_switches(given["optimization_switch"] or "", "--optimization-switch"),
            given["fusion_switch_file"],
            "--optimization-switch",
        ),
        skip_nodes=skipped.names,
        scope=dict.fromkeys(split_names(given["fusion_scope"]), "--fusion-scope"),
        rules=read_rules(given["fusion_rules"]) if given["fusion_rules"] is not None else (),
    )
    warn_of_passes(controls)
    warn_of_kept_types(given["precision_mode"], given["keep_dtype"] is not None, "--keep-dtype")
    shapes = parse_shapes(given["input_shape"], "--input-shape") if given["input_shape"] else {}
    return CompileOptions(
        backend=given["backend"],
        controls=controls,
        dims=parse_dims(given["dims"]),
        shapes=shapes,
        gears=read_gears(given, shapes),
        pattern_directories=given["pattern_dir"],
        exact=given["exact"],
        precision=read_precision(given["precision_mode"], given["keep_dtype"]),
    )


_KEY = "autofusion.compile"


def _keep(ctx: click.Context, parameter: click.Parameter, value: object) -> None:
    ctx.meta.setdefault(_KEY, {})[parameter.name] = value


_OPTIONS = (
    click.option(
        "--backend",
        type=click.Choice(["native", "reference"]),
        default="native",
        expose_value=False,
        callback=_keep,
        help="Native kernels, or their definitions in numpy.",
    ),
    click.option(
        "--exact",
        is_flag=True,
        expose_value=False,
        callback=_keep,
        help="Plain sums alone: no Winograd filtering, which is faster and rounds more.",
    ),
    click.option(
        "--precision-mode",
        "--precision_mode",
        type=click.Choice(["must_keep_origin_dtype", "allow_fp32_to_fp16", "allow_fp32_to_bf16", "force_fp32"]),
        default="must_keep_origin_dtype",
        show_default=True,
        expose_value=False,
        callback=_keep,
        help="allow_fp32_to_fp16 and _bf16 store float32 weights in two bytes and compute in float32; force_fp32 keeps "
        "values of float16 and bfloat16 in float32.",
    ),
    click.option(
        "--keep-dtype",
        "--keep_dtype",
        type=click.Path(path_type=Path),
        metavar="FILE",
        expose_value=False,
        callback=_keep,
        help="Nodes that are left out of --precision-mode: one name, or OpType::TYPE, a line.",
    ),
    click.option(
        "--auto-fusion",
        "--auto_fusion",
        type=click.Choice(["on", "off"]),
        default="on",
        expose_value=False,
        callback=_keep,
        help="off fuses nothing but what manual rules name.",
    ),
    click.option(
        "--level",
        "--fusion-level",
        "--fusion_level",
        "level",
        type=click.IntRange(1, 3),
        default=2,
        show_default=True,
        expose_value=False,
        callback=_keep,
        help="1 conservative, 2 balanced, 3 aggressive.",
    ),
    click.option(
        "--disable",
        "--fusion-blacklist",
        "--fusion_blacklist",
        "disable",
        multiple=True,
        metavar="NAME",
        expose_value=False,
        callback=_keep,
        help="A fusion to leave out, by pattern or fused operator, or an operator type; repeatable, or with commas.",
    ),
    click.option(
        "--whitelist",
        "--fusion-whitelist",
        "--fusion_whitelist",
        "whitelist",
        multiple=True,
        metavar="NAME",
        expose_value=False,
        callback=_keep,
        help="The only fusions to apply; repeatable, or with commas.",
    ),
    click.option(
        "--no-fusion-op",
        "--no-fusion-ops",
        "--no_fusion_ops",
        "no_fusion_op",
        multiple=True,
        metavar="OP",
        expose_value=False,
        callback=_keep,
        help="An operator type that stays out of every fusion; repeatable, or with commas.",
    ),
    click.option(
        "--fusion-switch-file",
        "--fusion_switch_file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        expose_value=False,
        callback=_keep,
        help="Switches of fusions, as JSON or as lines of NAME:off.",
    ),
    click.option(
        "--optimization-switch",
        "--optimization_switch",
        metavar='"A:off;B:on"',
        expose_value=False,
        callback=_keep,
        help="Switches that win over those of the file.",
    ),
    click.option(
        "--skip-node-names-cfg",
        "--skip_node_names_cfg",
        type=click.Path(path_type=Path),
        metavar="FILE",
        expose_value=False,
        callback=_keep,
        help="Nodes that stay out of every fusion, below [ByNodeName] and [ByNodeType].",
    ),
    click.option(
        "--fusion-scope",
        "--fusion_scope",
        multiple=True,
        metavar="GLOB",
        expose_value=False,
        callback=_keep,
        help="The only nodes that may fuse, by ONNX name; repeatable, or with commas.",
    ),
    click.option(
        "--fusion-rules",
        "--fusion_rules",
        type=click.Path(path_type=Path),
        metavar="FILE",
        expose_value=False,
        callback=_keep,
        help="Manual rules, as TOML or JSON: nodes or sequences of blocks that become one node.",
    ),
    click.option(
        "--pattern-dir",
        "--pattern_dir",
        "--patterns",
        "pattern_dir",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FOLDER",
        expose_value=False,
        callback=_keep,
        help="A folder of patterns and declared operators, read after the built-in ones; repeatable.",
    ),
    click.option(
        "--input-shape",
        "--input_shape",
        metavar='"X:1,3,224,224;.."',
        expose_value=False,
        callback=_keep,
        help="Extents of the inputs; -1 leaves one open, 1~8 within limits, a name makes it a symbol.",
    ),
    click.option(
        "--dynamic-batch-size",
        "--dynamic_batch_size",
        metavar="1,2,4",
        expose_value=False,
        callback=_keep,
        help="The only batches, for -1 as the first extent.",
    ),
    click.option(
        "--dynamic-image-size",
        "--dynamic_image_size",
        metavar='"416,416;832,832"',
        expose_value=False,
        callback=_keep,
        help="The only heights and widths, for -1 in --input-shape.",
    ),
    click.option(
        "--dynamic-dims",
        "--dynamic_dims",
        metavar='"1,128;2,128"',
        expose_value=False,
        callback=_keep,
        help="The only extents, for each -1 in --input-shape.",
    ),
    click.option(
        "--dim",
        "dims",
        multiple=True,
        metavar="NAME=EXTENT",
        expose_value=False,
        callback=_keep,
        help="Extent of a symbolic dimension; repeatable.",
    ),
)
