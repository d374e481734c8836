"""The operator that a host step runs, read from a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from autofusion.errors import AutofusionError
from autofusion.plan import Setting, Step
from autofusion.plan.attributes import decode_attribute
from autofusion.plan.nested import NestedNode, check_attributes
from autofusion.runtime.nested import make_node
from autofusion.runtime.refusals import artifact_error, damaged_plan

if TYPE_CHECKING:
    from autofusion.ir import Node

T = TypeVar("T")


@dataclass(frozen=True)
class Operation:
    """A node that a host step runs, and the names by which its graphs read the operands after its own."""

    node: Node
    captured: tuple[str, ...]

    def run(self, operands: Sequence[np.ndarray | None]) -> Sequence[np.ndarray]:
        """The results by place; raises ArtifactError AF520 where the operator fails."""
        from autofusion.ops import evaluate

        node, own = self.node, len(self.node.inputs)
        captured = {name: array for name, array in zip(self.captured, operands[own:], strict=True) if array is not None}
        try:
            return evaluate(node, operands[:own], captured=captured)
        except AutofusionError:
            raise
        except Exception as error:
            # The operator's code meets attributes from a file: whatever it makes of wrong ones is the file's fault.
            text = f"step {node.name!r} ({node.op}) failed: {type(error).__name__}: {error}"
            raise artifact_error("AF520", text, help="compile the model again") from error


def read_operation(step: Step) -> Operation:
    """What host step `step` runs; raises ArtifactError AF514 where its settings make no sense."""
    settings = step.attributes
    try:
        op, domain, opset = (
            _expect(str, settings["op"]),
            _expect(str, settings["domain"]),
            _expect(int, settings["opset"]),
        )
        written = cast(Mapping[str, Setting], _expect(dict, settings["attributes"]))
        attributes = {name: decode_attribute(value) for name, value in written.items()}
        names = cast(Sequence[Setting], _expect(list, settings.get("captured", [])))
        captured = tuple(_expect(str, name) for name in names)
        own = len(step.inputs) - len(captured)
        if own < 0 or not all(step.inputs[own:]) or len(set(captured)) < len(captured):
            raise ValueError(f"{len(captured)} captured values do not fit {len(step.inputs)} operands")
        check_attributes(attributes, set(captured))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise damaged_plan(f"host step {step.node!r} has impossible settings: {error}") from error
    node = NestedNode(step.node, op, domain, opset, step.inputs[:own], step.outputs, attributes)
    return Operation(make_node(node, step.origin), captured)


def _expect(kind: type[T], value: object) -> T:
    if type(value) is not kind:
        raise TypeError(f"{value!r:.40} is not of type {kind.__name__}")
    return value
