from __future__ import annotations

from itertools import product

import pytest
from hand_made import HandMade, use_races_free
from msgspec.structs import replace

from streamsan.findings.finding import Confidence, Finding, Related, Severity
from streamsan.order.facts import Fact
from streamsan.rules.every_rule import RULES
from streamsan.rules.pipeline import findings_of
from streamsan.vocabulary import EdgeClass, FactVariant, MemoryKind, OperationKind, RelatedRole, RuleCode, StreamKind

CODES = tuple(RuleCode)
OPENCL_VARIANTS = (FactVariant.STATUS_QUERY, FactVariant.MAPPED_USE)
OPENCL_ONLY = (RuleCode.RELEASE_UNDER_USER_EVENT, RuleCode.BLOCKING_CALL_IN_CALLBACK)


def platform_of_rule(code: int) -> str:
    return "opencl" if code in OPENCL_ONLY else "cuda"


def only(names: HandMade, fact: Fact) -> Finding:
    (finding,) = findings_of(names, [fact])
    return finding


def fact_of(
    code: int, variant: FactVariant = FactVariant.NONE, kind: MemoryKind = MemoryKind.PLAIN
) -> tuple[HandMade, Fact]:
    """A fact in which every role is filled, so that every part of a wording is exercised."""
    names = HandMade(platform=platform_of_rule(code))
    s1 = names.stream("s1")
    related = tuple(
        (role, names.operation(operation, line, api, label=label, stream_site=s1 if streams else 0))
        for role, operation, line, api, label, streams in (
            (RelatedRole.ALLOC, OperationKind.ALLOC, 3, "cudaMallocAsync", "d_x", True),
            (RelatedRole.USE, OperationKind.LAUNCH, 4, "", "scale", True),
            (RelatedRole.FREE, OperationKind.FREE, 5, "cudaFreeAsync", "", True),
            (RelatedRole.FORK, OperationKind.FORK, 6, "fork", "", False),
            (RelatedRole.DESTROY, OperationKind.STREAM_DESTROY, 7, "cudaStreamDestroy", "", False),
        )
    )
    api = "cudaFree" if names.platform == "cuda" else "clReleaseMemObject"
    operation = names.operation(OperationKind.FREE, 9, api, label="the call lacks its stream")
    return names, Fact(code, variant, operation, related, names.memory("d_x", 3, kind), count=3)


def test_every_code_has_a_rule() -> None:
    assert list(RULES) == [f"SS{int(code)}" for code in CODES]


@pytest.mark.parametrize("nth", [5, pytest.param(1, marks=pytest.mark.deep)])
@pytest.mark.parametrize("code", CODES)
def test_rules_have_words_for_every_variant(code: int, nth: int) -> None:
    """Each variant with plain memory, and each nth one with every kind of memory."""
    names, bare = fact_of(code)
    # A block that is kept is a leak only where the program's own pool speaks (tests/pools).
    left_out = {MemoryKind.CL_MAPPED, *([MemoryKind.POOL_BLOCK] if code == RuleCode.LEAK else [])}
    memories = [names.memory("d_x", 3, kind) for kind in MemoryKind if kind not in left_out]
    variants = [variant for variant in FactVariant if variant not in OPENCL_VARIANTS]
    some = variants[code % nth :: nth]
    for variant, memory in [*product(variants, memories[:1]), *product(some, memories[1:])]:
        finding = only(names, replace(bare, variant=variant, allocation=memory))
        rule = RULES[finding.code]
        assert finding.name == rule.name
        assert finding.message
        assert not finding.message.endswith(".")
        assert "None" not in " ".join([finding.message, *finding.witness, finding.fix.summary if finding.fix else ""])
        assert all(related.line > 0 and related.message for related in finding.related)
        if code != 603:
            assert finding.contract is not None
            assert finding.contract.source.startswith("CUDA" if names.platform == "cuda" else "OpenCL")
        assert finding.properties["instances"] == 3


@pytest.mark.parametrize("code", CODES)
def test_a_bare_fact_still_makes_a_finding(code: int) -> None:
    names = HandMade(path="run.sst", platform=platform_of_rule(code))
    operation = replace(names.operation(OperationKind.FREE, 0), site=0)
    finding = only(names, Fact(code, FactVariant.NONE, operation))
    assert finding.location.file == "run.sst"
    assert finding.related == ()


