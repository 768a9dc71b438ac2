"""The README shows real output: the block after `<!-- output -->` is what the command before it prints.

So is the one after `<!-- output opencl -->`, of a recording on PoCL.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from forked import streamsan
from opencl_runtime import OpenclMachine
from shown_commands import ROOT, shown_in


def shown(words: str) -> tuple[list[str], list[str]]:
    """Return the arguments of a marked command's last part, and the lines that the README shows of it."""
    blocks = {each.words: each for each in shown_in((ROOT / "README.md").read_text(encoding="utf-8"))}
    lines = blocks[words].output
    assert lines is not None
    return blocks[words].commands.split("bin/streamsan ")[1].split(), lines


def test_readme_shows_what_the_first_command_prints() -> None:
    arguments, lines = shown("")
    command_line = [sys.executable, "-m", "streamsan", *arguments]
    result = subprocess.run(command_line, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    assert lines == result.stdout.rstrip().splitlines()


@pytest.mark.deep
def test_readme_shows_what_a_recording_on_pocl_prints(opencl_machine: OpenclMachine) -> None:
    pytest.importorskip("pyopencl")
    arguments, lines = shown("opencl")
    own = [sys.executable if word == ".venv/bin/python" else word for word in arguments]
    ran = streamsan(ROOT, *own, environment=opencl_machine.environment())
    assert (ran.returncode, ran.stderr.rstrip().splitlines()) == (0, lines)
