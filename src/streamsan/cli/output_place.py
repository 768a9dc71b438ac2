"""Where a verb is to write a file: asked before it works for it."""

from __future__ import annotations

import os

import click

from streamsan.report.printable import printable


def require_place(path: str) -> None:
    """Raise click.ClickException when no file can be written at `path`."""
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path):
        raise click.ClickException(f"{printable(path)}: is a directory")
    if not os.path.isdir(folder):
        raise click.ClickException(f"{printable(path)}: no such folder")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise click.ClickException(f"{printable(path)}: permission denied")