def test_use_races_free_says_who_races() -> None:
    names = HandMade()
    finding = only(names, use_races_free(names))
    assert (finding.code, finding.severity, finding.confidence) == ("SS102", Severity.ERROR, Confidence.PROVEN)
    assert finding.message == "kernel `scale` may still be reading `d_x` when it is freed"
    assert finding.related == (
        Related("alloc", "pipeline.cu", 2, "allocated here, in the order of stream `s1`"),
        Related("sync", "pipeline.cu", 3, "(stream `s2` waits here)"),
        Related("use", "pipeline.cu", 4, "used here, in the order of stream `s2`"),
        Related(
            "free",
            "pipeline.cu",
            6,
            "freed here, in the order of stream `s1`: nothing orders stream `s1` after the kernel",
        ),
    )
    assert finding.observed is not None
    assert finding.observed.fact == "F-05"
    assert finding.fix is not None
    assert not finding.fix.verified
    assert finding.fix.summary == "before line 6: cudaEventRecord(event, s2); cudaStreamWaitEvent(s1, event, 0);"


def test_doubt_lowers_severity_and_never_raises_it() -> None:
    names = HandMade()
    weak = only(names, use_races_free(names, rests_on=EdgeClass.OBSERVED))
    assert (weak.severity, weak.confidence) == (Severity.WARNING, Confidence.POSSIBLE)
    for doubt in ({"assumed": True}, {"may_be_equal": True}):
        finding = only(names, use_races_free(names, **doubt))
        assert (finding.severity, finding.confidence) == (Severity.NOTE, Confidence.POSSIBLE)
    for code in CODES:
        names, bare = fact_of(code)
        for variant in FactVariant:
            fact = replace(bare, variant=variant)
            plain = only(names, fact)
            for doubt in ({"assumed": True}, {"may_be_equal": True}, {"rests_on": EdgeClass.RUN}):
                assert only(names, replace(fact, **doubt)).severity.rank >= plain.severity.rank


@pytest.mark.parametrize(
    ("code", "variant", "kind", "severity"),
    [
        (106, FactVariant.PENDING_WORK, MemoryKind.PLAIN, Severity.WARNING),
        (106, FactVariant.OTHER_THREAD, MemoryKind.PLAIN, Severity.WARNING),
        (106, FactVariant.PENDING_FREE, MemoryKind.STREAM_ORDERED, Severity.NOTE),
        (106, FactVariant.AT_EXIT, MemoryKind.PLAIN, Severity.NOTE),
        (107, FactVariant.FREE_DEVICE, MemoryKind.PLAIN, Severity.NOTE),
        (107, FactVariant.FREE_DEVICE, MemoryKind.MANAGED, Severity.NOTE),
        (107, FactVariant.FREE_PINNED, MemoryKind.PINNED, Severity.WARNING),
        (107, FactVariant.FREE_UNREGISTER, MemoryKind.REGISTERED, Severity.WARNING),
        (107, FactVariant.FREE_UNREGISTER, MemoryKind.HOST_HEAP, Severity.WARNING),
        (107, FactVariant.HOST_FREE, MemoryKind.HOST_HEAP, Severity.NOTE),
        (107, FactVariant.IMPLICIT_COPY, MemoryKind.PLAIN, Severity.WARNING),
        (108, FactVariant.HOST_WRITE, MemoryKind.PINNED, Severity.ERROR),
        (108, FactVariant.HOST_FREE, MemoryKind.HOST_HEAP, Severity.WARNING),
        (108, FactVariant.HOST_SCOPE_END, MemoryKind.HOST_STACK, Severity.WARNING),
        (203, FactVariant.FOREIGN_CREATED, MemoryKind.PLAIN, Severity.WARNING),
        (203, FactVariant.FOREIGN_PRIMARY, MemoryKind.PLAIN, Severity.NOTE),
        (204, FactVariant.CHILD_OF_INITIALISED, MemoryKind.PLAIN, Severity.ERROR),
        (204, FactVariant.CHILD_OF_FRESH, MemoryKind.PLAIN, Severity.NOTE),
        (206, FactVariant.NONE, MemoryKind.STREAM_ORDERED, Severity.NOTE),
        (207, FactVariant.AFTER_MAIN, MemoryKind.PLAIN, Severity.WARNING),
        (305, FactVariant.LOST_ITERATION, MemoryKind.PLAIN, Severity.WARNING),
        (401, FactVariant.LEAK_AT_EXIT, MemoryKind.PLAIN, Severity.NOTE),
        (501, FactVariant.NONE, MemoryKind.PLAIN, Severity.NOTE),
        (504, FactVariant.DOMINATED, MemoryKind.PLAIN, Severity.NOTE),
        (602, FactVariant.NONE, MemoryKind.PLAIN, Severity.ERROR),
        (603, FactVariant.NONE, MemoryKind.PLAIN, Severity.NOTE),
    ],
)
def test_default_severities(code: int, variant: FactVariant, kind: MemoryKind, severity: Severity) -> None:
    names, fact = fact_of(code, variant, kind)
    assert only(names, fact).severity is severity


