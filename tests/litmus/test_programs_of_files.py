"""Programs of several files in pairs: the folder NAME.wrong is reported as its files say, NAME.right is put right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from expectations import Expectations
from streamsan.cli import main

FOLDER = Path(__file__).parent / "programs"
WRONG = sorted(FOLDER.glob("*.wrong"))
RIGHT = sorted(FOLDER.glob("*.right"))


def _name(folder: Path) -> str:
    return folder.name.split(".")[0]


def _sources(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in (".cu", ".cpp"))


def _expected(folder: Path) -> set[tuple[str, int, str]]:
    return {
        (path.name, line, code)
        for path in folder.iterdir()
        for line, code in Expectations.of(path.read_text(encoding="utf-8")).loud
    }


@pytest.mark.parametrize("folder", [*WRONG, *RIGHT], ids=lambda folder: folder.name)
def test_a_program_is_reported_exactly(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", "--no-fixes", "--format", "json", *map(str, _sources(folder))])
    findings = json.loads(capsys.readouterr().out)["findings"]
    found = {
        (Path(each["location"]["file"]).name, each["location"]["line"], each["code"])
        for each in findings
        if each["severity"] != "note"
    }
    assert found == _expected(folder)


@pytest.mark.parametrize("folder", WRONG, ids=_name)
def test_no_file_alone_shows_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in _sources(folder):
        assert main(["check", "--no-fixes", "--quiet", str(path)]) == 0


def test_programs_come_in_pairs() -> None:
    assert [_name(folder) for folder in WRONG] == [_name(folder) for folder in RIGHT]
    assert all(_expected(folder) for folder in WRONG)
    assert not any(_expected(folder) for folder in RIGHT)
