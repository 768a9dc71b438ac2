"""SS502 (churn) and SS601 (failures that nobody looks at)."""

from __future__ import annotations

import pytest
from order_program import Program, line_of

from streamsan.order.facts import Fact
from streamsan.vocabulary import CallClass, FreeClass, HandleKind, MemoryKind, RelatedRole
from streamsan.vocabulary import OperationKind as Kind

S = 10
P = 0x10000


def program(origin: str = "source") -> Program:
    p = Program(S, origin=origin)
    return p


def loop(p: Program, rounds: int, kind: MemoryKind, family: FreeClass, *, works: bool = True) -> Program:
    for _ in range(rounds):
        p.alloc(P, kind, S if family is FreeClass.ASYNC else 0, at=50)
        if works:
            p.launch(S, P, at=51)
        p.sync(S, at=52)
        p.free(P, family, S if family is FreeClass.ASYNC else 0, at=53)
    return p


@pytest.mark.parametrize(
    ("kind", "family"), [(MemoryKind.PLAIN, FreeClass.DEVICE), (MemoryKind.PINNED, FreeClass.PINNED)]
)
@pytest.mark.parametrize(("origin", "rounds"), [("source", 4), ("recording", 8)])
def test_churn(origin: str, rounds: int, kind: MemoryKind, family: FreeClass) -> None:
    (fact,) = loop(program(origin), rounds, kind, family).facts(502)
    # The reader stops long and unknown loops early: it cannot say how often.
    assert (line_of(fact), fact.count) == (fact.related[0][1].site, 1 if origin == "source" else rounds)
    assert [role for role, _ in fact.related] == [RelatedRole.ALLOC, RelatedRole.FREE, RelatedRole.USE]
    assert loop(program(origin), rounds - 1, kind, family).facts(502) == []


def test_no_churn() -> None:
    assert loop(program(), 20, MemoryKind.STREAM_ORDERED, FreeClass.ASYNC).facts(502) == []
    assert loop(program(), 20, MemoryKind.PLAIN, FreeClass.DEVICE, works=False).facts(502) == []
    p = program()
    for _ in range(20):  # at places of their own
        p.alloc(P)
        p.launch(S, P)
        p.sync(S)
        p.free(P)
    assert p.facts(502) == []


@pytest.mark.parametrize("how", ["stream", "event", "context"])
def test_stream_ordered_churn(how: str) -> None:
    """By default a pool gives what is free back at such waits."""

    def rounds(turns: int, waits: str, setting: str = "") -> list[Fact]:
        p = program("recording")
        if setting:
            p.op(Kind.HANDLE_USE, api=setting, object=5, detail=HandleKind.POOL, at=40)
        for turn in range(turns):
            p.alloc(P, MemoryKind.STREAM_ORDERED, S, at=50)
            p.launch(S, P, at=51)
            if waits == "before":
                p.sync(S, at=52)
            p.free(P, FreeClass.ASYNC, S, at=53)
            p.record(30, S, at=54)
            if waits in ("stream", "query"):
                kind = Kind.STREAM_SYNCHRONIZE if waits == "stream" else Kind.STREAM_QUERY
                p.op(kind, stream=S, at=55)
            if waits == "event" or (waits == "seldom" and turn % 10 == 0):
                p.op(Kind.EVENT_SYNCHRONIZE, object=30, at=55)
            if waits == "context":
                p.sync_all(at=55)
        return p.facts(502)

    (fact,) = rounds(8, how)
    assert (fact.count, fact.assumed) == (8, False)
    assert [role for role, _ in fact.related] == [
        RelatedRole.ALLOC,
        RelatedRole.FREE,
        RelatedRole.USE,
        RelatedRole.SYNC,
    ]
    assert fact.allocation is not None
    assert fact.allocation.kind is MemoryKind.STREAM_ORDERED
    assert rounds(7, how) == []
    for right in ("none", "before", "query", "seldom"):
        assert rounds(200, right) == []
    for setting in ("cudaMemPoolSetAttribute", "cuMemPoolSetAttribute"):
        assert rounds(200, how, setting) == []


def test_stream_ordered_memory_that_another_stream_gets_next() -> None:
    p = program()
    p.stream(11)
    for _ in range(20):
        p.alloc(P, MemoryKind.STREAM_ORDERED, S, at=50)
        p.launch(S, P, at=51)
        p.free(P, FreeClass.ASYNC, S, at=53)
        p.sync(11, at=54)  # not the stream of the free
    assert p.facts(502) == []


def test_a_stream_ordered_loop_of_unknown_length_in_source() -> None:
    p = program()
    for _ in range(4):
        p.alloc(P, MemoryKind.STREAM_ORDERED, S, at=50)
        p.launch(S, P, at=51)
        p.free(P, FreeClass.ASYNC, S, at=53)
        p.sync(S, at=54)
    (fact,) = p.facts(502)
    assert fact.count == 1


@pytest.mark.parametrize("asks", [None, "cudaGetLastError", "cudaGetErrorString"])
def test_a_failure_that_nobody_looks_at(asks: str | None) -> None:
    p = program()
    failed = p.op(Kind.LAUNCH, stream=S, status=98)
    if asks is not None:
        p.op(Kind.CALL, api=asks)
    after = p.launch(S)
    p.launch(S)
    if asks is not None:
        assert p.found() == []
        return
    (fact,) = p.facts()
    assert (fact.code, fact.variant.name, line_of(fact), fact.operation.status) == (601, "UNCHECKED", failed, 98)
    assert [(role, other.site) for role, other in fact.related] == [(RelatedRole.USE, after)]


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (Kind.STREAM_QUERY, 600),
        (Kind.PEER_ENABLE, 704),
        (Kind.CALL, 1),
        (Kind.ALLOC_ATTRIBUTE, 1),
        (Kind.EVENT_QUERY, 600),
        (Kind.PREFETCH, 801),
    ],
)
def test_answers_are_no_failures(kind: Kind, status: int) -> None:
    p = program()
    p.op(kind, stream=S, status=status)
    p.launch(S)
    assert p.found() == []


@pytest.mark.parametrize(("launched", "found"), [(50, [(601, 50)]), (51, [])])
def test_a_refused_update_counts_if_the_old_graph_is_launched(launched: int, found: list[tuple[int, int]]) -> None:
    p = program()
    p.op(Kind.GRAPH_INSTANTIATE, object=50)
    p.op(Kind.GRAPH_INSTANTIATE, object=51)
    p.op(Kind.GRAPH_UPDATE, object=50, status=910)
    p.launch(S)
    p.op(Kind.GRAPH_LAUNCH, object=launched, stream=S)
    assert [(fact.code, 50) for fact in p.facts(601)] == found


def test_a_refused_update_leads_to_a_new_graph() -> None:
    p = program()
    p.op(Kind.GRAPH_INSTANTIATE, object=50)
    p.op(Kind.GRAPH_UPDATE, object=50, status=910)
    p.op(Kind.GRAPH_INSTANTIATE, object=51)
    p.op(Kind.GRAPH_LAUNCH, object=50, stream=S)
    assert p.facts(601) == []


@pytest.mark.parametrize(("kind", "said"), [(Kind.CAPTURE_END, 1), (Kind.STREAM_CREATE, 1), (Kind.ALLOC, 0)])
def test_an_allocation_goes_on_unless_it_tries_again(kind: Kind, said: int) -> None:
    p = program()
    p.op(kind, stream=S, status=401)
    p.alloc(P)
    assert len(p.facts(601)) == said


def test_a_status_that_surely_nobody_looks_at_needs_no_later_work() -> None:
    p = program()
    p.op(Kind.EVENT_ELAPSED, status=400)
    said = p.op(Kind.CALL, detail=CallClass.UNREAD, status=400)
    p.exit()
    assert [line_of(fact) for fact in p.facts(601)] == [said]


def test_an_error_that_stays_is_said_once() -> None:
    p = program()
    for _ in range(3):
        p.op(Kind.LAUNCH, stream=S, status=700)
        p.op(Kind.COPY, stream=S, status=700)
    assert len(p.facts(601)) == 1


def test_to_clean_up_is_to_handle_it() -> None:
    p = program()
    p.alloc(P)
    p.op(Kind.LAUNCH, stream=S, status=98)
    p.free(P)
    p.exit()
    assert p.facts(601) == []


def test_what_another_fact_explains_is_not_said_again() -> None:
    p = program()
    p.alloc(P)
    p.free(P)
    p.free(P, status=1)
    p.launch(S)
    assert [fact.code for fact in p.facts()] == [201]


@pytest.mark.parametrize(
    ("api", "status", "said"),
    [
        ("cudaSetDevice", 101, True),
        ("cudaFuncSetAttribute", 1, True),
        ("cuFuncSetAttribute", 1, True),
        ("cudaFuncGetAttributes", 98, False),
        ("cudaDeviceCanAccessPeer", 101, False),
        ("cudaPointerGetAttributes", 1, False),
        ("cudaGetDriverEntryPoint", 500, False),
        ("cudaChooseDevice", 1, False),
        ("cudaSetDeviceFlags", 708, False),
    ],
)
def test_calls_without_a_kind_of_their_own(api: str, status: int, said: bool) -> None:
    p = program()
    failed = p.op(Kind.CALL, api=api, status=status)
    p.launch(S)
    assert [line_of(fact) for fact in p.facts(601)] == ([failed] if said else [])


@pytest.mark.parametrize(("status", "said"), [(1, True), (101, True), (704, False), (217, False)])
def test_peers(status: int, said: bool) -> None:
    p = program()
    p.op(Kind.PEER_ENABLE, object=100, status=status)
    p.launch(S)
    assert len(p.facts(601)) == said


def test_an_update_that_has_to_be_a_new_graph_is_no_failure() -> None:
    p = program()
    p.op(Kind.GRAPH_UPDATE, object=70, status=910)
    p.launch(S)
    assert p.facts(601) == []
