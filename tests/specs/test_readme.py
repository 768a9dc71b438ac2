"""The README shows real output: the block after `<!-- output -->` is what the command before it prints.

So is the one after `<!-- output opencl -->`, of a recording on PoCL.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from forked import streamsan
from opencl_runtime import OpenclMachine

ROOT = Path(__file__).resolve().parents[2]


def shown(which: str) -> tuple[list[str], list[str]]:
    """Return the arguments of a marked command's last part, and the lines that the README shows of it."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    command = re.search(rf"<!-- try{which} -->\n```\n(.*)\n```", readme)
    output = re.search(rf"<!-- output{which} -->\n```\n(.*?)```", readme, re.DOTALL)
    assert command is not None
    assert output is not None
    return command[1].split("bin/streamsan ")[1].split(), output[1].rstrip().splitlines()


def test_readme_shows_what_the_first_command_prints() -> None:
    arguments, lines = shown("")
    command_line = [sys.executable, "-m", "streamsan", *arguments]
    result = subprocess.run(command_line, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    assert lines == result.stdout.rstrip().splitlines()


@pytest.mark.deep
def test_readme_shows_what_a_recording_on_pocl_prints(opencl_machine: OpenclMachine) -> None:
    pytest.importorskip("pyopencl")
    arguments, lines = shown(" opencl")
    own = [sys.executable if word == ".venv/bin/python" else word for word in arguments]
    ran = streamsan(ROOT, *own, environment=opencl_machine.environment())
    assert (ran.returncode, ran.stderr.rstrip().splitlines()) == (0, lines)
