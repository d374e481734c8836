"""Near misses: which failed attempts are worth telling, and how they read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from autofusion.diagnostics import Diagnostic, Severity, Span
from autofusion.fusion.reasons import Code, Reason


@dataclass(frozen=True)
class Miss:
    """A pattern that nearly applied.

    `anchor` is the node that the report names (the one bound to the pattern's first required statement
    where there is one), `root` the node where the match would have ended, `bound` what was bound.
    `satisfied` of `needed` statements fitted; `statement` is the one that did not, `span` and
    `text` its line.  `instead` is the display name of what was applied at the anchor, "" for nothing,
    and `left_out` the bound nodes that it does without.  `graph` names the control-flow node around it.
    `origin` has the ONNX nodes behind the bound ones; `is_near` is False of an attempt that came less than
    half of the way, which is told only where somebody asks for its node or pattern.  `benefit` is the pattern's.
    """

    pattern: str
    display: str
    anchor: str
    root: str
    bound: Mapping[str, str]
    satisfied: int
    needed: int
    statement: str
    reason: Reason
    span: Span
    text: str
    position: int
    graph: str = ""
    instead: str = ""
    left_out: tuple[str, ...] = ()
    origin: tuple[str, ...] = ()
    is_near: bool = True
    benefit: int = 0

    @property
    def code(self) -> Code:
        """The reason's code."""
        return self.reason.code

    @property
    def detail(self) -> str:
        """The sentence that says what is in the way."""
        return self.reason.detail

    @property
    def help(self) -> str:
        """The remedy."""
        return self.reason.remedy

    @property
    def culprit(self) -> tuple[str, str]:
        """The node at fault, else the one bound to the failing statement, and the value; "" where there is none."""
        return self.reason.node or self.bound.get(self.statement, ""), self.reason.value

    @property
    def message(self) -> str:
        """One sentence: what nearly matched where, how far it came, and where it failed."""
        count = f"matched {self.satisfied} of {self.needed}"
        failed = f"failed at {self.statement}: {self.reason}"
        if self.code in (Code.DISABLED, Code.LEVEL):
            text = f"{self.pattern} matches at {self.root} but is switched off: {self.reason}"
        elif self.code is Code.TAKEN_BY:
            text = f"{self.pattern} matches at {self.root} but lost its nodes: {self.reason}"
        else:
            extent = "nearly matched" if self.is_near else "matched in part"
            text = f"{self.pattern} {extent} at {self.root}: {count}; {failed}"
        if not self.instead:
            return text
        without = f" without {', '.join(self.left_out)}" if self.left_out else ""
        return f"{text}; {self.instead} was applied{without}"

    def diagnostic(self) -> Diagnostic:
        """The miss as a note, AF301 to AF304."""
        bound = ", ".join(f"{name} -> {node}" for name, node in self.bound.items())
        return Diagnostic(
            self.number,
            self.message,
            help=self.help,
            notes=(self.text, f"bound: {bound}", self.detail),
            span=self.span,
            severity=Severity.NOTE,
        )

    @property
    def number(self) -> str:
        """The code of the miss as a diagnostic."""
        if self.code in (Code.DISABLED, Code.LEVEL):
            return "AF303"
        if self.code is Code.TAKEN_BY:
            return "AF304"
        return "AF302" if self.instead else "AF301"


def is_worth_telling(miss: Miss, *, is_spelling: bool) -> bool:
    """True at half matched or better; where an operator is another one, at more than half.

    A spelling with another operator in it is mostly another expression: told at three quarters.
    """
    if miss.code in (Code.OPERATOR, Code.UNKNOWN_OP, Code.CONTROL_FLOW):
        if is_spelling:
            return miss.satisfied * 4 >= miss.needed * 3
        return miss.satisfied * 2 > miss.needed
    return miss.satisfied * 2 >= miss.needed


def choose_best(misses: Iterable[Miss]) -> list[Miss]:
    """One miss for each anchor: the one that came furthest, then the shortest way to go, then the first.

    A miss all of whose nodes another one bound, with more, says nothing beside it, and neither does one whose anchor
    another one bound that came further: where it wants another operator, or no less than that one, which wants none.
    What was left out because results were beyond their limits is always told.
    """
    best: dict[tuple[str, str], Miss] = {}
    for miss in misses:
        known = best.get((miss.graph, miss.anchor))
        if known is None or rank_miss(miss) > rank_miss(known):
            best[miss.graph, miss.anchor] = miss
    binding: dict[tuple[str, str], list[Miss]] = {}
    for miss in best.values():
        for node in set(miss.bound.values()):
            binding.setdefault((miss.graph, node), []).append(miss)
    return [miss for miss in best.values() if not _is_outdone(miss, binding)]


def rank_miss(miss: Miss) -> tuple[bool, int, int, int, int, int]:
    """How far a miss came: statements that fitted, then few that are wanting, then nodes bound.

    Of those that are equal in this the one that failed at a later statement came further, and then the pattern with
    more benefit, which would have won.  What nobody left out on purpose, `Reason.is_automatic`, comes before
    everything.
    """
    names = list(miss.bound)
    place = names.index(miss.statement) if miss.statement in names else len(names)
    return miss.reason.is_automatic, miss.satisfied, -miss.needed, len(names), place, miss.benefit


def _is_outdone(miss: Miss, binding: Mapping[tuple[str, str], list[Miss]]) -> bool:
    """True where `choose_best` leaves the miss out beside one of those in `binding`, by the nodes that they bound."""
    if miss.reason.is_automatic:
        return False
    nodes = frozenset(miss.bound.values())
    if any(nodes < frozenset(other.bound.values()) for node in nodes for other in binding[miss.graph, node]):
        return True
    further = [other for other in binding.get((miss.graph, miss.anchor), ()) if other.satisfied > miss.satisfied]
    if miss.code is Code.OPERATOR:
        return bool(further)
    wanting = miss.needed - miss.satisfied
    # What wants another operator is no better advice than a condition that failed.
    nearer = [other for other in further if other.code is not Code.OPERATOR]
    return wanting > 0 and any(other.needed - other.satisfied <= wanting for other in nearer)
