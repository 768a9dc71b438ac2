"""Whole programs in pairs: NAME.wrong.cu is reported as its comments say, NAME.right.cu is it, put right."""

from __future__ import annotations

from pathlib import Path

import pytest

from expectations import Expectations, check_unchanged, differences, pair_name
from streamsan.findings.finding import Severity
from streamsan.rules.every_rule import RULES

FOLDER = Path(__file__).parent
EXAMPLES = FOLDER.parents[1] / "examples"
WRONG = sorted(FOLDER.glob("*.wrong.cu"))
RIGHT = sorted(FOLDER.glob("*.right.cu"))


@pytest.mark.parametrize("path", WRONG, ids=pair_name)
def test_wrong_program_is_reported_exactly(path: Path) -> None:
    complaints = differences(path.read_text(encoding="utf-8"), check_unchanged(path))
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("path", RIGHT, ids=pair_name)
def test_right_program_is_silent_at_warning_and_above(path: Path) -> None:
    wrong = Expectations.of(path.with_name(f"{pair_name(path)}.wrong.cu").read_text(encoding="utf-8"))
    # Where the wrong program's finding was a note, the right one must have lost it.
    silent = {code for _, code in wrong.notes} - {"SS504"}
    complaints = differences(path.read_text(encoding="utf-8"), check_unchanged(path), silent)
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("name", ["ss102_two_streams_raii", "ss102_memory_resource"])
def test_wait_in_a_helper_is_redundant_only_if_it_is_so_at_each_call(name: str) -> None:
    """Both wrap cudaStreamSynchronize in a method; one call of it is needed, a later one is not."""
    redundant = [f.location.line for f in check_unchanged(FOLDER / f"{name}.right.cu") if f.code == "SS504"]
    assert redundant == []


def test_programs_come_in_pairs() -> None:
    assert len(WRONG) >= 30
    assert [pair_name(path) for path in WRONG] == [pair_name(path) for path in RIGHT]


def test_every_rule_has_a_wrong_program() -> None:
    others = [*FOLDER.glob("opencl/*.wrong.c*"), *FOLDER.glob("*.wrong.py")]
    marks = [Expectations.of(path.read_text(encoding="utf-8")) for path in [*WRONG, *others]]
    assert {code for mark in marks for _, code in mark.loud | mark.notes} >= set(RULES)


def test_every_wrong_program_expects_a_finding_and_no_right_one_does() -> None:
    for path in WRONG:
        expected = Expectations.of(path.read_text(encoding="utf-8"))
        assert expected.loud | expected.notes, path.name
    for path in RIGHT:
        expected = Expectations.of(path.read_text(encoding="utf-8"))
        assert not expected.loud | expected.notes, path.name


def test_example_has_one_error_and_one_redundant_wait() -> None:
    path = EXAMPLES / "pipeline.cu"
    lines = path.read_text(encoding="utf-8").split("\n")
    findings = check_unchanged(path)
    loud = [(f.code, lines[f.location.line - 1].strip()) for f in findings if f.severity is not Severity.NOTE]
    waits = [lines[f.location.line - 1].strip() for f in findings if f.code == "SS504"]
    assert loud == [("SS102", "CUDA_CHECK(cudaFreeAsync(input, upload));")]
    assert waits == ["CUDA_CHECK(cudaStreamSynchronize(upload));"]


def test_fixed_example_is_silent() -> None:
    findings = check_unchanged(EXAMPLES / "pipeline_fixed.cu")
    assert [(f.code, f.location.line) for f in findings if f.severity is not Severity.NOTE] == []
