"""`streamsan lsp`: a language server for editors, on standard input and output."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

EPILOG = """\b
Examples:
  streamsan lsp                                   # an editor starts it: docs/editor.md
  hx --health cuda                                # whether Helix found it

Settings of the editor, under `streamsan`: `arguments` (a list of options of `check`), `timeout`, `whileTyping`.
"""
READING = frozenset(
    {
        *("compile_commands", "defines", "undefines", "include_dirs", "system_dirs", "quote_dirs", "forced_includes"),
        *("source_roots", "select", "ignore", "per_path_ignores", "severity", "suppressions", "baseline"),
        *("fixes", "no_cache", "cache_dir"),
    }
)
"""parameters of `check` that an editor may set: they say how sources are read and what is told of them"""


@click.command(epilog=EPILOG)
@click.option("--stdio", is_flag=True, expose_value=False, help="Some editors add this: it is what happens anyway.")
def lsp() -> int:
    """Tell an editor what is wrong in the sources that are open there, while they are written.

    It speaks the Language Server Protocol on standard input and output. Needs the extra `lsp`.
    """
    try:
        from streamsan.language_server.server import make_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "streamsan":
            raise
        raise click.ClickException(f"lsp needs the package `{error.name}`: pip install 'streamsan[lsp]'") from error
    # Of its own: pygls closes what it is given, and ends with the client.
    with os.fdopen(os.dup(0), "rb") as source, os.fdopen(os.dup(1), "wb") as target:
        make_server(refusal).start_io(source, target)
    return 0


def refusal(words: Sequence[str]) -> str:
    """Return why some words are no options of a check in an editor, "" where they are."""
    # Loaded when settings are there.
    from streamsan.cli.check import check

    parser = check.make_parser(click.Context(check, info_name="check"))
    try:
        given, rest, order = parser.parse_args(list(words))
    except click.UsageError as error:
        return " ".join(error.format_message().split())
    files = given.get("paths")
    if rest or (isinstance(files, tuple) and files):  # where there are none, click has a value of its own
        return "the editor says which files are checked: give options only"
    others = sorted({each.opts[0] for each in order if each.name not in READING | {"paths"}})
    return f"{', '.join(others)} is not for editors" if others else ""
