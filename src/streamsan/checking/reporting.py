"""Which findings are reported, and as what: selected, suppressed, graded, or known from a baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Self, TypeVar

from msgspec import Struct, field

from streamsan.analysis.checked import Checked, files_of, merge_inputs, operations_of, reason_of
from streamsan.checking.option_error import OptionError
from streamsan.checking.quoted import Quoted
from streamsan.checking.selection import Selection
from streamsan.checking.severities import graded, severities_of
from streamsan.evidence.proofs import Proofs
from streamsan.findings import baseline as baselines
from streamsan.findings import suppression_file
from streamsan.findings.finding import Finding, Severity
from streamsan.findings.fingerprint import with_fingerprints
from streamsan.findings.one_cause import by_cause
from streamsan.findings.reading_gaps import Unread
from streamsan.findings.suppression_file import FileSuppression, UnknownCodeError
from streamsan.findings.suppressions import Rejected, Suppressions
from streamsan.report import Problem, Report, is_shown
from streamsan.report.printable import printable
from streamsan.trace.source_lines import joined_source_lines
from streamsan.vocabulary.rule_ids import RULE_IDS

Value = TypeVar("Value")


class Reporting(Struct, frozen=True):
    """What is reported of what was found. The defaults: all codes, and notes only counted."""

    selection: Selection
    notes: bool = False
    """whether people are shown notes"""
    suppressions: tuple[FileSuppression, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    """lines of files of suppressions that are none"""
    severities: Mapping[str, Severity] = field(default_factory=dict)
    """by code, where another one than the rule's was asked for"""
    baseline: frozenset[str] = frozenset()
    """fingerprints of findings that are not reported again"""
    strict: bool = False
    """whether something that was not read fails a check"""
    fixes: bool = True
    """whether fixes are sought"""

    @property
    def proofs(self) -> Proofs:
        """What witnesses and fixes are sought: of all findings, as a `Report` has all."""
        return Proofs(fixes=self.fixes)

    @property
    def shown_notes(self) -> frozenset[str]:
        """Codes whose notes are shown: those that are asked for by `--notes` or by their names."""
        return self.selection.codes if self.notes else self.selection.chosen

    def shows(self, finding: Finding) -> bool:
        """Tell whether a finding that is selected is shown."""
        return is_shown(finding, self.shown_notes)

    @classmethod
    def of(
        cls,
        *,
        select: Sequence[str] = (),
        ignore: Sequence[str] = (),
        per_path_ignores: Sequence[str] = (),
        severity: Sequence[str] = (),
        suppressions: Sequence[str] = (),
        baseline: str = "",
        notes: bool = False,
        strict: bool = False,
        fixes: bool = True,
    ) -> Self:
        """Make it from the words of options, as the command line has them. Raises OptionError."""
        entries: list[FileSuppression] = []
        rejected: list[Rejected] = []
        for file in dict.fromkeys(suppressions):
            try:
                found, bad = _read("--suppressions", file, lambda name: suppression_file.read(name, RULE_IDS))
            except UnknownCodeError as error:
                raise OptionError(f"--suppressions: {printable(str(error))}") from error
            entries += found
            rejected += bad
        return cls(
            Selection.of(select, ignore, per_path_ignores, RULE_IDS),
            notes,
            tuple(entries),
            tuple(rejected),
            severities_of(severity, RULE_IDS),
            _read("--baseline", baseline, baselines.read) if baseline else frozenset(),
            strict,
            fixes,
        )

    def report(
        self, results: Sequence[Checked], problems: Sequence[Problem] = (), unread: Unread | None = None
    ) -> Report:
        """Return what is to be reported of checked inputs: without what is suppressed or not selected.

        `unread`: what was not read beside what the inputs themselves say.
        """
        inline = Suppressions(RULE_IDS)
        sources: dict[str, str] = {}
        for result in results:
            sources.update(result.sources)
            inline.add(result.sources)
        stored = joined_source_lines(result.stored_lines for result in results)
        found = [graded(finding, self.severities) for finding in merge_inputs(results)]
        quoted = Quoted.of(found, sources, stored)
        found = with_fingerprints(found, quoted.texts())
        # A trace names sources without being made of them: their comments count, but one that hides nothing may be
        # meant for code that was not run.
        named = Suppressions(RULE_IDS)
        named.add(quoted.files)
        named.add_lines(quoted.stored)
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
        told = tuple(by_cause(findings))
        return Report(
            findings=told,
            shown_notes=self.shown_notes,
            files=files_of(results),
            operations=operations_of(results),
            sources=quoted.texts(),
            suppressed=len(self.selection.keep(found)) - len(selected),
            in_baseline=len(selected) - len(findings),
            unused_suppressions=tuple(unused),
            problems=(*problems, *rejected, *remarks),
            run_costs=tuple(costs for result in results for costs in result.wait_costs),
            timelines=tuple(timeline for result in results for timeline in result.timelines),
            unread=Unread.merged([unread or Unread(), *(result.unread for result in results)]),
        )


def _read(option: str, file: str, reader: Callable[[str], Value]) -> Value:
    """Read a file that an option names. Raises OptionError with the option, the file and the reason."""
    try:
        return reader(file)
    except (OSError, ValueError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        raise OptionError(f"{option}: {printable(file)}: {reason}") from error
