"""What every verb that reports has in common: the options, and where a report goes."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import click
from msgspec.structs import replace

from streamsan.analysis.checked import reason_of
from streamsan.checking.reporting import Reporting
from streamsan.checking.severities import graded
from streamsan.cli.option_groups import option_group
from streamsan.cli.rule_codes import complete_codes
from streamsan.evidence.proofs import Proofs
from streamsan.findings.finding import Finding, Severity
from streamsan.report import Problem, Report
from streamsan.report.formats import FORMATS, draws, has_hidden_notes, renderer
from streamsan.report.printable import printable


class ReportOptions(Reporting, frozen=True):
    """The values of the common options, read and checked."""

    form: str = "text"
    """a format's name"""

    @property
    def proofs(self) -> Proofs:
        """What witnesses and fixes are sought: of the findings that the format has."""
        if has_hidden_notes(self.form):
            return Proofs(fixes=self.fixes, drawn=draws(self.form))
        choice = f"shown: {sorted(self.shown_notes)}, {sorted(self.severities.items())}"
        return Proofs(self._shows_graded, self.fixes, choice=choice)

    def _shows_graded(self, finding: Finding) -> bool:
        return self.shows(graded(finding, self.severities))

    def render(self, report: Report, stream: IO[str]) -> str:
        """Return a report in the format that was asked for, laid out for the stream that it will go to."""
        return renderer(self.form)(report, stream)


def say_problems(report: Report) -> None:
    """Write what went wrong, and so limits a report, to standard error, a line each."""
    say_each(problem for problem in report.problems if not problem.remark)


def say_each(problems: Iterable[Problem]) -> None:
    """Write problems to standard error, a line each."""
    for problem in problems:
        where = f"{printable(problem.file)}: " if problem.file else ""
        click.echo(f"streamsan: {where}{printable(problem.message)}", err=True)


def deliver(report: Report, reporting: ReportOptions, file: str) -> bool:
    """Write a report to a file, or to standard error where `file` is "". Returns whether that was possible."""
    if not file:
        sys.stderr.write(reporting.render(report, sys.stderr))
        sys.stderr.flush()
        return True
    try:
        # Laid out for a file: without colours, and not for the width of a terminal.
        Path(file).write_text(reporting.render(report, io.StringIO()), encoding="utf-8", errors="replace")
    except OSError as error:
        click.echo(f"streamsan: {printable(file)}: {reason_of(error)}", err=True)
        return False
    return True


def fails_strictly(report: Report, reporting: ReportOptions) -> bool:
    """Tell whether a check that is `--strict` fails, and say why: what was not read."""
    if not reporting.strict or not report.unread:
        return False
    click.echo(f"streamsan: --strict: not everything was read: {printable(report.unread.places)}", err=True)
    return True


def has_findings(report: Report) -> bool:
    """Tell whether a report has a warning or an error."""
    return any(finding.severity is not Severity.NOTE for finding in report.findings)


def _made(*, form: str, **words: Any) -> ReportOptions:
    return replace(ReportOptions.of(**words), form=form)


report_options = option_group(
    "reporting",
    _made,
    click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True),
    click.option("--quiet", "-q", "form", flag_value="quiet", help="Print the findings, and no counts."),
    click.option("--statistics", "form", flag_value="statistics", help="Print how often each rule is broken."),
    click.option(
        "--select",
        multiple=True,
        metavar="CODES",
        shell_complete=complete_codes,
        help="Report these codes only (SS102,SS2: a prefix is enough), also where they are notes.",
    ),
    click.option(
        "--ignore", multiple=True, metavar="CODES", shell_complete=complete_codes, help="Do not report these codes."
    ),
    click.option("--notes", is_flag=True, help="Show notes. Without it, text only counts them; JSON always has them."),
    click.option(
        "--suppressions",
        multiple=True,
        type=click.Path(path_type=str),
        metavar="FILE",
        help="Hide the findings that this file lists.",
    ),
    click.option(
        "--per-path-ignores", multiple=True, metavar="PATTERN=CODES", help="Do not report these codes in these files."
    ),
    click.option(
        "--severity", multiple=True, metavar="CODES=LEVEL", help="Report these codes as error, warning or note."
    ),
    click.option(
        "--no-fixes",
        "fixes",
        is_flag=True,
        flag_value=False,
        default=True,
        help="Do not look for fixes: the check takes less time.",
    ),
    click.option("--strict", is_flag=True, help="Exit with 2 if something was not read, or not recorded."),
    click.option("--baseline", default="", metavar="FILE", help="Leave out the findings of this earlier JSON report."),
)
"""one argument `reporting: ReportOptions`, the same for every verb that reports"""