def test_the_observed_order_itself_is_proven() -> None:
    names, fact = fact_of(107, FactVariant.FREE_PINNED, MemoryKind.PINNED)
    assert only(names, replace(fact, rests_on=EdgeClass.OBSERVED)).confidence is Confidence.PROVEN


def test_a_host_function_is_in_flight_whatever_memory_it_uses() -> None:
    names, fact = fact_of(108, FactVariant.HOST_SCOPE_END, MemoryKind.HOST_STACK)
    function = names.operation(OperationKind.HOST_FUNCTION, 4, "cudaLaunchHostFunc", label="report", stream=1)
    finding = only(names, replace(fact, related=((RelatedRole.USE, function),)))
    assert (finding.severity, finding.confidence) == (Severity.ERROR, Confidence.PROVEN)
    assert finding.message == "host function `report` may still be using `d_x` when it goes out of scope"


def test_a_wait_without_consumer_is_possible_and_a_dominated_one_proven() -> None:
    for variant, confidence in (
        (FactVariant.NO_CONSUMER, Confidence.POSSIBLE),
        (FactVariant.DOMINATED, Confidence.PROVEN),
    ):
        names, fact = fact_of(504, variant)
        assert only(names, fact).confidence is confidence


def test_the_stream_of_an_unbalanced_allocation_does_not_matter() -> None:
    names, fact = fact_of(305, FactVariant.LOST_ITERATION, MemoryKind.STREAM_ORDERED)
    finding = only(names, replace(fact, assumed=True))
    assert (finding.severity, finding.confidence) == (Severity.WARNING, Confidence.POSSIBLE)
    memory = names.memory("d_x", 3, MemoryKind.STREAM_ORDERED, assumed=True)
    assert only(names, replace(fact, allocation=memory)).severity is Severity.NOTE


def test_what_is_never_freed_is_reported_where_it_is_allocated() -> None:
    for code in (305, 401):
        names, fact = fact_of(code)
        assert only(names, fact).location.line == 3


def test_default_streams_have_names() -> None:
    names = HandMade()
    fact = use_races_free(names)
    for handle, kind, name, argument in (
        (1, StreamKind.LEGACY, "the default stream", "0"),
        (2, StreamKind.PER_THREAD, "the per-thread default stream", "cudaStreamPerThread"),
        (77, StreamKind.BLOCKING, "its stream", "<stream>"),
    ):
        free = replace(fact.operation, stream=handle, stream_kind=kind, stream_site=0)
        finding = only(names, replace(fact, operation=free))
        assert finding.related[-1].message.startswith(f"freed here, in the order of {name}: ")
        assert finding.fix is not None
        assert f"cudaStreamWaitEvent({argument}, event, 0)" in finding.fix.summary


def test_the_recycled_address_names_the_victim() -> None:
    names, fact = fact_of(201, FactVariant.RECYCLED)
    owner = names.operation(OperationKind.ALLOC, 7, "cudaMalloc", label="d_y")
    finding = only(names, replace(fact, related=(*fact.related, (RelatedRole.OWNER, owner))))
    assert finding.message == "`d_x` was freed before: this frees `d_y`, which has the address now"
    assert finding.observed is not None
    assert finding.observed.fact == "W-03"


def test_the_calls_around_the_operation_are_told() -> None:
    names = HandMade()
    outer = names.at(60)
    names.sites[outer] = replace(names.sites[outer], function="main")
    inner = names.at(40)
    names.sites[inner] = replace(names.sites[inner], caller=outer, function="run")
    fact = use_races_free(names)
    names.sites[fact.operation.site] = replace(names.sites[fact.operation.site], caller=inner)
    finding = only(names, fact)
    assert [(r.line, r.message) for r in finding.related[-2:]] == [
        (40, "(reached from here in `run`)"),
        (60, "(reached from here in `main`)"),
    ]
    names.sites[outer] = replace(names.sites[outer], caller=inner)
    assert only(names, fact).related == finding.related


