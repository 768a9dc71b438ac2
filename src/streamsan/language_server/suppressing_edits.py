"""The comment that suppresses a finding, where it can stand."""

from __future__ import annotations

from msgspec.structs import replace

from streamsan.findings.finding import Edit, Finding
from streamsan.findings.suppressions import Suppressions
from streamsan.language_server.text_positions import TextPositions, newline_of


def suppressing_edit(finding: Finding, text: str, positions: TextPositions) -> Edit | None:
    """Return the edit of a source that adds a comment before a finding's line; None where it would do something else.

    A comment in a macro's definition of several lines would end it, one within another comment is none.
    """
    where = finding.location
    if not 1 <= where.line <= len(positions.lines):
        return None
    if where.line > 1 and positions.lines[where.line - 2].rstrip().endswith("\\"):
        return None
    line = positions.lines[where.line - 1]
    indentation = line[: len(line) - len(line.lstrip())]
    comment = f"{indentation}// streamsan: ignore[{finding.code}]"
    moved = replace(finding, location=replace(where, line=where.line + 1, end_line=where.end_line + 1))
    lines = [*positions.lines[: where.line - 1], comment, *positions.lines[where.line - 1 :]]
    written = Suppressions([finding.code])
    written.add({where.file: "\n".join(lines)})
    if written.keep([moved]):
        return None
    return Edit(where.file, where.line, 1, where.line, 1, comment + newline_of(text))
