"""The group `autofusion`: finds its commands among the modules of `cli.commands`."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import signal

import click

from autofusion.cli import commands
from autofusion.version import VERSION


class CommandGroup(click.Group):
    """A group whose commands are the modules of `cli.commands`, imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands, sorted."""
        return sorted(module.name for module in pkgutil.iter_modules(commands.__path__))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command called `cmd_name`, or None."""
        if cmd_name not in self.list_commands(ctx):
            return None
        return importlib.import_module(f"{commands.__name__}.{cmd_name}").command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it; the error for an unknown command suggests the closest one."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            close = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            if not close or "Did you mean" in error.message:
                raise
            message = f"{error.message.rstrip('.')}. Did you mean {close[0]!r}?"
            raise click.UsageError(message, error.ctx) from error


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="autofusion")
def group() -> None:
    """Compile ONNX models: fuse operators, lower them to native CPU kernels, report what was fused."""


def main() -> None:
    """Entry point of `autofusion`."""
    restore_pipe_signal()
    group(prog_name="autofusion")


def restore_pipe_signal() -> None:
    """Let the process end quietly when the reader of its output has gone, as other command-line tools do."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
