"""An explanation as text: the same notes as those of near misses, at most a screen of them unless all are wanted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from autofusion.diagnostics.text import render_text
from autofusion.report.explanation import Explanation, LoweredStory, NodeStory, PatternStory, PrecisionStory, Rewrite
from autofusion.report.layers_text import render_layer
from autofusion.report.misses import explain_miss, group_misses
from autofusion.report.records import MissedNode
from autofusion.report.stored import render_carried, render_constants, render_halves, render_stored, render_weight
from autofusion.report.wording import count

SCREEN = 24
"""The most lines that are shown where not all are wanted, one block at least."""

SHOWN_NAMES = 3
"""Of names in a row so many are shown."""


@dataclass(frozen=True)
class _Block:
    """Lines that stay together, and of how many places they tell where something was not applied."""

    text: str
    places: int = 0

    @property
    def height(self) -> int:
        """Lines on the screen, the empty one behind the block included."""
        return self.text.count("\n") + 1


def render_explanation(explanation: Explanation, *, everything: bool = False) -> str:
    """The text, with a final line break.

    Without `everything` attempts that fail alike are told once, a node has its longest one alone, and what does
    not fit on the screen is counted.
    """
    if explanation.precision is not None:
        return "".join(f"{line}\n" for line in _tell_precision(explanation.precision))
    if explanation.is_off:
        return "automatic fusion is switched off, so no pattern was tried\n"
    blocks = [*_list_blocks(explanation, everything)]
    if not blocks:
        blocks = [_Block("nothing that is left could be fused further\n")]
    shown = blocks if everything else _fit(blocks)
    texts = [block.text for block in shown]
    rest = _count_places(explanation) - sum(block.places for block in shown)
    if rest:
        texts.append(f"{rest} more: --all shows all, --node NAME or --pattern NAME some of them\n")
    return "\n".join(texts)


def _count_places(explanation: Explanation) -> int:
    told = sum(len(story.misses) for story in explanation.nodes)
    alone = sum(map(len, explanation.strangers.values()))
    return told + len(explanation.misses) + len(explanation.beginnings) + alone


def _fit(blocks: list[_Block]) -> list[_Block]:
    """The first blocks that fit on the screen above a closing line."""
    room = SCREEN - 1
    shown: list[_Block] = []
    for block in blocks:
        room -= block.height
        if room < 0 and shown:
            break
        shown.append(block)
    return shown


def _list_blocks(explanation: Explanation, everything: bool) -> Iterator[_Block]:
    for story in explanation.nodes:
        yield from _tell_node(story, everything)
    if explanation.pattern is not None:
        yield _Block(_tell_pattern(explanation.pattern, len(explanation.misses), everything))
    for misses in (explanation.misses, explanation.beginnings):
        if everything:
            yield from map(_tell_miss, misses)
        else:
            yield from map(_tell_group, group_misses(misses))
    if explanation.strangers:
        rows = explanation.strangers.items()
        lines = [f"  {op}: {len(names)} ({_some(names, everything)})\n" for op, names in rows]
        yield _Block("".join(["no pattern begins or goes on with:\n", *lines]), sum(len(names) for _, names in rows))


def _tell_node(story: NodeStory, everything: bool) -> Iterator[_Block]:
    fused = any(not rewrite.is_spelling for rewrite in story.rewrites)
    lines = [f"{story.name} ({story.op})" if story.op else story.name]
    lines += [f"  {_tell_rewrite(rewrite, everything)}" for rewrite in story.rewrites]
    if story.is_removed:
        lines.append("  is removed before fusion: it is folded, merged or without effect")
    elif not fused:
        lines.append("  is not fused" if story.misses else "  is not fused, and no pattern begins or goes on with it")
    if story.lowered is not None:
        lines += [f"  {line}" for line in _tell_lowered(story, story.lowered, everything)]
    yield _Block("".join(f"{line}\n" for line in lines))
    shown = story.misses if everything else story.misses[:1]
    yield from map(_tell_miss, shown)


def _tell_lowered(story: NodeStory, lowered: LoweredStory, everything: bool) -> Iterator[str]:
    if lowered.failure:
        yield f"is not lowered: {lowered.failure}"
        return
    if not (lowered.steps or story.is_removed):
        yield "needs no step of the plan"
    for step in lowered.steps:
        others = [name for name in step.nodes if name != story.name]
        together = f", in one step with {_some(others, everything)}" if others else ""
        yield f"runs on the host: {step.reason}{together}" if step.reason else f"runs as {step.kernel}{together}"
    for layer in lowered.layers:
        yield from (f"  {line}" for line in render_layer(layer))
    yield from (f"weight {row.tensor}: {render_weight(row)}" for row in lowered.weights)


def _tell_precision(story: PrecisionStory) -> Iterator[str]:
    yield f"Precision mode: {story.mode}"
    if story.carried:
        yield render_carried(story.carried, story.mode)
    if story.weights:
        yield from render_stored(story.weights, everything=True)
    yield from render_halves(story.halves)
    if not (story.weights or story.carried):
        yield "Every value and every weight keeps its type"
    yield render_constants(story.constants)


def _tell_pattern(story: PatternStory, misses: int, everything: bool) -> str:
    lines = [f"{story.name}: applied {count(len(story.rewrites), 'time')}, not applied {count(misses, 'time')}"]
    shown = story.rewrites if everything else story.rewrites[:SHOWN_NAMES]
    lines += [f"  {rewrite.node}: {_tell_rewrite(rewrite, everything)}" for rewrite in shown]
    if len(shown) < len(story.rewrites):
        lines.append(f"  and {len(story.rewrites) - len(shown)} more")
    return "".join(f"{line}\n" for line in lines)


def _tell_rewrite(rewrite: Rewrite, everything: bool) -> str:
    """`fused to Conv+BN (ConvBNFusionOp) by conv_bn_act, out of conv0 (Conv), bn0 (BatchNormalization)`."""
    verb = "normalized" if rewrite.is_spelling else "fused"
    parts = [f"{name} ({op})" if op else name for name, op in rewrite.parts.items()]
    op = "" if rewrite.op == rewrite.display else f" ({rewrite.op})"
    return f"{verb} to {rewrite.display}{op} by {rewrite.pattern}, out of {_some(parts, everything or len(parts) < 9)}"


def _tell_miss(miss: MissedNode) -> _Block:
    return _Block(render_text(explain_miss(miss)), 1)


def _tell_group(misses: list[MissedNode]) -> _Block:
    first, *others = misses
    note = explain_miss(first)
    if others:
        names = _some([miss.node for miss in others], everything=False)
        note = note._replace(notes=(*note.notes, f"the same at {count(len(others), 'other node')}: {names}"))
    return _Block(render_text(note), len(misses))


def _some(names: Iterable[str], everything: bool) -> str:
    listed = list(names)
    rest = len(listed) - SHOWN_NAMES
    if everything or rest <= 0:
        return ", ".join(listed)
    return f"{', '.join(listed[:SHOWN_NAMES])} and {rest} more"
