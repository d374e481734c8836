"""The one place where an exception becomes output and an exit code."""

from __future__ import annotations

import errno
import platform
import sys
import traceback

import click

from autofusion.cli.output import show_diagnostic
from autofusion.diagnostics import Diagnostic
from autofusion.diagnostics.codes import with_remedy
from autofusion.errors import AutofusionError, explain_missing
from autofusion.version import VERSION

EXIT_NO = 1
"""The command ran and the answer is no."""

EXIT_USAGE = 2
EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130

_FULL_OR_FORBIDDEN = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS)
_IMPOSSIBLE_PATH = (errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR)

_SHOWN = 100


class Command(click.Command):
    """A command whose exceptions are shown as diagnostics; it has the option --debug."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The command's own parameters and --debug."""
        return [*super().get_params(ctx), _DEBUG_OPTION]

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; ends with the exit code that belongs to its exception, if it raises one."""
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.ClickException, click.Abort):
            raise
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - this is the one place that may
            if ctx.meta.get(_DEBUG):
                traceback.print_exc()
            ctx.exit(show_error(error, as_json=ctx.params.get("format") == "json"))


_DEBUG = "autofusion.debug"


def _remember(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    ctx.meta[_DEBUG] = value


_DEBUG_OPTION = click.Option(
    ["--debug"], is_flag=True, expose_value=False, callback=_remember, help="Show the traceback of an error."
)


def show_error(error: BaseException, *, as_json: bool = False) -> int:
    """Show the exception that ended a command; returns the exit code of the process."""
    if isinstance(error, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return EXIT_INTERRUPTED
    diagnostic, exit_code = explain_error(error)
    show_diagnostic(diagnostic, as_json=as_json)
    return exit_code


def explain_error(error: BaseException) -> tuple[Diagnostic, int]:
    """What to show for an exception that ended a command, and the exit code of the process."""
    match error:
        case AutofusionError():
            return with_remedy(error.diagnostic), error.exit_code
        case ModuleNotFoundError() if (missing := explain_missing(error)) is not None:
            return missing, EXIT_USAGE
        case OSError() if error.errno in _FULL_OR_FORBIDDEN:
            name = error.filename or "a file"
            message = f"cannot write {name}: {(error.strerror or 'the system refuses').lower()}"
            return with_remedy(Diagnostic("AF208", message)), EXIT_USAGE
        case OSError(filename=str() as path) if error.errno in _IMPOSSIBLE_PATH:
            shown = path if len(path) <= _SHOWN else f"{path[:_SHOWN]}..."
            message = f"cannot use {shown!r}: {(error.strerror or 'the system refuses').lower()}"
            return with_remedy(Diagnostic("AF208", message)), EXIT_USAGE
        case MemoryError():
            remedy = "use a machine with more memory"
            return Diagnostic("AF123", "there is not enough memory to do this", help=remedy), EXIT_USAGE
        case _:
            return _internal(error), EXIT_INTERNAL


def _internal(error: BaseException) -> Diagnostic:
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {frames[-1].filename.rpartition('autofusion/')[2]}:{frames[-1].lineno}" if frames else ""
    return Diagnostic(
        "AF901",
        f"internal error: {type(error).__name__}: {error}{place}",
        notes=(
            f"graph-autofusion {VERSION}, Python {platform.python_version()}, {platform.system()} {platform.machine()}",
            f"command: {' '.join(sys.argv)}",
        ),
        help="this is a fault of autofusion, not yours: run the command again with --debug and send its output,\n"
        "and the model if you may, to the project's issue tracker",
    )
