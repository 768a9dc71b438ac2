"""The wrong Python programs of the ordering rules: each fix is verified on the trace that the simulation wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streamsan.cli import main

pytestmark = pytest.mark.usefixtures("forked_programs")

LITMUS = Path(__file__).parents[1] / "litmus"
ORDERING = ("ss101", "ss102", "ss103", "ss104", "ss107", "ss108", "ss109", "ss303", "ss304")
WRONG = [path for path in sorted(LITMUS.glob("*.wrong.py")) if path.name.startswith(ORDERING)]


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.name.split(".")[0])
def test_fix_is_verified_on_the_trace(path: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    main(["sim", "--schedule", "lazy", "--format", "json", "--report", str(report), str(path)])
    findings = json.loads(report.read_text(encoding="utf-8"))["findings"]
    code = path.name[:5].upper()
    fixes = [(finding["fix"], finding["no_fix"]) for finding in findings if finding["code"] == code]
    assert fixes
    assert all(fix["verified"] and reason == "" for fix, reason in fixes), fixes
    assert all(
        (finding["fix"] is not None and finding["fix"]["verified"]) == (finding["no_fix"] == "") for finding in findings
    )


def test_there_are_enough_programs() -> None:
    assert len(WRONG) >= 14
