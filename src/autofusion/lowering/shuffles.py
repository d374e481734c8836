"""Third stage of native lowering: channel shuffles that the weights of convolutions take in.

Between convolutions a Concat, a channel shuffle and a Split only say which channel comes from which filter.  Where
every channel has one reader, each convolution writes its filters, in groups, straight into the images that are read,
and the readers' weights have the order in which they lie there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from autofusion.lowering.channel_maps import count_channels, find_channels
from autofusion.lowering.records import Dealt, Draft
from autofusion.plan import FLOATING, Buffer, Step

DEALT = ":dealt"
"""Behind the names of values that the plan has with their channels in another order."""

_Atoms = np.ndarray
"""[channels, 2]: the number of the value that each channel was computed in, and its place there."""


def fold_shuffles(draft: Draft) -> Draft:
    """The draft without the moves of channels that weights can take in; those round every other shuffle stay."""
    graph = _read(draft)
    plans = [found for group in _group(graph) if (found := _plan_group(graph, group)) is not None]
    return _rewrite(draft, graph, plans) if plans else draft


@dataclass
class _Graph:
    """The steps that only move channels, what they move, and who reads what."""

    draft: Draft
    sources: list[str] = field(default_factory=list[str])
    atoms: dict[str, _Atoms] = field(default_factory=dict[str, _Atoms])
    moves: dict[int, bool] = field(default_factory=dict[int, bool])
    readers: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list[int]))
    writer: dict[str, int] = field(default_factory=dict[str, int])
    shared: set[str] = field(default_factory=set[str])

    def trace(self, name: str) -> _Atoms:
        """Where the channels of a value were computed."""
        if name not in self.atoms:
            self.sources.append(name)
            places = np.arange(count_channels(self.draft.buffers[name]))
            self.atoms[name] = np.stack([np.full_like(places, len(self.sources) - 1), places], 1)
        return self.atoms[name]


def _read(draft: Draft) -> _Graph:
    graph = _Graph(draft, shared={buffer.alias for buffer in draft.buffers.values() if buffer.alias})
    for index, step in enumerate(draft.steps):
        graph.writer.update((name, index) for name in step.outputs)
        for name in dict.fromkeys(filter(None, step.inputs)):
            graph.readers[name].append(index)
        found = _move(draft.buffers, step)
        if found is None:
            continue
        traced = [graph.trace(name) for name in step.inputs]
        graph.atoms[step.outputs[0]] = np.concatenate(traced)[found]
        graph.moves[index] = bool(np.any(np.diff(found) != 1))
    return graph


def _move(buffers: Mapping[str, Buffer], step: Step) -> np.ndarray | None:
    """The channels, counted over all operands, of a step that only moves channels of images."""
    result = buffers[step.outputs[0]]
    if step.kernel == "strided":
        return find_channels(step, buffers[step.inputs[0]], result)
    if step.kernel != "concat" or step.attributes["axis"] != 1 or result.dtype not in FLOATING:
        return None
    operands = [buffers[name] for name in step.inputs]
    if any(buffer.layout != "nhwc" or not count_channels(buffer) for buffer in operands):
        return None
    return np.arange(count_channels(result))


def _group(graph: _Graph) -> list[list[int]]:
    """The moving steps that share values, one list for each set of them that shuffles."""
    group: dict[str, list[int]] = {}
    for index in graph.moves:
        step = graph.draft.steps[index]
        joined = {id(group[name]): group[name] for name in (*step.inputs, *step.outputs) if name in group}
        merged = [index, *(other for found in joined.values() for other in found)]
        for other in merged:
            for name in (*graph.draft.steps[other].inputs, *graph.draft.steps[other].outputs):
                group[name] = merged
    found = {id(steps): steps for steps in group.values()}
    return [sorted(steps) for steps in found.values() if any(graph.moves[index] for index in steps)]


@dataclass(frozen=True)
class _Deal:
    """How a group of moves goes: for each value that is read the order in which its channels lie there.

    `orders` has by step the order of the channels that it reads, `results` the values that take that order on.
    """

    steps: Sequence[int]
    sources: Sequence[str]
    needed: Mapping[str, np.ndarray]
    orders: Mapping[int, np.ndarray]
    results: Mapping[str, np.ndarray]


def _plan_group(graph: _Graph, steps: Sequence[int]) -> _Deal | None:
    draft = graph.draft
    made = dict.fromkeys(draft.steps[index].outputs[0] for index in steps)
    sources = dict.fromkeys(name for index in steps for name in draft.steps[index].inputs if name not in made)
    if not all(_is_inner(graph, name) for name in (*made, *sources)):
        return None
    if not all(_can_deal(graph, name, steps) for name in sources):
        return None
    needed = {name: graph.atoms[name] for name in made if not set(graph.readers[name]) <= set(steps)}
    atoms = [tuple(atom) for name in needed for atom in needed[name]]
    if len(set(atoms)) != len(atoms):
        return None
    lying = {name: np.lexsort(found.T[::-1]) for name, found in needed.items()}
    orders: dict[int, np.ndarray] = {}
    results: dict[str, np.ndarray] = {}
    for name, order in lying.items():
        readers = [index for index in graph.readers[name] if index not in steps]
        if not all(_take_order(graph, index, name, order, orders, results) for index in readers):
            return None
    return _Deal(steps, tuple(sources), lying, orders, results)


def _is_inner(graph: _Graph, name: str) -> bool:
    buffer = graph.draft.buffers[name]
    return buffer.role == "inner" and buffer.alias is None and name not in graph.shared


def _can_deal(graph: _Graph, name: str, steps: Sequence[int]) -> bool:
    """True where a value is of a convolution whose filters may go to several places, and moves alone read it."""
    step = graph.draft.steps[graph.writer[name]]
    is_conv = step.kernel == "conv" and step.attributes["group"] == 1 and step.outputs == (name,)
    return (
        is_conv and not any(step.inputs[3:]) and _has_constants(graph, step) and set(graph.readers[name]) <= set(steps)
    )


def _has_constants(graph: _Graph, step: Step) -> bool:
    return all(name in graph.draft.constants for name in step.inputs[1:3] if name)


def _take_order(
    graph: _Graph,
    index: int,
    name: str,
    order: np.ndarray,
    orders: dict[int, np.ndarray],
    results: dict[str, np.ndarray],
) -> bool:
    """Note that step `index` reads `name` with its channels in `order`; False where its weight cannot take that in."""
    step = graph.draft.steps[index]
    if step.kernel != "conv" or step.inputs.count(name) != 1 or step.inputs[0] != name:
        return False
    if not _has_constants(graph, step):
        return False
    orders[index] = order
    if step.attributes["group"] == 1:
        return True
    result, weight = step.outputs[0], graph.draft.constants[step.inputs[1]]
    is_depthwise = step.attributes["group"] == len(order) == len(weight)
    if not is_depthwise or any((*step.inputs[3:], *step.outputs[1:])) or not _is_inner(graph, result):
        return False
    results[result] = order
    return all(_take_order(graph, reader, result, order, orders, results) for reader in graph.readers[result])


def _rewrite(draft: Draft, graph: _Graph, plans: Iterable[_Deal]) -> Draft:
    writer = _Writer(draft, graph)
    for plan in plans:
        writer.deal(plan)
    return writer.finish()


class _Writer:
    def __init__(self, draft: Draft, graph: _Graph) -> None:
        self._draft = draft
        self._graph = graph
        self._buffers = dict(draft.buffers)
        self._constants = dict(draft.constants)
        self._gone: set[int] = set()
        self._names: dict[str, str] = {}
        self._orders: dict[int, np.ndarray] = {}
        self._parts: dict[int, list[tuple[str, np.ndarray]]] = defaultdict(list)
        self._joins: dict[int, list[Step]] = defaultdict(list)
        self._dealt: list[Dealt] = []

    def deal(self, plan: _Deal) -> None:
        """Note what becomes of the steps of one group, their sources and their readers."""
        self._gone.update(plan.steps)
        self._orders.update(plan.orders)
        for name, order in (*plan.needed.items(), *plan.results.items()):
            self._names[name] = self._add(f"{name}{DEALT}", self._buffers[name])
            self._note(name, self._names[name], order)
        self._gone.update(self._graph.writer[name] for name in plan.sources)
        for name, order in plan.needed.items():
            self._deal_value(name, self._graph.atoms[name][order])

    def _deal_value(self, name: str, atoms: _Atoms) -> None:
        """Have the filters that value `name` needs written where it lies, and joined after the last of them."""
        parts: list[str] = []
        indices: list[int] = []
        for number in dict.fromkeys(int(number) for number in atoms[:, 0]):
            source, filters = self._graph.sources[number], atoms[atoms[:, 0] == number, 1]
            indices.append(self._graph.writer[source])
            buffer = self._buffers[source]
            shape = (*(buffer.shape or ())[:1], len(filters), *(buffer.shape or ())[2:])
            whole = len(filters) == len(atoms)
            parts.append(self._names[name] if whole else self._add(f"{source}{DEALT}", buffer._replace(shape=shape)))
            self._parts[indices[-1]].append((parts[-1], filters))
            self._note(source, parts[-1], filters)
        if len(parts) > 1:
            step = self._draft.steps[self._graph.writer[name]]
            join = Step("concat", step.node, step.op, tuple(parts), (self._names[name],), {"axis": 1}, step.origin)
            self._joins[max(indices)].append(join)

    def _note(self, value: str, buffer: str, channels: np.ndarray) -> None:
        self._dealt.append(Dealt(value, count_channels(self._buffers[value]), buffer, tuple(channels.tolist())))

    def finish(self) -> Draft:
        """The draft with all that was noted."""
        steps: list[Step] = []
        for index, step in enumerate(self._draft.steps):
            for result, filters in self._parts[index]:
                steps.append(self._take_in(index, step, (result,), filters))
            if index not in self._gone:
                outputs = tuple(self._names.get(name, name) for name in step.outputs)
                steps.append(self._take_in(index, step, outputs) if index in self._orders else step)
            steps += self._joins[index]
        return replace(
            self._draft,
            buffers=self._buffers,
            constants=self._constants,
            steps=tuple(steps),
            dealt=tuple(self._dealt),
        )

    def _take_in(self, index: int, step: Step, outputs: tuple[str, ...], filters: np.ndarray | None = None) -> Step:
        """A convolution whose weight has the order of the channels that it reads, and those filters alone."""
        weight, bias = self._constants[step.inputs[1]], self._constants.get(step.inputs[2])
        order = self._orders.get(index)
        if order is not None and step.attributes["group"] == 1:
            weight = weight[:, order]
        elif order is not None:
            filters = order
        if filters is not None:
            weight, bias = weight[filters], None if bias is None else bias[filters]
        names = [self._names.get(step.inputs[0], step.inputs[0]), self._add_constant(step.inputs[1], weight)]
        names.append("" if bias is None else self._add_constant(step.inputs[2], bias))
        return step._replace(inputs=(*names, *step.inputs[3:]), outputs=outputs)

    def _add_constant(self, stem: str, array: np.ndarray) -> str:
        name = self._add(f"{stem}{DEALT}", self._buffers[stem]._replace(shape=tuple(array.shape)))
        self._constants[name] = np.ascontiguousarray(array)
        return name

    def _add(self, stem: str, like: Buffer) -> str:
        name, number = stem, 0
        while name in self._buffers:
            number += 1
            name = f"{stem}_{number}"
        self._buffers[name] = like._replace(name=name)
        return name
