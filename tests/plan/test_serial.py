"""The JSON form of a plan reads back as the same plan, and nothing else is read."""

from __future__ import annotations

import json
import math

import ml_dtypes
import numpy as np
import pytest

from autofusion.plan import Buffer, Plan, Step, Tensor
from autofusion.plan.dtypes import (
    ARRAY_NAMES,
    EXTENSIONS,
    STORAGE,
    STRING,
    decode_strings,
    element_type,
    encode_strings,
    storage_type,
)
from autofusion.plan.serial import dump_plan, parse_plan

STEP = Step(
    "host",
    "node",
    "Résumé",
    ("x", ""),
    ("y",),
    {"f": 0.1, "one": 1.0, "inf": math.inf, "list": [1, 2.5, "a", None, True], "map": {"deep": [-math.inf]}},
    ("a/b", 'c"d'),
)
PLAN = Plan(
    "native",
    ("x",),
    ("y",),
    ("n",),
    {"x": Buffer("x", "float", ("n", 2), "input", "nhwc", 16), "y": Buffer("y", "int64", None, "output")},
    (Tensor("k", "float", (2, 3), 64, 24),),
    (STEP,),
)


def test_plan_reads_back_equal() -> None:
    assert parse_plan(dump_plan(PLAN)) == PLAN


def test_types_of_numbers_survive() -> None:
    attributes = parse_plan(dump_plan(PLAN)).steps[0].attributes
    assert isinstance(attributes["one"], float)
    assert attributes["list"] == [1, 2.5, "a", None, True]
    assert isinstance(attributes["list"], list)
    assert isinstance(attributes["list"][0], int)


def test_nan_survives() -> None:
    plan = PLAN._replace(steps=(STEP._replace(attributes={"alpha": math.nan}),))
    alpha = parse_plan(dump_plan(plan)).steps[0].attributes["alpha"]
    assert isinstance(alpha, float)
    assert math.isnan(alpha)


def test_text_is_plain_json_and_canonical() -> None:
    def refuse(token: str) -> None:
        raise AssertionError(token)

    text = dump_plan(PLAN)
    assert text.isascii()
    assert json.loads(text, parse_constant=refuse)["backend"] == "native"
    reordered = STEP._replace(attributes=dict(reversed(STEP.attributes.items())))
    assert text == dump_plan(PLAN._replace(steps=(reordered,)))


