"""The words of pattern files: kernels, passes, named predicates of where-clauses with what they take and promise.

`fusion.predicates` implements the predicates, `fusion.passes` the passes; nothing else may be called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

KERNELS: Mapping[str, tuple[str, ...]] = {
    "conv": ("Conv",),
    "matmul": ("MatMul", "Gemm", "LayerNormalization", "RMSNormalization"),
    "norm": ("Add",),
    "embedding": ("Gather",),
    "attention": (),
    "rotary": (),
    "pointwise": (),
    "chain": (),
}
"""What may decode the body of a fused node, with the operators that it may begin with; () for any."""

PASSES: Mapping[str, str] = {
    "joint_products": "two to four products of one value with constant matrices, with a bias each or none",
    "rotary_heads": "rotary position embedding with the views that only it needs",
    "multi_head_attention": "attention with the heads, the repeated keys and the past that only it reads",
    "pointwise_cluster": "elementwise operators of one shape that hand one result on, and a reduction of the last axis",
}
"""Fusions that graph text cannot say, with what each finds."""

Kind = Literal["statement", "any"]


@dataclass(frozen=True)
class PredicateRule:
    """One predicate: the kinds of its arguments and a sentence for the documentation.

    With `is_variadic` the last kind may repeat.  An argument of kind "any" is a value or
    a statement's first result.
    """

    kinds: tuple[Kind, ...]
    is_variadic: bool
    summary: str


PREDICATES: Mapping[str, PredicateRule] = {
    "one_float_type": PredicateRule(("any",), True, "all values have the same floating element type"),
    "same_shape": PredicateRule(("any", "any"), False, "both values have the same shape, extent by extent"),
    "broadcasts": PredicateRule(
        ("any", "any"), False, "the first value broadcasts to the second without widening it in extent or rank"
    ),
    "along_last_axis": PredicateRule(
        ("any", "any"), False, "the first value is one number, or runs along the last axis of the second and no other"
    ),
    "swaps_last_two": PredicateRule(
        ("statement",), False, "the transposition exchanges the last two axes and no others"
    ),
    "per_channel": PredicateRule(
        ("any", "any"), True, "all values after the first are vectors as long as the first's leading axis"
    ),
    "is_inference": PredicateRule(("statement",), False, "the normalization uses its stored statistics"),
    "reduces_to_channels": PredicateRule(
        ("statement",), False, "the pooling leaves one element for every sample and channel"
    ),
    "keeps_channels": PredicateRule(
        ("any", "any"), False, "the first value is the second's [batch, channels], other axes of extent 1 dropped"
    ),
    "per_column": PredicateRule(
        ("any", "any"), True, "the first value is a matrix, the others are vectors as long as its rows"
    ),
    "per_filter": PredicateRule(
        ("statement", "any"),
        True,
        "the values are vectors with one element for each channel that the ConvTranspose makes",
    ),
    "along_axis_one": PredicateRule(
        ("any", "any"), False, "the first value is one number, or runs along axis 1 of the second and no other"
    ),
    "folds_in_range": PredicateRule(
        ("statement", "statement"), False, "scale and shift of the normalization keep weight and bias finite"
    ),
    "pads_with_zeros": PredicateRule(
        ("statement", "statement"), False, "the Pad puts zeros round the image axes, so its reader's own pads can do it"
    ),
    "counts_padding": PredicateRule(
        ("statement",), False, "the pool averages over padded cells too, or has none, and rounds its extents down"
    ),
    "is_gate": PredicateRule(("statement",), False, "the node's last operator is Sigmoid or HardSigmoid"),
    "shuffles_channels": PredicateRule(
        ("statement", "statement"), False, "the first splits the channels of an image in groups, the second joins them"
    ),
    "result_like": PredicateRule(("any",), False, "the result of the match has the value's element type and shape"),
    "over_last_axes": PredicateRule(
        ("statement",), True, "the reductions take one and the same block of last axes, named by constants"
    ),
    "over_one_axis": PredicateRule(("statement",), True, "the reductions take one and the same axis"),
    "over_channels": PredicateRule(("statement",), True, "the reductions take axis 1 and no other"),
    "spans": PredicateRule(
        ("statement", "any"), True, "each value has just the extents that the reduction reduces, in their order"
    ),
    "widens": PredicateRule(("statement",), True, "the casts give a wider floating type"),
    "is_one": PredicateRule(("any",), True, "the constants hold nothing but ones"),
    "is_zero": PredicateRule(("any",), True, "the constants hold nothing but zeros"),
    "along_channels": PredicateRule(
        ("any", "any"), True, "the values after the first hold one element a channel, along axis 1 of the first"
    ),
    "groups_channels": PredicateRule(
        ("any", "any"), False, "the first value is the second read as [batch, groups, ...], whole channels in a group"
    ),
    "halves": PredicateRule(
        ("statement", "statement"), False, "the slices are the first and the second half of the last axis"
    ),
    "alternates": PredicateRule(
        ("statement", "statement"), False, "the slices are the elements of even and of odd place of the last axis"
    ),
    "leads": PredicateRule(
        ("statement", "statement"), False, "the first slice is the beginning of the last axis, the second one the rest"
    ),
    "splits_evenly": PredicateRule(("statement",), False, "the Split gives two equal halves of the last axis"),
    "adds_last_axis": PredicateRule(("statement",), True, "each view puts one axis of extent 1 behind the last"),
    "pairs_up": PredicateRule(("any", "any"), False, "the first value is the second with its last axis read as pairs"),
    "repeats_heads": PredicateRule(
        ("any", "any", "any"),
        False,
        "the first value is the third, [batch, heads, rows, width], with every head repeated, by way of the second",
    ),
    "takes_last_axis": PredicateRule(("statement",), False, "the operator runs along the last axis of its operand"),
    "attends": PredicateRule(
        ("statement", "statement"),
        False,
        "both products have rank 3 or 4, and the second has the axes of the first but for the last",
    ),
    "meets_scores": PredicateRule(
        ("any", "statement"),
        False,
        "the first value, which the node reads, broadcasts to the scores that it reads without widening them",
    ),
    "is_one_attention": PredicateRule(
        ("statement",), False, "the nodes of the match are one call of the attention kernel"
    ),
    "fits_block": PredicateRule(
        ("statement",),
        False,
        "scale and shift have the extents of the normalized axes, or are constants that broadcast",
    ),
    "feeds_no_product": PredicateRule(
        ("statement",), False, "the normalization is not read by matrix products alone that could do it themselves"
    ),
    "takes_sum": PredicateRule(
        ("statement", "any", "any"),
        False,
        "the same, or the first value and the second are variable and none of them a product that could do their sum",
    ),
    "reads_rows": PredicateRule(
        ("statement", "any"), False, "the node reads the value only as rows to multiply by constant matrices"
    ),
}
