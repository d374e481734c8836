"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])


def format_option(function: Function) -> Function:
    """--format text|json, passed on as `format`."""
    choice = click.Choice(["text", "json"])
    return click.option("--format", "format", type=choice, default="text", help="Form of the output.")(function)


def dim_option(function: Function) -> Function:
    """--dim NAME=EXTENT, passed on as the texts `dims` for `values.parse_dims`."""
    text = "Extent of a symbolic dimension; may be repeated."
    return click.option("--dim", "dims", multiple=True, metavar="NAME=EXTENT", help=text)(function)


def sizes_option(function: Function) -> Function:
    """--dim NAME=EXTENT,EXTENT,.., passed on as the texts `dims` for `values.parse_sizes`."""
    text = "Extents of a symbolic dimension; may be repeated."
    return click.option("--dim", "dims", multiple=True, metavar="NAME=EXTENT,..", help=text)(function)


def why_option(function: Function) -> Function:
    """--why, passed on as `why`."""
    text = "Show each fusion that nearly happened: how far it came, and what was in the way."
    return click.option("--why", is_flag=True, help=text)(function)


def pattern_dir_option(function: Function) -> Function:
    """--pattern_dir FOLDER, passed on as the tuple of paths `pattern_dir`."""
    return click.option(
        "--pattern-dir",
        "--pattern_dir",
        "--patterns",
        "pattern_dir",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FOLDER",
        help="A folder of patterns and declared operators, read after the built-in ones; repeatable.",
    )(function)
