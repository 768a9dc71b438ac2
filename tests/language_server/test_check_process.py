"""A check's process: ended when nobody waits for it any more, and its own end is told in a line."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from streamsan.language_server.check_process import CheckedText, CheckFailedError


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in place of Python."""
    program = tmp_path / "program"
    program.touch(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    return program


def asked(folder: Path, timeout: float = 60) -> CheckedText:
    return CheckedText("a.cu", "int main() {}\n", str(folder), (), timeout)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("kill -9 $$", "ended by signal 9"),
        ("exit 3", "no report"),
        ("echo 'streamsan: -I: no such folder' >&2; exit 2", "-I: no such folder"),
        ("echo '{}'", "not a JSON report of streamsan (`--format json`)"),
        ("echo '['", "not JSON: Expecting value: line 2 column 1 (char 2)"),
    ],
)
def test_an_end_without_a_report_is_one_line(stand_in: Path, script: str, reason: str) -> None:
    stand_in.write_text(f"#!/bin/sh\ncat > /dev/null\n{script}\n")
    with pytest.raises(CheckFailedError) as caught:
        asyncio.run(asked(stand_in.parent).findings())
    assert str(caught.value) == reason


def test_the_text_comes_by_standard_input_and_the_name_by_an_option(stand_in: Path) -> None:
    said = stand_in.parent / "said"
    stand_in.write_text(f'#!/bin/sh\necho "$@" > {said}; cat >> {said}\n')
    assert asyncio.run(asked(stand_in.parent).patch()) == b""
    words, text = said.read_text().split("\n", 1)
    assert words.startswith("-P -m streamsan check ")
    assert words.endswith("--stdin-name=a.cu -")
    assert text == "int main() {}\n"


@pytest.mark.parametrize("how", ["cancelled", "too long"])
def test_a_check_that_is_not_waited_for_ends_with_what_it_started(stand_in: Path, how: str) -> None:
    pipe = stand_in.parent / "pipe"
    os.mkfifo(pipe)
    stand_in.write_text(f'#!/bin/sh\nsleep 1000 &\necho "$$ $!" > {pipe}\nwait\n')

    async def session() -> tuple[int, int]:
        check = asyncio.create_task(asked(stand_in.parent, 1e-9 if how == "too long" else 60).findings())
        if how == "too long":
            with pytest.raises(CheckFailedError, match="took longer"):
                await check
            return 0, 0
        own, child = (await asyncio.to_thread(pipe.read_text)).split()
        check.cancel()
        with pytest.raises(asyncio.CancelledError):
            await check
        return int(own), int(child)

    own, child = asyncio.run(session())
    for process in filter(None, (own, child)):
        assert _is_gone(process)


def _is_gone(process: int) -> bool:
    """Tell whether a process has ended; nobody may have asked for its status yet."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True
