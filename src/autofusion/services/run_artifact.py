"""One run of an artifact on arrays from files and on generated ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autofusion.artifact import read_artifact
from autofusion.runtime import open_session
from autofusion.services.run_inputs import complete_inputs, read_inputs
from autofusion.services.run_outputs import check_output_file


@dataclass(frozen=True)
class Run:
    """The arrays that went in and came out, by name in the model's order."""

    inputs: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]


def run_artifact(
    path: Path,
    sources: Sequence[str] = (),
    *,
    seed: int = 0,
    dims: Mapping[str, int] | None = None,
    threads: int | None = None,
    output: Path | None = None,
) -> Run:
    """Run the artifact at `path` with the backend that it was compiled for.

    Args:
        path: The artifact.
        sources: Files of inputs, as `read_inputs` takes them.
        seed: Seed of every input that no file gives; inputs with a default keep it.
        dims: Extents of symbols for generated inputs and raw files.
        threads: As for `runtime.load`.
        output: The file that the caller wants to save the outputs to; checked before anything runs.

    Raises:
        ArtifactError: The artifact is damaged or cannot run here.
        InputError: A file or an array does not fit.
        UsageError: AF214 for an `output` that cannot take the outputs.
    """
    artifact = read_artifact(path)
    if output is not None:
        check_output_file(output, artifact.plan.outputs)
    session = open_session(artifact.plan, artifact.weights, threads=threads)
    given = read_inputs(sources, session.inputs, dims)
    buffers = artifact.plan.buffers
    needed = [info for info in session.inputs if info.name in given or buffers[info.name].tensor is None]
    feeds = complete_inputs(needed, given, seed, dims, artifact.plan)
    return Run(feeds, session.run(feeds))
