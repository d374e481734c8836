"""The README's commands: those of the start are what CI runs, all others run here, in order, in one folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
READMES = ("README.md", "README.zh-CN.md")
START = 2
"""How many blocks, at the beginning, install and test: they are what `.ci/run` does."""


def read_blocks(readme: str, *languages: str) -> list[tuple[str, str]]:
    """Fenced blocks in these languages, in order, as (language, text)."""
    text = (ROOT / readme).read_text("utf-8")
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [(language, block) for language, block in blocks if language in languages]


@pytest.fixture(scope="module", params=READMES)
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A README and the folder in which its commands have run."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "examples").symlink_to(ROOT / "examples")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    make_model = read_blocks(request.param, "bash")[0][1].split("&&")[1]
    for language, block in [("bash", make_model), *read_blocks(request.param, "bash", "python")[START:]]:
        command = ["bash", "-euo", "pipefail", "-c", block] if language == "bash" else [sys.executable, "-c", block]
        done = subprocess.run(command, check=False, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
    return request.param, folder


@pytest.mark.parametrize("readme", READMES)
def test_starts_with_what_ci_runs(readme: str) -> None:
    script = [line.strip() for line in (ROOT / ".ci" / "run").read_text("utf-8").splitlines()]
    blocks = read_blocks(readme, "bash")[:START]
    assert len(blocks) == START
    assert [block.strip() for _, block in blocks if block.strip() not in script] == []


def test_shows_the_report_as_it_is(results: tuple[str, Path], request: pytest.FixtureRequest) -> None:
    readme, folder = results
    report = (folder / "build" / "test_model.fusion.txt").read_text("utf-8")
    outdated = [block for _, block in read_blocks(readme, "text") if block != report]
    if request.config.getoption("--update-golden"):
        path = ROOT / readme
        for block in outdated:
            path.write_text(path.read_text("utf-8").replace(block, report), "utf-8")
    else:
        assert outdated == []


@pytest.mark.parametrize(
    "document", [*READMES, "CONTRIBUTING.md", *sorted(p.name for p in (ROOT / "docs").glob("*.md"))]
)
def test_links_lead_somewhere(document: str) -> None:
    path = ROOT / document if (ROOT / document).exists() else ROOT / "docs" / document
    targets = re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", path.read_text("utf-8"))
    assert [target for target in targets if not (path.parent / target).exists()] == []
