"""Edits sought for the findings of sources, and of the run of a program: what both have in common."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from streamsan.analysis.checked import Checked, UnreadableError
from streamsan.checking.defects import problem_of
from streamsan.cli.edited import Edited
from streamsan.cli.progress import progress
from streamsan.cli.report_options import ReportOptions
from streamsan.edits.fixes import SourceFixes, fixes_of, fixes_of_each
from streamsan.edits.language import AnyLanguage
from streamsan.edits.source import Contents, Source, State
from streamsan.evidence.fix.edited_trace import EditableTrace
from streamsan.findings.finding import Finding, Fix, Place
from streamsan.report.printable import printable

NO_EDIT = "no_edit"
"""the property of a finding that says why its text has no edit"""
Tell = Callable[[str, int, int], None]
"""called with the source that edits are sought for, the findings done, and those there are"""


@contextmanager
def seeking() -> Iterator[Tell]:
    """Give a function that shows how many findings are done: on a terminal only, and gone when done."""
    with progress() as show:
        if show is None:
            yield lambda path, done, total: None
        else:
            yield lambda path, done, total: show(f"edits of {printable(path)[-60:]}", done, total)


class Seeker(ABC):
    """Seeks edits for inputs of one kind, and keeps what was found."""

    SEVERAL_AT_ONCE: bool
    """whether edits for several findings are tried in one text"""

    def __init__(self, reporting: ReportOptions, tell: Tell) -> None:
        self.edited = Edited()
        self._reporting = reporting
        self._tell = tell

    def seek(self, path: str) -> set[str]:
        """Seek edits for the findings of an input that the report shows. Returns the real paths of what changes."""
        fixes = self._sought(path, self._reporting.shows)
        if fixes is None:
            return set()
        edited = self.edited
        changed = {real for real, data in fixes.contents.items() if edited.after.get(real, edited.before[real]) != data}
        edited.after.update((real, fixes.contents[real]) for real in changed)
        edited.fixed += fixes.fixed
        edited.left += fixes.left
        edited.notes += sum(
            not self._reporting.shows(each) for each in self.kept(path, fixes.contents, fixes.remaining)
        )
        return changed

    def with_edits(self, checked: Checked) -> Checked:
        """Return what was checked with an edit for each finding, each of the text as it is.

        A finding without one says why in its property `no_edit`.
        """
        fixes = self._sought(checked.path, None)
        if fixes is None:
            return checked
        fixed = {_identity(each.finding): Fix(each.summary, verified=True, edits=each.edits) for each in fixes.fixed}
        left = {_identity(each.finding): each.reason for each in fixes.left}
        findings = []
        for finding in checked.findings:
            key = _identity(finding)
            if key in fixed:
                finding = replace(finding, fix=fixed[key], no_fix="")
            elif key in left:
                finding = without_edit(finding, left[key])
            findings.append(finding)
        return replace(checked, findings=tuple(findings))

    def _sought(self, path: str, wanted: Callable[[Finding], bool] | None) -> SourceFixes | None:
        """Return edits for the findings that are wanted, in one text; None: for each by itself.

        Returns None where that was not possible, which `edited.failed` says.
        """
        source = Source(
            check=lambda contents: self.state(path, contents),
            keep=lambda contents, findings: self.kept(path, contents, findings),
            editable=self.is_editable,
            original=lambda file: self._original(path, file),
            read=lambda contents: self.read(path, contents, lambda file: self._original(path, file)),
            accepts=lambda contents, files: self.others_accept(path, contents, files),
            contents=dict(self.edited.after),
            several_at_once=self.SEVERAL_AT_ONCE,
            wanted=wanted or (lambda finding: True),
            tell=lambda done, total: self._tell(path, done, total),
        )
        try:
            return fixes_of(source) if wanted is not None else fixes_of_each(source)
        except Exception as error:
            self.edited.failed.append(problem_of(path, error))
            return None

    def kept(self, path: str, contents: Contents, findings: Sequence[Finding]) -> Sequence[Finding]:
        """Return the findings that are selected and not suppressed."""
        found = Checked(path, tuple(findings), 0, self.texts(path, contents, findings))
        return self._reporting.report([found]).findings

    def _original(self, path: str, file: str) -> bytes:
        """Return the bytes of a file that was checked. Raises OSError, UnreadableError."""
        real = os.path.realpath(file)
        if real not in self.edited.before:
            data = Path(real).read_bytes()
            if self.has_changed(path, file, data):
                raise UnreadableError(file, "the file changed while it was checked")
            self.edited.before[real] = data
            self.edited.names[real] = file
        return self.edited.before[real]

    # -- what a kind of input says --------------------------------------------------------------

    @abstractmethod
    def state(self, path: str, contents: Contents) -> State:
        """Check an input with new contents of files."""

    @abstractmethod
    def read(
        self, path: str, contents: Contents, original: Callable[[str], bytes]
    ) -> Callable[[EditableTrace], AnyLanguage]:
        """Read an input with new contents; `original` gives other files. Returns what makes its language."""

    @abstractmethod
    def texts(self, path: str, contents: Contents, findings: Sequence[Finding]) -> Mapping[str, str]:
        """Return the texts in which findings may be suppressed, by their names."""

    @abstractmethod
    def has_changed(self, path: str, file: str, data: bytes) -> bool:
        """Tell whether the bytes of a file are others than those that were checked."""

    @abstractmethod
    def is_editable(self, file: str) -> bool:
        """Tell whether a file may be edited."""

    def others_accept(self, path: str, contents: Contents, files: Collection[str]) -> bool:
        """Tell whether the other inputs have no new finding with the new contents of these files."""
        return True


def without_edit(finding: Finding, reason: str) -> Finding:
    """Return a finding that says why it has no edit."""
    return replace(finding, properties={**finding.properties, NO_EDIT: reason})


def _identity(finding: Finding) -> tuple[str, Place, str]:
    return finding.code, finding.location.place, finding.message
