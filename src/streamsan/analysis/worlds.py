"""Several worlds, one verdict: the paths through a program that the source reader explored are merged into findings.

The same finding in several worlds is one finding. One that another world of the same entry, with the same operations
executed, does not have was decided by a branch that nobody could decide: it is `possible`, and a note; so is what only
worlds have that went against a condition which the reader takes for known. One whose
operations stand under branches that are independent of each other (some world executes the one without the other, and
some world the other without the one) may combine what no execution combines: it is `possible`. A wait is redundant
only if it is so in every world that executes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from streamsan.findings.finding import Confidence, Finding, Place, Severity
from streamsan.findings.same_findings import SameFindings, merge
from streamsan.rules.catalogue.written_calls import once_per_reason
from streamsan.rules.every_rule import RULES


class CheckedWorld(Struct, frozen=True, dict=True):
    """What the rules found in one world, and how often it executed which place."""

    entry: str
    findings: tuple[Finding, ...]
    executed: Mapping[Place, int]
    decisions: tuple[bool, ...] = ()
    """how the branches went that nobody could decide"""
    either_way: frozenset[int] = frozenset()
    """which of them say whether work was done when the program asked, or throw what it goes on from: each may be in
    every run"""
    contrary: bool = False
    """it went against a condition that the reader takes for known: what only such worlds have is a note"""

    def has(self, finding: Finding) -> bool:
        """Tell whether this world has the same finding."""
        return finding in self._same

    @cached_property
    def _same(self) -> SameFindings:
        return SameFindings(self.findings)

    @cached_property
    def needless(self) -> frozenset[tuple[str, Place]]:
        """Codes and places of the calls that can go, as far as this world knows."""
        return frozenset(
            (finding.code, finding.location.place) for finding in self.findings if RULES[finding.code].finds_needless
        )


def merge_worlds(worlds: Sequence[CheckedWorld]) -> list[Finding]:
    """Return the findings of a program from those of its worlds, each once, sorted by place."""
    worlds = _as_doubtful_as_the_most_doubtful(worlds)
    contrary = [world for world in worlds if world.contrary]
    entries: dict[str, list[CheckedWorld]] = {}
    for world in (world for world in worlds if not world.contrary):
        entries.setdefault(world.entry, []).append(world)
    found = [finding for group in entries.values() for finding in _entry(group)]
    found += _only_contrary(found, contrary)
    needed = _needed_somewhere(found, worlds)
    found = [each for each in found if (each.code, each.location.place) not in needed]
    return once_per_reason(merge(found))


def _only_contrary(found: Sequence[Finding], worlds: Sequence[CheckedWorld]) -> list[Finding]:
    """Return what only worlds have that went against what is known; what is needless there may be needed."""
    same = SameFindings(found)
    return [
        finding.weakened(Severity.NOTE)
        for finding in merge(finding for world in worlds for finding in world.findings)
        if finding not in same and not RULES[finding.code].finds_needless
    ]


def _as_doubtful_as_the_most_doubtful(worlds: Sequence[CheckedWorld]) -> list[CheckedWorld]:
    """Return the worlds with no wait proven redundant where another world can only say that it may be."""
    doubted = {
        finding.location.place
        for world in worlds
        for finding in world.findings
        if RULES[finding.code].finds_needless and finding.confidence is Confidence.POSSIBLE
    }
    result = []
    for world in worlds:
        findings = tuple(
            finding.weakened(Severity.NOTE)
            if RULES[finding.code].finds_needless and finding.location.place in doubted
            else finding
            for finding in world.findings
        )
        result.append(replace(world, findings=findings))
    return result


def _entry(worlds: Sequence[CheckedWorld]) -> list[Finding]:
    """Return the findings of one entry's worlds; what a branch decides is `possible`, a note."""
    result = []
    for finding in merge(finding for world in worlds for finding in world.findings):
        rule = RULES[finding.code]
        if not rule.is_textual and not rule.finds_needless:
            if _decided_by_branch(finding, worlds):
                finding = finding.weakened(Severity.NOTE)
            elif _independent(finding, worlds):
                finding = finding.weakened(Severity.WARNING)
        result.append(finding)
    return result


def _decided_by_branch(finding: Finding, worlds: Sequence[CheckedWorld]) -> bool:
    """Tell whether a world that executes the finding's places, each as often as it takes, does not have it."""
    places = finding.basis.operations
    having = [world for world in worlds if world.has(finding)]
    if not places or not having:
        return False
    # What a query decides, or an exception of the program's own, is decided by nobody: the program must be right
    # with it.
    worlds = [world for world in worlds if not all(_parted_by_nobody(each, world) for each in having)]
    # A loop that runs fewer turns in the other world is no counterexample: the finding may need two of them.
    needed = {place: min(world.executed.get(place, 0) for world in having) for place in places}
    return any(
        all(world.executed.get(place, 0) >= max(1, count) for place, count in needed.items()) and not world.has(finding)
        for world in worlds
    )


def _parted_by_nobody(first: CheckedWorld, second: CheckedWorld) -> bool:
    """Tell whether the first branch that two worlds took differently is such a one, in the first world."""
    pairs = enumerate(zip(first.decisions, second.decisions, strict=False))
    parted = next((position for position, (own, other) in pairs if own != other), None)
    return parted is not None and parted in first.either_way


def _independent(finding: Finding, worlds: Sequence[CheckedWorld]) -> bool:
    """Tell whether two of the finding's places stand under branches independent of each other."""
    sets = {frozenset(place for place in finding.basis.operations if place in world.executed) for world in worlds}
    return any(first - second and second - first for first in sets for second in sets)


def _needed_somewhere(findings: Iterable[Finding], worlds: Sequence[CheckedWorld]) -> set[tuple[str, Place]]:
    """Return codes and places of the calls that can go by some findings, and that a world which executes them needs."""
    codes: dict[Place, set[str]] = {}
    for finding in findings:
        if RULES[finding.code].finds_needless:
            codes.setdefault(finding.location.place, set()).add(finding.code)
    return {
        (code, place)
        for world in worlds
        for place in codes.keys() & world.executed.keys()
        for code in codes[place]
        if (code, place) not in world.needless
    }
