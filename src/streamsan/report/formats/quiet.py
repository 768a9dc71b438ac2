"""The findings as in the text report, and no counts: nothing where nothing is found."""

from __future__ import annotations

from typing import IO

from streamsan.report import Report
from streamsan.report.formats.text import finding_lines
from streamsan.report.styled_line import painted


def render(report: Report, stream: IO[str]) -> str:
    """Return the findings as text for a stream."""
    return painted(stream, lambda width: finding_lines(report, width))
