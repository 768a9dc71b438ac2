"""Fixes written into source text: candidates are made, the edited text is checked, and the first that does is taken.

Nothing is written here: the result is the new contents of files. A fix is taken where the finding that it was made for
is gone and no other finding is new, at any severity; where no edit does that, one may be taken that makes waits of the
program needless, which is then said.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from streamsan.cuda_source.edits.calls import Chains
from streamsan.cuda_source.edits.insertion import Layout
from streamsan.cuda_source.edits.text import EditError, SourceBytes
from streamsan.cuda_source.syntax import read_unit
from streamsan.cuda_source.syntax.tree import Unit
from streamsan.evidence.fix_candidates import FIXABLE, candidates
from streamsan.evidence.fix_change_steps import WaitsRemoved
from streamsan.evidence.fix_order_steps import HostWaitsForAll, HostWaitsForEvent, HostWaitsForStream
from streamsan.evidence.fix_reasons import NOT_KNOWN
from streamsan.evidence.fix_steps import Step
from streamsan.evidence.fix_trace import EditableTrace, Edits
from streamsan.evidence.source_compare import compared, is_spared, key_of, place_before
from streamsan.evidence.source_edits import Variant, Writer
from streamsan.evidence.verification import Verification
from streamsan.findings import Edit, Finding
from streamsan.order.facts import Operation
from streamsan.rules import RULES
from streamsan.rules.case import Case
from streamsan.trace import Trace
from streamsan.vocabulary import FactVariant
from streamsan.worlds import REDUNDANT

NOT_WRITTEN = "the text has no place for an edit that would do"
OF_WAITS = ("SS503", REDUNDANT)
HOST_WAITS = (HostWaitsForStream, HostWaitsForEvent, HostWaitsForAll)
MOST_TRIES = 40
"""texts that are checked for one finding"""
MOST_CHECKS = 1000
"""texts that are checked for one source"""

Contents = Mapping[str, bytes]
"""real path of a file -> its new bytes"""
Check = Callable[[Contents], "State"]
"""new contents of files -> what the source is like with them"""
Keep = Callable[[Contents, Sequence[Finding]], Sequence[Finding]]
"""findings -> those that are selected and not suppressed"""


@dataclass(frozen=True, slots=True)
class State:
    """What a check of a source said."""

    findings: tuple[Finding, ...]
    operations: int
    """places where operations were issued: an edit that hides code from the reader has fewer"""


@dataclass(frozen=True, slots=True)
class Fixed:
    """One finding that an edit made go away."""

    finding: Finding
    summary: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class NotFixed:
    """One finding that has no automatic edit."""

    finding: Finding
    reason: str


@dataclass(slots=True)
class SourceFixes:
    """What can be done about one source."""

    contents: dict[str, bytes] = field(default_factory=dict)
    """new contents of the files that change"""
    fixed: list[Fixed] = field(default_factory=list)
    left: list[NotFixed] = field(default_factory=list)
    remaining: tuple[Finding, ...] = ()
    """the findings of the new contents"""


@dataclass(frozen=True, slots=True)
class Source:
    """One source, and how to check it."""

    path: str
    defines: Mapping[str, str]
    include_dirs: Sequence[str]
    check: Check
    keep: Keep
    editable: Callable[[str], bool]
    """whether a file may be edited"""
    original: Callable[[str], bytes]
    """the bytes of a file. Raises OSError"""
    accepts: Callable[[Contents, Collection[str]], bool] = lambda contents, files: True
    """whether the other sources take the new contents of these files: whether they have no new finding"""
    contents: Contents = field(default_factory=dict)
    """new contents that there are already"""


def fixes_of(source: Source) -> SourceFixes:
    """Return the edits for the findings of a source, one finding after the other. Raises OSError."""
    return _Fixer(source).run()


class _Fixer:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._result = SourceFixes()
        self._checks = 0

    def run(self) -> SourceFixes:
        """Fix what can be fixed, the gravest first."""
        contents = dict(self._source.contents)
        state = self._source.check(contents)
        asked: Counter[tuple[str, ...]] = Counter()
        while True:
            kept = self._source.keep(contents, state.findings)
            finding = _next(kept, asked)
            if finding is None:
                break
            found = _Attempt(self, contents, state, finding).run()
            if isinstance(found, NotFixed):
                asked[key_of(finding)] += 1
                self._result.left.append(found)
                continue
            fixed, contents, state = found
            self._result.fixed.append(fixed)
        self._result.contents = contents
        self._result.remaining = state.findings
        return self._result

    @property
    def source(self) -> Source:
        """The source."""
        return self._source

    def check(self, contents: Contents) -> State | None:
        """Check new contents, as long as the budget lasts."""
        if self._checks >= MOST_CHECKS:
            return None
        self._checks += 1
        return self._source.check(contents)


Result = tuple[Fixed, dict[str, bytes], State]
"""a fix, with the contents and the state that it leaves"""


class _Attempt:
    """One finding, for which edits are sought."""

    def __init__(self, fixer: _Fixer, contents: dict[str, bytes], state: State, finding: Finding) -> None:
        self._fixer = fixer
        self._contents = contents
        self._state = state
        self._finding = finding
        self._files: dict[str, SourceBytes] = {}
        self._tries = 0
        self._second: Result | None = None
        self._why = ""

    def run(self) -> Result | NotFixed:
        """Return the fix with the contents and findings that it leaves, or why there is none."""
        case = self._finding.basis.case
        reason = _no_reason_to_try(self._finding, case)
        if reason or case is None or not isinstance(case.names, Trace):
            return NotFixed(self._finding, reason or NOT_KNOWN)
        trace = EditableTrace(case.names)
        unit = self._unit()
        writer = Writer(Chains(unit, case.names), Layout(self._at_hand(unit)), trace)
        for step in self._steps(case, trace):
            for variant in writer.variants(step, case):
                found = self._try(variant, case, writer)
                if found is not None:
                    return found
                if self._tries >= MOST_TRIES:
                    break
        if self._second is not None:
            return self._second
        return NotFixed(self._finding, self._why or NOT_WRITTEN)

    def _steps(self, case: Case, trace: EditableTrace) -> list[Step]:
        """Return the steps that make the finding go away on its trace, in the order in which they are tried."""
        if case.fact.code == 504:
            return [WaitsRemoved((case.operation,))]
        verification = Verification(case.names)  # type: ignore[arg-type]
        ranked = []
        for number, step in enumerate(candidates(case, trace)):
            edits = Edits(trace)
            if not step.apply(edits):
                continue
            outcome = verification.of(edits.applied(), self._finding)
            if outcome.gone:
                # A wait of the host comes after all that orders on the device, and what brings up nothing first.
                ranked.append((isinstance(step, HOST_WAITS), not outcome.good, number, step))
        return [step for *_, step in sorted(ranked, key=lambda each: each[:3])]

    def _unit(self) -> Unit:
        source = self._fixer.source
        return read_unit(
            Path(source.path),
            defines=dict(source.defines),
            include_dirs=[Path(folder) for folder in source.include_dirs],
            contents=self._contents,
        )

    def _at_hand(self, unit: Unit) -> dict[str, SourceBytes]:
        for file in unit.files:
            known = self._contents.get(os.path.realpath(file))
            self._files[file] = SourceBytes(self._fixer.source.original(file) if known is None else known)
        return self._files

    def _try(self, variant: Variant, case: Case, writer: Writer, more: tuple[str, ...] = ()) -> Result | None:
        files = {edit.file for edit in variant.edits}
        locked = sorted(file for file in files if not self._fixer.source.editable(file))
        if locked:
            self._why = f"the edit would be in {locked[0]}, which may not be written, or was not named"
            return None
        try:
            edited = {
                os.path.realpath(file): self._files[file].edited(edit for edit in variant.edits if edit.file == file)
                for file in files
            }
        except EditError:
            return None
        contents = {**self._contents, **edited}
        self._tries += 1
        after = self._fixer.check(contents)
        if after is None:
            self._why = "too many texts were checked already"
            return None
        gone, new = compared(self._state.findings, after.findings, self._finding)
        new = self._that_count(contents, new)
        if not gone or after.operations < self._state.operations - variant.removed:
            return None
        if not self._fixer.source.accepts(contents, files):
            self._why = "the edit brings up another finding in another source that includes the file"
            return None
        fixed = Fixed(self._finding, "; ".join((variant.summary, *more)), variant.edits)
        if not new:
            return fixed, contents, after
        if not all(is_spared(each) for each in new):
            self._why = f"each edit that was tried brings up another finding: {new[0].code}"
            return None
        if not more:
            together = self._without(variant, new, case, writer)
            if together is not None:
                return together
        if self._second is None:
            lines = sorted({each.location.line for each in new})
            words = f"{fixed.summary} (the wait of line {' and '.join(map(str, lines))} is not needed any more then)"
            self._second = replace(fixed, summary=words), contents, after
        return None

    def _that_count(self, contents: Contents, new: Sequence[Finding]) -> tuple[Finding, ...]:
        """Return new findings without those of waits that nobody wants to hear of: not selected, or suppressed."""
        waits = [each for each in new if each.code in OF_WAITS]
        if not waits:
            return tuple(new)
        waits = list(self._fixer.source.keep(contents, waits))
        return (*(each for each in new if each.code not in OF_WAITS), *waits)

    def _without(self, variant: Variant, new: Sequence[Finding], case: Case, writer: Writer) -> Result | None:
        """Try an edit again, with the waits taken out that it makes redundant."""
        operations: list[Operation] = []
        for finding in new:
            wait = finding.basis.case
            if wait is None or wait.fact.variant is not FactVariant.DOMINATED:
                return None
            found = _operation_at(case, place_before(finding, variant.edits), wait.operation)
            if found is None:
                return None
            operations.append(found)
        for removal in writer.removal(operations, case):
            both = Variant(variant.summary, (*variant.edits, *removal.edits), removal.removed)
            return self._try(both, case, writer, (removal.summary,))
        return None


def _operation_at(case: Case, place: tuple[str, int, int] | None, like: Operation) -> Operation | None:
    """Return an operation of the original trace like one of the edited text's, at its place before the edit."""
    if place is None or not isinstance(case.names, Trace):
        return None
    for number in range(1, len(case.names.sites)):
        site = case.names.site(number)
        if (site.file, site.line, site.column) == place:
            return replace(like, site=number)
    return None


def _next(findings: Sequence[Finding], asked: Counter[tuple[str, ...]]) -> Finding | None:
    """Return the gravest finding for which no edit was sought yet; of those that say the same, the first were asked."""
    seen: Counter[tuple[str, ...]] = Counter()
    for finding in sorted(findings, key=lambda each: (each.code == REDUNDANT, each.strength, each.order)):
        key = key_of(finding)
        if seen[key] >= asked[key]:
            return finding
        seen[key] += 1
    return None


def _no_reason_to_try(finding: Finding, case: Case | None) -> str:
    """Return why no edit is tried for a finding, "" where one is."""
    rule = RULES.get(finding.code)
    if case is None or rule is None:
        return rule.without_fix or NOT_KNOWN if rule is not None else NOT_KNOWN
    said = rule.no_fix(case.fact)
    if said:
        return said
    return "" if case.fact.code in FIXABLE else NOT_KNOWN
