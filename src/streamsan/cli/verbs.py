"""The verbs of the command line, put together."""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

from streamsan.cli.configuration import options
from streamsan.vocabulary.version import VERSION

VERBS = ("check", "export", "lsp", "report", "rule", "run", "sim", "watch")
"""each is a command of the same name in a module of its name"""
READERS = ("check", "export", "lsp", "report", "rule")
"""verbs that run nobody's program"""

EPILOG = """\b
Examples:
  streamsan check pipeline.cu
  streamsan check src/ --format json
  streamsan sim pipeline.py
  streamsan run -- ./pipeline
  streamsan report run.sst -o out.html
  streamsan export run.sst --to perfetto
  streamsan rule SS102
  streamsan lsp
  streamsan watch -- ./pipeline
"""


class _Verbs(click.Group):
    """Loads a verb when it is asked for: each alone takes a good part of a second."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all verbs."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a verb; None for a name that is none."""
        if cmd_name not in VERBS:
            return None
        if cmd_name in READERS and "numpy" not in sys.modules:
            # NumPy's matrix library starts a thread for each core when it is loaded, which all wait busily at first.
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        command: click.Command = getattr(import_module(f"streamsan.cli.{cmd_name}"), cmd_name)
        return command


@click.group(cls=_Verbs, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, "--version", prog_name="streamsan", message="%(prog)s %(version)s")
@click.option("--config", default=None, metavar="FILE", help="Take options from this streamsan.toml or pyproject.toml.")
@click.option("--no-config", is_flag=True, help="Take options from no file.")
@click.pass_context
def streamsan(context: click.Context, config: str | None, no_config: bool) -> None:
    """Tells which synchronisation a GPU program is missing, and which it does not need."""
    if not no_config:
        context.default_map = options(config)
