"""Extra: the code examples of documents that are not part of this repository, against a table of verdicts.

Set STREAMSAN_DOCUMENTS to a folder of documents (text with fenced code; the file name starts with a three-digit number)
and STREAMSAN_VERDICTS to a Markdown table `| 000-1 | SS602 | [SS106] | why |`: codes without brackets are all the
errors and warnings there may be, codes in brackets are notes that must be there. Without them there is nothing to
test here.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from streamsan.analysis.inputs import analyse_path
from streamsan.findings.finding import Severity

CODE = re.compile(r"SS\d{3}")
FENCE = re.compile(r"```(?:c\+\+|cpp|cuda|c)\n(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Verdict:
    example: str
    loud: frozenset[str]
    notes: frozenset[str]


def verdicts() -> list[Verdict]:
    table = os.environ.get("STREAMSAN_VERDICTS")
    if not table:
        return []
    rows = []
    for line in Path(table).read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) >= 3 and re.fullmatch(r"\d{3}-\d+", cells[0]):
            rows.append(Verdict(cells[0], frozenset(CODE.findall(cells[1])), frozenset(CODE.findall(cells[2]))))
    return rows


def example_text(example: str) -> str:
    number, position = example.split("-")
    (document,) = Path(os.environ["STREAMSAN_DOCUMENTS"]).glob(f"{number}*")
    return FENCE.findall(document.read_text(encoding="utf-8"))[int(position) - 1]


@pytest.mark.parametrize("verdict", verdicts(), ids=lambda verdict: verdict.example)
def test_document_example(verdict: Verdict, tmp_path: Path) -> None:
    source = tmp_path / f"example_{verdict.example}.cu"
    source.write_text(example_text(verdict.example), encoding="utf-8")
    findings = analyse_path(source).findings
    loud = {finding.code for finding in findings if finding.severity is not Severity.NOTE}
    notes = {finding.code for finding in findings if finding.severity is Severity.NOTE}
    assert loud == verdict.loud
    assert verdict.notes <= notes
