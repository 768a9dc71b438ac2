"""Programs that ran on an H200, recorded: NAME.sst is checked, NAME.codes says what must be found.

`python bench/recorded_litmus.py --traces tests/traces/h200` records them anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsan.analysis.inputs import analyse_path
from streamsan.findings.finding import Severity

FOLDER = Path(__file__).parent / "h200"
CODES = sorted(FOLDER.glob("*.codes"))


@pytest.mark.parametrize("path", CODES, ids=lambda path: path.stem)
def test_recording_gives_its_codes(path: Path) -> None:
    """What is expected is found, and nothing else at warning or above; a right program's recording gives nothing."""
    expected = set(path.read_text(encoding="utf-8").split())
    checked = analyse_path(str(path.with_suffix(".sst")))
    found = {finding.code for finding in checked.findings}
    loud = {finding.code for finding in checked.findings if finding.severity is not Severity.NOTE}
    assert expected <= found
    assert loud <= expected


def test_there_are_enough_of_them() -> None:
    names = {path.stem for path in CODES}
    assert len(names) >= 40
    assert {path.stem for path in FOLDER.glob("*.sst")} >= names
    right = [path for path in CODES if not path.read_text(encoding="utf-8").strip()]
    assert len(right) >= 15
