"""Fixes, tried out: the edit is made in the trace, and the trace analysed again.

A fix is verified where the finding is gone and none is new, at any severity. Of edits that do, the first in the order
of `candidates` is shown. A finding without a verified fix says why it has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from msgspec.structs import replace

from streamsan.evidence.fix.change_steps import FreeBehindUses, WaitsRemoved
from streamsan.evidence.fix.edited_trace import Analysed, EditableTrace, Edits, beginning, is_longer
from streamsan.evidence.fix.named_lines import line_beside
from streamsan.evidence.fix.order_steps import streams_awaited
from streamsan.evidence.fix.reasons import costs_then, one_of_many, too_long, tried_in_vain, without_fix
from streamsan.evidence.fix.search import Search, Written, can_go
from streamsan.evidence.fix.steps import Step
from streamsan.evidence.fix.verification import MadeFindings, Outcome, Verification
from streamsan.evidence.fix.wording import Wording
from streamsan.findings.finding import Finding, Fix
from streamsan.order.facts import Operation
from streamsan.order.rearrangement import operation_starts
from streamsan.rules.case import Case, case_of
from streamsan.rules.every_rule import RULES
from streamsan.trace import Trace

WHOLE = 8_000
"""Of longer traces only the beginning is analysed again, as far as the finding's operations and some more."""
BEYOND = 2_000
"""slots of a longer trace that are analysed again beyond the last operation of a finding"""
MOST_SLOTS_OF_ONE = 100_000
"""Where even the beginning is longer, nothing is analysed again."""
MOST_SLOTS = 1_000_000
"""slots that are analysed again for the fixes of one input, in all"""
MOST_FINDINGS = 16
"""findings of one input whose fixes are tried, the gravest first: each takes an analysis of all the others"""


def with_verified_fixes(
    findings: Iterable[Finding],
    known: Mapping[Trace, Sequence[Finding]] = MappingProxyType({}),
    wording: Wording | None = None,
) -> list[Finding]:
    """Return the findings with fixes that were tried out, or with the reasons why there are none.

    `known` are all findings of some traces; of others they are found again. With `wording` a fix that the text of the
    program can have comes before one that it cannot, and is told as it is written there.
    """
    found = list(findings)
    of_trace: dict[int, list[Finding]] = {}
    for finding in found:
        if (case := case_of(finding)) is not None:
            of_trace.setdefault(id(case.names), []).append(finding)
    budget = _Budget(MOST_SLOTS)
    traces: dict[int, _Fixes | _FixesInPart] = {}
    result = []
    tried = _gravest(found)
    for finding in found:
        case = case_of(finding)
        if case is None or RULES[finding.code].without_fix or not isinstance(case.names, Trace):
            result.append(without_fix(finding))
            continue
        if id(finding) not in tried:
            result.append(one_of_many(finding))
            continue
        trace, key = case.names, id(case.names)
        if key not in traces:
            is_long = is_longer(trace, WHOLE)
            made = MadeFindings(trace)
            own = _FixesInPart(trace, budget, made) if is_long else None
            traces[key] = own or _Fixes(trace, of_trace[key], budget, made, known.get(trace))
        written = _written(wording, trace, case) if wording is not None else None
        result.append(traces[key].fixed(finding, case, written))
    return result


def _written(wording: Wording, trace: Trace, case: Case) -> Written:
    return lambda step: wording(trace, step, case)


def _gravest(findings: Sequence[Finding]) -> set[int]:
    """Return the ids of the findings whose fixes are tried. Removals of waits are tried together: they cost one."""
    fixable = [each for each in findings if case_of(each) is not None and not RULES[each.code].without_fix]
    needless = [each for each in fixable if RULES[each.code].finds_needless]
    others = [each for each in fixable if not RULES[each.code].finds_needless]
    others.sort(key=lambda each: (each.strength, each.order))
    return {id(each) for each in (*needless, *others[:MOST_FINDINGS])}


class _Budget:
    """What may still be analysed again."""

    def __init__(self, slots: int) -> None:
        self.slots = slots

    def take(self, slots: int) -> bool:
        """Take the cost of one analysis. Returns False where that is not left."""
        if slots > self.slots:
            return False
        self.slots -= slots
        return True


