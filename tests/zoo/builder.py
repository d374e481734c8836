"""Build complete ONNX models, and inputs for them, from skeletons: exported graphs whose bulk weights are recipes.

The format is described in README.md.  Equal arguments give equal bytes on every machine.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

SKELETONS = Path(__file__).parent / "skeletons"
SUFFIX = ".onnx.gz"
PREFIX = "zoo."
# Standard deviation of the sum of two independent uniform 16-bit numbers.
TRIANGLE = math.sqrt((65536**2 - 1) / 6)


def list_names(folder: Path = SKELETONS) -> list[str]:
    """Names of the skeletons in `folder`, sorted."""
    return sorted(path.name.removesuffix(SUFFIX) for path in folder.glob(f"*{SUFFIX}"))


def read_skeleton(name: str, folder: Path = SKELETONS) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """The graph without its bulk weights, and the decoded `zoo.` entries that were taken out of its metadata."""
    model = onnx.ModelProto.FromString(gzip.decompress((folder / f"{name}{SUFFIX}").read_bytes()))
    entries = {prop.key: prop.value for prop in model.metadata_props}
    del model.metadata_props[:]
    zoo = {key.removeprefix(PREFIX): json.loads(text) for key, text in entries.items() if key.startswith(PREFIX)}
    for key, text in entries.items():
        if not key.startswith(PREFIX):
            model.metadata_props.add(key=key, value=text)
    return model, zoo


def build_model(name: str, folder: Path = SKELETONS) -> onnx.ModelProto:
    """The complete model; raises KeyError where a recipe has no initializer."""
    model, zoo = read_skeleton(name, folder)
    initializers = {tensor.name: tensor for tensor in model.graph.initializer}
    for weight, recipe in zoo["recipes"].items():
        tensor = initializers[weight]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        tensor.raw_data = draw_weight(recipe).astype(dtype).tobytes()
    return model


def make_inputs(
    name: str, seed: int = 0, dims: Mapping[str, int] | None = None, folder: Path = SKELETONS
) -> dict[str, np.ndarray]:
    """Arrays for every input, in the range that the model expects; `dims` overrides default extents of symbols."""
    model, zoo = read_skeleton(name, folder)
    extents = {**zoo["dims"], **(dims or {})}
    arrays: dict[str, np.ndarray] = {}
    for index, value in enumerate(model.graph.input):
        tensor = value.type.tensor_type
        shape = [extents[dim.dim_param] if dim.dim_param else dim.dim_value for dim in tensor.shape.dim]
        drawn = draw_input(zoo["inputs"][value.name], 1_000_003 * seed + 101 * index, shape)
        arrays[value.name] = drawn.astype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    return arrays


def draw_noise(seed: int, shape: Sequence[int]) -> np.ndarray:
    """Float32 noise of mean 0 and deviation `TRIANGLE`, exact on every machine: raw bits and exactly rounded sums."""
    count = math.prod(shape)
    words = np.random.PCG64(seed).random_raw((count + 1) // 2).astype("<u8").view("<u4")[:count]
    low, high = words & 0xFFFF, words >> 16
    return (low.astype(np.float32) + high.astype(np.float32) - np.float32(65535)).reshape(shape)


def scale_noise(noise: np.ndarray, mean: float, std: float) -> np.ndarray:
    """`draw_noise` brought to a mean and a deviation, in float32."""
    return noise * np.float32(std / TRIANGLE) + np.float32(mean)


def draw_weight(recipe: Mapping[str, Any]) -> np.ndarray:
    """The array that a recipe describes."""
    array = scale_noise(draw_noise(recipe["seed"], recipe["shape"]), recipe["mean"], recipe["std"])
    if "scale" in recipe:
        factors = np.frombuffer(base64.b64decode(recipe["scale"]), "<f4")
        array *= factors.reshape([-1 if axis == recipe["axis"] else 1 for axis in range(array.ndim)])
    return array.transpose(recipe["perm"]) if "perm" in recipe else array


def draw_input(kind: Mapping[str, Any], seed: int, shape: Sequence[int]) -> np.ndarray:
    """An input of one of the kinds that README.md lists; raises ValueError for any other."""
    match kind["kind"]:
        case "int":
            words = np.random.PCG64(seed).random_raw(math.prod(shape)).reshape(shape)
            return (words % np.uint64(kind["high"] - kind["low"])).astype(np.int64) + kind["low"]
        case "arange":
            return np.broadcast_to(np.arange(shape[-1]), shape)
        case "constant":
            return np.full(shape, kind["value"])
        case "mask":
            return draw_mask(shape)
        case "normal":
            noise = scale_noise(draw_noise(seed, shape), 0.0, 1.0)
        case "image":
            noise = draw_image(seed, shape)
        case unknown:
            raise ValueError(f"unknown kind of input {unknown!r}")
    array = noise * np.float32(kind.get("std", 1.0)) + np.float32(kind.get("mean", 0.0))
    return array.clip(*kind["clip"]) if "clip" in kind else array


def draw_mask(shape: Sequence[int]) -> np.ndarray:
    """Ones that end, row by row, in 1/8, 2/8, 3/8 and 4/8 of zeros."""
    length = shape[-1]
    rows = np.arange(math.prod(shape[:-1]))
    ends = length - length * (rows % 4 + 1) // 8
    return (np.arange(length) < ends[:, None]).reshape(shape)


def draw_image(seed: int, shape: Sequence[int]) -> np.ndarray:
    """Noise over patches of 16 x 16 pixels, nearer to a photograph than noise alone."""
    *outer, height, width = shape
    patches = scale_noise(draw_noise(seed + 1, [*outer, -(-height // 16), -(-width // 16)]), 0.0, 1.0)
    enlarged = patches.repeat(16, axis=-2).repeat(16, axis=-1)[..., :height, :width]
    return np.float32(0.5) * scale_noise(draw_noise(seed, shape), 0.0, 1.0) + np.float32(0.85) * enlarged
