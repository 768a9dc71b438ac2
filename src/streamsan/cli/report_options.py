"""What every verb that reports has in common: which findings are kept, and how they are laid out."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import IO, Any, TypeVar

import click

from streamsan.analysis.checked import Checked, merge_inputs, reason_of
from streamsan.cli.quoted import quoted_sources
from streamsan.cli.selection import Selection, complete_codes
from streamsan.cli.severities import graded, severities_of
from streamsan.findings import baseline as baselines
from streamsan.findings import suppression_file
from streamsan.findings.finding import Finding, Severity
from streamsan.findings.fingerprint import with_fingerprints
from streamsan.findings.suppression_file import FileSuppression, UnknownCodeError
from streamsan.findings.suppressions import Rejected, Suppressions
from streamsan.report import Problem, Report
from streamsan.report.formats import FORMATS, renderer
from streamsan.report.printable import printable
from streamsan.rules.catalogue import RULES


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """The values of the common options, read and checked."""

    form: str
    """a format's name"""
    selection: Selection
    notes: bool
    """text shows notes"""
    suppressions: tuple[FileSuppression, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    """lines of files of suppressions that are none"""
    severities: Mapping[str, Severity] = field(default_factory=dict)
    """by code, where another one than the rule's was asked for"""
    baseline: frozenset[str] = frozenset()
    """fingerprints of findings that are not reported again"""
    strict: bool = False
    """whether something that was not read fails a check"""

    @property
    def shown_notes(self) -> frozenset[str]:
        """Codes whose notes are shown: those that are asked for by `--notes` or by their names."""
        return self.selection.codes if self.notes else self.selection.chosen

    def shows(self, finding: Finding) -> bool:
        """Tell whether a finding that is selected is shown."""
        return finding.severity is not Severity.NOTE or finding.code in self.shown_notes

    @classmethod
    def of(
        cls,
        form: str,
        select: Sequence[str],
        ignore: Sequence[str],
        notes: bool,
        suppressions: Sequence[str],
        per_path_ignores: Sequence[str],
        severity: Sequence[str],
        baseline: str,
        strict: bool,
    ) -> ReportOptions:
        """Make options from the command line's words. Raises click.ClickException for what they may not be."""
        selection = Selection.of(select, ignore, per_path_ignores, RULES)
        entries: list[FileSuppression] = []
        rejected: list[Rejected] = []
        for file in dict.fromkeys(suppressions):
            try:
                found, bad = _read("--suppressions", file, lambda name: suppression_file.read(name, RULES))
            except UnknownCodeError as error:
                raise click.UsageError(f"--suppressions: {printable(str(error))}") from error
            entries += found
            rejected += bad
        severities = severities_of(severity, list(RULES))
        known = _read("--baseline", baseline, baselines.read) if baseline else frozenset()
        return cls(form, selection, notes, tuple(entries), tuple(rejected), severities, known, strict)

    def report(self, results: Sequence[Checked], problems: Sequence[Problem] = ()) -> Report:
        """Return what is to be reported of checked inputs: without what is suppressed or not selected."""
        inline = Suppressions(RULES)
        sources: dict[str, str] = {}
        for result in results:
            sources.update(result.sources)
            inline.add(result.sources)
        found = [graded(finding, self.severities) for finding in merge_inputs(results)]
        found = with_fingerprints(found, quoted_sources(found, sources))
        # A trace names sources without being made of them: their comments count, but one that hides nothing may be
        # meant for code that was not run.
        named = Suppressions(RULES)
        named.add({file: text for file, text in quoted_sources(found, {}).items() if file not in sources})
        # All kinds see every finding, so that none makes another look unused.
        kept_by_name = {id(finding) for finding in named.keep(found)}
        kept_inline = {id(finding) for finding in inline.keep(found)} & kept_by_name
        kept_by_file = suppression_file.keep(self.suppressions, found)
        kept = [finding for finding in kept_by_file if id(finding) in kept_inline]
        selected = self.selection.keep(kept)
        findings = tuple(baselines.new(selected, self.baseline))
        unused = [*inline.unused(), *(entry for entry in self.suppressions if entry.unused)]
        rejected = [Problem(f"{entry.file}:{entry.line}", entry.reason) for entry in (*inline.rejected, *self.rejected)]
        remarks = [Problem(result.path, text, remark=True) for result in results for text in result.remarks]
        return Report(
            findings=findings,
            shown_notes=self.shown_notes,
            files=len(results),
            operations=sum(result.operations for result in results),
            sources=quoted_sources(findings, sources),
            suppressed=len(self.selection.keep(found)) - len(selected),
            in_baseline=len(selected) - len(findings),
            unused_suppressions=tuple(unused),
            problems=(*problems, *rejected, *remarks),
        )

    def render(self, report: Report, stream: IO[str]) -> str:
        """Return a report in the format that was asked for, laid out for the stream that it will go to."""
        return renderer(self.form)(report, stream)


_Value = TypeVar("_Value")


def _read(option: str, file: str, reader: Callable[[str], _Value]) -> _Value:
    """Read a file that an option names. Raises click.UsageError with the option, the file and the reason."""
    try:
        return reader(file)
    except (OSError, ValueError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        raise click.UsageError(f"{option}: {printable(file)}: {reason}") from error


def say_problems(report: Report) -> None:
    """Write what went wrong, and so limits a report, to standard error, a line each."""
    say_each(problem for problem in report.problems if not problem.remark)


def say_each(problems: Iterable[Problem]) -> None:
    """Write problems to standard error, a line each."""
    for problem in problems:
        click.echo(f"streamsan: {printable(problem.file)}: {printable(problem.message)}", err=True)


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


def has_findings(report: Report) -> bool:
    """Tell whether a report has a warning or an error."""
    return any(finding.severity is not Severity.NOTE for finding in report.findings)


_OPTIONS = (
    click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True),
    click.option("--quiet", "-q", "form", flag_value="quiet", help="Print the findings, and no counts."),
    click.option("--statistics", "form", flag_value="statistics", help="Print how often each rule is broken."),
    click.option(
        "--select",
        multiple=True,
        metavar="CODES",
        shell_complete=complete_codes,
        help="Report these codes only (SS102,SS2: a prefix is enough), notes too.",
    ),
    click.option(
        "--ignore", multiple=True, metavar="CODES", shell_complete=complete_codes, help="Do not report these codes."
    ),
    click.option("--notes", is_flag=True, help="Show notes; else they are counted. JSON always has them."),
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
        "--severity", multiple=True, metavar="CODES=LEVEL", help="Take these findings as errors, warnings or notes."
    ),
    click.option("--strict", is_flag=True, help="Exit with 2 if something was not read, or not recorded."),
    click.option("--baseline", default="", metavar="FILE", help="Leave out the findings of this earlier JSON report."),
)


_NAMES = ("form", "select", "ignore", "notes", "suppressions", "per_path_ignores", "severity", "baseline", "strict")


def report_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the common options, as one argument `reporting: ReportOptions`."""

    @wraps(command)
    def with_options(*args: Any, **kwargs: Any) -> int:
        own = {name: kwargs.pop(name) for name in _NAMES}
        return command(*args, reporting=ReportOptions.of(**own), **kwargs)

    decorated: Callable[..., int] = with_options
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated
