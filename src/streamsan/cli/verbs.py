"""The verbs of the command line, put together."""

from __future__ import annotations

import click

from streamsan import __version__
from streamsan.cli.check import check
from streamsan.cli.rule import rule
from streamsan.cli.run import run
from streamsan.cli.sim import sim

EPILOG = """\b
Examples:
  streamsan check pipeline.cu
  streamsan check src/ --format json
  streamsan sim pipeline.py
  streamsan run -- ./pipeline
  streamsan rule SS102
"""


@click.group(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "--version", prog_name="streamsan", message="%(prog)s %(version)s")
def streamsan() -> None:
    """Tells which synchronisation a GPU program is missing, and which it does not need."""


streamsan.add_command(check)
streamsan.add_command(sim)
streamsan.add_command(run)
streamsan.add_command(rule)
