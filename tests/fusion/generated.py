"""Every shape that the built-in patterns can match, as a model of its own.

A pattern needs one row in `SAMPLES`: what its values are in the models, and the attributes of its operators.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import onnx
from onnx import helper, numpy_helper

from autofusion.patternlang.model import Call, Number, Pattern, Reference, Statement
from autofusion.patternlang.templates import render_template, spell_display
from autofusion.patternlang.variants import Variant, enumerate_variants
from fusion.generated_attention import ATTENTION_ROWS
from fusion.generated_folds import FOLD_ROWS
from fusion.generated_norms import NORM_ROWS, WIDENING
from fusion.generated_products import PRODUCT_ROWS

OPSET = 20

MANY = 500
"""Patterns of more variants are tested on some of them."""


@dataclass(frozen=True)
class Sample:
    """The values of a pattern: shapes of the variable ones or arrays of integers, arrays or shapes of the constants.

    `rest` names, by `statement:operator`, the operands that stand for `...`.
    """

    inputs: Mapping[str, tuple[int, ...] | np.ndarray]
    constants: Mapping[str, tuple[int, ...] | np.ndarray | np.generic]
    attributes: Mapping[str, Mapping[str, object]] = field(default_factory=dict[str, Mapping[str, object]])
    rest: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


CONVOLUTION = {"w": (4, 3, 3, 3), "b": (4,), "lo": np.float32(-0.4), "hi": np.float32(0.9)}
PADDED = {"pads": [1, 1, 1, 1]}
WHOLE = {"kernel_shape": [7, 5]}

SAMPLES: Mapping[str, Sample] = {
    "silu": Sample({"x": (2, 3)}, {}),
    "conv_pool": Sample(
        {"x": (2, 3, 7, 5)},
        CONVOLUTION,
        {
            "Conv": PADDED,
            "MaxPool": {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 0]},
            "AveragePool": {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 0]},
        },
    ),
    "conv_pool_fc": Sample(
        {"x": (2, 3, 7, 5)},
        {
            **CONVOLUTION,
            "axes": np.array([2, 3]),
            "shape": np.array([0, -1]),
            "squeezed": np.array([2, 3]),
            "weight": (4, 6),
        },
        {"Conv": PADDED, "MaxPool": WHOLE, "AveragePool": WHOLE},
    ),
    **{
        name: Sample(*row)
        for name, row in (*ATTENTION_ROWS.items(), *NORM_ROWS.items(), *FOLD_ROWS.items(), *PRODUCT_ROWS.items())
    },
}


@dataclass(frozen=True)
class GeneratedModel:
    """A model, the inputs to run it on, and the display name that fusion must give its one node."""

    name: str
    proto: onnx.ModelProto
    feeds: Mapping[str, np.ndarray]
    display: str


def generate_models(patterns: tuple[Pattern, ...]) -> Iterator[GeneratedModel]:
    """One model for each variant of each pattern, commutative operands as the pattern writes them.

    Of a pattern with very many variants, as many as hold every two choices that can be made together.

    A Clip always has limits.  A variant with casts has half precision at its edges; those in which
    types do not meet are left out.
    """
    for pattern in patterns:
        for number, variant in enumerate(_cover_choices(list(enumerate_variants(pattern)))):
            writer = _Writer(pattern, variant, SAMPLES[pattern.name])
            if writer.is_typed() and not _has_idle_clip(variant):
                yield writer.write(f"{pattern.name}_{number}")


def _cover_choices(variants: list[Variant]) -> list[Variant]:
    if len(variants) <= MANY:
        return variants
    pairs = [frozenset(combinations(sorted(_choices(variant)), 2)) for variant in variants]
    open_pairs = set[tuple[str, str]]().union(*pairs)
    chosen: list[Variant] = []
    while open_pairs:
        best = max(range(len(variants)), key=lambda place: len(pairs[place] & open_pairs))
        chosen.append(variants[best])
        open_pairs -= pairs[best]
    return chosen


def _has_idle_clip(variant: Variant) -> bool:
    """True with a Clip without limits, which the passes take away."""
    return any(call.op == "Clip" and {"lo", "hi"} <= variant.absent for call in variant.calls.values())


def _choices(variant: Variant) -> set[str]:
    calls = {f"{name} = {call.op}{len(call.arguments)}" for name, call in variant.calls.items()}
    return calls | {f"no {name}" for name in variant.absent}


class _Writer:
    """Writes one variant."""

    def __init__(self, pattern: Pattern, variant: Variant, sample: Sample) -> None:
        self._pattern, self._variant, self._sample = pattern, variant, sample
        self._rng = np.random.default_rng(len(pattern.name))
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, np.ndarray] = {}
        self._feeds: dict[str, np.ndarray] = {}
        self._further: list[str] = []
        has_casts = any(call.op == "Cast" for call in variant.calls.values())
        self._edge = np.dtype(np.float16 if has_casts else np.float32)
        self._types: dict[str, np.dtype] = {}

    def is_typed(self) -> bool:
        """True where all operands of a node have one type, casts change it, and the result has that of the inputs."""
        types = [self._type_statement(statement) for statement in self._variant.statements]
        return all(types) and types[-1] == self._edge

    def _type_statement(self, statement: Statement) -> np.dtype | None:
        call = self._variant.calls[statement.name]
        results = {self._variant.resolve(term.name) for term in call.references}
        found = {self._types[name] for name in results if name in self._types} or {self._edge}
        if "x" in results:
            found.add(self._edge)
        (dtype, *others) = found
        if call.op == "Cast":
            target = np.dtype(np.float32 if statement.name in WIDENING else np.float16)
            others += [target] if target == dtype else []
            dtype = target
        self._types[statement.name] = dtype
        return None if others else dtype

    def write(self, name: str) -> GeneratedModel:
        for statement in self._variant.statements:
            self._write_call(self._variant.calls[statement.name], statement.name)
        root = self._variant.statements[-1].name
        graph = helper.make_graph(
            self._nodes,
            name,
            [
                helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
                for key, array in self._feeds.items()
            ],
            [
                helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(self._edge), None)
                for key in (root, *self._further)
            ],
            [numpy_helper.from_array(array, key) for key, array in self._constants.items()],
        )
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
        return GeneratedModel(name, onnx.shape_inference.infer_shapes(proto), self._feeds, self._display())

    def _write_call(self, call: Call, result: str) -> None:
        operands = [
            self._operand(term.name, result) if isinstance(term, Reference) else self._number(term, call, result)
            for term in call.arguments
            if isinstance(term, Reference | Number)
        ]
        while operands and not operands[-1]:
            operands.pop()
        operands += [self._operand(name, result) for name in self._sample.rest.get(f"{result}:{call.op}", ())]
        # What stands for a node of another pattern or for a normal form.
        match call.key:
            case "@conv_bn_act" | "@matmul_bias_act" if result not in ("fc", "mm"):
                self._node("Conv" if call.op == "conv_bn_act" else "MatMul", operands, f"{result}_raw")
                self._node("Sigmoid" if result in ("gate", "weights") else "Relu", [f"{result}_raw"], result)
            case "@matmul_bias_act":
                self._node("MatMul", operands, f"{result}_raw")
                self._define("fc_bias", (6,))
                self._node("Add", [f"{result}_raw", "fc_bias"], result)
            case "@gated_matmul":
                self._define("other", (5, 6))
                self._node("MatMul", operands, f"{result}_left")
                self._node("MatMul", [operands[0], "other"], f"{result}_right")
                self._node("Relu", [f"{result}_left"], f"{result}_gate")
                self._node("Mul", [f"{result}_gate", f"{result}_right"], result)
            case "@qkv_matmul":
                self._define("other", (5, 3))
                self._node("MatMul", operands, result)
                self._node("MatMul", [operands[0], "other"], f"{result}_second")
                self._further.append(f"{result}_second")
            case "RMSNormalization":
                self._write_rms(operands, result)
            case "Rotary":
                self._write_rotary(operands, result)
            case "NaNGuard":
                self._define("nothing", np.float32(0))
                self._node("IsNaN", operands, f"{result}_test")
                self._node("Where", [f"{result}_test", "nothing", operands[0]], result)
            case "Swish":
                self._define("alpha", np.float32(0.7))
                self._node("Mul", [operands[0], "alpha"], f"{result}_scaled")
                self._node("Sigmoid", [f"{result}_scaled"], f"{result}_gate")
                self._node("Mul", [operands[0], f"{result}_gate"], result)
            case "SiLU":
                self._node("Sigmoid", operands, f"{result}_gate")
                self._node("Mul", [operands[0], f"{result}_gate"], result)
            case _:
                tests = {test.name: -1 if test.is_last else test.value for test in call.attributes}
                if call.op == "Cast":
                    tests["to"] = helper.np_dtype_to_tensor_dtype(self._types[result])
                self._node(call.op, operands, result, tests, *self._variant.form.by_name[result].names[1:])

    def _write_rms(self, operands: list[str], result: str) -> None:
        """The operator is younger than the models."""
        self._define("axes", np.array([-1]))
        self._define("epsilon", np.float32(1e-5))
        self._node("Mul", [operands[0], operands[0]], f"{result}_square")
        self._node("ReduceMean", [f"{result}_square", "axes"], f"{result}_mean", {"keepdims": 1})
        self._node("Add", [f"{result}_mean", "epsilon"], f"{result}_guarded")
        self._node("Sqrt", [f"{result}_guarded"], f"{result}_root")
        self._node("Div", [operands[0], f"{result}_root"], f"{result}_normal")
        self._node("Mul", [f"{result}_normal", operands[1]], result)

    def _write_rotary(self, operands: list[str], result: str) -> None:
        """Halves of a last axis of 6."""
        x, cos, sin = operands
        self._define("halves", np.array([3, 3]))
        self._node("Split", [x, "halves"], f"{result}_low", {"axis": -1}, f"{result}_high")
        self._node("Neg", [f"{result}_high"], f"{result}_minus")
        self._node("Concat", [f"{result}_minus", f"{result}_low"], f"{result}_turned", {"axis": -1})
        self._node("Mul", [x, cos], f"{result}_straight")
        self._node("Mul", [f"{result}_turned", sin], f"{result}_crossed")
        self._node("Add", [f"{result}_straight", f"{result}_crossed"], result)

    def _node(
        self, op: str, operands: list[str], result: str, tests: Mapping[str, object] | None = None, *further: str
    ) -> None:
        attributes = {**self._sample.attributes.get(op, {}), **(tests or {})}
        self._nodes.append(helper.make_node(op, operands, [result, *further], name=result.upper(), **attributes))

    def _number(self, term: Number, call: Call, reader: str) -> str:
        name = f"{reader}_{term.value:g}"
        match call.op:
            case "Unsqueeze":
                self._define(name, np.array([int(term.value)]))
            case "Gather":
                self._define(name, np.array(int(term.value)))
            case _:
                self._define(name, np.asarray(term.value, self._types[reader]))
        return name

    def _operand(self, name: str, reader: str) -> str:
        if name in self._variant.absent and name not in self._variant.form.by_name:
            return ""
        name = self._variant.resolve(name)
        if name in self._sample.inputs:
            given = self._sample.inputs[name]
            array = self._array(given).astype(self._edge) if isinstance(given, tuple) else given
            self._feeds.setdefault(name, array)
        elif name not in self._variant.form.by_name:
            self._define(name, self._sample.constants[name])
            if self._constants[name].dtype.kind == "f":
                self._constants[name] = self._constants[name].astype(self._types[reader])
        return name

    def _define(self, name: str, array: tuple[int, ...] | np.ndarray | np.generic) -> None:
        if name not in self._constants:
            self._constants[name] = self._array(array) if isinstance(array, tuple) else np.asarray(array)
            if name == "var":
                self._constants[name] = np.abs(self._constants[name]) + np.float32(0.5)

    def _array(self, shape: tuple[int, ...]) -> np.ndarray:
        return self._rng.standard_normal(shape).astype(np.float32)

    def _display(self) -> str:
        def spell(statement: str) -> str:
            call = self._variant.calls[statement]
            inner = {
                "@conv_bn_act": "Conv+ReLU",
                "@matmul_bias_act": "MatMul+BiasAdd",
                "@gated_matmul": "MatMul+Relu+Mul",
            }
            return inner.get(call.key) or spell_display(call.op, self._pattern.spelling)

        return render_template(self._pattern.display, self._variant.names, spell)
