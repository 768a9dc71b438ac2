"""Runs docs/rules: each page's wrong programs give the findings they announce, each right one none.

Programs in CUDA C++ are read, those in Python run on the simulated device, under several schedules each; those that use
OpenCL are C, and read (tests/opencl/test_recorded_pages.py records them).
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from expectations import Expectations, check_text, differences, simulate
from rule_pages import PAGES, Block, blocks
from streamsan.cli import main
from streamsan.rules.every_rule import RULES

pytestmark = pytest.mark.usefixtures("forked_programs")

HEADINGS = ["What it reports", "Why it matters", "Contract", "Observed", "Wrong", "Right", "Notes"]
SITUATIONS = PAGES.parent / "opencl.md"
FENCE = re.compile(r"^```.*?^```[ \t]*$", re.DOTALL | re.MULTILINE)


def silent_codes(block: Block) -> list[str]:
    # A right program may still carry milder notes of a rule that is an error or a warning by default.
    own_notes = RULES[block.code].severities.startswith("note")
    return [block.code] if block.kind == "right" and own_notes else []


@pytest.mark.parametrize("block", list(blocks("cuda")), ids=str)
def test_block(block: Block, tmp_path: Path) -> None:
    assert not differences(block.text, check_text(block.text, tmp_path), silent_codes(block))


@pytest.mark.parametrize("block", list(blocks("opencl")), ids=str)
def test_opencl_block(block: Block, tmp_path: Path) -> None:
    assert not differences(block.text, check_text(block.text, tmp_path, "example.c"), silent_codes(block))


def rules_of_opencl() -> list[str]:
    """Return the rules that the table of situations names for OpenCL too."""
    rows = [
        re.split(r"(?<!\\)\|", line)[1:5]
        for line in SITUATIONS.read_text(encoding="utf-8").splitlines()
        if line[:2] == "| "
    ]
    named = [row[3] for row in rows if "neither does streamsan" not in row[2]]
    # SS104 is CUDA's alone: what unmaps in OpenCL takes a pointer back (SS101).
    return sorted({code for cell in named for code in re.findall(r"SS\d{3}", cell)} - {"SS104"})


@pytest.mark.parametrize("code", rules_of_opencl())
def test_rules_of_opencl_show_it(code: str) -> None:
    assert {block.kind for block in blocks("opencl") if block.code == code} == {"wrong", "right"}


def test_programs_of_opencl_are_of_situations_that_the_table_has() -> None:
    assert {block.code for block in blocks("opencl")} <= set(rules_of_opencl())


@pytest.mark.parametrize("block", list(blocks("python")), ids=str)
def test_python_block(block: Block, schedule: str, tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text(block.text, encoding="utf-8")
    run = simulate(path, tmp_path, schedule)
    assert not differences(block.text, run.findings, silent_codes(block))
    if block.kind == "right":
        assert (run.status, run.problems) == (0, [])


@pytest.mark.parametrize("code", ["SS109", "SS301", "SS302", "SS303", "SS304", "SS306", "SS402"])
def test_rules_of_graphs_show_both_languages(code: str) -> None:
    kinds = {(block.language, block.kind) for block in blocks() if block.code == code and block.language != "opencl"}
    assert kinds == {(language, kind) for language in ("cuda", "python") for kind in ("wrong", "right")}


@pytest.mark.parametrize("code", RULES)
def test_page_is_complete(code: str) -> None:
    text = (PAGES / f"{code}.md").read_text(encoding="utf-8")
    prose = FENCE.sub("", text)
    assert re.findall(r"^# (.*)$", prose, re.MULTILINE) == [f"{code} {RULES[code].name}"]
    headings = re.findall(r"^## (.*)$", prose, re.MULTILINE)
    assert [heading for heading in dict.fromkeys(headings) if heading in HEADINGS] == HEADINGS
    assert set(headings) <= {*HEADINGS, "Severity and confidence"}
    own = [block for block in blocks() if block.code == code]
    wrong = [block for block in own if block.kind == "wrong"]
    expected = [Expectations.of(block.text) for block in wrong]
    assert any(code == mark[1] for each in expected for mark in each.loud | each.notes)
    right = [Expectations.of(block.text) for block in own if block.kind == "right"]
    assert right
    assert not any(expected.loud or expected.notes for expected in right)


def test_no_page_without_a_rule() -> None:
    assert {path.stem for path in PAGES.glob("*.md") if path.stem.startswith("SS")} == set(RULES)


@pytest.mark.parametrize("code", RULES)
def test_rule_prints_its_page(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", code]) == 0
    assert capsys.readouterr().out == (PAGES / f"{code}.md").read_text(encoding="utf-8").rstrip("\n") + "\n"
