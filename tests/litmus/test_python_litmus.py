"""Whole Python programs in pairs, run on the simulated device under several schedules each.

NAME.wrong.py is reported as its comments say, NAME.right.py is it, put right, and ends well.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from expectations import Expectations, differences, pair_name, simulate

pytestmark = pytest.mark.usefixtures("forked_programs")

FOLDER = Path(__file__).parent
WRONG = sorted(FOLDER.glob("*.wrong.py"))
RIGHT = sorted(FOLDER.glob("*.right.py"))
RULES = frozenset(
    f"SS{number}"
    for number in (
        *(101, 102, 103, 104, 105, 106, 107, 108, 109, 201, 202, 203, 204, 205, 206),
        *(301, 302, 303, 304, 305, 306, 401, 402, 501, 502, 504, 601),
    )
)
"""what a simulation can reach: SS207 a static object, SS503 source, SS602 a compiler"""


@pytest.mark.parametrize("path", WRONG, ids=pair_name)
def test_wrong_program_is_reported_exactly(path: Path, schedule: str, tmp_path: Path) -> None:
    run = simulate(path, tmp_path, schedule)
    complaints = differences(path.read_text(encoding="utf-8"), run.findings)
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("path", RIGHT, ids=pair_name)
def test_right_program_ends_well_and_is_silent(path: Path, schedule: str, tmp_path: Path) -> None:
    wrong = Expectations.of(path.with_name(f"{pair_name(path)}.wrong.py").read_text(encoding="utf-8"))
    # Where the wrong program's finding was a note, the right one must have lost it.
    silent = {code for _, code in wrong.notes}
    run = simulate(path, tmp_path, schedule)
    complaints = differences(path.read_text(encoding="utf-8"), run.findings, silent)
    assert not complaints, "\n".join(complaints)
    assert (run.status, run.problems) == (0, [])


def test_programs_come_in_pairs() -> None:
    assert len(WRONG) >= 26
    assert [pair_name(path) for path in WRONG] == [pair_name(path) for path in RIGHT]


def test_every_rule_within_reach_has_a_wrong_program() -> None:
    marks = [Expectations.of(path.read_text(encoding="utf-8")) for path in WRONG]
    assert {code for mark in marks for _, code in mark.loud | mark.notes} >= RULES


def test_every_wrong_program_expects_a_finding_and_no_right_one_does() -> None:
    for path in WRONG:
        expected = Expectations.of(path.read_text(encoding="utf-8"))
        assert expected.loud | expected.notes, path.name
    for path in RIGHT:
        expected = Expectations.of(path.read_text(encoding="utf-8"))
        assert not expected.loud | expected.notes, path.name
