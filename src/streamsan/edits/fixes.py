"""Fixes written into source text: which findings are fixed, together or one after the other.

Nothing is written here: the result is the new contents of files. A fix is taken where the finding that it was made for
is gone and no other finding is new, at any severity, but for waits of the program that nothing needs any more: they
stay, and the fix says so.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from streamsan.edits.comparison import key_of, new_findings
from streamsan.edits.line_map import LineMap
from streamsan.edits.source import Contents, Ground, Source, State
from streamsan.edits.source_text import SourceText
from streamsan.edits.step_writer import Writer
from streamsan.edits.trial import (
    Fixed,
    NotFixed,
    Trial,
    at_lines_of,
    edited_contents,
    no_reason_to_try,
    that_count,
)
from streamsan.edits.variant import Variant
from streamsan.evidence.fix.reasons import costs_then
from streamsan.evidence.fix.verification import is_on_cost
from streamsan.findings.finding import Edit, Finding
from streamsan.rules.every_rule import RULES

MOST_CHECKS = 1000
"""texts that are checked for one source"""


class SourceFixes(Struct):
    """What can be done about one source."""

    contents: dict[str, bytes] = field(default_factory=dict)
    """new contents of the files that change"""
    fixed: list[Fixed] = field(default_factory=list)
    left: list[NotFixed] = field(default_factory=list)
    remaining: tuple[Finding, ...] = ()
    """the findings of the new contents"""


def fixes_of(source: Source) -> SourceFixes:
    """Return the edits for the findings of a source, each on top of those before it. Raises OSError."""
    return _Fixer(source).run()


def fixes_of_each(source: Source) -> SourceFixes:
    """Return edits for each finding by itself: each edit is one of the text as it is. Raises OSError."""
    fixer = _Fixer(source)
    ground = Ground(source, dict(source.contents), source.check(source.contents))
    result = SourceFixes(contents=dict(source.contents), remaining=ground.state.findings)
    kept = source.keep(ground.contents, ground.state.findings)
    for number, finding in enumerate(kept):
        source.tell(number, len(kept))
        found = Trial(ground, finding, fixer.check).run()
        if isinstance(found, NotFixed):
            result.left.append(found)
        else:
            result.fixed.append(found.fixed)
    return result


class _Plan(Struct, frozen=True):
    """The first edit for a finding, not tried yet."""

    finding: Finding
    variant: Variant
    writing: Writer


class _Fixer:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._result = SourceFixes()
        self._checks = 0
        self._maps: dict[tuple[str, bytes], LineMap] = {}
        self._checked: dict[frozenset[tuple[str, bytes]], State] = {}

    def run(self) -> SourceFixes:
        """Fix what can be fixed, the gravest first."""
        source = self._source
        contents = dict(source.contents)
        ground = Ground(source, contents, source.check(contents))
        asked: Counter[tuple[str, ...]] = Counter()
        together = {False: source.several_at_once, True: True}
        """whether edits are tried together, for waits that nothing needs and for the other findings"""
        while True:
            kept = [each for each in source.keep(ground.contents, ground.state.findings) if source.wanted(each)]
            pending = _pending(kept, asked)
            if not pending:
                break
            done = len(self._result.fixed) + len(self._result.left)
            source.tell(done, done + len(pending))
            waits = RULES[pending[0].code].finds_needless
            alike = [each for each in pending if RULES[each.code].finds_needless == waits]
            if together[waits] and len(alike) > 1:
                new = self._together(ground, alike)
                # What could not be done together is tried one by one.
                together[waits] = new is not None
                if new is not None:
                    ground = new
                    continue
            found = Trial(ground, pending[0], self.check).run()
            if isinstance(found, NotFixed):
                asked[key_of(pending[0])] += 1
                self._result.left.append(NotFixed(self._as_it_was(found.finding, ground), found.reason))
                continue
            self._result.fixed.append(self._at_lines_as_they_were(found.fixed, ground))
            ground = Ground(source, found.contents, found.state)
        self._result.contents = dict(ground.contents)
        self._result.remaining = ground.state.findings
        return self._result

    def check(self, contents: Contents) -> State | None:
        """Check new contents, as long as the budget lasts. The same are checked once."""
        key = frozenset(contents.items())
        if key not in self._checked:
            if self._checks >= MOST_CHECKS:
                return None
            self._checks += 1
            self._checked[key] = self._source.check(contents)
        return self._checked[key]

    # -- several at once --------------------------------------------------------------------------

    def _together(self, ground: Ground, findings: Sequence[Finding]) -> Ground | None:
        """Make the first edits of several findings in one text. Returns what comes out, None where none does."""
        plans: list[_Plan] = []
        for finding in findings:
            if no_reason_to_try(finding):
                continue
            first = Trial(ground, finding, self.check).first()
            if first is not None and all(self._source.editable(edit.file) for edit in first[0].edits):
                plan = _Plan(finding, *first)
                if _compatible([*plans, plan]):
                    plans.append(plan)
        if len(plans) < 2:
            return None
        taken, new = self._taken(ground, [], plans, None)
        if new is None:
            return None
        for plan in taken:
            fixed = Fixed(plan.finding, plan.variant.summary, plan.variant.edits)
            self._result.fixed.append(self._at_lines_as_they_were(fixed, ground))
        notes = that_count(self._source, new.contents, new_findings(ground.state.findings, new.state.findings))
        lines = [(each.code, self._line(each.location.file, each.location.line, new)) for each in notes]
        words = costs_then(lines)
        last = self._result.fixed[-1]
        self._result.fixed[-1] = replace(last, summary=f"{last.summary}{words}")
        return new

    def _taken(
        self, ground: Ground, taken: list[_Plan], plans: list[_Plan], known: Ground | None
    ) -> tuple[list[_Plan], Ground | None]:
        """Take the plans that do, on top of those that were taken: all, or each half by itself."""
        new = self._made(ground, [*taken, *plans])
        if new is not None:
            return [*taken, *plans], new
        if len(plans) == 1:
            return taken, known
        half = len(plans) // 2
        for part in (plans[:half], plans[half:]):
            taken, known = self._taken(ground, taken, part, known)
        return taken, known

    def _made(self, ground: Ground, plans: Sequence[_Plan]) -> Ground | None:
        """Return the text with the edits of plans, None where it is not what they should make of it."""
        edits: dict[Edit, None] = {edit: None for plan in plans for edit in plan.variant.edits}
        contents = edited_contents(ground.contents, _files(plans), list(edits))
        if contents is None:
            return None
        after = self.check(contents)
        if after is None or after.ended not in (ground.state.ended, 0):
            return None
        if after.operations < ground.state.operations - sum(plan.variant.removed for plan in plans):
            return None
        gone = Counter(key_of(plan.finding) for plan in plans)
        left = Counter(key_of(each) for each in after.findings)
        before = Counter(key_of(each) for each in ground.state.findings)
        if any(left[key] > before[key] - count for key, count in gone.items()):
            return None
        new = that_count(self._source, contents, new_findings(ground.state.findings, after.findings))
        made = Ground(self._source, contents, after)
        if not all(is_on_cost(each) and self._was_there(each, made) for each in new):
            return None
        if not self._source.accepts(contents, {edit.file for edit in edits}):
            return None
        return made

    # -- lines as the reader knows them -----------------------------------------------------------

    def _at_lines_as_they_were(self, fixed: Fixed, ground: Ground) -> Fixed:
        file = fixed.edits[0].file if fixed.edits else fixed.finding.location.file
        words = self._map(file, ground)
        fixed = replace(fixed, edits=self._placed(fixed.edits, ground))
        return at_lines_of(fixed, lambda name, line: self._line(name, line, ground), words.words if words else str)

    def _placed(self, edits: Sequence[Edit], ground: Ground) -> tuple[Edit, ...]:
        """Return edits at their places in the text before all edits; none where one is of what was put in."""
        placed = []
        for edit in edits:
            lines = self._map(edit.file, ground)
            line = lines.same(edit.line) if lines is not None else edit.line
            end = lines.same(edit.end_line) if lines is not None else edit.end_line
            if line is None or end is None:
                return ()
            placed.append(replace(edit, line=line, end_line=end))
        return tuple(placed)

    def _as_it_was(self, finding: Finding, ground: Ground) -> Finding:
        line = self._line(finding.location.file, finding.location.line, ground)
        return replace(finding, location=replace(finding.location, line=line))

    def _line(self, name: str, line: int, ground: Ground) -> int:
        lines = self._map(name, ground)
        return lines.line(line) if lines is not None and line else line

    def _was_there(self, finding: Finding, ground: Ground) -> bool:
        """Tell whether a finding is not about what was put in."""
        lines = self._map(finding.location.file, ground)
        return lines is None or not finding.location.line or lines.has(finding.location.line)

    def _map(self, name: str, ground: Ground) -> LineMap | None:
        real = os.path.realpath(name)
        data = ground.contents.get(real)
        if data is None:
            return None
        if (real, data) not in self._maps:
            self._maps[real, data] = LineMap(self._source.original(name), data)
        return self._maps[real, data]


def _files(plans: Sequence[_Plan]) -> dict[str, SourceText]:
    return {name: file for plan in plans for name, file in plan.writing.files.items()}


def _compatible(plans: Sequence[_Plan]) -> bool:
    """Tell whether the last plan can be made beside the others: nothing overlaps, no name is declared twice."""
    *others, last = plans
    if last.variant.declares and any(plan.variant.declares == last.variant.declares for plan in others):
        return False
    known = [edit for plan in others for edit in plan.variant.edits]
    return not any(_overlap(edit, other) for edit in last.variant.edits for other in known)


def _overlap(first: Edit, second: Edit) -> bool:
    if first.file != second.file or first == second:
        return False
    return (first.line, first.column) < (second.end_line, second.end_column) and (second.line, second.column) < (
        first.end_line,
        first.end_column,
    )


def _pending(findings: Sequence[Finding], asked: Counter[tuple[str, ...]]) -> list[Finding]:
    """Return the findings for which no edit was sought yet, the gravest first.

    Of those that say the same, the first were asked.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    pending = []
    for finding in sorted(findings, key=lambda each: (RULES[each.code].finds_needless, each.strength, each.order)):
        key = key_of(finding)
        if asked[key] <= seen[key]:
            pending.append(finding)
        seen[key] += 1
    return pending
