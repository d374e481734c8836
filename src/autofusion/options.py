"""What a caller of the compiler may choose, and how an artifact's manifest records it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from autofusion.diagnostics import Diagnostic
from autofusion.errors import ArtifactError
from autofusion.fusion import Controls
from autofusion.fusion.manual.rules import Kind, Rule
from autofusion.ir import DType
from autofusion.passes import FOLD_BUDGET
from autofusion.plan import Setting, Size
from autofusion.plan.fields import Fields
from autofusion.precision import MODES, Mode, Precision
from autofusion.tuning import Bank, describe_choices, digest_bank, read_choices

EVERY_OUTPUT = ""
"""The key of `CompileOptions.output_types` that stands for all outputs without one of their own."""


@dataclass(frozen=True)
class CompileOptions:
    """Everything that a caller may choose.

    `dims` gives extents to symbols and `shapes` to inputs: numbers, symbols, -1 for what the model says, and ranges
    such as `"1~512"`.  `gears` are the only shapes of inputs that the artifact takes, one mapping for each, of all
    inputs whose extents are open.  `pattern_directories` are read after the built-in patterns.  `fold_budget` is the
    largest constant, in bytes, that folding may create.
    `exact` forbids algorithms with larger rounding errors than the plain sums of the model: Winograd's filtering.
    `outputs` names the values that take the place of the model's outputs, by value or as `node:index`; () keeps
    the model's own.  `output_types` casts outputs, named likewise or all by `EVERY_OUTPUT`, to another element type.
    `precision` says which element types may change otherwise.  `bank` has choices for layers that overrule the cost
    model.
    """

    backend: Literal["native", "reference"] = "native"
    controls: Controls = Controls()
    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    shapes: Mapping[str, tuple[Size, ...]] = field(default_factory=dict[str, tuple[Size, ...]])
    gears: tuple[Mapping[str, tuple[int, ...]], ...] = ()
    pattern_directories: tuple[Path, ...] = ()
    fold_budget: int = FOLD_BUDGET
    exact: bool = False
    outputs: tuple[str, ...] = ()
    output_types: Mapping[str, DType] = field(default_factory=dict[str, DType])
    precision: Precision = Precision()
    bank: Bank | None = None

    def to_settings(self) -> dict[str, Setting]:
        """The options as the manifest records them: the same on every machine."""
        controls = self.controls
        return {
            "backend": self.backend,
            "auto_fusion": controls.auto_fusion,
            "level": controls.level,
            "disabled": dict(sorted(controls.disabled.items())),
            "whitelist": None if controls.whitelist is None else dict(sorted(controls.whitelist.items())),
            "no_fusion_ops": dict(sorted(controls.no_fusion_ops.items())),
            "switches": [
                {"by": by, "states": dict(sorted(states.items()))} for by, states in controls.switches.items()
            ],
            "skip_nodes": dict(sorted(controls.skip_nodes.items())),
            "scope": dict(sorted(controls.scope.items())),
            "rules": [_write_rule(rule) for rule in controls.rules],
            "dims": dict(sorted(self.dims.items())),
            "shapes": {name: list(shape) for name, shape in sorted(self.shapes.items())},
            "gears": [{name: list(shape) for name, shape in sorted(gear.items())} for gear in self.gears],
            "patterns": [folder.resolve().name for folder in self.pattern_directories],
            "fold_budget": self.fold_budget,
            "exact": self.exact,
            "outputs": list(self.outputs),
            "output_types": {name: dtype.value for name, dtype in sorted(self.output_types.items())},
            "precision": {
                "mode": self.precision.mode,
                "keep_nodes": dict(sorted(self.precision.keep_nodes.items())),
                "keep_types": dict(sorted(self.precision.keep_types.items())),
            },
            "bank": None if self.bank is None else _write_bank(self.bank),
        }

    @classmethod
    def from_settings(
        cls, settings: Mapping[str, Setting], pattern_directories: tuple[Path, ...] = ()
    ) -> CompileOptions:
        """The options that `to_settings` recorded; folders of patterns are not among what it keeps.

        Raises ArtifactError AF511 where a setting is missing, unknown or of another kind.
        """
        try:
            return _read_settings(settings, pattern_directories)
        except ValueError as error:
            message = f"the options that the artifact records cannot be read: {error}"
            remedy = "compile the model again; the artifact was changed or comes from another version"
            raise ArtifactError(Diagnostic("AF511", message, help=remedy)) from error


_ELEMENT_TYPES = tuple(dtype.value for dtype in DType)


def _read_settings(settings: Mapping[str, Setting], pattern_directories: tuple[Path, ...]) -> CompileOptions:
    fields = Fields("options", dict(settings), tuple(CompileOptions().to_settings()))
    lists = ("disabled", "whitelist", "no_fusion_ops", "skip_nodes", "scope")
    texts = {name: _read_texts(fields, name) for name in lists}
    controls = Controls(
        auto_fusion=fields.flag("auto_fusion"),
        level=fields.number("level"),
        disabled=texts["disabled"] or {},
        whitelist=texts["whitelist"],
        no_fusion_ops=texts["no_fusion_ops"] or {},
        switches=_read_switches(fields),
        skip_nodes=texts["skip_nodes"] or {},
        scope=texts["scope"] or {},
        rules=tuple(map(_read_rule, fields.records("rules", _RULE_KEYS))),
    )
    dims, shapes, types = (_inner(fields, name) for name in ("dims", "shapes", "output_types"))
    return CompileOptions(
        backend=cast(Literal["native", "reference"], fields.choice("backend", ("native", "reference"))),
        controls=controls,
        dims={name: dims.number(name) for name in dims.fields},
        shapes={name: shapes.sizes(name) for name in shapes.fields},
        gears=tuple(map(_read_gear, fields.items("gears"))),
        pattern_directories=pattern_directories,
        fold_budget=fields.number("fold_budget"),
        exact=fields.flag("exact"),
        outputs=fields.texts("outputs"),
        output_types={name: DType(types.choice(name, _ELEMENT_TYPES)) for name in types.fields},
        precision=_read_precision(_inner(fields, "precision")),
        bank=None if fields.fields["bank"] is None else _read_bank(fields),
    )


def _read_precision(fields: Fields) -> Precision:
    mode = cast(Mode, fields.choice("mode", MODES))
    return Precision(mode, _read_texts(fields, "keep_nodes") or {}, _read_texts(fields, "keep_types") or {})


def _write_bank(bank: Bank) -> dict[str, Setting]:
    choices = cast("dict[str, Setting]", describe_choices(bank.choices))
    return {"name": bank.name, "target": bank.target, "digest": digest_bank(bank), "choices": choices}


def _read_bank(fields: Fields) -> Bank:
    record = Fields("options.bank", fields.fields["bank"], ("name", "target", "digest", "choices"))
    bank = Bank(record.text("name"), read_choices(record.object("choices")), record.text("target"))
    if digest_bank(bank) != record.text("digest"):
        raise ValueError("options.bank.digest is not that of its choices")
    return bank


def _read_texts(fields: Fields, name: str) -> dict[str, str] | None:
    if name == "whitelist" and fields.fields[name] is None:
        return None
    inner = _inner(fields, name)
    return {key: inner.text(key) for key in inner.fields}


def _read_switches(fields: Fields) -> dict[str, dict[str, bool]]:
    switches: dict[str, dict[str, bool]] = {}
    for record in fields.records("switches", ("by", "states")):
        states = _inner(record, "states")
        switches[record.text("by")] = {name: states.flag(name) for name in states.fields}
    return switches


def _read_gear(value: object) -> dict[str, tuple[int, ...]]:
    if not isinstance(value, dict):
        raise ValueError(f"options.gears has {value!r:.40}, which is no gear")
    gear = Fields("options.gears", cast(object, value), tuple(cast(dict[str, object], value)))
    return {name: gear.numbers(name) for name in gear.fields}


_KINDS: tuple[Kind, ...] = ("any", "nodes", "ops")
_RULE_KEYS = ("name", "items", "kind", "outputs", "scope", "by")


def _write_rule(rule: Rule) -> dict[str, Setting]:
    return {
        "name": rule.name,
        "items": list(rule.items),
        "kind": rule.kind,
        "outputs": list(rule.outputs),
        "scope": list(rule.scope),
        "by": rule.by,
    }


def _read_rule(record: Fields) -> Rule:
    return Rule(
        name=record.text("name"),
        items=record.texts("items"),
        kind=cast(Kind, record.choice("kind", _KINDS)),
        outputs=record.texts("outputs"),
        scope=record.texts("scope"),
        by=record.text("by"),
    )


def _inner(fields: Fields, name: str) -> Fields:
    """The object `name` with whatever keys it has."""
    record = fields.object(name)
    return Fields(f"{fields.place}.{name}", record, tuple(record))
