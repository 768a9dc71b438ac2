"""The wrong Python programs of the ordering rules: `--fix` writes an edit with which they run without the finding."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from streamsan.cli import main

# Each edit of a program is tried by running it again.
pytestmark = pytest.mark.deep

LITMUS = Path(__file__).parents[1] / "litmus"
ORDERING = ("ss101", "ss102", "ss103", "ss104", "ss106", "ss107", "ss108", "ss109", "ss206", "ss303", "ss304", "ss504")
NOTES = ("ss206", "ss504")
WRONG = {path.name.split(".")[0]: path for path in LITMUS.glob("*.wrong.py") if path.name.startswith(ORDERING)}
WITHOUT = {
    "ss101_buffer_cache": "no block of the program has both the call in `BufferCache.get` and that in `main`",
    "ss303_grown_input": "line 36 does more than that: it cannot come later as a whole",
}
"""what has to change is a decision: when a cache evicts, which buffer a graph was captured with"""


def fixed(name: str, folder: Path) -> tuple[str, list[dict[str, object]]]:
    """Fix a program in a folder. Returns its new text, and what its report says."""
    shutil.copy(LITMUS / "gpu_common.py", folder)
    program = folder / f"{name}.py"
    shutil.copy(WRONG[name], program)
    report = folder / "report.json"
    notes = ("--select", name[:5]) if name.startswith(NOTES) else ()
    main(["sim", "--schedule", "lazy", *notes, "--fix", "--format", "json", "--report", str(report), str(program)])
    return program.read_text(encoding="utf-8"), json.loads(report.read_text(encoding="utf-8"))["findings"]


@pytest.mark.parametrize("name", sorted(WRONG.keys() - WITHOUT.keys()))
def test_the_fixed_program_is_silent(name: str, tmp_path: Path) -> None:
    text, findings = fixed(name, tmp_path)
    assert text != WRONG[name].read_text(encoding="utf-8")
    assert [finding["code"] for finding in findings if finding["severity"] != "note"] == []
    assert name[:5].upper() not in {finding["code"] for finding in findings}


@pytest.mark.parametrize("name", sorted(WITHOUT))
def test_a_decision_is_left_to_the_program(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text, findings = fixed(name, tmp_path)
    assert text == WRONG[name].read_text(encoding="utf-8")
    assert {finding["code"] for finding in findings} == {name[:5].upper()}
    assert f"no automatic edit: {WITHOUT[name]}" in capfd.readouterr().err


def test_the_least_change_comes_first(tmp_path: Path) -> None:
    text, _ = fixed("ss304_result_of_graph", tmp_path)
    before = WRONG["ss304_result_of_graph"].read_text(encoding="utf-8")
    # The event that the program has is recorded behind the launch: nothing is put in.
    assert sorted(text.split("\n")) == sorted(before.split("\n"))


def test_there_are_enough_programs() -> None:
    assert len(WRONG) >= 17
