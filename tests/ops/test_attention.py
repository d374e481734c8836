"""What is known of the results of Attention, in terms of symbols."""

from __future__ import annotations

import pytest

from autofusion.errors import ModelError
from autofusion.ir import Node
from autofusion.ops import canonicalize, infer
from ops.sketch import Sketch


def shapes(sketch: Sketch, *operands: str, **attributes: object) -> list[str]:
    results = ("y", "present_key", "present_value", "scores")
    (node,) = canonicalize(Node("a", "Attention", operands, results, attributes), 23, sketch.scope)
    for value in infer(node, sketch.scope):
        sketch.scope.graph.set_value(value)
    return [sketch.shape(name) for name in results]


def test_heads() -> None:
    sketch = Sketch(q="b 6 s 8", k="b 2 t 8", v="b 2 t 5")
    assert shapes(sketch, "q", "k", "v") == ["b 6 s 5", "b 2 t 8", "b 2 t 5", "b 6 s t"]


def test_rows_of_heads() -> None:
    sketch = Sketch(q="b s 48", k="b t 16", v="b t 10")
    found = shapes(sketch, "q", "k", "v", q_num_heads=6, kv_num_heads=2)
    assert found == ["b s 30", "b 2 t 8", "b 2 t 5", "b 6 s t"]


def test_the_past_is_ahead() -> None:
    sketch = Sketch(q="b 6 s 8", k="b 2 t 8", v="b 2 t 5", pk="b 2 p 8", pv="b 2 p 5")
    assert shapes(sketch, "q", "k", "v", "", "pk", "pv")[1:] == ["b 2 p+t 8", "b 2 p+t 5", "b 6 s p+t"]


def test_what_is_unknown_stays_unknown() -> None:
    sketch = Sketch(q="b 6 s 8", k="b 2 t 8")
    sketch.input("v", None)
    assert shapes(sketch, "q", "k", "v")[0] == "?"


@pytest.mark.parametrize(
    ("q", "words", "message"),
    [("b 8", {}, "has rank 2, expected 3 or 4"), ("b s 8", {}, "rows of heads need 'q_num_heads'")],
)
def test_contradictions(q: str, words: dict[str, int], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        shapes(Sketch(q=q, k="b 2 t 8", v="b 2 t 8"), "q", "k", "v", **words)
