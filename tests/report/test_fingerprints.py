from __future__ import annotations

import os
from pathlib import Path

import pytest
from programs import SOURCE, race

from streamsan.findings.finding import Finding, Location
from streamsan.findings.fingerprint import with_fingerprints


def fingerprints(findings: list[Finding], sources: dict[str, str]) -> list[str]:
    return [finding.fingerprint for finding in with_fingerprints(findings, sources)]


def at(line: int, file: str = "pipeline.cu", **changes: object) -> Finding:
    return race(location=Location(file, line, 5, "main"), **changes)


def only(finding: Finding, source: str = SOURCE) -> str:
    (found,) = fingerprints([finding], {"pipeline.cu": source})
    return found


def test_lines_above_change_nothing() -> None:
    assert only(at(7)) == only(at(9), "// new\n\n" + SOURCE)


def test_indentation_changes_nothing_and_words_do() -> None:
    assert only(at(7)) == only(at(7), SOURCE.replace("    cudaFreeAsync", "\tcudaFreeAsync"))
    assert only(at(7)) != only(at(7), SOURCE.replace("d_x, s1);\n}", "d_x, s2);\n}"))
    assert only(at(7)) != only(at(7, code="SS101"))


def test_equal_lines_are_told_apart() -> None:
    source = SOURCE + SOURCE
    first, second = fingerprints([at(7), at(16)], {"pipeline.cu": source})
    assert first != second
    assert first == only(at(7))


def test_without_the_text_the_message_counts_and_its_numbers_do_not() -> None:
    assert only(at(7, "gone.cu", message="freed 3 times")) == only(at(9, "gone.cu", message="freed 4 times"))
    assert only(at(7, "gone.cu", message="freed 3 times")) != only(at(7, "gone.cu", message="read 3 times"))


def test_a_path_is_the_same_however_it_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    paths = ("a/x.cu", "./a/x.cu", "b/../a/x.cu", os.fspath(tmp_path / "a" / "x.cu"))
    assert len({fingerprints([at(1, path)], {})[0] for path in paths}) == 1
