"""Graphs among the attributes of host steps: their JSON form, and what is refused in it."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autofusion.plan import Buffer, Plan, Step
from autofusion.plan.attributes import decode_attribute, encode_attribute
from autofusion.plan.nested import MAX_DEPTH, NestedGraph, NestedNode, NestedValue, check_attributes
from autofusion.plan.serial import dump_plan, parse_plan

INNER = NestedGraph(
    "inner",
    (),
    ("t", "k"),
    (NestedValue("float", (0, 3)), NestedValue(None, None)),
    (NestedNode("t", "Clip", "", 13, ("x", "", "k"), ("t",)),),
)
BODY = NestedGraph(
    "body",
    ("i", "x"),
    ("r",),
    (NestedValue("int64", ()),),
    (
        NestedNode("c", "Less", "own", 9, ("i", "k"), ("c",), {"axes": (1, 2), "alpha": 0.5, "mode": "a"}),
        NestedNode("r", "If", "", 11, ("c",), ("r", ""), {"then_branch": INNER, "else_branch": INNER}),
    ),
)

# So deep that the JSON reader still takes it; from Python 3.12 a comprehension has no frame of its own.
READABLE = 700 if sys.version_info < (3, 12) else 1500

Damage = Callable[[dict[str, Any]], object]


def nest(depth: int) -> dict[str, NestedGraph]:
    """`depth` graphs in one another."""
    attributes: dict[str, NestedGraph] = {}
    for level in range(depth):
        result = f"r{level}"
        node = NestedNode("n", "If", "", 11, ("c",), (result,), attributes)
        attributes = {"then_branch": NestedGraph("g", (), (result,), (NestedValue(None, None),), (node,))}
    return attributes


def test_a_graph_reads_back_equal_from_a_plan() -> None:
    step = Step("host", "n", "Loop", (), ("y",), {"attributes": {"body": encode_attribute(BODY)}})
    plan = Plan("native", (), ("y",), (), {"y": Buffer("y", "", None, "output")}, (), (step,))
    read = parse_plan(dump_plan(plan)).steps[0].attributes["attributes"]
    assert decode_attribute(read["body"]) == BODY  # type: ignore[index,call-overload]
    check_attributes({"body": BODY}, {"k"})


@pytest.mark.parametrize("value", [1, 0.5, "a", (1, 2), (), (0.5,), ("a", "b")])
def test_plain_attributes_read_back_equal(value: object) -> None:
    assert decode_attribute(json.loads(json.dumps(encode_attribute(value)))) == value


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "bool", "complex64", "object"])
def test_arrays_read_back_equal(dtype: str) -> None:
    array = np.array([["1", ""], ["\u00e9", "2"]], object) if dtype == "object" else np.eye(2).astype(dtype)
    found = decode_attribute(json.loads(json.dumps(encode_attribute(array))))
    np.testing.assert_array_equal(found, array)
    assert found.dtype == array.dtype


def drop(key: str) -> Damage:
    return lambda record: record.pop(key)


def put(key: str, value: object) -> Damage:
    return lambda record: record.update({key: value})


def put_in_node(key: str, value: object) -> Damage:
    return lambda record: record["nodes"][0].update({key: value})


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (drop("values"), "lacks or should not have: values"),
        (put("extra", 1), "extra"),
        (put("inputs", "i"), "graph.inputs is 'i'"),
        (put("nodes", [1]), r"graph.nodes\[0\] is 1"),
        (put("values", [{"dtype": "float33", "shape": []}]), "'float33' is no element type"),
        (put("values", [{"dtype": None, "shape": [-1]}]), "which is no shape"),
        (put("values", [{"dtype": None, "shape": ["n"]}]), "not of type int"),
        (put_in_node("opset", True), "opset is True"),
        (put_in_node("outputs", [None]), "outputs is None"),
        (put_in_node("attributes", {"a": {"what": 1}}), "is no attribute of a host step"),
        (put_in_node("attributes", {"a": {"tensor": {}, "graph": {}}}), "is no attribute of a host step"),
        (put("values", []), "describes 0 outputs, not 1"),
        (put("inputs", ["i", "x", "i"]), "defines 'i', which is defined already"),
        (put("inputs", ["i", "x", "k"]), "defines 'k', which is defined already"),
        (put("inputs", ["i", "x", ""]), "defines ''"),
        (put("inputs", ["x"]), "node 'c' of graph 'body' reads 'i' before it is written"),
        (put("outputs", ["t"]), "graph 'body' does not give 't'"),
        (put_in_node("outputs", ["x"]), "defines 'x', which is defined already"),
        (put_in_node("inputs", ["r"]), "reads 'r' before it is written"),
        (put_in_node("name", "r"), "has two nodes of one name"),
    ],
)
def test_damage_is_refused(damage: Damage, reason: str) -> None:
    record = copy.deepcopy(encode_attribute(BODY))
    damage(record["graph"])  # type: ignore[index,call-overload]
    with pytest.raises(ValueError, match=reason):
        check_attributes({"body": decode_attribute(record)}, {"k"})


def test_what_is_captured_must_be_there() -> None:
    with pytest.raises(ValueError, match="reads 'k' before it is written"):
        check_attributes({"body": BODY}, frozenset())


def test_depth_is_limited() -> None:
    check_attributes(nest(MAX_DEPTH), {"c"})
    with pytest.raises(ValueError, match=f"more than {MAX_DEPTH} deep"):
        check_attributes(nest(MAX_DEPTH + 1), {"c"})


@pytest.mark.parametrize("brackets", [("[", "]"), ('{"a":', "}")])
@pytest.mark.parametrize("depth", [READABLE, 100_000])
def test_endless_nesting_is_refused(depth: int, brackets: tuple[str, str]) -> None:
    text = dump_plan(Plan("native", (), (), (), {}, (), (Step("host", "n", "If", (), (), {"a": 1}),)))
    deep = brackets[0] * depth + "1" + brackets[1] * depth
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_plan(text.replace('"a":1', f'"a":{deep}'))
