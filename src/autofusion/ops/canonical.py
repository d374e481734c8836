"""From a node as the model's opset writes it to the canonical form that every later stage sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autofusion.ir import Attribute, Node
from autofusion.ops.faults import BAD_ATTRIBUTE, MISSING_ATTRIBUTE, WRONG_ARITY, fault
from autofusion.ops.rows import find_operator
from autofusion.ops.schema import NEWEST_OPSET, OLDEST_OPSET, Schema, schema_of
from autofusion.ops.table import Scope

_PLAIN = (int, float, str, tuple)


def canonicalize(node: Node, version: int, scope: Scope) -> Sequence[Node]:
    """`node`, written in opset `version`, as equivalent nodes in canonical form, producers first.

    Defaults of that version are filled in, attributes that became operands turn into constants
    of `scope`, axes count from the front where the rank is known.  A node that has no canonical
    form (unknown operator, a form too old or too new) comes back alone with `opaque` set and
    `opset` = `version`.  Raises ModelError for a wrong number of operands or results, a
    missing, unknown or impossible attribute.
    """
    schema = schema_of(node.op, node.domain, version)
    if schema is None:
        return (replace(node, opaque=True, opset=version),)
    node = _restore_places(node, schema)
    _check_arity(node, schema)
    filled = _fill_attributes(node, schema)
    row = find_operator(node.op, node.domain)
    if row is None or (node.domain == "" and not (version >= OLDEST_OPSET and schema.version <= NEWEST_OPSET)):
        return (replace(filled, opaque=True, opset=version),)
    converted = row.convert(filled, version, scope) if row.convert else (filled,)
    finished = [_finish(part) for part in converted]
    if all(part is not None for part in finished):
        return tuple(part for part in finished if part is not None)
    return (replace(filled, opaque=True, opset=version),)


def refine(node: Node, scope: Scope) -> Node:
    """A canonical `node` in the light of what `scope` has learnt since it was converted; itself where that is nothing.

    Negative axes, implicit pads and the like become explicit once a rank or an extent is known.
    """
    if node.opaque or node.body is not None:
        return node
    parts = canonicalize(node, node.opset, scope)
    refined = parts[0]
    if len(parts) > 1 or refined.opaque or (refined.inputs == node.inputs and _same(refined, node)):
        return node
    return refined


def _same(left: Node, right: Node) -> bool:
    """True where the attributes are equal; arrays and nested graphs only as the same object."""
    if left.attributes.keys() != right.attributes.keys():
        return False
    pairs = ((value, right.attributes[name]) for name, value in left.attributes.items())
    return all(a is b or (isinstance(a, _PLAIN) and a == b) for a, b in pairs)


def _restore_places(node: Node, schema: Schema) -> Node:
    """`node` with the empty places at its end that its operator counts, such as the condition of a Loop."""
    inputs = node.inputs
    while len(inputs) < schema.input_count[0] and schema.input_slot(len(inputs)).kind == "optional":
        inputs = (*inputs, "")
    return node if inputs is node.inputs else replace(node, inputs=inputs)


def _check_arity(node: Node, schema: Schema) -> None:
    least, most = schema.input_count
    if not least <= len(node.inputs) <= most:
        wanted = f"{least}" if least == most else f"{least} to {most}"
        raise fault(WRONG_ARITY, node, f"has {len(node.inputs)} inputs, expected {wanted}")
    for index, name in enumerate(node.inputs):
        slot = schema.input_slot(index)
        if not name and slot.kind == "single":
            raise fault(WRONG_ARITY, node, f"input {slot.name!r} is empty but must be given")
    least, most = schema.output_count
    if not least <= len(node.outputs) <= most:
        wanted = f"{least}" if least == most else f"{least} to {most}"
        raise fault(WRONG_ARITY, node, f"has {len(node.outputs)} outputs, expected {wanted}")


def _fill_attributes(node: Node, schema: Schema) -> Node:
    for name in node.attributes:
        if name not in schema.attributes:
            problem = f"attribute {name!r} is unknown in opset {schema.version}"
            raise fault(BAD_ATTRIBUTE, node, problem, f"known are {', '.join(sorted(schema.attributes)) or 'none'}")
    for rule in schema.attributes.values():
        if rule.required and rule.name not in node.attributes:
            raise fault(MISSING_ATTRIBUTE, node, f"required attribute {rule.name!r} is missing")
    return replace(node, attributes=_with_defaults(node, schema))


def _with_defaults(node: Node, schema: Schema) -> dict[str, Attribute]:
    defaults = {rule.name: rule.default for rule in schema.attributes.values() if rule.default is not None}
    return {**defaults, **node.attributes}


def _finish(node: Node) -> Node | None:
    """`node` with the attributes of its canonical form filled in, None where it holds others."""
    row = find_operator(node.op, node.domain)
    schema = None if row is None else schema_of(row.name, row.domain, row.version)
    if node.opaque or row is None or schema is None:
        return None
    later = schema_of(row.name, row.domain) or schema
    kept = dict(node.attributes)
    for name in node.attributes.keys() - schema.attributes.keys():
        # An attribute that a later version added says nothing while it has its default.
        rule = later.attributes.get(name)
        if rule is None or rule.default is None or rule.default != kept.pop(name):
            return None
    plain = replace(node, attributes=kept, opset=row.version)
    return replace(plain, attributes=_with_defaults(plain, schema))
