"""What a manual rule says, as a record, and the names that follow from its name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

MANUAL_LEVEL = 0
"""The fusion level of what manual rules make: they need none."""

EVERY_RESULT = "*"
"""Among `Rule.outputs`: whatever is read outside may be."""

Kind = Literal["any", "nodes", "ops"]


@dataclass(frozen=True)
class Rule:
    """One manual rule: nodes that become one fused node called `name`, or blocks, wherever they follow each other.

    `items` are names or globs of ONNX nodes where `kind` is "nodes", names of building blocks where it is "ops";
    "any" stands for nodes where one of the items names a node of the model, and for blocks otherwise.
    `outputs` lists what may be read outside as well as inside: values, nodes or, among blocks, blocks.
    Only nodes that fit one of the globs `scope` belong to the rule, all where there are none.  `by` says who gave it.
    """

    name: str
    items: tuple[str, ...]
    kind: Kind = "any"
    outputs: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    by: str = "fusion_rules"

    @property
    def op(self) -> str:
        """The operator of the fused node: `SelfAttentionFusionOp` for `self_attention`."""
        return "".join(word[0].upper() + word[1:] for word in re.split("[^A-Za-z0-9]+", self.name) if word) + "FusionOp"


def is_rule_name(text: str) -> bool:
    """True for a name that gives an operator its name: letters, digits and `_ - . /` after a letter."""
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9_./-]*", text) is not None
