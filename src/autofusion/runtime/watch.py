"""Looking on while a plan runs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Watch = Callable[[str, np.ndarray], None]
"""Is told name and value, in the model's shape, of what a step has computed; the array is its own."""