def test_facts_of_one_place_and_cause_are_one_finding() -> None:
    names = HandMade()
    first = use_races_free(names)
    kernel = replace(first.related[2][1], site=names.at(5, "shift"))
    second = replace(first, related=(*first.related[:2], (RelatedRole.USE, kernel)))
    (finding,) = findings_of(names, [first, second])
    assert [related.line for related in finding.related] == [2, 3, 4, 6, 5]


def test_facts_of_one_place_and_different_causes_stay_apart() -> None:
    names = HandMade()
    first = use_races_free(names)
    other = replace(
        first,
        related=((RelatedRole.USE, names.operation(OperationKind.LAUNCH, 24, label="blur")),),
        allocation=names.memory("d_y", 22),
    )
    assert len(findings_of(names, [first, other])) == 2


def test_a_proven_cause_silences_what_follows_from_it() -> None:
    names = HandMade()
    race = use_races_free(names)
    blocking = replace(race, code=501, variant=FactVariant.NONE)
    child = replace(race, code=204, variant=FactVariant.CHILD_OF_INITIALISED)
    assert [f.code for f in findings_of(names, [race, blocking])] == ["SS102"]
    assert [f.code for f in findings_of(names, [race, blocking, child])] == ["SS204"]
    doubtful = replace(race, assumed=True)
    implicit = replace(race, code=107, variant=FactVariant.FREE_PINNED)
    assert [f.code for f in findings_of(names, [doubtful, implicit])] == ["SS102", "SS107"]


def test_a_handle_that_died_too_early_is_reported_at_its_first_use() -> None:
    names = HandMade()
    create = names.operation(OperationKind.STREAM_CREATE, 2, "cudaStreamCreate", label="s1")
    destroy = names.operation(OperationKind.STREAM_DESTROY, 4, "cudaStreamDestroy")
    related = ((RelatedRole.CREATE, create), (RelatedRole.DESTROY, destroy))
    uses = [names.operation(OperationKind.STREAM_SYNCHRONIZE, line, "cudaStreamSynchronize") for line in (6, 7)]
    facts = [Fact(205, FactVariant.STALE_STREAM, use, related) for use in uses]
    (finding,) = findings_of(names, facts[::-1])
    assert finding.location.line == 6
    assert finding.message == "`cudaStreamSynchronize` uses stream `s1` after it was destroyed"
    certain = [replace(facts[0], assumed=True), facts[1]]
    assert [f.location.line for f in findings_of(names, certain)] == [7]


def test_the_first_use_before_its_allocation_speaks_for_its_stream() -> None:
    names = HandMade()
    s1, s2 = names.stream("s1"), names.stream("s2")
    made = names.operation(OperationKind.ALLOC, 3, "cudaMallocAsync", label="d_x")
    memory = names.memory("d_x", 3)
    facts = [
        Fact(
            103,
            FactVariant.NONE,
            names.operation(OperationKind.LAUNCH, line, label="scale", stream_site=stream),
            ((RelatedRole.ALLOC, made),),
            memory,
        )
        for line, stream in ((5, s1), (6, s1), (7, s2))
    ]
    assert [f.location.line for f in findings_of(names, facts)] == [5, 7]


def test_findings_are_the_same_whatever_the_order_of_facts() -> None:
    names = HandMade()
    facts = [use_races_free(names), fact_of(501)[1], fact_of(401)[1], fact_of(602)[1]]
    facts = [replace(fact, operation=replace(fact.operation, site=1 + i)) for i, fact in enumerate(facts)]
    first, second = (
        [replace(each, basis=each.basis.places_alone()) for each in findings_of(names, ordered)]
        for ordered in (facts, facts[::-1])
    )
    assert first == second


def test_what_only_unseen_code_could_order_is_a_possible_note_that_says_so() -> None:
    names, fact = fact_of(102, FactVariant.FREE_ASYNC)
    finding = only(names, replace(fact, assumed=True, unseen=True))
    assert (finding.severity, finding.confidence) == (Severity.NOTE, Confidence.POSSIBLE)
    assert finding.message.endswith("(unless code that is not visible orders it)")


def test_a_thousand_findings_are_judged_against_each_other_by_place() -> None:
    names, fact = fact_of(102, FactVariant.FREE_ASYNC)
    facts = []
    for line in range(1000, 1500):
        free = replace(fact.operation, site=names.at(line))
        facts += [replace(fact, operation=free), replace(fact, code=501, operation=free)]
    assert {finding.code for finding in findings_of(names, facts)} == {"SS102"}
