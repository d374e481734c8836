"""Manual rules out of a TOML or JSON file, or a dict of the same shape."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

from autofusion.diagnostics import Diagnostic
from autofusion.errors import UsageError
from autofusion.fusion.control_file import malformed, read_control_file
from autofusion.fusion.manual.rules import Kind, Rule, is_rule_name
from autofusion.plan.fields import parse_json

RuleSource = Mapping[str, object] | str | Path
"""A file of rules, or what stands in one."""

_KIND = "file of fusion rules"
_REMEDY = 'write {"layer_0": ["node_1", "node_2"]} or {"fusion_patterns": [{"name": "ffn", "ops": ["dense", "relu"]}]}'
_DICT = "fusion_rules"
_ITEM_KEYS: Mapping[str, Kind] = {"nodes": "nodes", "ops": "ops"}


def read_rules(source: RuleSource) -> tuple[Rule, ...]:
    """The rules of `source`, in its order: a path whose suffix is .toml or .json, or a dict.

    Shapes: a name with a list of nodes or blocks, at the top or below `fusion_rules`; `fusion_patterns`, a list of
    tables with `name` and `ops`; `scope`, the globs of the only nodes that belong to rules.  In the place of the list
    may stand a table of `nodes` or `ops`, with `outputs` and a `scope` of its own.

    Raises UsageError AF218 where the file is absent or empty, AF217 where it has another form.
    """
    if isinstance(source, Mapping):
        return _read_content(source, None)
    path = Path(source)
    text = read_control_file(path, _KIND, _REMEDY)
    match path.suffix.lower():
        case ".json":
            content = _parse_json(text, path)
        case ".toml":
            content = _parse_toml(text, path)
        case suffix:
            raise malformed(path, _KIND, f"its suffix is {suffix!r}, not .toml or .json", "name the file so")
    if not isinstance(content, dict):
        raise malformed(path, _KIND, "it is no table of rules", _REMEDY)
    return _read_content(cast(dict[str, object], content), path)


def _parse_json(text: str, path: Path) -> object:
    try:
        return parse_json(text)
    except json.JSONDecodeError as error:
        raise malformed(path, _KIND, f"it is no JSON: {error.msg}", _REMEDY, error.lineno) from error
    except ValueError as error:
        raise malformed(path, _KIND, str(error), _REMEDY) from error


def _parse_toml(text: str, path: Path) -> object:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else f"it is no TOML: {error}"
        raise malformed(path, _KIND, reason, _REMEDY) from error


def _read_content(content: Mapping[str, object], path: Path | None) -> tuple[Rule, ...]:
    by = _DICT if path is None else path.name
    try:
        scope = _read_scope(content.get("scope", []))
        rules = tuple(replace(rule, by=by, scope=rule.scope or scope) for rule in _rules(content))
        _check_names(rules)
    except ValueError as error:
        if path is not None:
            raise malformed(path, _KIND, str(error), _REMEDY) from error
        raise UsageError(Diagnostic("AF217", f"the fusion rules cannot be used: {error}", help=_REMEDY)) from error
    return rules


def _rules(content: Mapping[str, object]) -> Iterator[Rule]:
    for key, entry in content.items():
        if key == "scope":
            continue
        if key == "fusion_rules":
            named = _table(entry, "'fusion_rules'")
            yield from (_read_rule(name, rule) for name, rule in named.items())
        elif key == "fusion_patterns":
            if not isinstance(entry, list):
                raise ValueError("'fusion_patterns' is no list of tables")
            tables = enumerate(cast("list[object]", entry), start=1)
            yield from (
                _read_pattern(_table(table, f"entry {place} of 'fusion_patterns'"), place) for place, table in tables
            )
        else:
            yield _read_rule(key, entry)


def _read_rule(name: str, entry: object) -> Rule:
    if not isinstance(entry, Mapping):
        return _make_rule(name, "any", _texts(entry, f"rule {name!r}"), {})
    table = _table(cast(object, entry), f"rule {name!r}")
    keys = [key for key in _ITEM_KEYS if key in table]
    if len(keys) != 1:
        raise ValueError(f"rule {name!r} needs either 'nodes' or 'ops'")
    return _make_rule(name, _ITEM_KEYS[keys[0]], _texts(table[keys[0]], f"{keys[0]!r} of rule {name!r}"), table)


def _read_pattern(table: Mapping[str, object], place: int) -> Rule:
    name = table.get("name")
    if not isinstance(name, str):
        raise ValueError(f"entry {place} of 'fusion_patterns' has no 'name'")
    if "ops" not in table:
        raise ValueError(f"the fusion pattern {name!r} has no 'ops'")
    return _make_rule(name, "ops", _texts(table["ops"], f"'ops' of {name!r}"), {**table, "name": name})


def _make_rule(name: str, kind: Kind, items: tuple[str, ...], table: Mapping[str, object]) -> Rule:
    if not is_rule_name(name):
        raise ValueError(f"{name!r} is no name: it begins with a letter and has letters, digits and _ - . / only")
    if not items:
        raise ValueError(f"rule {name!r} is empty")
    unknown = [key for key in table if key not in ("name", "nodes", "ops", "outputs", "scope")]
    if unknown:
        raise ValueError(f"rule {name!r} has an unknown key {unknown[0]!r}")
    outputs = _texts(table.get("outputs", []), f"'outputs' of rule {name!r}")
    return Rule(name, items, kind, outputs, _read_scope(table.get("scope", [])))


def _read_scope(entry: object) -> tuple[str, ...]:
    if isinstance(entry, Mapping):
        table = _table(cast(object, entry), "'scope'")
        if list(table) != ["nodes"]:
            raise ValueError("'scope' is no list of names or globs, nor a table with such a list as 'nodes'")
        return _texts(table["nodes"], "'nodes' of 'scope'")
    return _texts(entry, "'scope'")


def _table(entry: object, what: str) -> Mapping[str, object]:
    if not isinstance(entry, Mapping) or not all(
        isinstance(key, str) for key in cast("Mapping[object, object]", entry)
    ):
        raise ValueError(f"{what} is no table")
    return cast("Mapping[str, object]", entry)


def _texts(entry: object, what: str) -> tuple[str, ...]:
    items = cast("list[object]", entry) if isinstance(entry, list | tuple) else None
    if items is None or not all(isinstance(item, str) and item for item in items):
        raise ValueError(f"{what} is no list of names")
    return tuple(cast("list[str]", items))


def _check_names(rules: tuple[Rule, ...]) -> None:
    if not rules:
        raise ValueError("there is no rule")
    names = [rule.name for rule in rules]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise ValueError(f"two rules are called {twice!r}")
