"""Findings with what the replay of their witnesses showed."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from streamsan.evidence.witness.witness import Witness, witnesses
from streamsan.findings.finding import Finding
from streamsan.replay import Replay, replay
from streamsan.rules.case import case_of
from streamsan.rules.every_rule import RULES

PROPERTY = "replay"
"""the property of a finding that says what its replay showed"""


def with_replays(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings; those about order with a property that says which words went wrong, or why none is shown."""
    every = list(findings)
    return [
        replace(finding, properties={**finding.properties, PROPERTY: text}) if text else finding
        for finding, text in zip(every, map(_answer_text, every, witnesses(every)), strict=True)
    ]


def _answer_text(finding: Finding, answer: Witness | str) -> str:
    if isinstance(answer, Witness):
        return words_of(replay(answer))
    about_order = case_of(finding) is not None and RULES[finding.code].is_about_order
    return f"not possible: {answer}" if about_order else ""


def words_of(shown: Replay) -> str:
    """Return what a replay showed in one line."""
    if shown.problem:
        return f"not possible: {shown.problem}" if not shown.ran else shown.problem
    return "; ".join(damage.text for damage in shown.damage)
