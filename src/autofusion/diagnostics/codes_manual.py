"""Codes of manual fusion (AF33x)."""

from __future__ import annotations

from autofusion.diagnostics.code import Code

MANUAL_CODES = (
    Code(
        "AF331",
        "unknown name in a manual rule",
        "A manual rule names something that is neither a node of the model nor a building block.",
        "The message names similar ones; docs/manual-fusion.md lists the blocks.",
    ),
    Code(
        "AF332",
        "manual rule without effect",
        "A manual rule is found nowhere in the model, or its nodes are all gone before fusion.",
        "The message says how far the best attempt came and what stood there.",
    ),
    Code(
        "AF333",
        "group not convex",
        "A value leaves the group of a manual rule, and what is made of it comes back.",
        "Take the nodes on that way into the rule, or the one that reads them out of it.",
    ),
    Code(
        "AF334",
        "value escapes a group",
        "A value that the group of a manual rule computes is read inside and outside of it.",
        "Take the reader into the rule, or list the value under `outputs`.",
    ),
    Code(
        "AF335",
        "control flow in a group",
        "A manual rule names a node with graphs of its own, or nodes of several graphs.",
        "Write a rule for the nodes of each graph.",
    ),
    Code(
        "AF336",
        "operator in a group",
        "A manual rule names a node that draws random numbers, or whose operator is unknown.",
        "Leave the node out of the rule.",
    ),
    Code(
        "AF337",
        "node in two groups",
        "A node belongs to two manual rules.",
        "Name it in one of the two alone.",
    ),
    Code(
        "AF338",
        "node kept out of a group",
        "A manual rule names a node that another option keeps out of every fusion.",
        "Leave the node out of the rule, or change the other option.",
    ),
    Code(
        "AF339",
        "name of a manual rule",
        "A manual rule has the name of another rule, or of an automatic fusion.",
        "Give the rule another name.",
    ),
)
