"""Whole OpenCL programs in pairs: NAME.wrong.c is reported as its comments say, NAME.right.c is it, put right.

All of them compile and run: `tests/opencl` records them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from expectations import check_unchanged, differences, pair_name
from opencl_pairs import FOLDER, READ, marks, programs, reasons

WRONG = [path for path in programs("wrong") if path.suffix in READ]
RIGHT = [path for path in programs("right") if path.suffix in READ]


def test_programs_come_in_pairs() -> None:
    assert len(WRONG) >= 75
    assert [path.name.replace(".wrong.", ".right.") for path in WRONG] == [path.name for path in RIGHT]


@pytest.mark.parametrize("path", [path for path in WRONG if pair_name(path) not in reasons("unread")], ids=pair_name)
def test_wrong_program_is_reported_exactly(path: Path) -> None:
    complaints = differences(path.read_text(encoding="utf-8"), check_unchanged(path))
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("path", RIGHT, ids=pair_name)
def test_right_program_is_silent_at_warning_and_above(path: Path) -> None:
    wrong = marks(path.with_name(path.name.replace(".right.", ".wrong.")))
    silent = {code for _, code in wrong.notes} - {"SS504"}
    complaints = differences(path.read_text(encoding="utf-8"), check_unchanged(path), silent)
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize(
    "path", [path for path in (*WRONG, *RIGHT) if path.parent == FOLDER], ids=lambda path: path.name
)
def test_programs_are_understood(path: Path) -> None:
    assert [found.message for found in check_unchanged(path) if found.code == "SS603"] == []
