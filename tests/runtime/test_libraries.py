"""Every variant of the kernel library is tested, and the drivers report what goes wrong in them."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from autofusion.runtime.native import Native
from runtime.cases import CASES
from runtime.drivers import open_driver
from runtime.libraries import LIBRARIES, find_library
from runtime.steps import Bench


@pytest.mark.parametrize("name", LIBRARIES)
def test_every_library_is_there(name: str) -> None:
    """Skipped is what the tests of kernels leave out on this machine."""
    absent = find_library(name).absent
    # A fact of the machine: its processor, emulator or compiler lacks what this library needs; the reason names it.
    if absent:
        pytest.skip(f"no kernel is tested on {name}: {absent}")


@pytest.mark.threads
@pytest.mark.parametrize("name", CASES)
def test_threads_do_not_change_results(native: Native, name: str) -> None:
    expected = Bench(CASES[name]).run(native)
    for threads in (2, 3, 64):
        np.testing.assert_array_equal(expected, Bench(CASES[name], threads=threads).run(native))


def test_the_end_of_a_driver_is_reported() -> None:
    script = "import sys; sys.stdin.buffer.read(8); sys.exit('heap-buffer-overflow')"
    with open_driver("broken", [sys.executable, "-c", script]) as native:
        for _ in range(2):
            with pytest.raises(AssertionError, match="ended with code 1:\nheap-buffer-overflow"):
                native.check(Bench(CASES["copy"]).context())
