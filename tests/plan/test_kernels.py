"""The pages docs/kernels.md and docs/fused-ops.md describe every kernel of the table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autofusion.plan import ACTIVATIONS, KERNELS, Kernel

DOCS = Path(__file__).parents[2] / "docs"
PAGE = "\n".join((DOCS / name).read_text("utf-8") for name in ("kernels.md", "fused-ops.md"))


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=lambda kernel: kernel.name)
def test_page_names_operands_and_attributes(kernel: Kernel):
    section = "".join(re.findall(rf"^## {kernel.name}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
    words = set(re.findall(r"[a-z_0-9]+\??", section))
    epilogue = {"activation", "alpha", "beta"} if "epilogue" in section else set[str]()
    names = set(kernel.operands) - {"..."} | set(kernel.attributes)
    assert names - words - epilogue == set()


def test_page_names_every_activation():
    assert [name for name in ACTIVATIONS if name and f"| `{name}` |" not in PAGE] == []
