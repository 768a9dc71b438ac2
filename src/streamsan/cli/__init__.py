"""The command line: a file per verb, and one way out with one line for whatever goes wrong."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence

import click

from streamsan.checking.option_error import OptionError
from streamsan.cli.pipes import is_of_output, open_streams, silence_stdout
from streamsan.report.printable import printable

INTERRUPTED = 130
BAD_USAGE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status: 0 nothing found, 1 findings, 2 bad usage or unreadable input."""
    # Names may hold what the terminal's encoding lacks: show a stand-in rather than fail.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    with open_streams():
        return _main(arguments)


def _main(arguments: Sequence[str] | None) -> int:
    try:
        # Imported here, so that Ctrl-C ends quietly from the first moment on.
        from streamsan.cli.verbs import streamsan

        status = streamsan.main(arguments, prog_name="streamsan", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return BAD_USAGE
    except OptionError as error:
        click.echo(f"streamsan: {' '.join(str(error).split())}", err=True)
        return BAD_USAGE
    except click.ClickException as error:
        click.echo(f"streamsan: {' '.join(error.format_message().split())}", err=True)
        return BAD_USAGE
    except click.exceptions.Exit as error:
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        with contextlib.suppress(OSError):
            click.echo("streamsan: interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        silence_stdout()
        return 0
    except Exception as error:
        if isinstance(error, OSError) and is_of_output(error):
            silence_stdout()
            click.echo(f"streamsan: standard output: {(error.strerror or str(error)).lower()}", err=True)
            return BAD_USAGE
        if isinstance(error, FileNotFoundError) and error.filename is None and not os.path.isdir(os.curdir):
            click.echo("streamsan: the current folder does not exist any more", err=True)
            return BAD_USAGE
        # A defect of ours, wherever it is: nobody is helped by a traceback but who asks for it.
        if os.environ.get("STREAMSAN_DEBUG"):
            raise
        from streamsan.checking.defects import defect

        click.echo(f"streamsan: {printable(defect(error))}", err=True)
        return BAD_USAGE
