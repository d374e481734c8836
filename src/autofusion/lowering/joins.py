"""Kernel calls of one fused node that one call can do: sums before norms, norms before products, products of one value.

Works on the calls that a body was decoded to.  What the rules below do not prove stays several calls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from autofusion.lowering.matrices import join_columns, take_matrix
from autofusion.lowering.records import NO_EPILOGUE, Call
from autofusion.lowering.workspace import Workspace
from autofusion.plan import MAX_RESULTS, Setting


@dataclass(frozen=True)
class _Chain:
    """Calls in running order, and the values among them that something else reads."""

    calls: Sequence[Call]
    results: Collection[str]
    workspace: Workspace

    def made(self, name: str) -> int | None:
        """The call whose first result is `name`."""
        return next((place for place, call in enumerate(self.calls) if call.result.name == name), None)

    def readers(self, name: str) -> list[int]:
        """The calls that read `name`, one place for each reading."""
        return [place for place, call in enumerate(self.calls) for operand in call.operands if operand == name]

    def only_reader(self, call: Call) -> int | None:
        """The call that alone reads what `call` gives, None where others do as well."""
        readers = self.readers(call.result.name)
        if len(readers) != 1 or any(value.name in self.results for value in call.results):
            return None
        return readers[0]

    def exchange(self, places: Sequence[int], call: Call) -> list[Call]:
        """The calls with one in the place of the last of several."""
        kept = {place: item for place, item in enumerate(self.calls) if place not in places}
        kept[max(places)] = call
        return [kept[place] for place in sorted(kept)]


def join_calls(calls: Sequence[Call], results: Collection[str], workspace: Workspace) -> list[Call]:
    """`calls` with every group that one kernel call can do exchanged for it; `results` are values read elsewhere."""
    joined: list[Call] | None = list(calls)
    known = joined
    while joined is not None:
        known = joined
        chain = _Chain(known, results, workspace)
        joined = next((found for rule in _RULES if (found := rule(chain)) is not None), None)
    return known


def _join_gate(chain: _Chain) -> list[Call] | None:
    """`act(x a) * (x b)` is one product with both matrices side by side."""
    for place, call in enumerate(chain.calls):
        if call.kernel != "binary" or call.settings["op"] != "Mul" or call.epilogue != NO_EPILOGUE:
            continue
        places = [chain.made(name) for name in call.operands]
        factors = [chain.calls[made] for made in places if made is not None]
        if len(factors) != 2 or any(chain.only_reader(factor) != place for factor in factors):
            continue
        gates = [factor for factor in factors if factor.epilogue != NO_EPILOGUE]
        if len(gates) != 1 or any(factor.result.shape != call.result.shape for factor in factors):
            continue
        gate = gates[0]
        parts = [gate, *(factor for factor in factors if factor is not gate)]
        both = join_columns([replace(part, epilogue=NO_EPILOGUE) for part in parts], chain.workspace)
        if both is None:
            continue
        settings: dict[str, Setting] = {**both.settings, "gated": True}
        origin = tuple(name for part in (*factors, call) for name in part.absorbed)
        done = replace(both, settings=settings, epilogue=gate.epilogue, result=call.result, absorbed=origin)
        return chain.exchange([*(made for made in places if made is not None), place], done)
    return None


def _join_parts(chain: _Chain) -> list[Call] | None:
    """Two to four products of one value, all of them results, are one product that deals out its columns."""
    for call in chain.calls:
        if call.kernel != "matmul":
            continue
        places = [
            place
            for place, other in enumerate(chain.calls)
            if other.kernel == "matmul" and other.operands[0] == call.operands[0]
        ]
        parts = [chain.calls[place] for place in places]
        names = [part.result.name for part in parts]
        is_free = all(name in chain.results and not chain.readers(name) for name in names)
        if not 2 <= len(parts) <= MAX_RESULTS or not is_free:
            continue
        whole = join_columns(parts, chain.workspace)
        if whole is None:
            continue
        widths = [shape[-1] for part in parts if (shape := part.result.shape)]
        origin = tuple(name for part in parts for name in part.absorbed)
        done = replace(
            whole,
            settings={**whole.settings, "widths": [width for width in widths if isinstance(width, int)]},
            result=parts[0].result,
            further=tuple(part.result for part in parts[1:]),
            absorbed=origin,
        )
        return chain.exchange(places, done)
    return None


def _join_sum(chain: _Chain) -> list[Call] | None:
    """A sum that a norm reads is the norm's own; where others read it too, it is a further result."""
    for place, call in enumerate(chain.calls):
        source = chain.made(call.operands[0]) if call.kernel == "norm" and not call.operands[3] else None
        added = chain.calls[source] if source is not None else None
        if source is None or added is None or added.kernel != "binary" or added.epilogue != NO_EPILOGUE:
            continue
        shapes = [chain.workspace.scope.shape(name) for name in added.operands]
        if added.settings["op"] != "Add" or chain.readers(added.result.name) != [place]:
            continue
        if any(shape != added.result.shape for shape in shapes):
            continue
        x, residual = added.operands
        done = replace(
            call,
            operands=(x, *call.operands[1:3], residual),
            further=(added.result,) if added.result.name in chain.results else (),
            absorbed=added.absorbed + call.absorbed,
        )
        return chain.exchange([source, place], done)
    return None


def _join_norm(chain: _Chain) -> list[Call] | None:
    """A norm of the last axis that one product reads as rows is the product's prologue."""
    for place, norm in enumerate(chain.calls):
        if norm.kernel != "norm" or norm.settings["axes"] != 1 or norm.operands[3]:
            continue
        reader = chain.only_reader(norm)
        product = chain.calls[reader] if reader is not None else None
        if reader is None or product is None or product.kernel != "matmul" or product.settings["trans_a"]:
            continue
        if product.operands[0] != norm.result.name or product.settings.get("norm"):
            continue
        plain = take_matrix(product, chain.workspace)
        if plain is None:
            continue
        settings: dict[str, Setting] = {"norm": norm.settings["kind"], "epsilon": norm.settings["epsilon"]}
        done = replace(
            plain,
            operands=(norm.operands[0], *plain.operands[1:4], *norm.operands[1:3]),
            settings={**plain.settings, **settings},
            absorbed=norm.absorbed + plain.absorbed,
        )
        return chain.exchange([place, reader], done)
    return None


_RULES: Sequence[Callable[[_Chain], list[Call] | None]] = (_join_gate, _join_parts, _join_sum, _join_norm)
