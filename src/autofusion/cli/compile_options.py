"""The options that every command which compiles has, and the `CompileOptions` that they mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from autofusion.cli.environment import disabled_fusions
from autofusion.cli.gears import read_gears
from autofusion.cli.output import warn_of_kept_types, warn_of_passes, warn_of_target
from autofusion.cli.values import parse_dims, parse_shapes, parse_switches, split_names

if TYPE_CHECKING:
    from autofusion.options import CompileOptions

Function = TypeVar("Function", bound=Callable[..., Any])


def compile_options(function: Function) -> Function:
    """Add the options to a command; their values are kept in the context for `read_options`."""
    for row in reversed(_ROWS):
        function = click.option(*row.names, **row.settings, expose_value=False, callback=_keep)(function)
    return function


def read_options(ctx: click.Context) -> CompileOptions:
    """What the options of the command mean, with GE_FUSION_DISABLE_LIST; raises UsageError."""
    from autofusion.cli.keep_file import read_precision
    from autofusion.cli.skip_file import read_skip_file
    from autofusion.cli.switch_file import gather_switches
    from autofusion.fusion import Controls, read_rules
    from autofusion.options import CompileOptions
    from autofusion.tuning import join_banks, read_bank

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
    bank = join_banks([read_bank(path) for path in given["bank"]], given["bank_target"])
    warn_of_target(bank, "--bank-target")
    return CompileOptions(
        backend=given["backend"],
        controls=controls,
        dims=parse_dims(given["dims"]),
        shapes=shapes,
        gears=read_gears(given, shapes),
        pattern_directories=given["pattern_dir"],
        bank=bank,
        exact=given["exact"],
        precision=read_precision(given["precision_mode"], given["keep_dtype"]),
    )


_KEY = "autofusion.compile"


def _keep(ctx: click.Context, parameter: click.Parameter, value: object) -> None:
    ctx.meta.setdefault(_KEY, {})[parameter.name] = value


@dataclass(frozen=True)
class _Row:
    """An option: its names, the first one's spelling with underscores included, and what click is to know of it."""

    names: tuple[str, ...]
    settings: Mapping[str, Any]


def _row(name: str, text: str, *others: str, key: str = "", **settings: Any) -> _Row:
    """The option `--name` with the help `text`; it and `others` may be written with underscores as well.

    Its value is kept under `key`, or under its name where that is empty.
    """
    spellings = (f"--{word}" for given in (name, *others) for word in dict.fromkeys((given, given.replace("-", "_"))))
    return _Row((*spellings, key or name.replace("-", "_")), {"help": text, **settings})


def _choice(name: str, text: str, choices: Sequence[str], **settings: Any) -> _Row:
    return _row(name, text, type=click.Choice(choices), default=choices[0], **settings)


def _file(name: str, text: str) -> _Row:
    return _row(name, text, type=click.Path(path_type=Path), metavar="FILE")


def _several(name: str, metavar: str, text: str, *others: str, key: str = "", **settings: Any) -> _Row:
    return _row(name, text, *others, key=key, multiple=True, metavar=metavar, **settings)


_ROWS = (
    _choice("backend", "Native kernels, or their definitions in numpy.", ("native", "reference")),
    _row("exact", "Plain sums alone: no Winograd filtering, which is faster and rounds more.", is_flag=True),
    _choice(
        "precision-mode",
        "allow_fp32_to_fp16 and _bf16 store float32 weights in two bytes and compute in float32; force_fp32 keeps "
        "values of float16 and bfloat16 in float32.",
        ("must_keep_origin_dtype", "allow_fp32_to_fp16", "allow_fp32_to_bf16", "force_fp32"),
        show_default=True,
    ),
    _file("keep-dtype", "Nodes that are left out of --precision-mode: one name, or OpType::TYPE, a line."),
    _choice("auto-fusion", "off fuses nothing but what manual rules name.", ("on", "off")),
    _row(
        "level",
        "1 conservative, 2 balanced, 3 aggressive.",
        "fusion-level",
        type=click.IntRange(1, 3),
        default=2,
        show_default=True,
    ),
    _several(
        "disable",
        "NAME",
        "A fusion to leave out, by pattern or fused operator, or an operator type; repeatable, or with commas.",
        "fusion-blacklist",
    ),
    _several("whitelist", "NAME", "The only fusions to apply; repeatable, or with commas.", "fusion-whitelist"),
    _several(
        "no-fusion-op",
        "OP",
        "An operator type that stays out of every fusion; repeatable, or with commas.",
        "no-fusion-ops",
    ),
    _file("fusion-switch-file", "Switches of fusions, as JSON or as lines of NAME:off."),
    _row("optimization-switch", "Switches that win over those of the file.", metavar='"A:off;B:on"'),
    _file("skip-node-names-cfg", "Nodes that stay out of every fusion, below [ByNodeName] and [ByNodeType]."),
    _several("fusion-scope", "GLOB", "The only nodes that may fuse, by ONNX name; repeatable, or with commas."),
    _file("fusion-rules", "Manual rules, as TOML or JSON: nodes or sequences of blocks that become one node."),
    _several(
        "pattern-dir",
        "FOLDER",
        "A folder of patterns and declared operators, read after the built-in ones; repeatable.",
        "patterns",
        type=click.Path(path_type=Path),
    ),
    _several(
        "bank",
        "FILE|FOLDER",
        "A tuning bank: what computes layers, whatever the cost model says; repeatable, the later one wins.",
        type=click.Path(path_type=Path),
    ),
    _row(
        "bank-target",
        "The instruction set whose choices to take from banks before those for any.",
        metavar="any|x86-64-v3|..",
        default="any",
    ),
    _row(
        "input-shape",
        "Extents of the inputs; -1 leaves one open, 1~8 within limits, a name makes it a symbol.",
        metavar='"X:1,3,224,224;.."',
    ),
    _row("dynamic-batch-size", "The only batches, for -1 as the first extent.", metavar="1,2,4"),
    _row("dynamic-image-size", "The only heights and widths, for -1 in --input-shape.", metavar='"416,416;832,832"'),
    _row("dynamic-dims", "The only extents, for each -1 in --input-shape.", metavar='"1,128;2,128"'),
    _several("dim", "NAME=EXTENT", "Extent of a symbolic dimension; repeatable.", key="dims"),
)
