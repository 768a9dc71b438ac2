"""The README shows real output: the block after `<!-- output -->` is what the command before it prints."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner

from streamsan.cli import main

ROOT = Path(__file__).resolve().parents[2]


def test_readme_shows_what_the_first_command_prints(monkeypatch) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    command = re.search(r"<!-- try -->\n```\n(.*)\n```", readme)
    shown = re.search(r"<!-- output -->\n```\n(.*?)```", readme, re.DOTALL)
    assert command is not None
    assert shown is not None
    arguments = command[1].split("bin/streamsan ")[1].split()
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "150")
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0
    assert shown[1].rstrip().splitlines() == result.output.rstrip().splitlines()
