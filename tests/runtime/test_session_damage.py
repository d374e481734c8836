"""Plans with random damage are refused, or run: never a crash, never an exception of another kind."""

from __future__ import annotations

import copy
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from autofusion.artifact import join_weights
from autofusion.artifact.checks import check_plan
from autofusion.errors import AutofusionError
from autofusion.plan import Buffer, Plan, Step
from autofusion.plan.serial import dump_plan, parse_plan
from autofusion.runtime import open_session

MakePlan = Callable[..., tuple[Plan, tuple[np.ndarray, ...]]]

NO_ACTIVATION = {"activation": "", "alpha": 0.0, "beta": 0.0}
WINDOW = {"kernel": [2, 2], "strides": [1, 1], "pads": [0, 0, 0, 0], "dilations": [1, 1]}
PRODUCT = {"trans_a": False, "trans_b": False, "scale": 1.0, "packed": False}
BUFFERS = [
    Buffer("x", "float", ("n", 3, 6, 6), "input"),
    Buffer("stored", "float", ("n", 3, 6, 6), layout="nhwc", pitch=16),
    Buffer("scaled", "float", ("n", 3, 6, 6), layout="nhwc"),
    Buffer("pooled", "float", ("n", 3, 5, 5), layout="nhwc", pitch=4),
    Buffer("back", "float", ("n", 3, 5, 5)),
    Buffer("rows", "float", ("3*n", 25), alias="back"),
    Buffer("sums", "float", ("3*n", 25)),
    Buffer("y", "float", ("3*n", 4), "output"),
    Buffer("size", "int64", (2,), "output"),
]
STEPS = [
    Step("relayout", "in", "Conv", ("x",), ("stored",)),
    Step("affine", "bn", "BatchNormalization", ("stored", "scale", "scale"), ("scaled",), NO_ACTIVATION),
    Step(
        "pool",
        "p",
        "MaxPool",
        ("scaled",),
        ("pooled",),
        {"kind": "max", "is_global": False, **WINDOW, "include_pad": False},
    ),
    Step("relayout", "out", "MaxPool", ("pooled",), ("back",)),
    Step("host", "h", "Sign", ("rows",), ("sums",), {"op": "Sign", "domain": "", "opset": 13, "attributes": {}}),
    Step("matmul", "mm", "MatMul", ("sums", "w", "b"), ("y",), {**PRODUCT, **NO_ACTIVATION}),
    Step("extents", "s", "Shape", (), ("size",), {"values": ["3*n", 4]}),
]
CONSTANTS = {"scale": np.ones(3, np.float32), "w": np.ones((25, 4), np.float32), "b": np.ones(4, np.float32)}

NUMBERS = (0, 1, -1, 2, 7, 64, 1000, 1 << 31, 1 << 40)
WORDS = (
    "",
    "n",
    "float",
    "int8",
    "nhwc",
    "plain",
    "inner",
    "output",
    "constant",
    "conv",
    "copy",
    "host",
    "binary",
    "Relu",
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all leaves and lists of a JSON value."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
        return
    yield path
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, (*path, index))


def damage(record: Any, choice: random.Random) -> None:
    """Change one place of `record`."""
    *path, last = choice.choice(list(places(record)))
    holder = record
    for key in path:
        holder = holder[key]
    value = holder[last]
    if isinstance(value, bool):
        holder[last] = not value
    elif isinstance(value, int):
        holder[last] = choice.choice((*NUMBERS, value + 1, value - 1, 2 * value))
    elif isinstance(value, float):
        holder[last] = choice.choice((0.0, -1.0, 1e30, 1))
    elif isinstance(value, list) and value:
        value.append(copy.deepcopy(choice.choice(value))) if choice.random() < 0.5 else value.pop()
    else:
        holder[last] = choice.choice((*WORDS, *(buffer.name for buffer in BUFFERS), None, 3))


@pytest.mark.parametrize("backend", ["native", "reference"])
def test_damaged_plans(make_plan: MakePlan, backend: str) -> None:
    plan, arrays = make_plan(backend, BUFFERS, STEPS, CONSTANTS, symbols=["n"])
    weights = join_weights(plan.tensors, arrays)
    feeds = {"x": np.ones((2, 3, 6, 6), np.float32)}
    assert open_session(plan, weights).run(feeds)["y"].tolist() == [[26.0] * 4] * 6
    text = dump_plan(plan)
    choice = random.Random(0)
    ends: Counter[str] = Counter()
    for _ in range(400):
        record = json.loads(text)
        for _ in range(choice.choice((1, 1, 2))):
            damage(record, choice)
        try:
            damaged = parse_plan(json.dumps(record))
            check_plan(damaged, weights.nbytes)
        except ValueError:
            ends["unsound"] += 1
            continue
        try:
            open_session(damaged, weights, threads=1).run(feeds)
            ends["ran"] += 1
        except AutofusionError as error:
            ends[error.diagnostic.code] += 1
    assert min(ends["unsound"], ends["ran"], ends.total() - ends["unsound"] - ends["ran"]) > 20, ends
