"""A check of a model without converting it: for every node whether it runs natively, on the host, or not at all."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal

from autofusion.artifact.publish import publish_files
from autofusion.compiler import Compilation, compile_model, read_source
from autofusion.decisions import HostStep
from autofusion.diagnostics.codes import cann_code
from autofusion.errors import ModelError
from autofusion.frontend import Model
from autofusion.frontend.scan import scan_operators
from autofusion.ir import Graph, Node
from autofusion.options import CompileOptions
from autofusion.patternlang import load_operators

Support = Literal["native", "host", "folded", "unsupported", "unchecked"]
SUPPORTS: tuple[Support, ...] = ("native", "host", "folded", "unsupported", "unchecked")


@dataclass(frozen=True)
class NodeCheck:
    """What becomes of one node.

    `native`: a kernel, alone or in a fused node.  `host`: its ONNX reference implementation.  `folded`: nothing,
    for its result is known or not needed.  `unsupported`: the model cannot be converted because of it.
    `unchecked`: the model cannot be converted for another reason.
    """

    node: str
    op: str
    support: Support
    reason: str = ""


@dataclass(frozen=True)
class ModelCheck:
    """The verdict on a model: `error` says why it cannot be converted, None where it can; then there is a `model`."""

    source: Path
    nodes: tuple[NodeCheck, ...]
    model: Model | None
    error: ModelError | None

    def count(self, support: Support) -> int:
        """How many nodes have this support."""
        return sum(row.support == support for row in self.nodes)


def check_model(path: Path, options: CompileOptions) -> ModelCheck:
    """Compile the model in memory and tell what becomes of each of its nodes.

    Where it cannot be compiled, every operator that nothing can run is found all the same.
    Raises UsageError and PatternError for what is wrong with the options.
    """
    try:
        compilation = compile_model(path, options)
    except ModelError as error:
        return ModelCheck(path, tuple(_scan_nodes(path, options, error)), None, error)
    nodes = tuple(_judge_nodes(read_source(path, options).graph, compilation))
    return ModelCheck(path, nodes, compilation.model, None)


def summarize_check(check: ModelCheck) -> str:
    """The verdict in one line, without a line break."""
    counts = [f"{support} {check.count(support)}" for support in SUPPORTS if check.count(support)]
    return ", ".join(["cannot be converted" if check.error else "can be converted", *counts])


def save_check(path: Path, check: ModelCheck) -> None:
    """Write the verdict as JSON; raises ArtifactError AF515, AF516 where that fails."""
    found = None if check.error is None else check.error.diagnostic
    error = None
    if found is not None:
        names = {"code": found.code, "cann_code": cann_code(found.code)}
        error = {**names, "message": found.message, "help": found.help}
    data = {
        "model": check.source.name,
        "result": "success" if error is None else "failed",
        "error": error,
        "count": {support: check.count(support) for support in SUPPORTS},
        "op": [{"name": row.node, "type": row.op, "support": row.support, "reason": row.reason} for row in check.nodes],
    }
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    publish_files({path: partial(_write, text.encode())})


def _write(data: bytes, file: BinaryIO) -> None:
    file.write(data)


def _scan_nodes(path: Path, options: CompileOptions, error: ModelError) -> Iterator[NodeCheck]:
    try:
        uses = scan_operators(path, load_operators(options.pattern_directories))
    except ModelError:
        return
    for use in uses:
        if use.fault is not None:
            yield NodeCheck(use.node, use.op, "unsupported", use.fault.message)
        elif f"{use.node!r}" in error.diagnostic.message and use.op in error.diagnostic.message:
            yield NodeCheck(use.node, use.op, "unsupported", error.diagnostic.message)
        else:
            yield NodeCheck(use.node, use.op, "unchecked")


def _judge_nodes(unfused: Graph, compilation: Compilation) -> Iterator[NodeCheck]:
    found: dict[str, tuple[Support, str]] = {}
    hosts = {step.node: step for step in compilation.report.host}
    for node in compilation.graph:
        for label, support, reason in _find_support(node, hosts):
            # Of several nodes that one node of the file became, the one on the host counts.
            if support == "host" or label not in found:
                found[label] = support, reason
    seen: Counter[str] = Counter()
    for node in _walk(unfused):
        label = node.origin[0] if node.origin else node.name
        seen[label] += 1
        if seen[label] == 1:
            support, reason = found.get(label, ("folded", ""))
            yield NodeCheck(label, node.op, support, reason)


def _find_support(node: Node, hosts: Mapping[str, HostStep]) -> Iterator[tuple[str, Support, str]]:
    step = hosts.get(node.name)
    for inner in _walk_node(node):
        for label in inner.origin or (inner.name,):
            if step is not None and (step.op == inner.op or (inner is not node and node.body is None)):
                yield label, "host", step.reason
            else:
                yield label, "native", f"in {node.display}" if node.pattern else ""


def _walk(graph: Iterable[Node]) -> Iterator[Node]:
    for node in graph:
        yield from _walk_node(node)


def _walk_node(node: Node) -> Iterator[Node]:
    """`node`, those of its body and those of its control-flow graphs."""
    yield node
    if node.body is not None:
        yield from _walk(node.body)
    for _, nested in node.subgraphs():
        yield from _walk(nested)
