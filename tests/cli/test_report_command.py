"""`streamsan report`: a page of traces, sources and JSON reports."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import streamsan
from streamsan.cli import main

ROOT = Path(__file__).resolve().parents[2]
SOURCE = str(ROOT / "examples" / "pipeline.cu")
TRACE = str(ROOT / "tests" / "traces" / "pools" / "ss105_cupy_arena.wrong.sst")


def data_of(page: Path) -> dict[str, Any]:
    text = page.read_text(encoding="utf-8")
    (data,) = re.findall(r'<script type="application/json" id="report">(.*?)</script>', text)
    result: dict[str, Any] = json.loads(data)
    return result


def test_a_source_and_a_trace_become_one_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "out.html"
    assert main(["report", SOURCE, TRACE, "-o", str(page)]) == 0
    data = data_of(page)
    assert capsys.readouterr().out == f"{page}: {len(data['findings'])} findings\n"
    assert {finding["code"] for finding in data["findings"]} >= {"SS102", "SS105"}
    assert len(data["runs"]) == 2
    titles = {run["title"] for run in data["runs"]}
    assert {finding["scene"]["run"] for finding in data["findings"] if finding["scene"]} <= titles


def test_a_json_report_becomes_a_page_without_lanes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--format", "json", "--exit-zero", SOURCE]) == 0
    written = capsys.readouterr().out
    (tmp_path / "findings.json").write_text(written)
    page = tmp_path / "out.html"
    assert main(["report", str(tmp_path / "findings.json"), "-o", str(page)]) == 0
    data = data_of(page)
    before = json.loads(written)
    kept = ("code", "message", "severity", "confidence", "witness", "contract", "observed", "fix", "properties")
    assert [[each[name] for name in kept] for each in data["findings"]] == [
        [each[name] for name in kept] for each in before["findings"]
    ]
    assert data["runs"] == []
    assert [each["scene"] for each in data["findings"]] == [None] * len(data["findings"])


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"version": 1}', '{"version": 1, "findings": [1], "summary": {}}', '{"version": 7}', "[" * 100_000],
)
def test_what_is_no_report_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    (tmp_path / "f.json").write_text(text)
    page = tmp_path / "out.html"
    assert main(["report", str(tmp_path / "f.json"), "-o", str(page)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "f.json: " in line
    assert not page.exists()


def test_check_writes_the_same_page(tmp_path: Path) -> None:
    page, other = tmp_path / "out.html", tmp_path / "other.html"
    assert main(["check", "--format", "html", "--report", str(page), SOURCE]) == 1
    assert main(["report", SOURCE, "-o", str(other)]) == 0
    assert page.read_text() == other.read_text()


def test_python_gives_the_same_page(tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    assert main(["report", SOURCE, "--notes", "-o", str(page)]) == 0
    assert streamsan.render(streamsan.check([SOURCE], drawn=True), "html") == page.read_text()
    plain = streamsan.render(streamsan.check([SOURCE]), "html")
    assert '"runs":[]' in plain


@pytest.mark.deep
def test_processes_give_the_same_page(tmp_path: Path) -> None:
    sources = sorted(map(str, (ROOT / "tests" / "litmus").glob("ss102_s*.cu")))
    one, two = tmp_path / "one.html", tmp_path / "two.html"
    assert main(["report", *sources, "--jobs", "1", "-o", str(one)]) == 0
    assert main(["report", *sources, "--jobs", "2", "-o", str(two)]) == 0
    assert data_of(one)["findings"] == data_of(two)["findings"]


def test_patches_are_in_the_page_where_they_are_asked_for(tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    assert main(["check", "--format", "html", "--diff", "--report", str(page), SOURCE]) == 1
    diffs = [finding["diff"] for finding in data_of(page)["findings"] if finding["code"] == "SS102"]
    assert ["+    CUDA_CHECK(cudaFreeAsync(input, compute));" in diff for diff in diffs] == [True]


def test_a_strict_report_fails_where_something_was_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, page = tmp_path / "a.cu", tmp_path / "out.html"
    source.write_text('#include "nowhere.h"\nint main() { cudaDeviceSynchronize(); }\n')
    assert main(["report", str(source), "-o", str(page)]) == 0
    assert main(["report", str(source), "-o", str(page), "--strict"]) == 2
    assert page.exists()
    assert (
        capsys.readouterr().err == f"streamsan: --strict: not everything was read: 1 include not found ({source}:1)\n"
    )
