"""`streamsan sim --witness`."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from streamsan.cli import main

ROOT = Path(__file__).resolve().parents[2]
LITMUS = ROOT / "tests" / "litmus"
SOURCE = LITMUS / "ss102_two_streams_raii.wrong.cu"
SCRIPT = LITMUS / "ss109_history.wrong.py"


def replayed(report: Path) -> dict[str, str]:
    document = json.loads(report.read_text(encoding="utf-8"))
    jsonschema.validate(document, json.loads((ROOT / "docs" / "findings.schema.json").read_text(encoding="utf-8")))
    return {f["code"]: f["properties"]["replay"] for f in document["findings"] if "replay" in f["properties"]}


def test_a_source_is_checked_and_its_witness_replayed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report.json"
    arguments = ["sim", "--witness", "--format", "json", "--report", str(report), str(SOURCE)]
    assert main(arguments) == 0
    assert "they are the next owner's" in replayed(report)["SS102"]
    assert main(["sim", "--witness", "--error-exitcode", "7", "--report", str(report), str(SOURCE)]) == 7
    assert "= replay: `pixels`[0..1023]: 1,024 of 1,024 words" in report.read_text(encoding="utf-8")
    assert capfd.readouterr().out == ""


def test_a_script_is_run_first(tmp_path: Path) -> None:
    report, trace = tmp_path / "report.json", tmp_path / "run.sst"
    arguments = ["sim", "--witness", "--format", "json", "--report", str(report), "-o", str(trace), str(SCRIPT)]
    assert main(arguments) == 0
    by_script = replayed(report)
    assert "words that the copy" in by_script["SS109"]
    assert main(["sim", "--witness", "--format", "json", "--report", str(report), str(trace)]) == 0
    assert replayed(report) == by_script


def test_without_the_option_nothing_is_replayed(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    assert main(["sim", "--format", "json", "--report", str(report), str(SCRIPT)]) == 0
    assert replayed(report) == {}


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("none.cu", None, "no such file or directory"),
        ("none.sst", None, "no such file or directory"),
        ("bad.sst", b"no trace at all", "is not an .sst trace"),
        ("folder.cu", b"", "is a directory"),
    ],
)
def test_bad_input_is_one_line(
    name: str, content: bytes | None, reason: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    if name.startswith("folder"):
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    assert main(["sim", "--witness", str(path)]) == 2
    error = capfd.readouterr().err
    assert error.count("\n") == 1
    assert name in error
    assert reason in error.lower()


def test_a_source_takes_no_arguments(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "--witness", str(SOURCE), "argument"]) == 2
    assert "is not run" in capfd.readouterr().err
