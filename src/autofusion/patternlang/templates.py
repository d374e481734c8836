"""Templates of display and operator names, and how operators are spelled in them.

A part in braces is kept where the name it depends on is bound in the match:
`{+act}` puts in the spelling of the operator bound to statement `act`;
`{+BN}` is the literal text `+BN`, kept where `bn` is bound;
`{+BiasAdd?bias}` is the literal text `+BiasAdd`, kept where `bias` is bound.
Signs may stand on either side of the word: `{Pad+}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from autofusion.patternlang.lexer import Source, syntax_error
from autofusion.patternlang.model import Part, Template

DISPLAY_SPELLING: Mapping[str, str] = {"Relu": "ReLU"}
"""How display names spell operators whose ONNX name is not the usual one."""

FUSED_SUFFIX = "FusionOp"
"""The end of the operator names of fused nodes; it falls away where such a name stands inside another."""

_PART = re.compile(r"(?P<prefix>[^\w?]*)(?P<word>[A-Za-z0-9_]+)(?P<suffix>[^\w?]*)(?:\?(?P<condition>[A-Za-z_]\w*))?")


def parse_template(source: Source, names: Collection[str]) -> Template:
    """The template that `source` spells, over the `names` of a pattern.

    Raises PatternError AF403 where braces do not fit; a part whose name is not in
    `names` keeps that name as its condition.
    """
    parts: list[Part] = []
    text, offset = source.text, 0
    for match in re.finditer(r"\{([^{}]*)\}", text):
        _append_literal(parts, source, offset, match.start())
        inner = _PART.fullmatch(match.group(1))
        if inner is None:
            raise syntax_error(f"{match.group()!r} is no part of a template", source.span(match.start()))
        word, condition = inner["word"], inner["condition"]
        if condition is None and word in names:
            parts.append(Part(inner["prefix"], word, word, is_spelled=True, suffix=inner["suffix"]))
        else:
            parts.append(
                Part(inner["prefix"], word, condition or word.lower(), is_spelled=False, suffix=inner["suffix"])
            )
        offset = match.end()
    _append_literal(parts, source, offset, len(text))
    return Template(text, tuple(parts), source.start)


def _append_literal(parts: list[Part], source: Source, start: int, end: int) -> None:
    text = source.text[start:end]
    stray = re.search(r"[{}]", text)
    if stray is not None:
        raise syntax_error("a brace without its partner", source.span(start + stray.start()))
    if text:
        parts.append(Part("", text, "", is_spelled=False))


def render_template(template: Template, bound: Collection[str], spell: Callable[[str], str]) -> str:
    """The name for a match that binds the names `bound`; `spell` gives the operator bound to a statement."""
    text = ""
    for part in template.parts:
        if part.condition and part.condition not in bound:
            continue
        text += part.prefix + (spell(part.condition) if part.is_spelled else part.word) + part.suffix
    return text


def spell_display(op: str, spelling: Mapping[str, str]) -> str:
    """How a display name spells the ONNX operator `op`; `spelling` holds a pattern's own choices."""
    return spelling.get(op) or DISPLAY_SPELLING.get(op, op)


def strip_suffix(op: str) -> str:
    """The stem of a fused operator's name."""
    return op.removesuffix(FUSED_SUFFIX)
