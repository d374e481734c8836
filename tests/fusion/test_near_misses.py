"""Every built-in pattern on the largest model of its kind with one thing changed: what still fuses, and why not.

The model itself fuses whole (`test_generated.py`); each change is applied alone, and what comes out computes the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import onnx
import pytest
from onnx import helper, numpy_helper

from autofusion.fusion import Controls, rank_miss
from autofusion.patternlang import Pattern
from autofusion.services.evaluate import evaluate_graph
from conftest import CheckGolden
from fusion.generated import GeneratedModel, generate_models
from fusion.support import everything, run
from fusion.test_generated import TEXTS, check, read


def change_model(model: GeneratedModel) -> Iterator[tuple[str, GeneratedModel]]:
    """The model with one change each: an inner result is handed out, a constant is given at run time or another one."""
    graph = model.proto.graph
    outputs = {output.name for output in graph.output}
    types = {info.name: info for info in graph.value_info}
    for node in graph.node:
        for name in node.output:
            if name in types and name not in outputs:
                proto = _copy(model)
                proto.graph.output.append(types[name])
                yield f"{name} is an output", replace(model, proto=proto)
    for place, constant in enumerate(graph.initializer):
        array = numpy_helper.to_array(constant)
        proto = _copy(model)
        del proto.graph.initializer[place]
        proto.graph.input.append(helper.make_tensor_value_info(constant.name, constant.data_type, array.shape))
        feeds = {**model.feeds, constant.name: array}
        yield f"{constant.name} is given at run time", replace(model, proto=proto, feeds=feeds)
        if array.size == 1 and array.dtype.kind == "f":
            other = (array * 1.5 + 0.25).astype(array.dtype)
            proto = _copy(model)
            proto.graph.initializer[place].CopyFrom(numpy_helper.from_array(other, constant.name))
            yield f"{constant.name} is {other.reshape(()):.3g}", replace(model, proto=proto)


def _copy(model: GeneratedModel) -> onnx.ModelProto:
    proto = onnx.ModelProto()
    proto.CopyFrom(model.proto)
    return proto


def tell_changes(pattern: Pattern, whole: GeneratedModel, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Each change, what the pattern made all the same, and its own reason why that is not the whole, "" for none.

    The results are those of the changed model without fusion.
    """
    controls = Controls(level=max(pattern.level, Controls().level))
    for change, model in change_model(whole):
        graph = read(model, folder)
        result = run(graph, controls=controls)
        values = evaluate_graph(graph, dict(model.feeds), widen=False)
        check(model, [values[name] for name in graph.outputs])
        steps = [step for step in (*result.normalized, *result.fusions) if step.pattern == pattern.name]
        own = [miss for miss in result.attempts if miss.pattern == pattern.name]
        reason = str(max(own, key=rank_miss).reason) if own else ""
        yield change, ", ".join(dict.fromkeys(step.display for step in steps)), reason


@pytest.mark.parametrize("pattern", TEXTS, ids=lambda pattern: pattern.name)
def test_one_change(pattern: Pattern, tmp_path: Path, check_golden: CheckGolden) -> None:
    whole = max(generate_models((pattern,)), key=lambda model: len(model.proto.graph.node))
    found = list(tell_changes(pattern, whole, tmp_path))
    lines = [f"{change}: {'; '.join(part for part in (made, reason) if part)}\n" for change, made, reason in found]
    check_golden(f"near_misses/{pattern.name}.txt", "".join(lines))
    assert [change for change, made, reason in found if reason and made != whole.display]


def test_every_pass_has_tests_of_its_own() -> None:
    pages = {path.stem for path in Path(__file__).parent.glob("test_*.py")}
    found = [pattern for pattern in everything() if pattern.pass_name]
    assert found
    for pattern in found:
        assert pages & {f"test_{pattern.pass_name}", f"test_{pattern.name}"}, pattern.name
