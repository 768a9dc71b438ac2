from __future__ import annotations

from collections.abc import Mapping

from streamsan.analysis.worlds import CheckedWorld, merge_worlds
from streamsan.findings.finding import Basis, Confidence, Finding, Location, Place, Severity


def places(*lines: int) -> frozenset[Place]:
    return frozenset(Place("a.cu", line, 1) for line in lines)


def finding(code: str = "SS102", line: int = 9, others: tuple[int, ...] = (4,), **changes: object) -> Finding:
    arguments: dict[str, object] = {
        "severity": Severity.ERROR,
        "confidence": Confidence.PROVEN,
        "message": "m",
        "location": Location("a.cu", line, 1),
        "basis": Basis(places(line, *others), places(*others)),
        **changes,
    }
    return Finding(code, "name", **arguments)  # type: ignore[arg-type]


def world(*findings: Finding, executed: Mapping[int, int], entry: str = "main") -> CheckedWorld:
    counts = {Place("a.cu", line, 1): count for line, count in executed.items()}
    return CheckedWorld(entry, findings, counts)


def once(*lines: int) -> dict[int, int]:
    return dict.fromkeys(lines, 1)


def test_the_same_finding_in_all_worlds_is_one() -> None:
    merged = merge_worlds([world(finding(), executed=once(4, 9)), world(finding(), executed=once(4, 7, 9))])
    assert merged == [finding()]


def test_a_world_that_does_not_reach_the_places_changes_nothing() -> None:
    assert merge_worlds([world(finding(), executed=once(4, 9)), world(executed=once(4))]) == [finding()]


def test_a_branch_that_decides_makes_it_a_possible_note() -> None:
    (merged,) = merge_worlds([world(finding(), executed=once(4, 9)), world(executed=once(4, 6, 9))])
    assert (merged.severity, merged.confidence) == (Severity.NOTE, Confidence.POSSIBLE)


def test_another_entry_decides_nothing() -> None:
    (merged,) = merge_worlds([world(finding(), executed=once(4, 9)), world(executed=once(4, 9), entry="other")])
    assert merged.severity is Severity.ERROR


def test_fewer_turns_of_a_loop_decide_nothing() -> None:
    (merged,) = merge_worlds([world(finding(), executed={4: 2, 9: 2}), world(executed={4: 1, 9: 1})])
    assert merged.severity is Severity.ERROR
    (merged,) = merge_worlds([world(finding(), executed={4: 2, 9: 2}), world(executed={4: 3, 9: 3})])
    assert merged.severity is Severity.NOTE


def test_independent_branches_make_it_possible() -> None:
    worlds = [
        world(finding(), executed=once(4, 9)),
        world(executed=once(4)),
        world(executed=once(9)),
    ]
    (merged,) = merge_worlds(worlds)
    assert (merged.severity, merged.confidence) == (Severity.WARNING, Confidence.POSSIBLE)


def test_entries_with_the_same_finding_are_merged() -> None:
    weak = finding().weakened(Severity.NOTE)
    merged = merge_worlds([world(weak, executed=once(4, 9)), world(finding(), executed=once(4, 9), entry="other")])
    assert merged == [finding()]


def test_a_malformed_call_depends_on_no_branch() -> None:
    bad = finding("SS602", others=())
    (merged,) = merge_worlds([world(bad, executed=once(9)), world(executed=once(9))])
    assert merged.severity is Severity.ERROR


def test_a_wait_is_redundant_only_if_it_is_so_everywhere() -> None:
    note = finding("SS504", severity=Severity.NOTE)
    needed = world(executed=once(4, 9), entry="other")
    absent = world(executed=once(4), entry="other")
    assert merge_worlds([world(note, executed=once(4, 9)), needed]) == []
    assert merge_worlds([world(note, executed=once(4, 9)), absent]) == [note]


def test_a_wait_is_as_redundant_as_in_its_most_doubtful_world() -> None:
    own = Basis(places(9), places(9))
    proven = finding("SS504", severity=Severity.NOTE, basis=own, message="dominated")
    doubtful = finding(
        "SS504", severity=Severity.NOTE, basis=own, message="no consumer", confidence=Confidence.POSSIBLE
    )
    (merged,) = merge_worlds([world(proven, executed=once(9)), world(doubtful, executed=once(9))])
    assert merged.confidence is Confidence.POSSIBLE


def test_each_reason_of_not_understood_once() -> None:
    first, second = finding("SS603", 3, (), properties={"instances": 2}), finding("SS603", 8, ())
    other = finding("SS603", 9, (), message="else")
    merged = merge_worlds([world(second, other, executed=once(8)), world(first, executed=once(3))])
    assert [(f.location.line, f.message) for f in merged] == [(3, "m"), (9, "else")]
    assert merged[0].properties == {"instances": 3}
