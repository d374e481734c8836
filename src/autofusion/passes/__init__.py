"""Passes over a graph: folding, removal of what does nothing, shapes."""

from autofusion.passes.dead import remove_dead
from autofusion.passes.driver import PassRecord, run_passes
from autofusion.passes.fold import FOLD_BUDGET, Allowance, fold_constants
from autofusion.passes.halves import HALVES, ROUNDING_DOMAIN, can_carry, carry_halves, find_halves
from autofusion.passes.identity import remove_identities
from autofusion.passes.outputs import cast_outputs
from autofusion.passes.redirect import redirect, rename_result
from autofusion.passes.shapes import infer_shapes

__all__ = [
    "FOLD_BUDGET",
    "HALVES",
    "ROUNDING_DOMAIN",
    "Allowance",
    "PassRecord",
    "can_carry",
    "carry_halves",
    "cast_outputs",
    "find_halves",
    "fold_constants",
    "infer_shapes",
    "redirect",
    "remove_dead",
    "remove_identities",
    "rename_result",
    "run_passes",
]
