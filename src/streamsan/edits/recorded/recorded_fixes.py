"""Patches of a recorded program's Python text: each is verified on the recording's order, and parses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from streamsan.edits.python.module_text import PythonText
from streamsan.edits.recorded.order_writer import OrderWriter
from streamsan.edits.recorded.pool_writer import told
from streamsan.edits.recorded.recorded_text import Read, RecordedTexts
from streamsan.edits.recorded.removed_waits import removed
from streamsan.edits.recorded.stream_names import StreamNames
from streamsan.edits.recorded.wait_list_writer import WaitListWriter
from streamsan.edits.recorded.written import Written
from streamsan.edits.source_text import EditError
from streamsan.edits.trial import Fixed, NotFixed
from streamsan.evidence.fix.candidates import candidates, rank
from streamsan.evidence.fix.change_steps import FreeBehindUses, WaitsRemoved
from streamsan.evidence.fix.edited_trace import Analysed, EditableTrace, EditedTrace, Edits, beginning, is_longer
from streamsan.evidence.fix.event_steps import WaitForRecorded
from streamsan.evidence.fix.order_steps import (
    Blocking,
    EventBetween,
    HostWaitsForAll,
    HostWaitsForEvent,
    HostWaitsForStream,
)
from streamsan.evidence.fix.pool_steps import StreamTold
from streamsan.evidence.fix.reasons import NEEDED_ELSEWHERE, NOT_KNOWN, costs_then, why_left_alone
from streamsan.evidence.fix.search import can_go
from streamsan.evidence.fix.steps import Step
from streamsan.evidence.fix.verification import Outcome, Verification, is_on_cost
from streamsan.evidence.fix.verified_fixes import BEYOND, MOST_SLOTS_OF_ONE, WHOLE
from streamsan.evidence.fix.wait_lists import has_wait_lists
from streamsan.findings.finding import Edit, Finding, Severity
from streamsan.order.rearrangement import operation_starts
from streamsan.rules.case import Case, case_of
from streamsan.rules.every_rule import RULES
from streamsan.trace import Trace

VERIFIED = "verified on the recording's order; the program was not run again"
MOST_TRIES = 40
"""edits that are tried on the trace for one finding"""
MOST_FINDINGS = 100


class RecordedFixes(Struct):
    """What can be done about the findings of one recording."""

    contents: dict[str, bytes] = field(default_factory=dict)
    """file, as the recording names it -> its new bytes"""
    fixed: list[Fixed] = field(default_factory=list)
    left: list[NotFixed] = field(default_factory=list)


def fixes_of_recording(
    trace: Trace, findings: Sequence[Finding], read: Read, tell: Callable[[int, int], None] = lambda done, total: None
) -> RecordedFixes:
    """Return patches for findings of a recording, all in one text. `read` gives the bytes of a file."""
    fixer = _Fixer(trace, read)
    ordered = sorted(findings, key=lambda each: (RULES[each.code].finds_needless, each.strength, each.order))
    for number, finding in enumerate(ordered[:MOST_FINDINGS]):
        tell(number, len(ordered))
        fixer.fix(finding)
    for finding in ordered[MOST_FINDINGS:]:
        fixer.result.left.append(NotFixed(finding, "too many findings were tried already"))
    return fixer.finish()


class _Fixer:
    def __init__(self, trace: Trace, read: Read) -> None:
        self.result = RecordedFixes()
        self._trace = trace
        self._is_long = is_longer(trace, WHOLE)
        self.texts = RecordedTexts(trace, read)
        self._grounds: dict[int, _Ground] = {}
        self._edits: dict[Edit, None] = {}

    def fix(self, finding: Finding) -> None:
        """Seek a patch for one finding, on top of those before it."""
        case = case_of(finding)
        reason = RULES[finding.code].without_fix or (NOT_KNOWN if case is None else "") or why_left_alone(finding)
        if reason or case is None:
            self.result.left.append(NotFixed(finding, reason))
            return
        ground = self._ground(case)
        if ground is None:
            self.result.left.append(NotFixed(finding, "the trace is too long to analyse its edits again"))
            return
        found = ground.found(finding, case, self._fits)
        if isinstance(found, str):
            self.result.left.append(NotFixed(finding, self._in_other_words(found)))
            return
        self._edits.update(dict.fromkeys(found.edits))
        summary = f"{found.summary} ({VERIFIED}{ground.extent})" if found.edits else found.summary
        self.result.fixed.append(Fixed(finding, summary, found.edits))

    def finish(self) -> RecordedFixes:
        """Make the edits."""
        for file in dict.fromkeys(edit.file for edit in self._edits):
            self.result.contents[file] = self._made(file, list(self._edits))
        return self.result

    def _made(self, file: str, edits: Sequence[Edit]) -> bytes:
        """Return a file with edits. Raises EditError where they overlap, or where it is no Python then."""
        data = self.texts.texts[file].edited(edit for edit in edits if edit.file == file)
        PythonText(file, data)
        return data

    def _fits(self, edits: Sequence[Edit]) -> bool:
        """Tell whether edits can be made beside those that were taken."""
        try:
            for file in {edit.file for edit in edits}:
                self._made(file, list({**self._edits, **dict.fromkeys(edits)}))
        except EditError:
            return False
        return True

    def _ground(self, case: Case) -> _Ground | None:
        """Return what edits for a finding are tried on: the trace with those before it, or its beginning."""
        if not self._is_long:
            if 0 not in self._grounds:
                self._grounds[0] = _Ground(self._trace, self.texts, "")
            return self._grounds[0]
        operations = (case.operation, *(operation for _, operation in case.fact.related))
        last = max(operation.sequence for operation in operations)
        part = beginning(self._trace, last, BEYOND, MOST_SLOTS_OF_ONE)
        if part is None:
            return None
        count = int(np.count_nonzero(operation_starts(part.slots)))
        return _Ground(part, self.texts, f"; tried on the first {count:,} operations")

    def _in_other_words(self, reason: str) -> str:
        return reason if self.texts.texts or not self.texts.refused else next(iter(self.texts.refused.values()))


class _Ground:
    """A trace that edits are tried on, one on top of the other."""

    def __init__(self, trace: Analysed, texts: RecordedTexts, extent: str) -> None:
        self.extent = extent
        self._texts = texts
        self._verification = Verification(trace)
        self._trace = EditableTrace(trace)
        self._names: StreamNames | None = None
        self._is_edited = False

    def found(self, finding: Finding, case: Case, fits: Callable[[Sequence[Edit]], bool]) -> Written | str:
        """Return the first edit that does, or why there is none."""
        if self._is_edited and self._is_gone(finding):
            return Written("gone with the edits above", (), WaitsRemoved(()))
        reasons: list[str] = []
        tries = 0
        second: tuple[int, Written, EditedTrace] | None = None
        for order, written in self._written(finding, case, reasons):
            if tries >= MOST_TRIES or (second is not None and order > second[0]):
                break
            tries += 1
            edits = Edits(self._trace)
            if not written.change.apply(edits):
                continue
            edited = edits.applied()
            outcome = self._verification.of(edited, finding)
            if not _does(outcome):
                reasons.insert(0, _why_not(outcome))
            elif isinstance(written.change, WaitsRemoved) and self._loses_order(edited):
                reasons.insert(0, "without the wait an order is missing that something needs")
            elif not fits(written.edits):
                reasons.insert(0, "its edit does not go with that of another finding: make that one, and record again")
            elif outcome.good:
                return self._taken(written, edited)
            elif second is None:
                # Of edits of one rank one that brings up no note comes first.
                second = order, replace(written, summary=written.summary + _notes(outcome)), edited
        if second is not None:
            return self._taken(*second[1:])
        return next(filter(None, reasons), "the text has no place for an edit that would do")

    def _taken(self, written: Written, edited: EditedTrace) -> Written:
        self._trace, self._is_edited = EditableTrace(edited), True
        return written

    def _loses_order(self, edited: EditedTrace) -> bool:
        """Tell whether an order that is required is not given any more."""
        requirements = self._verification.requirements
        return bool(requirements(edited) - requirements(self._trace.trace))

    def _is_gone(self, finding: Finding) -> bool:
        """Tell whether the edits for others made a finding go away."""
        edited = self._trace.trace
        assert isinstance(edited, EditedTrace)
        return self._verification.of(edited, finding).gone

    def _written(self, finding: Finding, case: Case, reasons: list[str]) -> Iterator[tuple[int, Written]]:
        if self._names is None:
            self._names = StreamNames(self._trace, self._texts)
        names = self._names
        orders = OrderWriter(self._trace, self._texts, names, reasons)
        commands = WaitListWriter(self._texts, reasons)
        for step in self._steps(finding, case, reasons):
            for written in self._ways(step, case, orders, commands, names, reasons):
                yield rank(step), written

    def _ways(
        self,
        step: Step,
        case: Case,
        orders: OrderWriter,
        commands: WaitListWriter,
        names: StreamNames,
        reasons: list[str],
    ) -> Iterator[Written]:
        match step:
            case StreamTold():
                yield from told(step, case, self._trace, self._texts, names, reasons)
            case WaitsRemoved():
                yield from removed(step, self._trace, self._texts, reasons)
            case WaitForRecorded() | EventBetween() | HostWaitsForEvent() | Blocking() if has_wait_lists(case):
                yield from commands.of(step)
            case FreeBehindUses():
                yield from commands.of(step)
            case WaitForRecorded() | EventBetween() | HostWaitsForStream() | HostWaitsForAll():
                yield from orders.of(step)

    def _steps(self, finding: Finding, case: Case, reasons: list[str]) -> Iterator[Step]:
        if not RULES[finding.code].finds_needless:
            yield from candidates(case, self._trace)
        elif can_go(finding):
            yield WaitsRemoved((case.operation,))
        else:
            reasons.append(NEEDED_ELSEWHERE)


def _does(outcome: Outcome) -> bool:
    """Tell whether a finding is gone, and nothing new is worth more than a note: that stood behind it so far."""
    return outcome.gone and all(each.severity is Severity.NOTE for each in outcome.new)


def _notes(outcome: Outcome) -> str:
    """Return what to say of new notes."""
    others = {f"{each.code} at line {each.location.line}" for each in outcome.new if not is_on_cost(each)}
    words = costs_then((each.code, each.location.line) for each in outcome.new if is_on_cost(each))
    return words + (f" (a note stood behind it: {', '.join(sorted(others))})" if others else "")


def _why_not(outcome: Outcome) -> str:
    if not outcome.gone:
        return "what could be written does not give the order that is missing, on this trace"
    against = next(each for each in outcome.new if each.severity is not Severity.NOTE)
    return f"each edit that was tried brings up another finding: {against.code}"
