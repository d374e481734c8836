"""The modes of precision, as CANN names them, and the nodes that keep their element types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from autofusion.diagnostics import Diagnostic
from autofusion.errors import UsageError
from autofusion.fusion import find_nodes
from autofusion.ir import DType

Mode = Literal["must_keep_origin_dtype", "allow_fp32_to_fp16", "allow_fp32_to_bf16", "force_fp32"]

MODES: tuple[Mode, ...] = ("must_keep_origin_dtype", "allow_fp32_to_fp16", "allow_fp32_to_bf16", "force_fp32")

KEEP: Mode = "must_keep_origin_dtype"

_STORAGE: Mapping[str, DType] = {"allow_fp32_to_fp16": DType.FLOAT16, "allow_fp32_to_bf16": DType.BFLOAT16}


@dataclass(frozen=True)
class Precision:
    """What may be done to the element types of a model.

    `keep_nodes` has names or globs of ONNX nodes, `keep_types` operator types, each with the file that names it: they
    are left out of what `mode` does.
    """

    mode: Mode = KEEP
    keep_nodes: Mapping[str, str] = field(default_factory=dict[str, str])
    keep_types: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def storage(self) -> DType | None:
        """The type in which float32 weights are stored, None where they stay as they are."""
        return _STORAGE.get(self.mode)

    def find_kept(self, operators: Mapping[str, str]) -> dict[str, str]:
        """The ONNX nodes that keep their types, each with who says so; `operators` has the model's by their names.

        Raises UsageError AF312 where a name or glob fits none, AF310 for a type that none has.
        """
        known = sorted(operators)
        kept = {name: by for glob, by in self.keep_nodes.items() for name in find_nodes(glob, by, known)}
        for op, by in self.keep_types.items():
            found = [name for name, operator in operators.items() if operator == op]
            if not found:
                types = ", ".join(sorted(set(operators.values())))
                message = f"{by} names the operator type {op!r}, which no node of the model has"
                raise UsageError(Diagnostic("AF310", message, help=f"its types: {types}"))
            kept |= dict.fromkeys(found, by)
        return kept
