"""What an artifact says of itself, in the form in which CANN's tool displays a model."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from autofusion.artifact import Manifest, read_artifact
from autofusion.artifact.manifest import GRAPH, PLAN, WEIGHTS
from autofusion.fusion import Controls
from autofusion.options import CompileOptions
from autofusion.plan import Plan, Size, evaluate_shape
from autofusion.plan.memory import plan_memory
from autofusion.precision import Precision
from autofusion.report.cann_types import OUTPUT_TYPES
from autofusion.tuning import ANY, Bank

UNKNOWN = -1
"""What CANN shows for a size that is not known: extents without limits leave the memory of a run to its inputs."""


def describe_artifact(path: Path) -> str:
    """The block between the two lines of equals signs, with a final line break; raises ArtifactError.

    Sizes: `modeldef` is the fused graph, `task_info` the plan; there are no kernels, streams or events of a device.
    """
    artifact = read_artifact(path, verify_weights=False)
    manifest, memory = artifact.manifest, _arena_bytes(artifact.plan)
    graph, plan, weights = (manifest.entries[name].bytes for name in (GRAPH, PLAN, WEIGHTS))
    device = "tbe_kernels_size[0 B], cust_aicpu_kernel_store_size[0 B]"
    sizes = f"modeldef_size[{graph} B], weight_data_size[{weights} B], {device}, task_info_size[{plan} B]"
    lines = [
        "============ Display Model Info start ============",
        f"Original Atc command line: {_command_line(manifest)}",
        f"system   info: atc_version[{manifest.tool}], soc_version[cpu], framework_type[5].",
        f"resource info: memory_size[{memory} B], weight_size[{weights} B], stream_num[1], event_num[0].",
        f"om       info: {sizes}, so_store_size[0 B].",
        "============ Display Model Info end   ============",
    ]
    return "\n".join(lines) + "\n"


def _arena_bytes(plan: Plan) -> int:
    """Bytes at the greatest extents, or in the gear that needs most of them; `UNKNOWN` where there are no greatest."""
    greatest = {symbol: plan.limits.get(symbol, (0, None))[1] for symbol in plan.symbols}
    known = {symbol: most for symbol, most in greatest.items() if most is not None}
    if len(known) < len(greatest) and not plan.gears:
        return UNKNOWN
    return max(_plan_bytes(plan, dims) for dims in plan.gears or (known,))


def _plan_bytes(plan: Plan, dims: Mapping[str, int]) -> int:
    shapes = {
        name: evaluate_shape(buffer.shape, dims) for name, buffer in plan.buffers.items() if buffer.shape is not None
    }
    return plan_memory(plan, shapes).total


def _command_line(manifest: Manifest) -> str:
    """A command that makes the same artifact; folders are not stored, so files are named without theirs.

    What `atc` has no options for stands in the options of `autofusion compile`.
    """
    options = CompileOptions.from_settings(manifest.options)
    own = [*_own_options(options)]
    is_own = bool(own) or (options.bank is not None and "," in options.bank.name)
    if is_own:
        words = ["autofusion compile", manifest.source_name, *own]
    else:
        words = ["atc", f"--model={manifest.source_name}", "--framework=5", "--soc_version=cpu"]
    if options.shapes:
        shapes = ";".join(f"{name}:{','.join(map(str, shape))}" for name, shape in options.shapes.items())
        words.append(f'--input_shape="{shapes}"')
    if options.gears:
        words.append(f'--dynamic_dims="{";".join(_spell_gear(gear, options.shapes) for gear in options.gears)}"')
        words += [] if is_own else ["--input_format=ND"]
    if options.outputs:
        words.append(f'--out_nodes="{";".join(options.outputs)}"')
    if options.output_types:
        names = {text: name for name, text in OUTPUT_TYPES.items()}
        types = ";".join(f"{name}:{names[dtype.value]}".lstrip(":") for name, dtype in options.output_types.items())
        words.append(f'--output_type="{types}"')
    if options.exact:
        words.append("--exact" if is_own else "--op_select_implmode=high_precision")
    words += _precision_options(options.precision)
    words += _control_options(options.controls)
    if options.bank is not None:
        words += _bank_options(options.bank, own=is_own)
    folders = _pattern_folders(manifest)
    if folders and is_own:
        words += _repeat("--pattern_dir", folders)
    elif folders:
        # `atc` takes all folders in one option.
        words.append(f"--pattern_dir={shlex.quote(','.join(folders))}")
    if not options.controls.auto_fusion:
        words.append("--auto-fusion off" if is_own else "--oo_level=O1")
    return " ".join(words)


def _spell_gear(gear: Mapping[str, tuple[int, ...]], shapes: Mapping[str, tuple[Size, ...]]) -> str:
    """The numbers of a gear for the -1 of `shapes`, in order."""
    pairs = (pair for name in shapes for pair in zip(shapes[name], gear[name], strict=True))
    return ",".join(str(extent) for size, extent in pairs if size == -1)


def _own_options(options: CompileOptions) -> Iterator[str]:
    """The options of `autofusion compile` that `atc` has no counterpart of, where they differ from what is usual."""
    usual = CompileOptions()
    if options.backend != usual.backend:
        yield f"--backend {options.backend}"
    for name, extent in options.dims.items():
        yield f"--dim {name}={extent}"


def _control_options(controls: Controls) -> Iterator[str]:
    """The options for what fusion may do, as `atc` and `autofusion compile` both have them."""
    if controls.level != Controls().level:
        yield f"--fusion_level={controls.level}"
    lists = (
        ("fusion_blacklist", controls.disabled),
        ("fusion_whitelist", controls.whitelist),
        ("no_fusion_ops", controls.no_fusion_ops),
        ("fusion_scope", controls.scope),
    )
    for option, names in lists:
        if names:
            yield f'--{option}="{",".join(names)}"'
    for by, states in controls.switches.items():
        if by.replace("-", "_") == "__optimization_switch":
            text = ";".join(f"{name}:{'on' if on else 'off'}" for name, on in states.items())
            yield f'--optimization_switch="{text}"'
        else:
            yield f"--fusion_switch_file={shlex.quote(by)}"
    for by in dict.fromkeys(controls.skip_nodes.values()):
        yield f"--skip_node_names_cfg={shlex.quote(by)}"
    for by in dict.fromkeys(rule.by for rule in controls.rules):
        yield f"--fusion_rules={shlex.quote(by)}"


def _precision_options(precision: Precision) -> Iterator[str]:
    if precision.mode != Precision().mode:
        yield f"--precision_mode={precision.mode}"
    for by in dict.fromkeys((*precision.keep_nodes.values(), *precision.keep_types.values())):
        yield f"--keep_dtype={shlex.quote(by)}"


def _bank_options(bank: Bank, *, own: bool) -> Iterator[str]:
    """The options for a bank; of `atc` those for the sections of which something was taken."""
    sections = {key.section for key in bank.choices}
    if own:
        yield from (f"--bank {shlex.quote(name)}" for name in bank.name.split(","))
    if not own and "operators" in sections:
        yield f"--op_bank_path={shlex.quote(bank.name)}"
    if not own and "graph" in sections:
        yield f"--mdl_bank_path={shlex.quote(bank.name)}"
    if bank.target != ANY:
        yield f"--bank_target={shlex.quote(bank.target)}"


def _repeat(option: str, values: list[str]) -> list[str]:
    return [f"{option}={shlex.quote(value)}" for value in values]


def _pattern_folders(manifest: Manifest) -> list[str]:
    folders = manifest.options.get("patterns")
    return [str(folder) for folder in folders] if isinstance(folders, list) else []
