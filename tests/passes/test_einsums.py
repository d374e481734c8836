"""Einsums written as products and Transposes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from autofusion.frontend import read_model
from autofusion.ir import Graph
from autofusion.ir.verify import verify_graph
from autofusion.passes.einsums import rewrite_einsums
from frontend.models import assert_same, model, node, random, run_graph, run_runtime, save, tensor
from passes.passing import ops

SHAPES = {
    "q": (2, 3, 4, 5),
    "k": (2, 3, 6, 5),
    "a": (2, 3, 4, 6),
    "m": (4, 5),
    "s": (4, 4),
    "w": (5, 3, 2),
    "x": (2, 7, 5),
    "one": (1, 3, 6, 5),
}


def rewrite(
    equation: str, operands: str, folder: Path, shapes: dict[str, tuple[int | str, ...]] | None = None
) -> Graph:
    """The graph of one Einsum when it is rewritten; its result is ONNX Runtime's, up to rounding."""
    names = operands.split()
    feeds = {name: random(place, *SHAPES[name]) for place, name in enumerate(dict.fromkeys(names))}
    declared = [tensor(name, (shapes or SHAPES)[name]) for name in feeds]
    proto = model([node("Einsum", operands, "y", equation=equation)], declared, [tensor("y", None)])
    graph = read_model(save(proto, folder)).graph
    rewrite_einsums(graph)
    verify_graph(graph, "the pass")
    before, after = run_runtime(proto, feeds), run_graph(graph, feeds)
    assert before["y"].shape == after["y"].shape
    np.testing.assert_allclose(after["y"], before["y"], rtol=1e-5, atol=1e-5)
    return graph


@pytest.mark.parametrize(
    ("equation", "operands", "left"),
    [
        ("bhid,bhjd->bhij", "q k", "Transpose MatMul"),
        ("b h i j, b h j d -> b h i d", "a k", "MatMul"),
        # Keys times queries, so that the result needs no Transpose.
        ("bhid,bhjd->bhji", "q k", "Transpose MatMul"),
        ("bhid,bhjd->bijh", "q k", "Transpose MatMul Transpose"),
        ("...ij,...jk->...ik", "a k", "MatMul"),
        ("...ij,...kj", "q k", "Transpose MatMul"),
        ("ab,ca", "m s", "MatMul Transpose"),
        ("bhij,bhjd->dihb", "a k", "MatMul Transpose"),
        # Projections to heads, and back from them.
        ("bse,ehd->bshd", "x w", "Reshape MatMul Reshape"),
        ("bse,ehd->bhsd", "x w", "Reshape MatMul Reshape Transpose"),
        ("bhid,dho->bio", "q w", "Transpose Reshape Transpose Reshape MatMul"),
        ("bhid,bhjd->bij", "q k", "Transpose Reshape Transpose Reshape MatMul"),
        ("ij->ji", "m", "Transpose"),
        ("bhij->jbih", "q", "Transpose"),
    ],
)
def test_products(tmp_path: Path, equation: str, operands: str, left: str) -> None:
    assert ops(rewrite(equation, operands, tmp_path)) == left


@pytest.mark.parametrize(
    ("equation", "operands"),
    [
        ("bhid,bhid->bhi", "q q"),
        ("ii->i", "s"),
        ("ij->j", "m"),
        ("ij,kl->ijkl", "m s"),
        ("bhid,bhjd->bhij", "q one"),
        ("ij,jk,kl->il", "s m w2"),
        ("ij,ij->ij", "m m"),
        ("iij,jk->ik", "x3 s"),
    ],
)
def test_what_is_no_product_stays(tmp_path: Path, equation: str, operands: str) -> None:
    names = dict(SHAPES, w2=(5, 6), x3=(4, 4, 4))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SHAPES, "w2", names["w2"])
        patch.setitem(SHAPES, "x3", names["x3"])
        assert ops(rewrite(equation, operands, tmp_path)) == "Einsum"


def test_open_extents(tmp_path: Path) -> None:
    shapes = {"q": ("n", 3, "s", 5), "k": ("n", 3, "t", 5), "x": ("n", "s", 5), "w": (5, 3, 2)}
    assert ops(rewrite("bhid,bhjd->bhij", "q k", tmp_path, shapes)) == "Transpose MatMul"
    assert ops(rewrite("bse,ehd->bshd", "x w", tmp_path, shapes)) == "Reshape MatMul Reshape"


def test_two_names_for_an_extent_may_broadcast(tmp_path: Path) -> None:
    shapes = {"q": ("n", 3, 4, 5), "k": ("m", 3, 6, 5)}
    assert ops(rewrite("bhid,bhjd->bhij", "q k", tmp_path, shapes)) == "Einsum"


def test_integers_stay(tmp_path: Path) -> None:
    kind = onnx.TensorProto.INT64
    proto = model(
        [node("Einsum", "a b", "y", equation="ij,jk->ik")],
        [tensor("a", (2, 3), kind), tensor("b", (3, 4), kind)],
        [tensor("y", None, kind)],
    )
    graph = read_model(save(proto, tmp_path)).graph
    assert rewrite_einsums(graph) == 0
    feeds = {"a": np.ones((2, 3), np.int64), "b": np.ones((3, 4), np.int64)}
    assert_same(run_runtime(proto, feeds), run_graph(graph, feeds))
