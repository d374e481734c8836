"""AttributeProto -> attribute of the IR."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import onnx.defs
from onnx import AttributeProto, GraphProto

from autofusion.frontend.faults import ATTRIBUTE, fault
from autofusion.frontend.frames import Frame, RawNode, normalize_domain
from autofusion.frontend.storage import Storage
from autofusion.frontend.tensors import read_sparse, read_tensor
from autofusion.ir import Attribute, Graph

_KIND = onnx.defs.OpSchema.AttrType
_KINDS = {
    _KIND.FLOAT: AttributeProto.FLOAT,
    _KIND.INT: AttributeProto.INT,
    _KIND.STRING: AttributeProto.STRING,
    _KIND.TENSOR: AttributeProto.TENSOR,
    _KIND.GRAPH: AttributeProto.GRAPH,
    _KIND.FLOATS: AttributeProto.FLOATS,
    _KIND.INTS: AttributeProto.INTS,
    _KIND.STRINGS: AttributeProto.STRINGS,
}

ReadGraph = Callable[[GraphProto, Frame, str], Graph]
"""Reads a control-flow graph in a frame; the text says whose it is."""


def read_attributes(raw: RawNode, storage: Storage, read_graph: ReadGraph) -> dict[str, Attribute]:
    """The attributes of `raw` by name; those that refer to an attribute which the caller left out are absent.

    Raises ModelError for an attribute that is given twice, is of another kind than the
    operator's, or refers to an attribute of a function where there is none.
    """
    attributes: dict[str, Attribute] = {}
    domain = normalize_domain(raw.proto.domain)
    kinds = _kinds_of(raw.proto.op_type, domain, raw.frame.opsets.get(domain, 0))
    for written in raw.proto.attribute:
        found = raw.frame.find_attribute(written)
        if found is None and not raw.frame.stem:
            problem = f"attribute {written.name!r} of node {raw.label!r} ({raw.proto.op_type}) refers to"
            raise fault(ATTRIBUTE, f"{problem} attribute {written.ref_attr_name!r} of a function, but is in none")
        if found is None:
            continue
        if written.name in attributes:
            raise fault(ATTRIBUTE, f"node {raw.label!r} ({raw.proto.op_type}) has attribute {written.name!r} twice")
        wanted, given = kinds.get(written.name), kind_of(found[0])
        if wanted not in (None, given):
            problem = f"attribute {written.name!r} of node {raw.label!r} ({raw.proto.op_type}) is {_spell(given)}"
            raise fault(ATTRIBUTE, f"{problem}, not {_spell(wanted)}")
        attributes[written.name] = _read_attribute(written.name, *found, raw, storage, read_graph)
    return attributes


def kind_of(proto: AttributeProto) -> int:
    """The attribute's type, told from its fields where the file (IR 1) does not say."""
    if proto.type:
        return proto.type
    scalars = {"f": AttributeProto.FLOAT, "i": AttributeProto.INT, "s": AttributeProto.STRING}
    messages = {"t": AttributeProto.TENSOR, "g": AttributeProto.GRAPH, "sparse_tensor": AttributeProto.SPARSE_TENSOR}
    for name, kind in {**scalars, **messages}.items():
        if proto.HasField(name):
            return kind
    lists = {"floats": AttributeProto.FLOATS, "ints": AttributeProto.INTS, "strings": AttributeProto.STRINGS}
    return next((kind for name, kind in lists.items() if len(getattr(proto, name))), AttributeProto.UNDEFINED)


def _read_attribute(
    name: str, proto: AttributeProto, frame: Frame, raw: RawNode, storage: Storage, read_graph: ReadGraph
) -> Attribute:
    where = f"attribute {name!r} of node {raw.label!r}"
    match kind_of(proto):
        case AttributeProto.FLOAT:
            return proto.f
        case AttributeProto.INT:
            return proto.i
        case AttributeProto.STRING:
            return _read_text(proto.s, where)
        case AttributeProto.FLOATS:
            return tuple(proto.floats)
        case AttributeProto.INTS:
            return tuple(proto.ints)
        case AttributeProto.STRINGS:
            return tuple(_read_text(text, where) for text in proto.strings)
        case AttributeProto.TENSOR:
            return read_tensor(proto.t, f"{name} of {raw.label}", storage)
        case AttributeProto.SPARSE_TENSOR:
            return read_sparse(proto.sparse_tensor, f"{name} of {raw.label}", storage)
        case AttributeProto.GRAPH:
            return read_graph(proto.g, frame, where)
        case kind:
            raise fault(ATTRIBUTE, f"{where} is {_spell(kind)}, which is not supported")


@cache
def _kinds_of(op: str, domain: str, version: int) -> Mapping[str, int]:
    """Kinds that ONNX declares for the attributes of an operator, none for one that it does not know."""
    try:
        schema = onnx.defs.get_schema(op, version, domain)
    except onnx.defs.SchemaError:
        return {}
    return {name: _KINDS[attribute.type] for name, attribute in schema.attributes.items() if attribute.type in _KINDS}


def _spell(kind: int | None) -> str:
    if kind not in AttributeProto.AttributeType.values():
        return f"of kind {kind}"
    return f"of kind {AttributeProto.AttributeType.Name(kind).lower()}"


def _read_text(data: bytes, where: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise fault(ATTRIBUTE, f"{where} is a string that is not UTF-8") from error
