"""Source excerpts: the lines a finding speaks of, numbered, each with what happens there beside it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from msgspec import Struct

from streamsan.findings.finding import Finding
from streamsan.findings.known_lines import UNKNOWN_LINE
from streamsan.report.printable import printable
from streamsan.report.styled_line import StyledLine, cells, cut

TAB = 4
LONGEST_SOURCE = 100
"""cells of a source line that are shown where no terminal sets a limit"""
SHORTEST_SOURCE = 24
GAP = 3
"""cells between a source line and what is said beside it"""
FAR = 10
"""lines left out from which on an excerpt says so"""
ELLIPSIS = "…"


class Row(Struct, frozen=True):
    """One line of an excerpt."""

    line: int
    source: str
    message: str
    primary: bool


class SourceLines:
    """Lines of the known source texts, split once for each file."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._lines: dict[str, list[str]] = {}

    def get(self, file: str, line: int) -> str | None:
        """Return one line, None where the file is not known or has no such line."""
        if file not in self._lines:
            text = self._texts.get(file)
            self._lines[file] = [] if text is None else text.split("\n")
        lines = self._lines[file]
        if not 1 <= line <= len(lines) or lines[line - 1] == UNKNOWN_LINE:
            return None
        return printable(lines[line - 1].rstrip("\r").expandtabs(TAB)).rstrip()


def rows_by_file(finding: Finding, lines: SourceLines) -> list[tuple[str, list[Row]]]:
    """Return the excerpt's rows, the finding's own file first; a file without text gives no rows."""
    messages_in: dict[str, dict[int, list[str]]] = {finding.location.file: {finding.location.line: []}}
    for related in finding.related:
        messages = messages_in.setdefault(related.file, {}).setdefault(related.line, [])
        if related.message not in messages:
            messages.append(related.message)
    result = []
    for file, by_line in messages_in.items():
        rows = []
        for line in sorted(by_line):
            source = lines.get(file, line)
            if source is not None:
                primary = file == finding.location.file and line == finding.location.line
                rows.append(Row(line, source, printable("; ".join(by_line[line])), primary))
        if rows:
            result.append((file, _dedented(rows)))
    return result


def _dedented(rows: list[Row]) -> list[Row]:
    indents = [len(row.source) - len(row.source.lstrip(" ")) for row in rows if row.source.strip()]
    surplus = max(0, min(indents, default=0) - 2)
    return [Row(row.line, row.source[surplus:], row.message, row.primary) for row in rows]


def layout(rows: Sequence[Row], gutter: int, width: int | None) -> list[StyledLine]:
    """Return the printed lines of rows: number, source, and what is said of it in one column.

    `gutter` is the width of the line numbers; `width` that of the terminal, None when there is none.
    """
    room = None if width is None else width - gutter - 3
    cap = LONGEST_SOURCE
    longest_message = max((cells(row.message) for row in rows), default=0)
    below = False
    if room is not None:
        below = room - longest_message - GAP < SHORTEST_SOURCE
        cap = max(SHORTEST_SOURCE, room if below else room - longest_message - GAP)
    sources = [_cut(row.source, cap) for row in rows]
    column = max((cells(source) for source, row in zip(sources, rows, strict=True) if row.message), default=0) + GAP
    result: list[StyledLine] = []
    previous = rows[0].line if rows else 0
    for row, source in zip(rows, sources, strict=True):
        if row.line - previous > FAR:
            result.append(StyledLine.of(("." * 3, "dim")))
        previous = row.line
        text = StyledLine.of((f"{row.line:>{gutter}} |", "blue"), " ", (source, "bold" if row.primary else ""))
        if row.message and not below:
            text.append(" " * (column - cells(source)))
            text.append(row.message, style="bold red" if row.primary else "cyan")
        result.append(text)
        if row.message and below and room is not None:
            for part in textwrap.wrap(row.message, max(SHORTEST_SOURCE, room - 6)):
                style = "bold red" if row.primary else "cyan"
                result.append(StyledLine.of((" " * gutter + " |", "blue"), "     ", (part, style)))
    return result


def _cut(source: str, room: int) -> str:
    if cells(source) <= room:
        return source
    return cut(source, room - 1).rstrip() + ELLIPSIS
