"""Old forms that wait for a rank: they become canonical once it is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from autofusion.frontend import read_model
from autofusion.passes import run_passes
from frontend.models import assert_same, parse, random, run_graph, run_runtime, save

COUNTED = """g (float[n, s, 4] x) => (float[a, b, c] y)
    <int64[1] one = {1}, int64[1] two = {2}>
    { e = Shape(x) l = Slice(e, one, two) o = ConstantOfShape<value = int64[1] {1}>(l)
      i = NonZero(o) t = Transpose<perm = [1, 0]>(i) q = Squeeze<axes = [1]>(t)
      z = Gather<axis = 1>(x, q) y = Softmax<axis = AXIS>(z) }"""


@pytest.mark.parametrize(("axis", "opset"), [(2, 11), (1, 11), (-1, 12)])
def test_a_softmax_of_an_old_opset_waits_for_its_rank(tmp_path: Path, axis: int, opset: int) -> None:
    proto = parse(COUNTED.replace("AXIS", str(axis)), opset)
    graph = read_model(save(proto, tmp_path)).graph
    assert any(node.opaque for node in graph)
    run_passes(graph)
    assert not any(node.opaque for node in graph)
    feeds = {"x": random(1, 2, 5, 4)}
    assert_same(run_runtime(proto, feeds), run_graph(graph, feeds))
