"""The commands: reading options, calling services, showing what they return."""

from __future__ import annotations

import sys

try:
    import click as click
except ModuleNotFoundError as missing:
    from autofusion.diagnostics.text import render_text
    from autofusion.errors import explain_missing

    found = explain_missing(missing)
    if found is None:
        raise
    # Nothing of the commands can be imported without it, so this is the place where they end.
    sys.stderr.write(render_text(found))
    raise SystemExit(2) from None
