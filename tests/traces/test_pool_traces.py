"""The programs on pools, streams, graphs and pinned memory, recorded on H200s: judged by the marks of the program.

`python bench/recorded_litmus.py --pools --traces tests/traces/pools` records them anew; NAME.host.sst was recorded with
`--host-accesses`. PyTorch's own machine code is not kept, so what its kernels read and write is not known here: a
program that needs it is left out.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from expectations import Expectations
from streamsan.analysis.inputs import analyse_path
from streamsan.findings.finding import Severity

FOLDER = Path(__file__).parent / "pools"
PROGRAMS = Path(__file__).parents[1] / "litmus" / "pools"
RECORDINGS = sorted(FOLDER.glob("*.sst"))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_recording_shows_the_marks_of_its_program_and_nothing_else(path: Path) -> None:
    expected = Expectations.of((PROGRAMS / f"{program(path)}.py").read_text(encoding="utf-8"))
    loud = {
        (finding.location.line, finding.code)
        for finding in analyse_path(str(path)).findings
        if finding.severity is not Severity.NOTE
    }
    assert loud == expected.loud
    assert bool(loud) == (".wrong" in path.stem)


def program(recording: Path) -> str:
    """Return the name of the program that was recorded."""
    return recording.stem.removesuffix(".host")


def test_each_wrong_program_is_here_beside_its_right_one() -> None:
    names = {program(path) for path in RECORDINGS}
    assert len(names) >= 60
    assert {name.replace(".wrong", ".right") for name in names} <= names
