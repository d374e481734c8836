"""Break models by the hundred and send each through the compiler: it must be converted rightly or refused cleanly.

usage: python tests/hostile/campaign.py [--models NAME ..] [--cuts 200] [--changes 500] [--seed 0] [--keep FOLDER]

The process that does the work has limited memory, and another takes its place when it dies or hangs, so that a crash
counts against one model only.  A crash inside ONNX Runtime is not ours.  Ends with 1 where anything was a fault.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from hostile.models import MODELS
from hostile.mutations import cut, mutate
from hostile.road import Outcome, travel

PART = 25
PATIENCE_SECONDS = 30
MEMORY_BYTES = 8 << 30

Broken = tuple[str, bytes]


def break_model(name: str, seed: int, cuts: int, changes: int) -> Iterator[Broken]:
    """Keys and bytes of broken copies of a model; equal arguments give equal ones."""
    model = MODELS[name]()
    data = model.SerializeToString(deterministic=True)
    for index in range(cuts):
        yield f"{name}-{seed}-cut-{index}", cut(data, random.Random(f"{name} {seed} cut {index}"))
    for index in range(changes):
        changed = mutate(model, random.Random(f"{name} {seed} change {index}"))
        yield f"{name}-{seed}-change-{index}", changed.SerializeToString()


def judge_all(models: Sequence[Broken]) -> dict[str, Outcome]:
    """What became of each."""
    outcomes: dict[str, Outcome] = {}
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        while len(outcomes) < len(models):
            part = models[len(outcomes) : len(outcomes) + PART]
            log.write_text("")
            died = watch(fork(part, log), log)
            stages: dict[str, str] = {}
            for line in log.read_text().splitlines():
                key, word, detail = json.loads(line)
                stages[key] = word
                if word in ("agrees", "unchecked", "refused", "fault"):
                    outcomes[key] = Outcome(word, detail)
            for key, _ in part:
                if key not in outcomes and died:
                    stage = stages.get(key, "start")
                    outcomes[key] = Outcome("unchecked" if stage == "onnxruntime" else "fault", f"{died} in {stage}")
                    break
    return outcomes


def fork(models: Sequence[Broken], log: Path) -> int:
    """A process that works through `models` and writes what it does; returns its id."""
    child = os.fork()
    if child:
        return child
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    with contextlib.suppress(BaseException), tempfile.TemporaryDirectory() as folder, log.open("a") as lines:
        for key, data in models:

            def write(word: str, detail: str = "", key: str = key) -> None:
                print(json.dumps([key, word, detail]), file=lines, flush=True)

            path = Path(folder) / "model.onnx"
            path.write_bytes(data)
            outcome = travel(path, Path(folder), write)
            write(outcome.kind, outcome.detail)
        os._exit(0)
    os._exit(1)


def watch(child: int, log: Path) -> str:
    """Wait for the process while it gets on; returns how it died, "" where it came to its end."""
    size, since = 0, time.monotonic()
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return f"status {os.waitstatus_to_exitcode(status)}" if status else ""
        if log.stat().st_size != size:
            size, since = log.stat().st_size, time.monotonic()
        if time.monotonic() - since > PATIENCE_SECONDS:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "hang"
        time.sleep(0.02)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--cuts", type=int, default=200)
    parser.add_argument("--changes", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for the models that were faults")
    given = parser.parse_args()
    faults = 0
    for name in given.models:
        broken = list(break_model(name, given.seed, given.cuts, given.changes))
        outcomes = judge_all(broken)
        print(name, dict(Counter(outcome.kind for outcome in outcomes.values())))
        for key, data in broken:
            if outcomes[key].kind == "fault":
                faults += 1
                print(f"  {key}: {outcomes[key].detail}")
                if given.keep:
                    given.keep.mkdir(parents=True, exist_ok=True)
                    (given.keep / f"{key}.onnx").write_bytes(data)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
