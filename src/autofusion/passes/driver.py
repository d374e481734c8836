"""The passes in order, repeated until none finds anything to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from autofusion.ir import Graph
from autofusion.ir.verify import verify_graph
from autofusion.passes.dead import remove_dead
from autofusion.passes.fold import FOLD_BUDGET, fold_constants
from autofusion.passes.identity import remove_identities
from autofusion.passes.shapes import infer_shapes

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
        "fold_constants": partial(fold_constants, budget_bytes=fold_budget_bytes),
        "remove_dead": remove_dead,
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
