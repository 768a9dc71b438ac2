"""What a terminal shows, and what pipes and files are spared: progress, colours, the width of lines."""

from __future__ import annotations

import io
import os
import pty
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streamsan.checking.selection import Selection
from streamsan.cli import main, run
from streamsan.cli.edit_options import EditOptions
from streamsan.cli.progress import progress
from streamsan.cli.report_options import ReportOptions
from streamsan.recorder.completion import Completed

TWICE = (
    "#include <cuda_runtime.h>\nint main() { void* p; cudaMalloc(&p, 4);\n cudaFree(p);\n cudaFree(p); return 0; }\n"
)


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    Path("a.cu").write_text(TWICE, encoding="utf-8")


def test_force_color_alone_draws_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress() as show:
        assert show is None
    assert main(["check", "a.cu", "--report", "report.txt"]) == 1
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]


def test_force_color_is_no_terminal(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """In a pipe there are colours, and every line is whole."""
    plain = main(["check", "a.cu"]), capfd.readouterr().out
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    coloured = main(["check", "a.cu"]), capfd.readouterr().out
    assert "\x1b[1;31m" in coloured[1]
    assert coloured[1].count("\n") == plain[1].count("\n")
    assert main(["check", "a.cu", "--report", "report.txt"]) == 1
    assert Path("report.txt").read_text(encoding="utf-8") == plain[1]


@contextmanager
def bar(shown: list[str]) -> Iterator[Callable[[str, int, int | None], None]]:
    shown.append("bar")
    yield lambda what, done, total: None
    shown.append("cleared")


@pytest.mark.parametrize(
    ("completed", "said"),
    [
        (Completed([], ["a.sst: call sites are not in the trace"]), ["a.sst: call sites", "nothing recorded: app"]),
        (Completed([], []), ["nothing recorded: app"]),
        (Completed(["gone.sst"], ["a.sst: removed"]), ["a.sst: removed"]),
    ],
)
def test_the_bar_is_cleared_before_a_message(
    completed: Completed, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(run, "progress", lambda: bar(shown))
    monkeypatch.setattr(run, "_say", shown.append)
    recording: Any = SimpleNamespace(omissions=list, settings=SimpleNamespace(counter=""))
    options = ReportOptions(Selection.of((), (), (), ()))
    trace, missing = run._completed(recording, lambda show: completed, "app", "")
    if trace:
        run._reported(trace, "app", missing, options, "report.txt", EditOptions())
    assert shown[:2] == ["bar", "cleared"]
    messages = [word for word in shown if word not in ("bar", "cleared")]
    assert len(messages) == len(said)
    assert all(message.startswith(word) for message, word in zip(messages, said, strict=True))
    assert all(
        shown[: shown.index(each)].count("bar") == shown[: shown.index(each)].count("cleared") for each in messages
    )


def test_a_real_bar_is_gone_before_what_comes_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, terminal = pty.openpty()
    with os.fdopen(terminal, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        assert main(["check", "a.cu", "gone.cu", "--report", "report.txt"]) == 2
    shown = b""
    with suppress(OSError):
        while block := os.read(reader, 4096):
            shown += block
    os.close(reader)
    bar, message = shown.split(b"streamsan: gone.cu: ")
    assert b"2/2 checked, 1 finding" in bar
    assert bar.endswith((b"\x1b[2K", b"\x1b[1A\x1b[2K", b"\x1b[?25h"))
    assert b"\x1b" not in message
