"""The page docs/kernels.md describes every kernel of the table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autofusion.plan import ACTIVATIONS, KERNELS, Kernel

PAGE = (Path(__file__).parents[2] / "docs" / "kernels.md").read_text("utf-8")


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=lambda kernel: kernel.name)
def test_page_names_operands_and_attributes(kernel: Kernel):
    section = re.search(rf"^## {kernel.name}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None
    words = set(re.findall(r"[a-z_]+\??", section.group(1)))
    epilogue = {"activation", "alpha", "beta"} if "epilogue" in section.group(1) else set[str]()
    names = set(kernel.operands) - {"..."} | set(kernel.attributes)
    assert names - words - epilogue == set()


def test_page_names_every_activation():
    assert [name for name in ACTIVATIONS if name and f"| `{name}` |" not in PAGE] == []
