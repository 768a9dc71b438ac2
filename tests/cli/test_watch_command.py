"""`streamsan watch`: without a terminal what `run` and `check` do, on one a view, then the same."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from streamsan.cli.verbs import streamsan
from watching.growing import steps, writer

PROGRAM = """
import sys
print("said")
print("complained", file=sys.stderr)
sys.exit(7)
"""


def ended(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(streamsan, ["watch", *words], standalone_mode=False)
    return (done.return_value if done.exception is None else 2), done.output + str(done.exception or "")


def test_a_trace_is_followed_to_its_end_then_checked(tmp_path: Path) -> None:
    path = tmp_path / "a.sst"
    with writer(path) as file:
        file.append_slots(steps(2))
    status, said = ended(str(path))
    assert status == 0
    assert "8 operations" in said


def test_what_run_refuses_is_refused(tmp_path: Path) -> None:
    assert "no such file" in ended(str(tmp_path / "a.sst"))[1]
    assert "--nonsense" in ended("--nonsense", "--", "true")[1]
    assert "does not end in .sst" in ended("-o", "a.txt", "--", "true")[1]


def test_without_a_terminal_it_is_run(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "streamsan", "watch", "--", sys.executable, "-c", PROGRAM]
    done = subprocess.run(words, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 7
    assert done.stdout == "said\n"
    assert done.stderr.startswith("complained\n")


def test_on_a_terminal_there_is_a_view_and_the_outputs_follow_unchanged(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "streamsan", "watch", "--", sys.executable, "-c", PROGRAM]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    with subprocess.Popen(
        words, cwd=tmp_path, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        screen = b""
        while True:
            try:
                data = os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
            if not data:
                break
            screen += data
        assert process.stdout is not None
        assert process.stdout.read() == b"said\n"
    os.close(ours)
    assert process.returncode == 7
    assert b"Live memory" in screen
    assert b"complained" in screen.rpartition(b"\x1b[?1049l")[2]  # behind the view


def test_a_missing_library_is_named_with_the_extra_that_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [each for each in sys.modules if each.startswith(("textual", "streamsan.watching.watch_app"))]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "textual", None)
    monkeypatch.setitem(sys.modules, "textual.app", None)
    monkeypatch.setattr("streamsan.cli.watch._is_on_terminal", lambda: True)
    assert "pip install 'streamsan[watch]'" in ended("--", "true")[1]
