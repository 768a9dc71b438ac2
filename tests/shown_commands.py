"""The commands that documents show, and what they print, by marks that no reader sees.

`<!-- try -->` stands before a block of commands, `<!-- output -->` before the block that shows what they print. Words
behind `try` say more. `exits 1`: the status that is not 0. `pocl`: it takes an OpenCL runtime. `trace FILE`: to record
takes a GPU, so `streamsan run` is not run, and its run.sst is this trace.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(r"^<!-- (try|output)\b ?([^\n]*?) ?-->\n```\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SECONDS = 120


@dataclass(frozen=True)
class Shown:
    """A block of commands."""

    words: str
    """what stands behind `try`"""
    commands: str
    output: list[str] | None
    """the lines that they print; None where the document does not say"""

    @property
    def status(self) -> int:
        """The exit status that the last command is to have."""
        found = re.search(r"exits (\d+)", self.words)
        return int(found[1]) if found else 0

    @property
    def trace(self) -> Path | None:
        """The trace that stands for a recording."""
        found = re.search(r"trace (\S+)", self.words)
        return ROOT / found[1] if found else None

    def run(self, folder: Path, environment: Mapping[str, str]) -> tuple[int, list[str]]:
        """Run the commands in a folder as a reader would; return the last one's status, and all that was printed."""
        commands = self.commands
        if self.trace is not None:
            shutil.copyfile(self.trace, folder / "run.sst")
            commands = re.sub(r"^streamsan run .*\n", "", commands, flags=re.MULTILINE)
        path = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        done = subprocess.run(
            ["bash", "-uc", commands],
            cwd=folder,
            env={**environment, "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
        )
        return done.returncode, done.stdout.rstrip().splitlines()


def shown_in(document: str) -> list[Shown]:
    """Return the marked blocks of a document's text, in their order."""
    found: list[Shown] = []
    for kind, words, text in _BLOCK.findall(document):
        if kind == "try":
            found.append(Shown(words, text, None))
        else:
            found[-1] = Shown(found[-1].words, found[-1].commands, text.rstrip().splitlines())
    return found
