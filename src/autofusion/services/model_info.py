"""What an artifact says of itself, in the form in which CANN's tool displays a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from autofusion.artifact import Manifest, read_artifact
from autofusion.artifact.manifest import GRAPH, PLAN, WEIGHTS
from autofusion.plan import Plan, Setting, evaluate_shape
from autofusion.plan.memory import plan_memory

UNKNOWN = -1
"""What CANN shows for a size that is not known: with open extents, the memory of a run depends on its inputs."""


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
    if plan.symbols:
        return UNKNOWN
    shapes = {
        name: evaluate_shape(buffer.shape, {}) for name, buffer in plan.buffers.items() if buffer.shape is not None
    }
    return plan_memory(plan, shapes).total


def _command_line(manifest: Manifest) -> str:
    """A command that makes the same artifact; folders are not stored, so files are named without theirs."""
    words = ["atc", f"--model={manifest.source_name}", "--framework=5", "--soc_version=cpu"]
    shapes = manifest.options.get("shapes")
    if isinstance(shapes, dict) and shapes:
        words.append(f'--input_shape="{_spell_shapes(shapes)}"')
    return " ".join(words)


def _spell_shapes(shapes: Mapping[str, Setting]) -> str:
    return ";".join(f"{name}:{','.join(map(str, cast('list[Setting]', shape)))}" for name, shape in shapes.items())
