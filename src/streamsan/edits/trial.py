"""Edits for one finding: candidates are written, the edited text is checked, and the first that does is taken.

One that makes the finding go away and brings up another of missing order is built upon: what is to be done about that
one is tried on the edited text, and held against the text as it was.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from streamsan.edits.comparison import is_gone, new_findings
from streamsan.edits.line_map import LineMap, edits_between
from streamsan.edits.source import Contents, Ground, Source, State
from streamsan.edits.source_text import EditError, SourceText
from streamsan.edits.step_writer import Writer
from streamsan.edits.variant import Variant
from streamsan.evidence.fix.candidates import candidates, rank
from streamsan.evidence.fix.change_steps import WaitsRemoved
from streamsan.evidence.fix.edited_trace import EditableTrace, Edits
from streamsan.evidence.fix.order_steps import (
    EventBetween,
    Place,
)
from streamsan.evidence.fix.reasons import NOT_KNOWN, costs_then, why_left_alone
from streamsan.evidence.fix.search import MOST_STEPS
from streamsan.evidence.fix.steps import Step
from streamsan.evidence.fix.verification import is_on_cost
from streamsan.findings.finding import Edit, Finding
from streamsan.platforms import CUDA
from streamsan.rules.case import Case, case_of
from streamsan.rules.every_rule import RULES
from streamsan.trace import Trace

NOT_WRITTEN = "the text has no place for an edit that would do"
MOST_TRIES = 40
"""texts that are checked for one finding"""

Checked = Callable[[Contents], State | None]
"""checks new contents; None: enough texts were checked"""


class Fixed(Struct, frozen=True):
    """One finding that an edit made go away."""

    finding: Finding
    summary: str
    edits: tuple[Edit, ...]
    """of the text that the finding was in"""


class NotFixed(Struct, frozen=True):
    """One finding that has no automatic edit."""

    finding: Finding
    reason: str


class Result(Struct, frozen=True):
    """A fix, with the contents and the state that it leaves."""

    fixed: Fixed
    contents: dict[str, bytes]
    state: State
    notes: bool
    """whether there are new notes on cost"""


class _Base(Struct, frozen=True):
    """A text to build upon, with the steps that led to it."""

    ground: Ground
    summaries: tuple[str, ...] = ()
    removed: int = 0
    following: Finding | None = None
    """what the last step brought up"""


class Trial:
    """One finding, for which edits are sought."""

    def __init__(self, ground: Ground, finding: Finding, check: Checked) -> None:
        self._origin = ground
        self._finding = finding
        self._check = check
        self._tries = 0
        self._why = ""
        self._pending: list[_Base] = []

    def run(self) -> Result | NotFixed:
        """Return the fix with the contents and findings that it leaves, or why there is none."""
        reason = no_reason_to_try(self._finding)
        if reason:
            return NotFixed(self._finding, reason)
        found = self._build_upon(_Base(self._origin), self._finding)
        while found is None and self._pending:
            base = self._pending.pop(0)
            assert base.following is not None
            found = self._build_upon(base, base.following)
        return found or NotFixed(self._finding, self._why or NOT_WRITTEN)

    def first(self) -> tuple[Variant, Writer] | None:
        """Return the first way to write an edit, not tried; None where there is none."""
        if no_reason_to_try(self._finding):
            return None
        found = next(self._variants(_Base(self._origin), self._finding), None)
        return found[1:] if found is not None else None

    def _build_upon(self, base: _Base, finding: Finding) -> Result | None:
        """Return the first edit that does. Of edits of one rank, one that brings up no note on cost comes first."""
        second: tuple[int, Result] | None = None
        for order, variant, writing in self._variants(base, finding):
            if self._tries >= MOST_TRIES or (second is not None and order > second[0]):
                break
            found = self._try(base, variant, writing)
            if found is not None and not found.notes:
                return found
            if found is not None and second is None:
                second = order, found
        return second[1] if second is not None else None

    def _variants(self, base: _Base, finding: Finding) -> Iterator[tuple[int, Variant, Writer]]:
        """Yield the ways to write what is to be done about a finding, with their ranks."""
        case = case_of(finding)
        if case is None or not isinstance(case.names, Trace):
            return
        trace, writing = base.ground.writing(case.names)
        found, known = False, len(writing.reasons)
        for order, step in self._steps(base.ground, case, trace, finding):
            for variant in writing.variants(step, case):
                found = True
                yield order, variant, writing
        if not found and not self._why and len(writing.reasons) > known:
            self._why = writing.reasons[known]

    def _steps(self, ground: Ground, case: Case, trace: EditableTrace, finding: Finding) -> Iterator[tuple[int, Step]]:
        """Yield the steps that make a finding go away on its trace by rank, those that bring up nothing first.

        An event with its two calls apart needs more text than one with both at one place: it comes behind.
        """
        assert isinstance(case.names, Trace)
        if RULES[finding.code].finds_needless:
            yield 0, WaitsRemoved((case.operation,))
            return
        verification = ground.verification(case.names)
        waiting: list[tuple[int, bool, bool, bool, int, Step]] = []
        for number, step in enumerate(candidates(case, trace)):
            order = rank(step)
            if waiting and waiting[0][0] < order:
                yield from _in_order(waiting)
                waiting = []
            edits = Edits(trace)
            if not step.apply(edits):
                continue
            outcome = verification.of(edits.applied(), finding)
            if not outcome.gone:
                continue
            apart = isinstance(step, EventBetween) and step.place is Place.APART
            if outcome.good and not apart:
                yield order, step
            else:
                waiting.append((order, outcome.spared is None, apart, not outcome.good, number, step))
        yield from _in_order(waiting)

    def _try(self, base: _Base, variant: Variant, writing: Writer) -> Result | None:
        source = self._origin.source
        files = {edit.file for edit in variant.edits}
        locked = sorted(file for file in files if not source.editable(file))
        if locked:
            self._why = f"the edit would be in {locked[0]}, which may not be written, or was not named"
            return None
        contents = edited_contents(base.ground.contents, writing.files, variant.edits)
        if contents is None:
            return None
        self._tries += 1
        after = self._check(contents)
        if after is None:
            self._why = "too many texts were checked already"
            return None
        origin, removed = self._origin.state, base.removed + variant.removed
        gone = is_gone(self._finding, origin.findings, after.findings)
        new = that_count(source, contents, new_findings(origin.findings, after.findings))
        if not gone or after.operations < origin.operations - removed:
            return None
        if after.ended not in (origin.ended, 0):
            self._why = "with the edit that was tried the program ends with another status"
            return None
        summaries = (*base.summaries, variant.summary)
        lines = self._lines_before(new, contents)
        against = [each for each, line in zip(new, lines, strict=True) if line is None or not is_on_cost(each)]
        if against:
            self._why = f"each edit that was tried brings up another finding: {against[0].code}"
            following = next((each for each in new if RULES[each.code].comes_with_edits and case_of(each)), None)
            if following is not None and len(summaries) < MOST_STEPS:
                self._pending.append(_Base(Ground(source, contents, after), summaries, removed, following))
            return None
        if not source.accepts(contents, files):
            self._why = "the edit brings up another finding in another source that includes the file"
            return None
        edits = variant.edits
        if base.summaries:
            edits = tuple(edits_between(self._names(writing), lambda real: self._text_of(real), contents))
        notes = [(each.code, line) for each, line in zip(new, lines, strict=True) if line is not None]
        summary = "; then ".join(summaries) + costs_then(notes)
        return Result(Fixed(self._finding, summary, edits), contents, after, bool(new))

    def _lines_before(self, new: Sequence[Finding], contents: Contents) -> list[int | None]:
        """Return the lines of findings in the text before the edits, None for those in what was put in."""
        known = {os.path.realpath(each.location.file) for each in new}
        maps = {real: LineMap(self._text_of(real), contents[real]) for real in known if real in contents}
        lines: list[int | None] = []
        for each in new:
            line, found = each.location.line, maps.get(os.path.realpath(each.location.file))
            lines.append(line if found is None or not line else found.line(line) if found.has(line) else None)
        return lines

    def _names(self, writing: Writer) -> Mapping[str, str]:
        return {os.path.realpath(file): file for file in writing.files}

    def _text_of(self, real: str) -> bytes:
        known = self._origin.contents.get(real)
        return self._origin.source.original(real) if known is None else known


def _in_order(waiting: list[tuple[int, bool, bool, bool, int, Step]]) -> Iterator[tuple[int, Step]]:
    return ((each[0], each[-1]) for each in sorted(waiting, key=lambda each: each[:5]))


def edited_contents(
    contents: Contents, texts: Mapping[str, SourceText], edits: Sequence[Edit]
) -> dict[str, bytes] | None:
    """Return the contents with edits made, None where they cannot be made."""
    try:
        edited = {
            os.path.realpath(file): texts[file].edited(edit for edit in edits if edit.file == file)
            for file in {edit.file for edit in edits}
        }
    except EditError:
        return None
    return {**contents, **edited}


def that_count(source: Source, contents: Contents, new: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return new findings without those notes on cost that nobody wants to hear of: not selected, or suppressed."""
    found = tuple(new)
    notes = [each for each in found if is_on_cost(each)]
    if not notes:
        return found
    kept = source.keep(contents, notes)
    return (*(each for each in found if not is_on_cost(each)), *kept)


def no_reason_to_try(finding: Finding) -> str:
    """Return why no edit is tried for a finding, "" where one is."""
    rule, case = RULES[finding.code], case_of(finding)
    if case is None:
        return rule.without_fix or NOT_KNOWN
    of_source = isinstance(case.names, Trace) and case.names.origin == "source"
    if case.platform is not CUDA and not of_source:
        return f"edits of programs that use {case.phrase('api')} are not written yet"
    return why_left_alone(finding) or ("" if isinstance(case.names, Trace) else NOT_KNOWN)


def at_lines_of(fixed: Fixed, line: Callable[[str, int], int], text: Callable[[str], str]) -> Fixed:
    """Return a fix with the line numbers of another text."""
    finding = fixed.finding
    location = replace(finding.location, line=line(finding.location.file, finding.location.line))
    return replace(fixed, finding=replace(finding, location=location), summary=text(fixed.summary))
