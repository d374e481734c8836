"""Bindings that build on earlier ones, at dims that differ in part."""

from __future__ import annotations

import pytest

from autofusion.plan import Buffer, Plan, Step
from autofusion.runtime.binding import Binding, bind


def make_plan() -> Plan:
    """Elementwise steps over one symbol each, a product over both with scratch memory, a step with a size."""
    shapes = {"x": ("n", 4), "y": (3, "m"), "a": ("n", 4), "b": (3, "m"), "p": ("n*m", 4), "q": ("n*m", 4)}
    inputs = {name: Buffer(name, "float", shapes[name], "input") for name in ("x", "y")}
    inner = {name: Buffer(name, "float", shapes[name]) for name in ("a", "b", "p")}
    output = {"q": Buffer("q", "float", ("n*m", 4), "output")}
    steps = (
        Step("unary", "a", "Relu", ("x",), ("a",), {"op": "Relu"}),
        Step("unary", "b", "Relu", ("y",), ("b",), {"op": "Relu"}),
        Step("strided", "p", "Expand", ("a",), ("p",), {"extents": ["n", "m", 4], "view": [0, 4, 0, 1]}),
        Step("unary", "q", "Relu", ("p",), ("q",), {"op": "Relu"}),
    )
    return Plan("native", ("x", "y"), ("q",), ("n", "m"), {**inputs, **inner, **output}, (), steps)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_binding_that_builds_on_an_earlier_one_is_the_same(threads: int) -> None:
    plan = make_plan()
    earlier: Binding | None = None
    for n, m in ((1, 1), (1, 2), (2, 2), (2, 2), (16, 2), (17, 3), (0, 3), (1, 1)):
        dims = {"n": n, "m": m}
        fresh, earlier = bind(plan, dims, threads), bind(plan, dims, threads, earlier)
        assert fresh.records.tobytes() == earlier.records.tobytes()
        assert (fresh.places, fresh.memory, fresh.segments) == (earlier.places, earlier.memory, earlier.segments)
        assert (fresh.shapes, fresh.dims) == (earlier.shapes, earlier.dims)
