"""The passes in order, repeated until none finds anything to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from autofusion.ir import Graph
from autofusion.ir.verify import verify_graph
from autofusion.passes.branches import inline_branches
from autofusion.passes.casts import remove_casts
from autofusion.passes.dead import remove_dead
from autofusion.passes.einsums import rewrite_einsums
from autofusion.passes.extents import share_extents
from autofusion.passes.fold import FOLD_BUDGET, Allowance, fold_constants
from autofusion.passes.forms import convert_forms
from autofusion.passes.identity import remove_identities
from autofusion.passes.idle import remove_idle
from autofusion.passes.indices import settle_indices
from autofusion.passes.joins import merge_joins
from autofusion.passes.limits import merge_limits
from autofusion.passes.neutral import remove_neutral
from autofusion.passes.parts import split_parts
from autofusion.passes.regions import merge_regions
from autofusion.passes.rows import free_rows
from autofusion.passes.shapes import infer_shapes
from autofusion.passes.slices import merge_slices
from autofusion.passes.transposes import merge_transposes
from autofusion.passes.turns import merge_turned_views
from autofusion.passes.twins import merge_twins
from autofusion.passes.units import drop_units
from autofusion.passes.views import merge_views

MAX_ROUNDS = 16
"""More rounds than this are not worth their time; every round leaves a correct graph."""


@dataclass(frozen=True)
class PassRecord:
    """How much one pass changed, over all rounds."""

    name: str
    changes: int


def run_passes(
    graph: Graph,
    *,
    fold_budget_bytes: int = FOLD_BUDGET,
    verify: Callable[[Graph, str], None] = verify_graph,
) -> tuple[PassRecord, ...]:
    """Clean `graph` in place until nothing changes; `verify` is called with the name of each pass that changed it."""
    passes: dict[str, Callable[[Graph], int]] = {
        "remove_identities": remove_identities,
        "fold_constants": partial(fold_constants, allowance=Allowance.of(graph, fold_budget_bytes)),
        "convert_forms": convert_forms,
        "inline_branches": inline_branches,
        "rewrite_einsums": rewrite_einsums,
        "remove_casts": remove_casts,
        "remove_neutral": remove_neutral,
        "remove_idle": remove_idle,
        "settle_indices": settle_indices,
        "merge_views": merge_views,
        "split_parts": split_parts,
        "free_rows": free_rows,
        "drop_units": drop_units,
        "merge_transposes": merge_transposes,
        "merge_turned_views": merge_turned_views,
        "merge_regions": merge_regions,
        "merge_slices": merge_slices,
        "merge_joins": merge_joins,
        "merge_limits": merge_limits,
        "remove_dead": remove_dead,
        "share_extents": share_extents,
        "merge_twins": merge_twins,
        "infer_shapes": infer_shapes,
    }
    changes = dict.fromkeys(passes, 0)
    for _ in range(MAX_ROUNDS):
        before = sum(changes.values())
        for name, run in passes.items():
            changed = run(graph)
            if changed:
                verify(graph, name)
            changes[name] += changed
        if sum(changes.values()) == before:
            break
    return tuple(PassRecord(name, count) for name, count in changes.items())
