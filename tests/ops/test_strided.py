"""Views by strides against the operators themselves: random chains, symbolic extents, and what is no view."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest

from autofusion.ir import Dim, DType, Node
from autofusion.ir.dims import parse_dim, substitute, symbol
from autofusion.ops import canonicalize, evaluate, infer
from autofusion.ops.definitions.views import view as read
from autofusion.ops.strided import RESHAPING, Strided, apply_view, reshape, undo_view, whole
from ops.sketch import VERSION, Sketch

DIMS = {"a": 2, "b": 3, "c": 4}


class Chain(Sketch):
    """A sketch that gives the canonical node of what it adds."""

    def step(self, op: str, *inputs: str, outputs: int = 1, **attributes: object) -> Node:
        name = self.scope.fresh(op)
        results = tuple(self.scope.fresh(f"{op}_y") for _ in range(outputs))
        (node,) = canonicalize(Node(name, op, inputs, results, attributes), VERSION, self.scope)
        for value in infer(node, self.scope):
            self.scope.graph.set_value(value)
        return node


def number(dim: Dim) -> int:
    return int(str(substitute(dim, dict(DIMS))))


def take(root: np.ndarray, view: Strided) -> np.ndarray:
    return read(root, [*map(number, view.shape)], [number(view.offset), *map(number, view.strides)])


def run(node: Node, x: np.ndarray, chain: Chain) -> Sequence[np.ndarray]:
    return evaluate(node, [x, *(chain.scope.constant(name) if name else None for name in node.inputs[1:])])


def draw(random: Random, chain: Chain, name: str, shape: Sequence[Dim]) -> Node:
    """A random operator on value `name` of `shape`."""
    rank, axis = len(shape), random.randrange(len(shape))
    match random.choice(["turn", "cut", "split", "pick", "merge", "divide", "grow", "drop", "expand"]):
        case "turn":
            return chain.step("Transpose", name, perm=tuple(random.sample(range(rank), rank)))
        case "cut" if number(shape[axis]) > 1:
            first = random.choice([0, 1, -1])
            limits = ([first], [2**31 - 1], [axis], [random.choice([1, 2])])
            return chain.step("Slice", name, *map(chain.constant, limits))
        case "split" if isinstance(shape[axis], int) and shape[axis] > 1:
            sizes = chain.constant([1, number(shape[axis]) - 1])
            return chain.step("Split", name, sizes, outputs=2, axis=axis)
        case "pick" if rank > 1:
            return chain.step("Gather", name, chain.constant(random.choice([0, -1])), axis=axis)
        case "merge" if axis + 1 < rank:
            target = [0] * axis + [-1] + [0 if number(extent) == 0 else extent for extent in shape[axis + 2 :]]
            if all(isinstance(extent, int) for extent in target):
                return chain.step("Reshape", name, chain.constant([int(str(extent)) for extent in target]))
        case "divide" if isinstance(shape[axis], int) and shape[axis] % 2 == 0 and axis == rank - 1:
            return chain.step("Reshape", name, chain.constant([0] * axis + [2, shape[axis] // 2]))
        case "grow" if rank < 6:
            return chain.step("Unsqueeze", name, chain.constant([axis]))
        case "drop" if shape[axis] == 1 and rank > 1:
            return chain.step("Squeeze", name, chain.constant([axis]))
        case "expand" if shape[axis] == 1:
            return chain.step("Expand", name, chain.constant([3] + [1] * (rank - 1 - axis)))
        case _:
            pass
    return chain.step("Identity", name)


@pytest.mark.parametrize("seed", range(400))
def test_random_chains(seed: int) -> None:
    random = Random(seed)
    chain = Chain()
    extents = " ".join(random.choice(["a", "b", "c", "1", "2", "4", "6", "12"]) for _ in range(random.randint(1, 4)))
    name = chain.input("x", extents)
    shape = chain.scope.value(name).shape or ()
    root = np.arange(np.prod([*map(number, shape)], dtype=np.int64), dtype=np.float32)
    x, view = root.reshape([*map(number, shape)]), whole(shape)
    for _ in range(7):
        node = draw(random, chain, name, view.shape)
        place = random.randrange(len(node.outputs))
        following = apply_view(node, view, place, chain.scope)
        wanted = run(node, x, chain)[place]
        if following is None:
            is_plain = all(isinstance(number, int) for number in (*view.shape, *view.strides))
            assert node.op in RESHAPING, f"{node.op} is a view"
            assert not is_plain or not np.shares_memory(take(root, view).reshape(wanted.shape), root)
            return
        assert chain.scope.value(node.outputs[place]).shape == following.shape
        np.testing.assert_array_equal(take(root, following), wanted)
        assert not following.is_packed or np.array_equal(
            wanted.reshape(-1), root[number(following.offset) :][: wanted.size]
        )
        name, x, view = node.outputs[place], wanted, following


@pytest.mark.parametrize(
    ("shape", "strides", "target", "wanted"),
    [
        ("a c 768", "768*c 768 1", "a c 12 64", "768*c 768 64 1"),
        ("a 12 c 64", "768*c 64 768 1", "12*a c 64", None),
        ("a 12 c 64", "768*c 64 768 1", "a 3 4 c 64", "768*c 256 64 768 1"),
        ("a c 12 64", "768*c 768 64 1", "a c 768", "768*c 768 1"),
        ("a c 12 64", "768*c 768 64 1", "a*c 768", "768 1"),
        ("6 4", "4 1", "4 6", "6 1"),
        ("6 4", "8 1", "4 6", None),
        ("a b", "b 1", "b a", "a 1"),
        ("a b", "b+1 1", "b a", None),
        ("a*b c", "c 1", "a b c", "b*c c 1"),
        ("2 a 1 3", "3*a 3 7 1", "1 a 2 3", "0 6 3 1"),
        ("a b", "b 1", "a b 2", None),
        ("0 a", "a 1", "a 0 3", "0 0 0"),
    ],
)
def test_reshape_by_symbols(shape: str, strides: str, target: str, wanted: str | None) -> None:
    dims, steps, extents = (tuple(map(parse_dim, text.split())) for text in (shape, strides, target))
    found = reshape(Strided(dims, steps, symbol("a")), extents)
    if wanted is None:
        assert found is None
    else:
        assert found == Strided(extents, tuple(map(parse_dim, wanted.split())), symbol("a"))


def test_heads_of_packed_rows() -> None:
    """Rows of [queries | keys | values] as heads: an offset, and strides over all three."""
    chain = Chain(x="a c 96")
    split = chain.step("Split", "x", chain.constant([32, 32, 32]), outputs=3, axis=-1)
    heads = chain.step("Reshape", split.outputs[1], chain.constant([0, 0, 4, 8]))
    turned = chain.step("Transpose", heads.outputs[0], perm=(0, 2, 1, 3))
    view: Strided | None = whole(chain.scope.value("x").shape or ())
    for node, place in ((split, 1), (heads, 0), (turned, 0)):
        assert view is not None
        view = apply_view(node, view, place, chain.scope)
    assert view is not None
    assert [*map(str, (view.offset, *view.strides))] == ["32", "96*c", "8", "96", "1"]


def test_undo() -> None:
    """The heads of a result that is stored with the rows outside."""
    chain = Chain(y="a 4 c 8")
    turned = chain.step("Transpose", "y", perm=(0, 2, 1, 3))
    rows = chain.step("Reshape", turned.outputs[0], chain.constant([0, 0, 32]))
    view: Strided | None = whole(chain.scope.value(rows.outputs[0]).shape or ())
    for node in (rows, turned):
        assert view is not None
        view = undo_view(node, view, chain.scope)
    assert view is not None
    assert [*map(str, (view.offset, *view.strides))] == ["0", "32*c", "8", "32", "1"]


def test_what_leaves_elements_out_is_not_undone() -> None:
    chain = Chain(x="a 4")
    node = chain.step("Slice", "x", *map(chain.constant, ([0], [2], [1], [1])))
    assert undo_view(node, whole(chain.scope.value(node.outputs[0]).shape or ()), chain.scope) is None
    assert node.op not in RESHAPING


def test_what_is_no_view() -> None:
    chain = Chain(x="a 4")
    chain.input("i", "", DType.INT64)
    backwards = chain.step("Slice", "x", *map(chain.constant, ([-1], [-9], [1], [-1])))
    picked = chain.step("Gather", "x", "i", axis=1)
    several = chain.step("Gather", "x", chain.constant([0, 2]), axis=1)
    spread = chain.step("Expand", "x", chain.constant([3, 4]))
    joined = chain.step("Concat", "x", "x", axis=1)
    view = whole(chain.scope.value("x").shape or ())
    for node in (backwards, picked, several, spread, joined):
        assert apply_view(node, view, 0, chain.scope) is None
