"""Many findings cost as much each as few: what is done for one does not look at all the others."""

import random
import sys
from types import FrameType
from typing import NoReturn

import pytest
from msgspec.structs import replace

from streamsan.analysis.traces import check_trace
from streamsan.cli.report_options import ReportOptions
from streamsan.evidence.proofs import Proofs
from streamsan.findings.finding import Basis, Confidence, Finding, Location, Place, Severity, same_finding
from streamsan.findings.same_findings import SameFindings
from streamsan.findings.same_site import by_site
from streamsan.trace import Site, Trace
from streamsan.trace.builder import TraceBuilder
from streamsan.trace.references import Reference
from streamsan.vocabulary import AccessMode, FreeClass, MemoryKind, StreamKind
from streamsan.vocabulary import OperationKind as Kind


def _wrong_frees(count: int, sites: int = 0) -> Trace:
    """A trace of wrong frees, each at a line of its own or at one of so many lines."""
    builder = TraceBuilder("many.sst", origin="simulation")
    thread = builder.thread(0, "main")
    builder.append(Kind.CONTEXT_CURRENT, thread=thread, object=0x10)
    for stream in (0x1000, 0x2000):
        builder.append(Kind.STREAM_CREATE, thread=thread, object=stream, detail=StreamKind.NON_BLOCKING)
    for number in range(count):
        block = [Reference((1 << 40) + (number << 12), 1 << 12, number + 1, AccessMode.READ_WRITE)]
        made, used, freed = (builder.site(Site("many.py", 10 + 3 * number + each)) for each in range(3))
        if sites:
            freed = builder.site(Site("many_frees.py", 10 + number % sites))
        builder.append(
            Kind.ALLOC, thread=thread, site=made, stream=0x1000, references=block, detail=MemoryKind.STREAM_ORDERED
        )
        builder.append(Kind.LAUNCH, thread=thread, site=used, stream=0x1000, references=block)
        builder.append(Kind.FREE, thread=thread, site=freed, stream=0x2000, references=block, detail=FreeClass.ASYNC)
    return builder.finish()


def _calls(trace: Trace) -> tuple[int, int]:
    """Return how many findings a trace has, and how many calls Python makes to check it."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        checked = check_trace(trace, trace.path)
    finally:
        sys.setprofile(None)
    return len(checked.findings), calls


def test_what_a_check_does_grows_no_faster_than_its_findings() -> None:
    few, calls_of_few = _calls(_wrong_frees(50))
    many, calls_of_many = _calls(_wrong_frees(200))
    assert (few, many) == (50, 200)
    assert calls_of_many < 4.4 * calls_of_few


def test_of_many_findings_at_one_site_the_first_is_proven_for_all() -> None:
    checked = check_trace(_wrong_frees(60, sites=1), "many.sst")
    first, *others = checked.findings
    assert len(others) == 59
    assert first.witness
    assert first.fix is not None
    assert first.fix.verified
    assert not any(each.witness for each in others)
    assert {each.no_witness for each in others} == {"that of the first finding at this site stands for all"}
    assert {each.no_fix for each in others} == {"that of the first finding at this site stands for all"}


def test_few_findings_at_one_site_are_each_proven() -> None:
    checked = check_trace(_wrong_frees(8, sites=2), "many.sst")
    assert all(each.witness and each.fix and each.fix.verified for each in checked.findings)


def test_the_fixes_that_are_tried_belong_to_different_sites() -> None:
    checked = check_trace(_wrong_frees(60, sites=6), "many.sst")
    verified = {each.location.line for each in checked.findings if each.fix is not None and each.fix.verified}
    assert len(verified) == 6


def test_a_crowded_site_hides_nothing_of_another_strength_and_nothing_without_a_place() -> None:
    here = Location("a.cu", 7, 3)
    error = Finding("SS102", "use-races-free", Severity.ERROR, Confidence.PROVEN, "`p` races", here)
    crowd = [replace(error, message=f"`p{number}` races") for number in range(1000)]
    note = replace(error, severity=Severity.NOTE)
    other = replace(error, code="SS101")
    told = by_site([*crowd, note, other])
    assert [(each.first, each.more) for each in told] == [(crowd[0], 999), (note, 0), (other, 0)]
    assert told[0].rest == "and 999 more like it at this site"
    assert len(by_site(crowd[:4])) == 4
    assert len(by_site([replace(each, location=Location("a.cu", 0)) for each in crowd])) == 1000


def test_the_index_knows_the_same_findings_as_a_comparison_with_each() -> None:
    choose = random.Random(3)

    def finding() -> Finding:
        causes = choose.sample([Place("a.cu", line) for line in range(6)], choose.randrange(3))
        return Finding(
            choose.choice(("SS101", "SS102")),
            "",
            Severity.ERROR,
            Confidence.PROVEN,
            choose.choice("xy"),
            Location("a.cu", choose.randrange(1, 3)),
            basis=Basis(causes=frozenset(causes)),
        )

    known = [finding() for _ in range(60)]
    index = SameFindings(known)
    for asked in [finding() for _ in range(200)]:
        expected = {id(each) for each in known if same_finding(each, asked)}
        assert {id(each) for each in index.same(asked)} == expected
        assert (asked in index) == bool(expected)


def test_without_fixes_none_is_tried_and_findings_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamsan.evidence.second_pass.with_verified_fixes", _refuse)
    findings = check_trace(_wrong_frees(2), "many.sst", proofs=Proofs(fixes=False)).findings
    found = [(bool(each.witness), each.fix is not None and each.fix.verified, each.no_fix) for each in findings]
    assert found == [(True, False, "it was not tried out")] * 2


def _refuse(*arguments: object) -> NoReturn:
    raise AssertionError("fixes were sought")


def test_only_what_is_wanted_is_proven() -> None:
    trace = _wrong_frees(2)
    first, second = check_trace(trace, trace.path, proofs=Proofs(lambda finding: finding.location.line == 12)).findings
    assert (bool(first.witness), first.fix is not None and first.fix.verified) == (True, True)
    assert (second.witness, second.no_witness, second.no_fix) == ((), "", "")


@pytest.mark.parametrize(
    ("options", "proves_note"),
    [([], False), (["--notes"], True), (["--select", "SS504"], True), (["--format", "json"], True)],
)
def test_notes_are_proven_where_they_are_reported(options: list[str], proves_note: bool) -> None:
    note = replace(check_trace(_wrong_frees(1), "many.sst").findings[0], code="SS504", severity=Severity.NOTE)
    words = {"select": [options[1]] if "--select" in options else [], "notes": "--notes" in options}
    asked = replace(ReportOptions.of(**words), form="json" if "json" in options else "text")
    assert asked.proofs.wanted(note) is proves_note
    assert asked.proofs.wanted(replace(note, severity=Severity.ERROR))
