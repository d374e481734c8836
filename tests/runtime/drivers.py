"""The kernel library in a program of its own, `driver.c`, that gets each context through a pipe."""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from autofusion.runtime.native import Native
from autofusion.runtime.records import RECORD

DRIVER = Path(__file__).with_name("driver.c")
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:report_signal_unsafe=0",
}
CHECK_ONLY = -2
MESSAGE = 256


@contextmanager
def open_driver(isa: str, command: Sequence[str]) -> Iterator[Native]:
    """The library that is linked into the driver that `command` runs."""
    driver = _Driver(command)
    try:
        yield Native(driver, isa)  # pyright: ignore[reportArgumentType]
    finally:
        driver.close()


class _Driver:
    """Stands for a loaded library: `af_check` and `af_run` send the context to the program and fetch the results."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the driver
        # Partial objects take the attribute `argtypes`.
        self.af_check = partial(self._check)
        self.af_run = partial(self._run)

    def close(self) -> None:
        """End the program."""
        if self._process:
            self._process.communicate()
        self._errors.close()

    def _check(self, reference: Any, message: Any, size: int) -> int:
        code, reason = self._ask(reference._obj, CHECK_ONLY, 0)
        message.value = reason[: size - 1]
        return code

    def _run(self, reference: Any, first: int, last: int) -> int:
        record = reference._obj
        code, reason = self._ask(record, first, last)
        assert code == 0, f"a context that the check refuses was run: {reason}"
        code = self._receive_number()
        for address, size, writable in _list_blocks(record):
            if writable:
                ctypes.memmove(address, self._receive(size), size)
        return code

    def _ask(self, record: Any, first: int, last: int) -> tuple[int, bytes]:
        """The check's code and message."""
        numbers = [record.step_count, record.binding_count, record.threads, first, last]
        steps = ctypes.string_at(record.steps, record.step_count * RECORD.itemsize)
        request = [np.array(numbers, np.int64).tobytes(), steps]
        for address, size, writable in _list_blocks(record):
            request.append(np.array([address or 0, size, writable], np.int64).tobytes())
            request.append(ctypes.string_at(address, size) if size else b"")
        self._send(b"".join(request))
        return self._receive_number(), self._receive(MESSAGE).split(b"\0")[0]

    def _send(self, request: bytes) -> None:
        if self._process is None:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env={**os.environ, **OPTIONS},
            )
        assert self._process.stdin
        try:
            self._process.stdin.write(request)
            self._process.stdin.flush()
        except BrokenPipeError:
            self._fail()

    def _receive(self, size: int) -> bytes:
        assert self._process
        assert self._process.stdout
        answer = self._process.stdout.read(size)
        if len(answer) < size:
            self._fail()
        return answer

    def _receive_number(self) -> int:
        return int.from_bytes(self._receive(8), "little", signed=True)

    def _fail(self) -> NoReturn:
        """Tell what the program said at its end; the next request starts it anew."""
        process, self._process = self._process, None
        assert process
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(BrokenPipeError):
                assert pipe
                pipe.close()
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace")
        self._errors.seek(0)
        self._errors.truncate()
        raise AssertionError(f"the driver ended with code {process.returncode}:\n{said}")


def _list_blocks(record: Any) -> list[tuple[int, int, bool]]:
    """Address, bytes and whether it is written, of the arena, the weights and every binding."""
    bindings = [record.bindings[slot] for slot in range(record.binding_count)]
    return [
        (record.arena, record.arena_bytes, True),
        (record.weights, record.weights_bytes, False),
        *((binding.data, binding.bytes, bool(binding.writable)) for binding in bindings),
    ]
