"""A wait that unseen code may need stays, whatever notes say that could be edited."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsan.cli import main

LITMUS = Path(__file__).parents[1] / "litmus"


@pytest.mark.parametrize("name", ["ss108_wait_for_code_elsewhere", "ss102_poll_with_patience", "ss109_queue_of_tasks"])
def test_right_program_is_left_as_it_is(name: str, tmp_path: Path) -> None:
    """`publish` is elsewhere; the poller may give up; the worker's rest is not followed: each wait may be needed."""
    copy = tmp_path / "a.cu"
    text = (LITMUS / f"{name}.right.cu").read_bytes()
    copy.write_bytes(text)
    assert main(["check", "--fix", "--notes", str(copy)]) == 0
    assert copy.read_bytes() == text