@pytest.mark.parametrize("value", [object(), np.int64(1), b"bytes", {"$float": "inf"}, {1: 2}])
def test_attributes_that_json_cannot_hold_are_refused(value: object) -> None:
    step = STEP._replace(attributes={"a": value})  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"attribute (value|names)"):
        dump_plan(PLAN._replace(steps=(step,)))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('"backend":"native"', '"backend":"cuda"', "plan.backend is 'cuda'"),
        ('"backend":"native",', "", "lacks or should not have: backend"),
        ('"symbols":["n"]', '"symbols":["n"],"extra":1', "extra"),
        ('"symbols":["n"]', '"symbols":["n"],"symbols":["n"]', "twice"),
        ('"symbols":["n"]', '"symbols":[1]', "plan.symbols is 1"),
        ('"shapes":[["n",2],', '"shapes":[["n",true],', r"plan.shapes\[0\] is True"),
        ('"shapes":[["n",2],', '"shapes":[["n",2.0],', r"plan.shapes\[0\] is 2.0"),
        ('"shapes":[["n",2],', '"shapes":["n",', r"plan.shapes\[0\] is 'n'"),
        ('"shapes":[["n",2],[2,3]]', '"shapes":{}', "plan.shapes is {}, not of type list"),
        ('"shapes":[["n",2],[2,3]]', '"shapes":[["n",2]]', r"plan.tensors.shape\[0\] is 1, and there are 1 of them"),
        (
            '"shapes":[["n",2],[2,3]]',
            '"shapes":[["n",2],[2,"n"]]',
            "plan.tensors has the shape .*, which is none of num",
        ),
        ('"shape":[0,null]', '"shape":[0]', "plan.buffers.shape has 1 items, plan.buffers.name has 2"),
        ('"shape":[0,null]', '"shape":[-1,null]', r"plan.buffers.shape\[0\] is -1, and there are 2 of them"),
        ('"shape":[0,null]', '"shape":[true,null]', r"plan.buffers.shape\[0\] is True"),
        ('"attributes":[0]', '"attributes":[1]', r"plan.steps.attributes\[0\] is 1, and there are 1 of them"),
        ('"layout":["nhwc","plain"]', '"layout":["nhwc","nchw"]', r"plan.buffers.layout\[1\] is 'nchw'"),
        ('"pitch":[16,', '"pitch":["16",', r"plan.buffers.pitch\[0\]"),
        ('"name":["x","y"]', '"name":["x","x"]', "two buffers of one name"),
        ('"name":["x","y"],', "", "plan.buffers lacks or should not have: name"),
        ('"alias":[null,', '"alias":[2,', r"plan.buffers.alias\[0\] is 2, and there are 2 of them"),
        ('"alias":[null,', '"alias":[-1,', r"plan.buffers.alias\[0\] is -1, and there are 2 of them"),
        ('"inputs":[[0,-1]]', '"inputs":[[0,-2]]', r"plan.steps.inputs\[0\] is -2, and there are 2 of them"),
        ('"inputs":[[0,-1]]', '"inputs":[[2,-1]]', r"plan.steps.inputs\[0\] is 2, and there are 2 of them"),
        ('"inputs":[[0,-1]]', '"inputs":[[true,-1]]', r"plan.steps.inputs\[0\] is True"),
        ('{"$float":"inf"}', '{"$float":"1e9"}', "no number"),
        ('"steps":{', '"steps":{"extra":[],', "plan.steps lacks or should not have: extra"),
        ('"kernel":["host"]', '"kernel":[[]]', r"plan.steps.kernel\[0\]"),
        ('"attributes":[{', '"attributes":[[],{', r"plan.attributes\[0\] is \[\], not of type dict"),
        ('"attributes":[0]', '"attributes":[0,0]', "plan.steps.attributes has 2 items, plan.steps.kernel has 1"),
        ('"tensors":{"bytes":[24]', '"tensors":{"bytes":24', "plan.tensors.bytes is 24"),
        ('"offset":[64', '"offset":[' + "9" * 5000, "digits"),
        ('"tensors":{', '"tensors":' + "[" * 100000, "nested too deeply"),
    ],
)
def test_anything_else_is_refused(old: str, new: str, reason: str) -> None:
    text = dump_plan(PLAN)
    assert old in text
    with pytest.raises(ValueError, match=reason):
        parse_plan(text.replace(old, new, 1))


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "\x00", b"\xff\xfe{", "1" * 10000])
def test_other_texts_are_refused(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        parse_plan(text)


def test_strings_survive_the_weights() -> None:
    strings = np.array([["a", ""], ["\u5f20\u91cf", 'q"']], object)
    assert np.array_equal(strings, decode_strings(encode_strings(strings), (2, 2)))


@pytest.mark.parametrize("data", [b"", b"{}", b"[1]", b'["a"]'])
def test_other_bytes_are_no_strings(data: bytes) -> None:
    with pytest.raises(ValueError):
        decode_strings(data, (2,))


def test_unknown_element_types_are_refused() -> None:
    assert storage_type("bfloat16") == np.dtype(np.uint16)
    with pytest.raises(ValueError, match="'float32' is no element type"):
        storage_type("float32")


@pytest.mark.parametrize("dtype", sorted(STORAGE))
def test_element_types_have_the_names_of_arrays(dtype: str) -> None:
    name = ARRAY_NAMES[dtype]
    assert element_type(name) == dtype
    if dtype != STRING and dtype not in EXTENSIONS:
        assert np.dtype(name) == storage_type(dtype)
    elif dtype != STRING:
        assert np.dtype(getattr(ml_dtypes, name)).name == name
