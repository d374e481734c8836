"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
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


def why_option(function: Function) -> Function:
    """--why, passed on as `why`."""
    text = "Show each fusion that nearly happened: how far it came, and what was in the way."
    return click.option("--why", is_flag=True, help=text)(function)
