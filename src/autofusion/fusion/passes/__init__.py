"""Fusions that graph text cannot say, by the name under which the header of a pattern file calls for them.

A pass is a function of a scope and the pattern with its header: it finds regions, and what nearly was one, and
changes nothing.  `fuse` judges them by the controls and by the rules on readers and cycles, and applies them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from autofusion.fusion.passes.joint_products import find_joint_products
from autofusion.fusion.passes.multi_head_attention import find_heads
from autofusion.fusion.passes.pointwise_cluster import find_clusters
from autofusion.fusion.passes.rotary_heads import find_rotations
from autofusion.fusion.region import Found
from autofusion.fusion.scope import Scope
from autofusion.patternlang.model import Pattern

FusionPass = Callable[[Scope, Pattern], Found]

FUSION_PASSES: Mapping[str, FusionPass] = {
    "joint_products": find_joint_products,
    "multi_head_attention": find_heads,
    "rotary_heads": find_rotations,
    "pointwise_cluster": find_clusters,
}
