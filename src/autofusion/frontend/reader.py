"""ONNX file -> Model: checks, canonical form and inference, one node after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from google.protobuf.message import DecodeError
from onnx import IR_VERSION as NEWEST_IR_VERSION
from onnx import ModelProto

from autofusion.diagnostics import Diagnostic
from autofusion.errors import PatternError
from autofusion.frontend.cut import cut_outputs, name_results
from autofusion.frontend.dimensions import Dimensions
from autofusion.frontend.faults import IR_VERSION, NAME_TWICE, NO_FILE, NO_OUTPUTS, OPSET, fault
from autofusion.frontend.frames import Frame, normalize_domain
from autofusion.frontend.functions import Inliner
from autofusion.frontend.graphs import GraphReader
from autofusion.frontend.model import Model
from autofusion.frontend.opsets import read_opsets
from autofusion.frontend.storage import Storage, not_a_model
from autofusion.frontend.texts import find_broken_text
from autofusion.frontend.walk import all_names, defined_names, initializer_names, require_unique_names
from autofusion.ir.scope import Names
from autofusion.ops.custom import Operators

OLDEST_IR_VERSION = 3


def read_model(
    path: Path,
    *,
    dims: Mapping[str, int] = MappingProxyType({}),
    shapes: Mapping[str, tuple[int | str, ...]] = MappingProxyType({}),
    gears: Sequence[Mapping[str, Sequence[int]]] = (),
    outputs: Sequence[str] = (),
    operators: Operators = MappingProxyType({}),
) -> Model:
    """The model in file `path`, in canonical form, with types and shapes as far as they follow from the inputs.

    Args:
        path: An ONNX file; external data lies in its folder.
        dims: Numbers for dimension parameters, named as the file spells them or by their symbol.
        shapes: Extents of whole inputs: numbers, symbols or expressions, -1 for what the file says, ranges `1~512`.
        gears: The only shapes of inputs that are wanted, each with all inputs whose extents are open.
        outputs: Values to compute instead of the file's outputs, by name or as `node:index`; () for those.
        operators: Operators that the user declared beside those of ONNX.

    Raises:
        ModelError: The file is broken, contradicts itself or uses what is not supported.
        UsageError: `dims`, `shapes`, `gears` or `outputs` name something unknown or contradict the model.
        PatternError: One of `operators` is defined by the model itself.
    """
    storage = Storage(path)
    try:
        return _read_proto(parse_model(storage), storage, dims, shapes, gears, outputs, operators)
    except UnicodeDecodeError as error:
        raise not_a_model(path.name, "it has a tensor of strings that are not UTF-8") from error
    except OSError as error:
        raise fault(NO_FILE, f"cannot read {str(path)!r}: {error.strerror}") from error


def parse_model(storage: Storage) -> ModelProto:
    """The structure of the model file, its bulk data left in the file; raises ModelError where it is no model."""
    structure = storage.read_structure()
    try:
        proto = ModelProto.FromString(structure)
    except DecodeError as error:
        raise not_a_model(storage.path.name, "it cannot be parsed") from error
    broken = find_broken_text(proto)
    if broken:
        raise not_a_model(storage.path.name, f"its field {broken} is not UTF-8")
    if not proto.HasField("graph"):
        raise not_a_model(storage.path.name, "it holds no graph")
    if not OLDEST_IR_VERSION <= proto.ir_version <= NEWEST_IR_VERSION:
        raise fault(
            IR_VERSION,
            f"{storage.path.name!r} has IR version {proto.ir_version}; "
            f"versions {OLDEST_IR_VERSION} to {NEWEST_IR_VERSION} can be read",
            "export the model again, or install a newer onnx package",
        )
    if not proto.opset_import:
        raise fault(OPSET, f"{storage.path.name!r} imports no operator set", "set opset_import in the model")
    return proto


def _read_proto(
    proto: ModelProto,
    storage: Storage,
    dims: Mapping[str, int],
    shapes: Mapping[str, tuple[int | str, ...]],
    gears: Sequence[Mapping[str, Sequence[int]]],
    outputs: Sequence[str],
    operators: Operators,
) -> Model:
    overridable = proto.ir_version >= 4
    require_unique_names(proto.graph, "the graph", overridable=True)
    if outputs:
        cut_outputs(proto.graph, outputs)
    if not proto.graph.output:
        raise fault(NO_OUTPUTS, f"graph {proto.graph.name!r} has no outputs", "name the values to compute as outputs")
    for name, count in Counter(value.name for value in proto.graph.output).items():
        if count > 1:
            remedy = "an output is known by its name: put an Identity node behind one of them"
            raise fault(NAME_TWICE, f"output {name!r} of the graph is listed {count} times", remedy)
    opsets = read_opsets(proto.opset_import, "the model")
    fixed = set[str]() if overridable else set(initializer_names(proto.graph))
    inputs = [value for value in proto.graph.input if value.name not in fixed]
    dimensions = Dimensions(inputs)
    dimensions.bind_shapes(shapes)
    dimensions.bind_symbols(dims)
    dimensions.limit_symbols()
    extents = dimensions.read_gears(gears)
    names = Names(all_names(proto.graph))
    inliner = Inliner(proto.functions, names)
    inliner.check_size(proto.graph)
    _check_definitions(proto, storage, operators)
    reader = GraphReader(storage, inliner, dimensions, names, operators)
    frame = Frame({name: name for name in defined_names(proto.graph)}, opsets)
    graph = reader.read_main(proto.graph, frame, inputs)
    return Model(
        graph=graph,
        digest=storage.digest(),
        ir_version=proto.ir_version,
        opsets=opsets,
        producer=" ".join(filter(None, (proto.producer_name, proto.producer_version))),
        path=storage.path.name,
        operator_count=reader.operator_count,
        input_dims={name: dimensions.declared[name] for name in graph.inputs},
        gears=extents,
        output_names={text: name for text, name in name_results(proto.graph).items() if name in graph.outputs},
    )


def _check_definitions(proto: ModelProto, storage: Storage, operators: Operators) -> None:
    """Raise PatternError AF423 where the model defines one of `operators` itself."""
    for function in proto.functions:
        operator = operators.get((normalize_domain(function.domain), function.name))
        if operator is not None:
            message = f"{storage.path.name!r} defines operator {operator.key} itself, as a local function"
            raise PatternError(Diagnostic("AF423", message, span=operator.span))
