"""`streamsan check -`: a source that comes by standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from msgspec import Struct

from streamsan.analysis.checked import reason_of
from streamsan.analysis.suffixes import SOURCE_SUFFIXES
from streamsan.cuda_syntax.file_content import LARGEST_SOURCE
from streamsan.report.printable import printable

DASH = "-"
NAME = "<stdin>"
"""what reports call it where `--stdin-name` does not say"""


class StandardInput(Struct, frozen=True):
    """What standard input says, and the file that it is taken for: includes are sought beside that."""

    name: str
    text: bytes

    @classmethod
    def read(cls, paths: Sequence[str], name: str) -> StandardInput | None:
        """Read standard input where it is among the paths, else nothing. Raises click.ClickException."""
        if DASH not in paths:
            if name:
                raise click.UsageError("--stdin-name is about standard input: give `-` as a path")
            return None
        if name and (Path(name).suffix.lower() not in SOURCE_SUFFIXES or os.path.isdir(name)):
            raise click.UsageError(f"--stdin-name: {printable(name)} does not name a source ({_suffixes()})")
        if sys.stdin is None:
            raise click.ClickException("standard input: closed")
        try:
            return cls(name or NAME, sys.stdin.buffer.read(LARGEST_SOURCE + 1))
        except OSError as error:
            raise click.ClickException(f"standard input: {reason_of(error)}") from error

    def among(self, paths: Sequence[str]) -> list[str]:
        """Return the paths with its name in place of `-`."""
        return [self.name if path == DASH else path for path in paths]

    @property
    def contents(self) -> dict[str, bytes]:
        """What to take the file of its name for."""
        return {os.path.realpath(self.name): self.text}


def _suffixes() -> str:
    return ", ".join(sorted(SOURCE_SUFFIXES))
