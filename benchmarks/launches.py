"""Launches of several engines at a time: each in a process of its own, their runs taken in turn."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

WORKER = Path(__file__).with_name("worker.py")

TURN_SECONDS = 0.1
"""How long an engine runs before the next one's turn: long enough for its data to be in the caches again."""


@dataclass(frozen=True)
class Sample:
    """One launch of one engine: median and minimum of its runs, start-up without a median run, peak memory."""

    engine: str
    version: str
    median: float
    least: float
    startup: float
    peak: int


@dataclass(frozen=True)
class Engine:
    """What a worker is told: the engine's name in tables, the one that the worker knows, and the model for it."""

    name: str
    kind: str
    model: Path
    python: str = sys.executable


class _Worker:
    def __init__(self, engine: Engine, feeds: Path, threads: int) -> None:
        command = [engine.python, str(WORKER), engine.kind, str(engine.model), str(feeds), str(threads)]
        self.name = engine.name
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._opened = json.loads(self._read())
        self._seconds: list[float] = []
        self._turn = 1

    def run_turn(self) -> None:
        """Runs for about TURN_SECONDS, of which the first does not count: it finds the caches cold."""
        found: list[float] = json.loads(self._ask(self._turn + 1))
        self._seconds += found[1:]
        self._turn = max(1, min(200, int(TURN_SECONDS / statistics.median(found))))

    def close(self) -> Sample:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        peak = int(self._read())
        self._process.wait()
        median = statistics.median(self._seconds)
        return Sample(
            self.name,
            self._opened["version"],
            median,
            min(self._seconds),
            self._opened["first"] - median,
            peak,
        )

    def _ask(self, runs: int) -> str:
        assert self._process.stdin is not None
        print(runs, file=self._process.stdin, flush=True)
        return self._read()

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended with exit code {self._process.wait()}")
        return line


def launch(engines: Sequence[Engine], feeds: Path, threads: int, turns: int) -> list[Sample]:
    """Open every engine once and let them run in turn.

    Raises RuntimeError where an engine fails.
    """
    workers = [_Worker(engine, feeds, threads) for engine in engines]
    for _ in range(turns):
        for worker in workers:
            worker.run_turn()
            # Threads that wait for work spin for a while, and would do so in the next engine's turn.
            time.sleep(0.02)
    return [worker.close() for worker in workers]


def take_ratios(launches: Sequence[Sequence[Sample]], peer: str, own: str, value: str) -> list[float]:
    """`value` of the peer over that of `own` in each launch; above 1 `own` is better."""
    ratios: list[float] = []
    for samples in launches:
        by_name: Mapping[str, Sample] = {sample.engine: sample for sample in samples}
        if peer in by_name and own in by_name:
            ratios.append(getattr(by_name[peer], value) / max(getattr(by_name[own], value), 1e-9))
    return sorted(ratios)
