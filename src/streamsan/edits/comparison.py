"""Findings before and after an edit of text. Lines have moved: what a finding says tells it apart from others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from streamsan.findings.finding import Finding
from streamsan.rules.catalogue.written_calls import NOT_UNDERSTOOD
from streamsan.rules.every_rule import RULES

_NUMBER = re.compile(r"\d+")


def is_gone(finding: Finding, before: Iterable[Finding], after: Iterable[Finding]) -> bool:
    """Tell whether fewer findings say what one said: lines have moved, so findings are told apart by their words."""
    key = key_of(finding)
    return sum(key_of(each) == key for each in after) < sum(key_of(each) == key for each in before)


def new_findings(before: Sequence[Finding], after: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings that are new after edits of text, or stronger."""
    left = Counter(key_of(each) for each in before)
    strengths: dict[tuple[str, ...], tuple[int, int]] = {}
    for each in before:
        strengths[key_of(each)] = min(each.strength, strengths.get(key_of(each), each.strength))
    new = []
    for each in after:
        key = key_of(each)
        if left[key] > 0 and (strengths[key] <= each.strength or RULES[each.code].finds_needless):
            left[key] -= 1
        else:
            new.append(each)
    return tuple(new)


def key_of(finding: Finding) -> tuple[str, ...]:
    """Return what tells a finding apart from others, wherever its line is."""
    if RULES[finding.code].finds_needless:
        # Redundant for one reason or another: the words differ.
        return finding.code, finding.location.file, finding.location.function, *finding.message.split("`")[1:2]
    # What was not understood is sometimes told by its offset in the file.
    message = _NUMBER.sub("", finding.message) if finding.code == NOT_UNDERSTOOD else finding.message
    return finding.code, finding.location.file, finding.location.function, message
