"""For people: each finding with its source, reasons and fix, one line of counts, what such inputs never show."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import IO

from streamsan.findings.finding import Confidence, Finding, Severity
from streamsan.findings.fingerprint import shown_path
from streamsan.findings.same_site import SiteFindings
from streamsan.findings.wait_cost import SAVES
from streamsan.report import Report
from streamsan.report.cost_lines import cost_lines, saving_in_words
from streamsan.report.excerpt import SourceLines, layout, rows_by_file
from streamsan.report.printable import printable
from streamsan.report.styled_line import StyledLine, painted

_STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}
_SHORTEST_WRAP = 40
REPLAY = "replay"
"""the property of a finding that says what the replay of its witness showed"""
_LONGEST_WITNESS = 100
"""characters of a witness that is shown on one line"""


def render(report: Report, stream: IO[str]) -> str:
    """Return the report as text for a stream. A terminal gets wrapped lines, and colours unless NO_COLOR is set."""
    return painted(stream, lambda width: lines(report, width))


def lines(report: Report, width: int | None) -> Iterator[StyledLine]:
    """Yield the report's lines; `width` is a terminal's, else None."""
    yield from finding_lines(report, width)
    unused = report.unused_suppressions
    for entry in unused:
        codes = ", ".join(entry.unused)
        yield StyledLine.of(
            ("note", _STYLE[Severity.NOTE]),
            f": {printable(entry.file)}:{entry.line}: unused suppression: {codes} is not found here",
        )
    if unused:
        yield StyledLine()
    yield StyledLine.of(summary(report))
    yield from cost_lines(report.run_costs)
    for remark in dict.fromkeys(problem.message for problem in report.problems if problem.remark):
        yield StyledLine.of((f"({printable(remark)})", "dim"))


def finding_lines(report: Report, width: int | None) -> Iterator[StyledLine]:
    """Yield the lines of the findings that are shown, each finding with its source, reasons and fix."""
    sources = SourceLines(report.sources)
    for site in report.told:
        yield from _finding(site, sources, width)
        yield StyledLine()


def summary(report: Report) -> str:
    """Return the line of counts that ends a report."""
    counts = [_count(report.count(severity), severity.value) for severity in Severity]
    hidden = len(report.findings) - len(report.shown)
    if hidden:
        counts[-1] += " (--notes shows it)" if hidden == 1 else " (--notes shows them)"
    if report.suppressed:
        counts.append(f"{report.suppressed} suppressed")
    if report.in_baseline:
        counts.append(f"{report.in_baseline} in the baseline")
    line = f"{', '.join(counts)} in {_count(report.files, 'file')}, {_count(report.operations, 'operation')}"
    not_read = report.unread.summary
    return f"{line}; {not_read}" if not_read else line


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _finding(site: SiteFindings, sources: SourceLines, width: int | None) -> Iterator[StyledLine]:
    finding = site.first
    location = finding.location
    yield from _title(finding, width)
    excerpt = rows_by_file(finding, sources)
    gutter = max((len(str(row.line)) for _, rows in excerpt for row in rows), default=1)
    margin = " " * (gutter + 1)
    where = printable(shown_path(location.file))
    if location.line:
        where += f":{location.line}" + (f":{location.column}" if location.column else "")
    yield StyledLine.of((" " * gutter + "--> ", "blue"), where)
    bar = StyledLine.of((margin + "|", "blue"))
    quoted = set()
    for file, rows in excerpt:
        if file != location.file:
            yield StyledLine.of((" " * gutter + "::: ", "blue"), printable(shown_path(file)))
        yield bar
        yield from layout(rows, gutter, width)
        quoted |= {(file, row.line) for row in rows}
    if excerpt:
        yield bar
    # Without the source at hand the operations are listed instead.
    for related in finding.related:
        if (related.file, related.line) not in quoted:
            yield from _property(
                margin, f"{printable(shown_path(related.file))}:{related.line}", related.message, width
            )
    if finding.overlap is not None:
        yield from _property(margin, "overlap", finding.overlap.words, width)
    if finding.contract is not None:
        yield from _property(margin, "contract", f"{finding.contract.text} ({finding.contract.source})", width)
    if finding.observed is not None:
        seen = finding.observed
        yield from _property(margin, "observed", f"{seen.text} ({seen.fact}: {seen.on})", width)
    if finding.witness:
        yield from _steps(margin, finding.witness, width)
    elif finding.no_witness:
        yield from _property(margin, "no witness", finding.no_witness, width)
    if REPLAY in finding.properties:
        yield from _property(margin, "replay", str(finding.properties[REPLAY]), width)
    if finding.fix is not None:
        verified = "verified on this trace" if finding.fix.verified else "not verified"
        reason = f" ({finding.no_fix})" if finding.no_fix and not finding.fix.verified else ""
        yield from _property(margin, f"fix ({verified})", finding.fix.summary + reason, width)
    elif finding.no_fix:
        yield from _property(margin, "no fix", finding.no_fix, width)
    if SAVES in finding.properties:
        yield from _property(margin, "would save", saving_in_words(finding), width)
    if finding.spread is not None:
        first = " (the others are like it)" if finding.spread.found > 1 else ""
        yield from _property(margin, "trace", f"{shown_path(finding.spread.shown)}{first}", width)
    if site.more:
        yield StyledLine.of((margin + "= ", "blue"), f"{site.rest} (--format json has each)")


def _title(finding: Finding, width: int | None) -> Iterator[StyledLine]:
    """Yield what a finding says, on a terminal wrapped behind its severity and code."""
    possible = " (possible)" if finding.confidence is Confidence.POSSIBLE else ""
    head = f"{finding.severity}[{finding.code}]{possible}"
    message = printable(finding.headline)
    indent = len(head) + len(": ")
    if width is None or indent + len(message) <= width:
        parts = [message]
    else:
        parts = textwrap.wrap(message, max(_SHORTEST_WRAP, width - indent), break_long_words=False)
    yield StyledLine.of((head, _STYLE[finding.severity]), (f": {parts[0]}", "bold"))
    for part in parts[1:]:
        yield StyledLine.of((" " * indent + part, "bold"))


def _steps(margin: str, steps: Sequence[str], width: int | None) -> Iterator[StyledLine]:
    """Yield a witness: on one line where it is short, else a step on each."""
    arrow = " -> "
    if len(arrow.join(steps)) <= _LONGEST_WITNESS:
        yield from _property(margin, "witness", arrow.join(steps), width)
        return
    yield from _property(margin, "witness", steps[0], width)
    indent = " " * (len(margin) + len("= witness: ") - 1)
    for step in steps[1:]:
        room = None if width is None else max(_SHORTEST_WRAP, width - len(indent) - len(arrow))
        parts = [printable(step)] if room is None else textwrap.wrap(printable(step), room, break_long_words=False)
        for number, part in enumerate(parts or [""]):
            yield StyledLine.of(indent + (arrow if number == 0 else " " * len(arrow)) + part)


def _property(margin: str, name: str, value: str, width: int | None) -> Iterator[StyledLine]:
    value = printable(value)
    head = f"= {name}: "
    indent = len(margin) + (len(head) if len(head) < 24 else 4)
    parts = [value]
    if width is not None:
        parts = textwrap.wrap(value, max(_SHORTEST_WRAP, width - indent), break_long_words=False) or [""]
    yield StyledLine.of((margin + "= ", "blue"), (f"{name}:", "bold"), " " + parts[0])
    for part in parts[1:]:
        yield StyledLine.of(" " * indent + part)
