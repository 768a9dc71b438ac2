"""The README shows real output: the block after `<!-- output -->` is what the command before it prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_readme_shows_what_the_first_command_prints() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    command = re.search(r"<!-- try -->\n```\n(.*)\n```", readme)
    shown = re.search(r"<!-- output -->\n```\n(.*?)```", readme, re.DOTALL)
    assert command is not None
    assert shown is not None
    arguments = command[1].split("bin/streamsan ")[1].split()
    command_line = [sys.executable, "-m", "streamsan", *arguments]
    result = subprocess.run(command_line, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    assert shown[1].rstrip().splitlines() == result.stdout.rstrip().splitlines()
