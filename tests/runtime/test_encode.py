"""Every kernel of the library has an encoder, and says what is wrong with a step."""

from __future__ import annotations

import pytest

from autofusion.errors import ArtifactError
from autofusion.plan import Buffer, Step
from autofusion.runtime.encode import encode_step
from autofusion.runtime.records import KERNEL_CODES


@pytest.mark.parametrize("kernel", sorted(set(KERNEL_CODES) - {"product"}))
def test_steps_without_anything_are_refused(kernel: str) -> None:
    buffers = {"y": Buffer("y", "complex64", (2, 3), "output")}
    with pytest.raises(ArtifactError, match=f"AF524: step 'n' is no valid {kernel} step"):
        encode_step(Step(kernel, "n", "Op", (), ("y",)), buffers, {"y": (2, 3)}, {})
