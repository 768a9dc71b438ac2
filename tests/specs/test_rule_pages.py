"""Runs docs/rules: each page's wrong programs give the findings they announce, each right one none.

Programs in CUDA C++ are read, those in Python run on the simulated device, under several schedules each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from expectations import Expectations, check_text, differences, simulate
from streamsan.cli import main
from streamsan.rules.catalogue import RULES

pytestmark = pytest.mark.usefixtures("forked_programs")

PAGES = Path(__file__).resolve().parents[2] / "docs" / "rules"
HEADINGS = ["What it reports", "Why it matters", "Contract", "Observed", "Wrong", "Right", "Notes"]
BLOCK = re.compile(
    r"^```(?P<language>cuda|python) (?P<kind>wrong|right)[^\n]*\n(?P<text>.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE
)
FENCE = re.compile(r"^```.*?^```[ \t]*$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    code: str
    language: str
    kind: str
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.code}-{self.language}-{self.kind}-{self.number}"


def blocks() -> Iterator[Block]:
    for path in sorted(PAGES.glob("SS*.md")):
        for number, match in enumerate(BLOCK.finditer(path.read_text(encoding="utf-8")), 1):
            yield Block(path.stem, match["language"], match["kind"], number, match["text"])


def silent_codes(block: Block) -> list[str]:
    # A right program may still carry milder notes of a rule that is an error or a warning by default.
    own_notes = RULES[block.code].severities.startswith("note")
    return [block.code] if block.kind == "right" and own_notes else []


@pytest.mark.parametrize("block", [block for block in blocks() if block.language == "cuda"], ids=str)
def test_block(block: Block, tmp_path: Path) -> None:
    assert not differences(block.text, check_text(block.text, tmp_path), silent_codes(block))


@pytest.mark.parametrize("block", [block for block in blocks() if block.language == "python"], ids=str)
def test_python_block(block: Block, schedule: str, tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text(block.text, encoding="utf-8")
    run = simulate(path, tmp_path, schedule)
    assert not differences(block.text, run.findings, silent_codes(block))
    if block.kind == "right":
        assert (run.status, run.problems) == (0, [])


@pytest.mark.parametrize("code", ["SS109", "SS301", "SS302", "SS303", "SS304", "SS306", "SS402"])
def test_rules_of_graphs_show_both_languages(code: str) -> None:
    kinds = {(block.language, block.kind) for block in blocks() if block.code == code}
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
