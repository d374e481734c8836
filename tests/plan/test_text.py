"""The text of a plan."""

from __future__ import annotations

from autofusion.plan import Buffer, Plan, Step
from autofusion.plan.text import render_plan

PLAN = Plan(
    "native",
    ("x", "words"),
    ("long",),
    ("n",),
    {
        "x": Buffer("x", "float", ("n", 2), "input"),
        "words": Buffer("words", "string", (), "input"),
        "k": Buffer("k", "float", (2,), "constant", tensor=0),
        "m": Buffer("m", "float", ("n", 2)),
        "long": Buffer("long", "bfloat16", None, "output"),
    },
    (),
    (
        Step("softmax", "s", "Softmax", ("x", "", "k"), ("m",), {"axis": 0, "alpha": 0.0, "op": "", "packed": False}),
        Step("host", "named", "Odd", ("m", "words"), ("long",), {"op": "Odd", "attributes": {"mode": "floor"}}),
    ),
)

TEXT = """\
backend native

inputs
  x      float32  [n, 2]
  words  string   []

outputs
  long  bfloat16  [?]

steps (2)
  0  softmax   s      x [n, 2], _, const k [2] -> m [n, 2]  {axis=0}
  1  host Odd  named  m [n, 2], words [] -> long [?]        {mode=floor}
"""


def test_one_step_a_line_with_shapes_and_attributes() -> None:
    assert render_plan(PLAN) == TEXT


def test_a_plan_of_nothing() -> None:
    assert render_plan(Plan("reference", (), (), (), {}, (), ())).endswith("steps (0)\n")
