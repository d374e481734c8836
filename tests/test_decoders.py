"""Decoders whose positions, masks and lengths are computed in the graph run natively and fused, at any size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import autofusion
from autofusion.errors import InputError, UsageError
from autofusion.options import CompileOptions
from autofusion.services.verify import verify_artifact
from decoders import LAYERS, MASKS, POSITIONS, ROWS, make_decoder

SIZES = ({"batch": 2, "seq": 7, "past": 1}, {"batch": 1, "seq": 1, "past": ROWS - 1})

KINDS = [
    *((positions, "sliced", past, 11) for positions in POSITIONS for past in ("", "pairs")),
    *(("range", mask, past, 14) for mask in MASKS[1:] for past in ("", "stacked")),
    *(("nonzero", mask, "pairs", 10) for mask in ("sliced bytes", "tril")),
]


def pick_sizes(positions: str, past: str) -> list[dict[str, int]]:
    sizes = [size if past else {**size, "past": 0} for size in SIZES]
    known = {"batch", "seq", *(["past"] if past else []), *(["total"] if positions == "counted" else [])}
    return [
        {name: extent for name, extent in (*size.items(), ("total", size["seq"] + size["past"])) if name in known}
        for size in sizes
    ]


@pytest.mark.parametrize(("positions", "mask", "past", "opset"), KINDS)
def test_a_decoder_runs_natively_at_any_size(tmp_path: Path, positions: str, mask: str, past: str, opset: int) -> None:
    path = tmp_path / "net.onnx"
    onnx.save(make_decoder(positions, mask, past, opset), path)
    autofusion.compile(path, tmp_path / "net.om")
    plan = autofusion.load(tmp_path / "net.om").plan
    kernels = [step.kernel for step in plan.steps]
    assert "host" not in kernels
    assert kernels.count("attention") == (0 if mask == "tril" else LAYERS)
    verdict = verify_artifact(path, tmp_path / "net.om", seeds=(0,), sizes=pick_sizes(positions, past))
    assert verdict.ok


def open_decoder(folder: Path, positions: str, mask: str, past: str) -> autofusion.Session:
    onnx.save(make_decoder(positions, mask, past, 14), folder / "net.onnx")
    autofusion.compile(folder / "net.onnx", folder / "net.om")
    return autofusion.load(folder / "net.om")


def feed(seq: int, past: int | None = None) -> dict[str, np.ndarray]:
    keys = (
        {}
        if past is None
        else {f"past_{layer}_{part}": (1, 4, past, 8) for layer in range(2) for part in ("key", "value")}
    )
    zeros = {name: np.zeros(shape, np.float32) for name, shape in keys.items()}
    return {"input_ids": np.zeros((1, seq), np.int64), **zeros}


@pytest.mark.parametrize(("positions", "mask"), [("range", "compared"), ("nonzero", "sliced"), ("buffer", "compared")])
def test_rows_that_are_counted_limit_the_text(tmp_path: Path, positions: str, mask: str) -> None:
    session = open_decoder(tmp_path, positions, mask, "")
    assert session.plan.limits == {"seq": (0, ROWS)}
    session.run(feed(ROWS))
    with pytest.raises(
        InputError, match=f"AF537: extent 1 of input 'input_ids' is {ROWS + 1}, the model takes {ROWS} at most"
    ):
        session.run(feed(ROWS + 1))


@pytest.mark.parametrize(("positions", "mask"), [("expanded", "compared"), ("range", "sliced"), ("buffer", "compared")])
def test_rows_that_are_counted_limit_text_and_past_together(tmp_path: Path, positions: str, mask: str) -> None:
    session = open_decoder(tmp_path, positions, mask, "pairs")
    assert session.plan.limits == {"past": (0, ROWS), "past + seq": (0, ROWS), "seq": (0, ROWS)}
    session.run(feed(4, ROWS - 4))
    with pytest.raises(
        InputError, match=rf"AF537: the extent 'past \+ seq', .*, is {ROWS + 1}, the model takes {ROWS} at most"
    ):
        session.run(feed(4, ROWS - 3))


def test_gears_and_ranges_lie_within_a_table(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    onnx.save(make_decoder("range", "compared", "", 14), path)
    with pytest.raises(UsageError, match=f"AF132: extent 'seq' cannot be from 30 up: the model takes {ROWS} at most"):
        autofusion.compile(path, tmp_path / "net.om", CompileOptions(shapes={"input_ids": (1, "30~40")}))
    gears = ({"input_ids": (1, 8)}, {"input_ids": (1, 25)})
    with pytest.raises(UsageError, match=f"AF132: extent 'seq' cannot be 25: the model takes {ROWS} at most"):
        autofusion.compile(path, tmp_path / "net.om", CompileOptions(gears=gears))
