"""Findings before and after an edit of text. Lines have moved: what a finding says tells it apart from others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from streamsan.analysis.worlds import NOT_UNDERSTOOD, REDUNDANT
from streamsan.findings.finding import Finding

_NUMBER = re.compile(r"\d+")


def compared(before: Iterable[Finding], after: Sequence[Finding], finding: Finding) -> tuple[bool, tuple[Finding, ...]]:
    """Return whether a finding is gone after an edit of text, and the findings that are new.

    Lines have moved, so findings are told apart by what they say, where a kind of finding says the same twice by their
    number.
    """
    known = list(before)
    count = Counter(key_of(each) for each in known)[key_of(finding)]
    return Counter(key_of(each) for each in after)[key_of(finding)] < count, _new(known, after)


def new_findings(before: Iterable[Finding], after: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings that are new after edits of text, or stronger."""
    return _new(list(before), after)


def _new(before: Sequence[Finding], after: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings that were not there before, or are stronger now."""
    left = Counter(key_of(each) for each in before)
    strengths: dict[tuple[str, ...], tuple[int, int]] = {}
    for each in before:
        strengths[key_of(each)] = min(each.strength, strengths.get(key_of(each), each.strength))
    new = []
    for each in after:
        key = key_of(each)
        if left[key] > 0 and (strengths[key] <= each.strength or each.code == REDUNDANT):
            left[key] -= 1
        else:
            new.append(each)
    return tuple(new)


def brings_up(before: Iterable[Finding], after: Sequence[Finding]) -> bool:
    """Tell whether an edit brought up a finding in a source that it was not made for."""
    return bool(_new(list(before), after))


def key_of(finding: Finding) -> tuple[str, ...]:
    """Return what tells a finding apart from others, wherever its line is."""
    if finding.code == REDUNDANT:
        # Redundant for one reason or another: the words differ.
        return finding.code, finding.location.file, finding.location.function, *finding.message.split("`")[1:2]
    # What was not understood is sometimes told by its offset in the file.
    message = _NUMBER.sub("", finding.message) if finding.code == NOT_UNDERSTOOD else finding.message
    return finding.code, finding.location.file, finding.location.function, message