class _Fixes:
    """The fixes of one trace."""

    def __init__(
        self,
        trace: Analysed,
        findings: list[Finding],
        budget: _Budget,
        made: MadeFindings,
        known: Sequence[Finding] | None,
    ) -> None:
        self._source = trace
        self._made = made
        self._known = known
        self._findings = findings
        self._budget = budget
        self._trace: EditableTrace | None = None
        self._verification: Verification | None = None
        self._removable: set[int] | None = None

    def fixed(self, finding: Finding, case: Case, written: Written | None = None) -> Finding:
        """Return a finding with its fix, or with the reason why it has none."""
        if RULES[finding.code].finds_needless:
            return self._without_wait(finding, case)
        search = Search(self.trace, self._tried, finding, written)
        steps = search.run(case)
        if steps is None:
            return tried_in_vain(finding, search.outcomes, self._exhausted)
        told = written(steps[0]) if written is not None and len(steps) == 1 else ""
        summary = (told or case.in_own_words(_words(steps, case) + self._for_each_stream(steps))) + costs_then(
            (each.code, each.location.line) for each in search.spared
        )
        return replace(finding, fix=Fix(summary, verified=True), no_fix="")

    def _for_each_stream(self, steps: Sequence[Step]) -> str:
        streams = max(streams_awaited(self.trace, step) for step in steps)
        return f" (so for each of the {streams} streams)" if streams > 1 else ""

    @property
    def trace(self) -> EditableTrace:
        """The trace, made ready once."""
        if self._trace is None:
            self._trace = EditableTrace(self._source)
        return self._trace

    @property
    def verification(self) -> Verification:
        """The findings before any edit, once."""
        if self._verification is None:
            self._verification = Verification(self._source, self._known, self._made)
        return self._verification

    def _tried(self, base: EditableTrace, step: Step, finding: Finding) -> tuple[EditableTrace, Outcome] | None:
        """Make one more step, and analyse what comes out. None where there is no place for it, or no budget left."""
        edits = Edits(base)
        if not step.apply(edits) or not self._budget.take(len(base.slots)):
            return None
        edited = edits.applied()
        return EditableTrace(edited), self.verification.of(edited, finding)

    @property
    def _exhausted(self) -> bool:
        """Whether nothing more can be analysed."""
        return self._budget.slots < len(self.trace.slots)

    def _without_wait(self, finding: Finding, case: Case) -> Finding:
        """Return a redundant wait with its removal, together with that of all others that are redundant."""
        if not can_go(finding):
            return without_fix(finding)
        if self._removable is None:
            waits = tuple(other.operation for each in self._findings if can_go(each) and (other := case_of(each)))
            # All of them together, as they are reported; if that fails, each for itself.
            together = waits if self._can_go(waits) else [wait for wait in waits if self._can_go((wait,))]
            self._removable = {wait.sequence for wait in together}
        if case.operation.sequence not in self._removable:
            return tried_in_vain(finding, [], self._exhausted)
        summary = WaitsRemoved((case.operation,)).words(case)
        return replace(finding, fix=Fix(case.in_own_words(summary), verified=True), no_fix="")

    def _can_go(self, waits: tuple[Operation, ...]) -> bool:
        """Tell whether waits can be removed together: no finding comes up, and no required order is lost."""
        edits = Edits(self.trace)
        if not WaitsRemoved(waits).apply(edits) or not self._budget.take(4 * len(self.trace.slots)):
            return False
        edited = edits.applied()
        gone = [
            each
            for each in self._findings
            if RULES[each.code].finds_needless and (case := case_of(each)) and case.operation in waits
        ]
        if not all(self.verification.of(edited, finding).good for finding in gone):
            return False
        verification = self.verification
        return not verification.requirements(edited) - verification.requirements(self._source)


class _FixesInPart:
    """The fixes of a long trace, each tried on its beginning."""

    def __init__(self, trace: Trace, budget: _Budget, made: MadeFindings) -> None:
        self._trace = trace
        self._budget = budget
        self._made = made

    def fixed(self, finding: Finding, case: Case, written: Written | None = None) -> Finding:
        """Return a finding with a fix that says how much of the trace it was tried on."""
        operations = (case.operation, *(operation for _, operation in case.fact.related))
        last = max(operation.sequence for operation in operations)
        part = beginning(self._trace, last, BEYOND, MOST_SLOTS_OF_ONE)
        if part is None or not self._budget.take(len(part.slots)):
            return too_long(finding)
        fixes = _Fixes(part, [finding], self._budget, self._made, None)
        if finding not in fixes.verification.before:
            return too_long(finding)
        result = fixes.fixed(finding, case, written)
        if result.fix is None or not result.fix.verified:
            return result
        count = int(np.count_nonzero(operation_starts(part.slots)))
        words = f"{result.fix.summary} (tried on the first {count:,} operations)"
        return replace(result, fix=replace(result.fix, summary=words))


def _words(steps: Sequence[Step], case: Case) -> str:
    words = [step.words(case).removesuffix(";") for step in steps]
    if isinstance(steps[0], FreeBehindUses):
        # What has been moved is not at its line any more.
        line = line_beside(case, steps[0].free, steps[0].last)
        words[1:] = [each.replace(f"before line {line}:", "before it:") for each in words[1:]]
    return "; ".join(_each_place_once(words))


def _each_place_once(words: Sequence[str]) -> Iterator[str]:
    """Yield words of steps; one at the place of the step before it does not name that again, nor say the same."""
    place, said = "", set()
    for each in words:
        where, colon, what = each.partition(": ")
        if each in said:
            continue
        said.add(each)
        yield what if colon and where == place else each
        # Words that name a second place end there.
        place = where if colon and " line " in f" {where}" and ": before line" not in what else ""
