"""The kernel libraries that steps run on; sessions over plans written by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pytest

from autofusion.artifact import join_weights
from autofusion.artifact.checks import check_plan
from autofusion.plan import Buffer, Plan, Step, Tensor
from autofusion.plan.dtypes import encode_strings
from autofusion.runtime import Session, open_session
from autofusion.runtime.native import Native
from runtime.libraries import LIBRARIES, find_library

NAMES = {"float32": "float", "float64": "double", "object": "string"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what takes `native` on every library that is there; `test_libraries.py` says which are not."""
    if "native" not in metafunc.fixturenames:
        return
    chosen: str | None = metafunc.config.getoption("--libraries")
    races = metafunc.definition.get_closest_marker("threads")
    names = chosen.split(",") if chosen else [name for name in LIBRARIES if races or name != "raced"]
    there = [name for name in names if chosen or not find_library(name).absent]
    metafunc.parametrize("native", there, indirect=True, scope="session")


@pytest.fixture(scope="session")
def native(request: pytest.FixtureRequest) -> Iterator[Native]:
    """A variant of the kernel library, in this process or in another."""
    library = find_library(request.param)
    assert library.open, library.absent
    with library.open(request.config.cache.mkdir("kernels")) as opened:
        yield opened


MakePlan = Callable[..., tuple[Plan, tuple[np.ndarray, ...]]]


def build_plan(
    backend: str,
    buffers: Sequence[Buffer],
    steps: Sequence[Step],
    constants: Mapping[str, np.ndarray] | None = None,
    outputs: Sequence[str] = (),
    symbols: Sequence[str] = (),
) -> tuple[Plan, tuple[np.ndarray, ...]]:
    """A plan and its constants; inputs and outputs are the buffers of these roles, in their order."""
    arrays = dict(constants or {})
    tensors: list[Tensor] = []
    named = {buffer.name: buffer for buffer in buffers}
    offset = 0
    for name, array in arrays.items():
        dtype = NAMES.get(str(array.dtype), str(array.dtype))
        size = len(encode_strings(array)) if dtype == "string" else array.nbytes
        given = named.get(name, Buffer(name, dtype, array.shape, "constant"))
        named[name] = Buffer(name, dtype, given.shape, given.role, tensor=len(tensors))
        tensors.append(Tensor(name, dtype, array.shape, offset, size))
        offset += -(-size // 64) * 64
    inputs = tuple(buffer.name for buffer in buffers if buffer.role == "input")
    given_outputs = tuple(outputs) or tuple(buffer.name for buffer in buffers if buffer.role == "output")
    assert backend in ("native", "reference")
    plan = Plan(backend, inputs, given_outputs, tuple(symbols), named, tuple(tensors), tuple(steps))
    check_plan(plan, offset)
    return plan, tuple(arrays.values())


@pytest.fixture
def make_plan() -> MakePlan:
    return build_plan


@pytest.fixture
def make_session() -> Callable[..., Session]:
    def make(*parts: object, threads: int = 2, **named: object) -> Session:
        plan, arrays = build_plan(*parts, **named)  # pyright: ignore[reportArgumentType]
        return open_session(plan, join_weights(plan.tensors, arrays), threads=threads)

    return make
