"""Every way in which a plan may not hang together is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from autofusion.artifact import ArtifactContents
from autofusion.artifact.checks import check_plan
from autofusion.plan import Buffer, Plan, Step, Tensor

Contents = Callable[..., ArtifactContents]


@pytest.fixture
def plan(contents: Contents) -> Plan:
    return contents().plan


def with_buffer(plan: Plan, buffer: Buffer) -> Plan:
    return plan._replace(buffers={**plan.buffers, buffer.name: buffer})


def with_step(plan: Plan, index: int, **changes: Any) -> Plan:
    steps = list(plan.steps)
    steps[index] = steps[index]._replace(**changes)
    return plan._replace(steps=tuple(steps))


def test_a_sound_plan_passes(plan: Plan) -> None:
    check_plan(plan, 79)


@pytest.mark.parametrize("size", [78, 12, 0])
def test_tensors_lie_inside_the_weights(plan: Plan, size: int) -> None:
    with pytest.raises(ValueError, match=r"tensor '[ks]' does not lie inside the weights"):
        check_plan(plan, size)


@pytest.mark.parametrize(
    ("tensor", "reason"),
    [
        (Tensor("k", "float", (3,), -64, 12), "does not lie inside"),
        (Tensor("k", "float", (3,), 4, 12), "does not lie inside"),
        (Tensor("k", "float", (3,), 0, -12), "does not lie inside"),
        (Tensor("k", "float", (4,), 0, 12), "which its shape does not fill"),
        (Tensor("k", "float", (-1, -3), 0, 12), "no possible shape"),
        (Tensor("k", "float32", (3,), 0, 12), "no element type"),
    ],
)
def test_tensors(plan: Plan, tensor: Tensor, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        check_plan(plan._replace(tensors=(tensor, plan.tensors[1])), 79)


@pytest.mark.parametrize(
    ("buffer", "reason"),
    [
        (Buffer("sum", "floaty", ("batch", 3)), "'floaty' is no element type"),
        (Buffer("sum", "float", (-1, 3)), "impossible extent -1"),
        (Buffer("sum", "float", (1 << 60, 3)), "impossible extent"),
        (Buffer("sum", "float", ("batch", "3 +")), "no size"),
        (Buffer("sum", "float", ("batch", "seq")), "depends on 'seq', which is no symbol"),
        (Buffer("sum", "float", ("1+" * 3000 + "1",)), "an extent of 6001 characters"),
        (Buffer("sum", "float", (1,) * 65), "too many axes"),
        (Buffer("sum", "float", ("batch", 3), layout="nhwc"), "layout nhwc does not have"),
        (Buffer("sum", "float", (1, 3, 4), pitch=4), "a pitch that its layout does not have"),
        (Buffer("sum", "float", (1, 3, 4), layout="nhwc", pitch=0), "a pitch that its layout does not have"),
        (Buffer("flat", "float", ("batch*3",), alias="sum", offset=1), "has an offset and is no view"),
        (Buffer("sum", "float", ("batch", 3), tensor=0), "has a tensor and is computed"),
        (Buffer("k", "float", (3,), "constant", tensor=2), "a tensor that is not there"),
        (Buffer("k", "float", (3,), "constant"), "a constant without bytes"),
        (Buffer("flat", "float", ("batch*3",), alias="nothing"), "'nothing', which is not there"),
        (Buffer("flat", "float", ("batch*3",), alias="flat"), "'flat', which has none of its own"),
        (Buffer("sum", "float", ("batch", 3), alias="flat"), "which has none of its own"),
        (Buffer("y", "float", ("batch*3",)), "output 'y' lies in memory that later steps may use"),
        (Buffer("flat", "int32", ("batch*3",), alias="sum"), "which has another type"),
        (Buffer("flat", "float", None, alias="sum"), "extent only a run can tell"),
        (Buffer("x", "float", ("batch", 3), "input", alias="sum"), "input 'x' shares the bytes of 'sum'"),
        (Buffer("x", "float", None, "input"), "a buffer whose shape only a run can tell"),
        (Buffer("x", "float", ("batch", 3)), "input 'x' is no input buffer"),
        (Buffer("sum", "float", ("batch", 3), "input"), "'sum' is an input that the plan does not list"),
        (Buffer("sum", "float", None), "a buffer whose shape only a run can tell"),
    ],
)
def test_buffers(plan: Plan, buffer: Buffer, reason: str) -> None:
    changed = plan if buffer.name != "sum" or buffer.shape is not None else with_buffer(plan, _detached(plan))
    with pytest.raises(ValueError, match=reason):
        check_plan(with_buffer(changed, buffer), 79)


def _detached(plan: Plan) -> Buffer:
    return plan.buffers["flat"]._replace(alias=None)


@pytest.mark.parametrize(
    ("index", "changes", "reason"),
    [
        (0, {"kernel": "warp"}, "kernel 'warp', which does not exist"),
        (0, {"inputs": ("x", "q")}, "names 'q', which is no buffer"),
        (0, {"outputs": ("q",)}, "names 'q', which is no buffer"),
        (0, {"inputs": ("x", "k", "k")}, "more operands than kernel binary"),
        (0, {"outputs": ("sum", "y")}, "has 2 results, which kernel binary has not"),
        (0, {"outputs": ("",)}, "has 1 results, which kernel binary has not"),
        (0, {"inputs": ("x",)}, "lacks operand b"),
        (0, {"inputs": ("", "k")}, "lacks operand a"),
        (0, {"attributes": {"op": "Add", "colour": 1}}, "'colour', which kernel binary does not have"),
        (0, {"inputs": ("y", "k")}, "reads 'y' before it is written"),
        (0, {"outputs": ("x",)}, "writes 'x', which is written already"),
        (0, {"outputs": ("k",)}, "writes 'k', which is written already"),
        (1, {"outputs": ("flat",)}, "writes 'flat', which is written already"),
        (1, {"outputs": ("sum",)}, "writes 'sum', which is written already"),
    ],
)
def test_steps(plan: Plan, index: int, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        check_plan(with_step(plan, index, **changes), 79)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (None, "has no values"),
        ([1, 1.5], "no extent"),
        ([1, True], "no extent"),
        ([1, "seq"], "'seq', which is no symbol"),
        ([1, "import os"], "no size"),
        (["batch"], "has 1 values for int64 of shape"),
        (["batch", 1, 2], "has 3 values for int64 of shape"),
    ],
)
def test_extents(plan: Plan, values: Any, reason: str) -> None:
    shape = Buffer("shape", "int64", (2,))
    step = Step("extents", "shape", "Shape", (), ("shape",), {"values": values})
    changed = with_buffer(plan._replace(steps=(step, *plan.steps)), shape)
    with pytest.raises(ValueError, match=reason):
        check_plan(changed, 79)
    fine = changed._replace(steps=(step._replace(attributes={"values": ["batch - 4", -1]}), *plan.steps))
    check_plan(fine, 79)
    with pytest.raises(ValueError, match="has 2 values for float"):
        check_plan(with_buffer(fine, Buffer("shape", "float", (2,))), 79)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"inputs": ("x", "x")}, "input 'x' occurs twice"),
        ({"outputs": ("y", "y")}, "output 'y' occurs twice"),
        ({"symbols": ("batch", "batch")}, "a symbol occurs twice"),
        ({"inputs": ("q",)}, "input 'q' is no input buffer"),
        ({"outputs": ("q",)}, "output 'q' is not written"),
        ({"steps": ()}, "output 'y' is not written"),
        ({"limits": {"batch + seq": (1, 2)}}, "limits are those of 'batch \\+ seq', which is no size over symbols"),
        ({"limits": {"import os": (1, 2)}}, "no size"),
        ({"limits": {"batch": (-1, 2)}}, "extent 'batch' has the impossible limits -1 and 2"),
        ({"limits": {"batch": (3, 2)}}, "extent 'batch' has the impossible limits 3 and 2"),
        ({"limits": {"batch": (1 << 50, None)}}, "extent 'batch' has the impossible limits"),
        ({"gears": ({},)}, "a gear does not have an extent for each symbol"),
        ({"gears": ({"batch": -1},)}, "a gear has the impossible extent -1 for 'batch'"),
        ({"gears": ({"batch": 5},), "limits": {"batch": (1, 4)}}, "a gear has the impossible extent 5 for 'batch'"),
    ],
)
def test_plans(plan: Plan, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        check_plan(plan._replace(**changes), 79)
