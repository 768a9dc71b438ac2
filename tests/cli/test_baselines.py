"""`--baseline`, `--severity` and `--report` of `check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streamsan.cli import main

LEAK = "#include <cuda_runtime.h>\nint main() { void* p;\ncudaMalloc(&p, 4);\nreturn 0; }\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("leak.cu").write_text(LEAK, encoding="utf-8")


def check(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["check", "leak.cu", *arguments])
    return status, *capsys.readouterr()


def test_only_new_findings_fail(capsys: pytest.CaptureFixture[str]) -> None:
    as_error = ("--severity", "SS401=error")
    assert check(capsys, *as_error, "--format", "json", "--report", "base.json")[0] == 1
    moved = LEAK.replace("int main", "// above\n\nint main")
    Path("leak.cu").write_text(moved, encoding="utf-8")
    status, out, _ = check(capsys, *as_error, "--baseline", "base.json")
    assert (status, out) == (0, "0 errors, 0 warnings, 0 notes, 1 in the baseline in 1 file, 3 operations\n")
    more = moved.replace("return 0", "void* q; cudaMalloc(&q, 8); return 0")
    Path("leak.cu").write_text(more, encoding="utf-8")
    status, out, _ = check(capsys, *as_error, "--baseline", "base.json")
    assert (status, out.count("error[SS401]")) == (1, 1)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"findings": [1]}', "[" * 100000])
def test_a_baseline_that_is_none_is_bad_usage(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("base.json").write_text(text, encoding="utf-8")
    status, _, err = check(capsys, "--baseline", "base.json")
    assert (status, err.count("\n")) == (2, 1)
    assert "--baseline: base.json: not a report of" in err
    assert "no such file" in check(capsys, "--baseline", "gone.json")[2]


def test_severities_are_raised_and_lowered(capsys: pytest.CaptureFixture[str]) -> None:
    assert check(capsys)[0] == 0
    assert check(capsys, "--severity", "SS4=warning")[0] == 1
    assert check(capsys, "--severity", "SS4=warning", "--severity", "SS401=note")[0] == 0
    for wrong in ("SS401", "SS401=fatal", "SS999=note", "=error"):
        assert check(capsys, "--severity", wrong)[0] == 2


def test_select_shows_notes_that_it_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert "note[SS401]" in check(capsys, "--select", "SS401")[1]


def test_a_report_file_has_no_colours(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert check(capsys, "--notes", "--report", "report.txt")[:2] == (0, "")
    assert "note[SS401]" in Path("report.txt").read_text(encoding="utf-8")
    assert check(capsys, "--format", "sarif", "--notes", "--report", "report.sarif")[0] == 0
    assert json.loads(Path("report.sarif").read_text(encoding="utf-8"))["version"] == "2.1.0"
    assert check(capsys, "--report", "gone/report.txt")[0] == 2
