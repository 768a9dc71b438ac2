"""Texts of which only some lines are known, in the form of whole texts."""

from __future__ import annotations

from collections.abc import Mapping

UNKNOWN_LINE = "\0"
"""stands where a line is not known; no text has it"""
MOST_LINES = 1 << 17
"""lines up to the last known one, beyond which a line is left out: a text has them all"""


def text_of(lines: Mapping[int, str]) -> str:
    """Return a text with these lines, by number from 1."""
    last = max((number for number in lines if number <= MOST_LINES), default=0)
    return "\n".join(lines.get(number, UNKNOWN_LINE) for number in range(1, last + 1))
