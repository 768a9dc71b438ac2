"""Lines of source that a trace carries, so that a report quotes them where the files are not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

LONGEST_LINE = 400
"""characters of a line that are stored"""
Lines = Mapping[int, str]
"""number of a line, from 1 -> its text, without the end of the line"""
SourceLines = Mapping[str, Lines]
"""file, as sites name it -> those of its lines that are known"""


def joined_source_lines(parts: Iterable[SourceLines]) -> SourceLines:
    """Return the lines of several files of a run; of two texts of one line the first counts."""
    joined: dict[str, dict[int, str]] = {}
    for part in parts:
        for file, lines in part.items():
            joined[file] = {**lines, **joined.get(file, {})}
    return joined
