"""The node tests that come with ONNX: `onnx_node.txt` lists those that pass, `REASONS` says why others do not.

A listed test that fails, an unlisted one that passes, or a failure without a reason fails here.
`--update-golden` writes the list anew.
"""

from __future__ import annotations

import fnmatch
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from autofusion.errors import AutofusionError
from autofusion.frontend import read_model
from autofusion.services.evaluate import evaluate_graph

LIST = Path(__file__).with_name("onnx_node.txt")

_NO_TENSOR = "a sequence or an optional value, not a tensor"
_ELEMENT_TYPE = "an element type that the IR has not"

REASONS = {
    "test_bernoulli*": "drawn at random",
    "test_training_dropout*": "drawn at random",
    "test_attention_*16_expanded": "rounded to two bytes after each step, which the expected numbers are not",
    "test_cast*FNUZ*": _ELEMENT_TYPE,
    "test_cast*FLOAT4E2M1*": _ELEMENT_TYPE,
    "test_cast*E8M0*": _ELEMENT_TYPE,
    "test_cast*INT2*": _ELEMENT_TYPE,
    "test_*quantizelinear_*int2": _ELEMENT_TYPE,
    "test_*quantizelinear_float4e2m1": _ELEMENT_TYPE,
    "test_castlike_no_saturate_*": "the reference implementation does not take the attribute",
    "test_flexattention_*": "a nested graph of a preview operator",
    "test_image_decoder_*": "a picture format",
    "test_identity_sequence": _NO_TENSOR,
    "test_identity_opt": _NO_TENSOR,
    "test_if_seq": _NO_TENSOR,
    "test_if_opt": _NO_TENSOR,
    "test_loop13_seq": _NO_TENSOR,
    "test_loop16_seq_none": _NO_TENSOR,
    "test_optional_*": _NO_TENSOR,
    "test_sequence_*": _NO_TENSOR,
    "test_split_to_sequence_*": _NO_TENSOR,
    "test_not_?d": "written in opset 1",
    "test_resize_downsample_scales_*_align_corners": "extents that are not whole; runtimes take the whole number",
}
"""Patterns of the names of tests that need not pass."""


def load_cases() -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_node_model_tests

        return load_node_model_tests()


def read_tensor(value: object) -> np.ndarray | None:
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return value if isinstance(value, np.ndarray | np.generic) else None


def find_problem(case: Any, path: Path) -> str:
    """What goes wrong, "" for nothing."""
    path.write_bytes(case.model.SerializeToString())
    try:
        graph = read_model(path).graph
    except AutofusionError as error:
        return str(error)
    for given, expected in case.data_sets:
        arrays = [read_tensor(value) for value in given]
        wanted = [read_tensor(value) for value in expected]
        if any(array is None for array in [*arrays, *wanted]):
            return "holds values that are no tensors"
        names = [value.name for value in case.model.graph.input]
        try:
            found = evaluate_graph(graph, dict(zip(names, arrays, strict=True)), widen=False)
        except AutofusionError as error:
            return str(error)
        for value, array in zip(case.model.graph.output, wanted, strict=True):
            if problem := differs(found[value.name], array, case):
                return f"{value.name}: {problem}"
    return ""


def differs(found: np.ndarray, wanted: np.ndarray, case: Any) -> str:
    if found.shape != wanted.shape:
        return f"shape {found.shape}, expected {wanted.shape}"
    if wanted.dtype.kind in "OUS":
        return "" if found.astype(str).tolist() == wanted.astype(str).tolist() else "other text"
    if found.dtype != wanted.dtype:
        return f"type {found.dtype}, expected {wanted.dtype}"
    wide = [array if array.dtype.kind in "ciub" else array.astype(np.float64) for array in (found, wanted)]
    same = np.allclose(wide[0], wide[1], rtol=case.rtol, atol=case.atol, equal_nan=True)
    return "" if same else "other numbers"


def read_list() -> tuple[str, list[str]]:
    """The ONNX version that the list was made with, and the names in it."""
    version, *names = LIST.read_text(encoding="utf-8").splitlines()
    return version.removeprefix("# onnx "), names


def test_onnx_node_suite(tmp_path: Path, request: pytest.FixtureRequest):
    problems = {case.name: find_problem(case, tmp_path / "node.onnx") for case in load_cases()}
    passing = sorted(name for name, problem in problems.items() if not problem)
    if request.config.getoption("--update-golden"):
        LIST.write_text("\n".join([f"# onnx {onnx.__version__}", *passing, ""]), encoding="utf-8")
    version, listed = read_list()
    unexplained = {
        name: problem
        for name, problem in problems.items()
        if problem and not any(fnmatch.fnmatchcase(name, pattern) for pattern in REASONS)
    }
    assert {name: problems[name] for name in listed if problems.get(name)} == {}
    if version == onnx.__version__:
        assert unexplained == {}
        assert sorted(set(passing) ^ set(listed)) == []


def test_every_reason_is_needed():
    version, listed = read_list()
    if version != onnx.__version__:
        pytest.skip(f"the list was made with onnx {version}")
    names = {case.name for case in load_cases()} - set(listed)
    assert [pattern for pattern in REASONS if not fnmatch.filter(names, pattern)] == []
