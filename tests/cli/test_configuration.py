"""`streamsan.toml` and `[tool.streamsan]`: what they may say, who wins, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streamsan.cli import main

LEAK = "#include <cuda_runtime.h>\nint main() { void* p; cudaMalloc(&p, 4); return 0; }\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "leak.cu").write_text(LEAK, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main([*arguments])
    out, err = capsys.readouterr()
    return status, out, err


def configure(text: str, name: str = "streamsan.toml") -> None:
    Path(name).write_text(text, encoding="utf-8")


def test_a_severity_and_paths_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    configure('paths = ["src"]\n[severity]\nSS401 = "error"\n')
    status, out, _ = checked(capsys, "check")
    assert (status, "error[SS401]" in out) == (1, True)
    assert checked(capsys, "check", "--severity", "SS401=note")[0] == 0
    assert checked(capsys, "--no-config", "check", "src")[0] == 0


def test_the_table_of_pyproject_counts_from_folders_below(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    configure('[tool.other]\nx = 1\n[tool.streamsan]\nselect = ["SS401"]\npaths = "src"\n', "pyproject.toml")
    monkeypatch.chdir("src")
    status, out, _ = checked(capsys, "check")
    assert (status, "note[SS401]" in out, "--> leak.cu:2" in out or "--> ../src/leak.cu:2" in out) == (0, True, True)


def test_a_pyproject_without_the_table_is_passed_over(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    configure("notes = true\n")
    configure("[project]\nname = 'x'\n", "src/pyproject.toml")
    monkeypatch.chdir("src")
    assert "note[SS401]" in checked(capsys, "check", "leak.cu")[1]


def test_codes_are_ignored_by_path(capsys: pytest.CaptureFixture[str]) -> None:
    configure('notes = true\n[per-path-ignores]\n"src/*" = ["SS4"]\n')
    assert "SS401" not in checked(capsys, "check", "src")[1]
    assert "SS401" in checked(capsys, "check", "src", "--per-path-ignores", "other/*=SS4")[1]


def test_other_options(capsys: pytest.CaptureFixture[str]) -> None:
    Path("inc").mkdir()
    Path("inc/x.h").write_text("#define SIZE 4\n", encoding="utf-8")
    Path("src/leak.cu").write_text(
        '#include "x.h"\n#ifdef LEAK\n' + LEAK.replace("4", "SIZE") + "#endif\n", encoding="utf-8"
    )
    Path("src/vendor").mkdir()
    Path("src/vendor/other.cu").write_text(LEAK, encoding="utf-8")
    configure('include-dirs = ["inc"]\nexclude = ["vendor"]\nnotes = true\n[define]\nLEAK = 1\n')
    assert "src/leak.cu:4" in checked(capsys, "check", "src")[1]
    assert "vendor" not in checked(capsys, "check", "src")[1]


def test_a_baseline_and_suppressions_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(capsys, "check", "src", "--format", "json", "--report", "base.json")[0] == 0
    assert json.loads(Path("base.json").read_text(encoding="utf-8"))["summary"]["notes"] == 1
    configure('baseline = "base.json"\n')
    assert "1 in the baseline" in checked(capsys, "check", "src")[1]
    Path("known.txt").write_text("SS401 leak.cu\n", encoding="utf-8")
    configure('suppressions = ["known.txt"]\n')
    assert "1 suppressed" in checked(capsys, "check", "src")[1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("slect = ['SS1']", "unknown key `slect`"),
        ("select = 1", "`select` is no list of strings"),
        ("notes = 'yes'", "`notes` is neither true nor false"),
        ("severity = ['SS1']", "`severity` is no table"),
        ("severity = {SS1 = 'fatal'}", "--severity: 'SS1=fatal'"),
        ("paths = ['../elsewhere']", "outside the file's folder"),
        ("baseline = '/etc/passwd'", "outside the file's folder"),
        ("= 1", "not TOML"),
    ],
)
def test_what_is_refused_is_one_line(text: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    configure(text + "\n")
    status, out, err = checked(capsys, "check", "src")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert words in err


def test_a_file_that_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    configure("notes = true\n", "other.toml")
    status, _, err = checked(capsys, "--config", "gone.toml", "check", "src")
    assert (status, err) == (2, "streamsan: gone.toml: no such file or directory\n")
    configure("notes = true\n")
    Path("streamsan.toml").rename("src/streamsan.toml")
    assert "note[SS401]" in checked(capsys, "--config", "src/streamsan.toml", "check", "src")[1]


def test_no_path_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(capsys, "check")[0] == 2
