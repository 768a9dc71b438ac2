"""The host uses managed or mapped memory while a kernel does (SS108): how sure that is, and what is meant."""

from __future__ import annotations

import pytest
from order_program import OPAQUE, READ, READ_WRITE, WRITE, Node, Program, kernel

from streamsan.trace import Reference
from streamsan.vocabulary import AccessMode, MemoryKind, NodeKind, RelatedRole, SlotFlag, WaitClass
from streamsan.vocabulary import OperationKind as Kind

S, T = 10, 11
G, E = 70, 30
P, SIZE = 0x100000, 4096
TOUCHES, ATOMIC = SlotFlag.TOUCHES, SlotFlag.ATOMIC
NOTE, LIKELY, SURE = (108, True, False), (108, True, True), (108, False, False)
VISIBLE = [MemoryKind.MANAGED, MemoryKind.PINNED, MemoryKind.REGISTERED]


def program(kind: MemoryKind, size: int = SIZE, origin: str = "source") -> Program:
    p = Program(S, T, origin=origin)
    p.op(Kind.EVENT_CREATE, object=E)
    p.alloc(P, kind, bytes=size)
    return p


def host(p: Program, mode: AccessMode, at: int = P, size: int = 4, polls: bool = False) -> int:
    return p.op(Kind.HOST_ACCESS, memory=at, bytes=size, mode=mode, reference_flags=ATOMIC if polls else 0)


def said(p: Program) -> list[tuple[int, bool, bool]]:
    return [(int(fact.code), fact.assumed, fact.likely) for fact in p.facts(108)]


@pytest.mark.parametrize("kind", VISIBLE)
@pytest.mark.parametrize(
    ("mode", "flags", "access", "at", "size", "found"),
    [
        (WRITE, TOUCHES, READ, P, 4, [SURE]),
        (READ, TOUCHES, WRITE, P, 4, [SURE]),
        (READ, TOUCHES, READ, P, 4, []),
        (READ_WRITE, TOUCHES, READ, P, 0, [SURE]),  # from there on, nobody knows how far
        (WRITE, TOUCHES, READ, P + 64, 4, [NOTE]),  # the other half, perhaps
        (WRITE, 0, READ, P, 4, [NOTE]),
        (WRITE, 0, READ, P, SIZE, [LIKELY]),  # all of it
        (OPAQUE, 0, READ, P, SIZE, []),
        (READ_WRITE, ATOMIC | TOUCHES, WRITE, P, 4, []),  # the host gives a signal
        (READ_WRITE, ATOMIC | TOUCHES, READ, P, 4, [NOTE]),  # or looks at a counter
    ],
)
@pytest.mark.parametrize("waits", ["", "stream", "event", "query", "context", "other stream"])
def test_one_access_beside_one_kernel(
    kind: MemoryKind,
    mode: AccessMode,
    flags: int,
    access: AccessMode,
    at: int,
    size: int,
    found: list[tuple[int, bool, bool]],
    waits: str,
) -> None:
    p = program(kind)
    p.launch(S, P, mode=mode, reference_flags=flags)
    p.record(E, S)
    if waits == "stream":
        p.sync(S)
    elif waits == "event":
        p.op(Kind.EVENT_SYNCHRONIZE, object=E)
    elif waits == "query":
        p.op(Kind.STREAM_QUERY, stream=S, status=600)
        p.op(Kind.STREAM_QUERY, stream=S)
    elif waits == "context":
        p.sync_all()
    elif waits == "other stream":
        p.sync(T)
    host(p, access, at, size)
    assert said(p) == ([] if waits not in ("", "other stream") else found)


def test_the_fact_names_the_kernel() -> None:
    p = program(MemoryKind.MANAGED)
    launch = p.launch(S, P, mode=WRITE, reference_flags=TOUCHES)
    line = host(p, READ)
    (fact,) = p.facts()
    assert (fact.operation.site, fact.related[1][0], fact.related[1][1].site) == (line, RelatedRole.USE, launch)


@pytest.mark.parametrize(
    ("kind", "mode", "access", "found"),
    [
        (MemoryKind.MANAGED, WRITE, READ, [LIKELY]),  # a result
        (MemoryKind.MANAGED, READ, WRITE, [NOTE]),  # a signal
        (MemoryKind.PINNED, WRITE, READ, [NOTE]),
        (MemoryKind.PINNED, READ, WRITE, [NOTE]),
    ],
)
def test_a_few_words_may_be_a_flag(
    kind: MemoryKind, mode: AccessMode, access: AccessMode, found: list[tuple[int, bool, bool]]
) -> None:
    p = program(kind, size=4)
    p.launch(S, P, mode=mode, reference_flags=TOUCHES)
    host(p, access)
    assert said(p) == found


@pytest.mark.parametrize("mode", [WRITE, OPAQUE])
@pytest.mark.parametrize("polled", [True, False])
def test_who_polls_what_a_kernel_writes_is_behind_it(mode: AccessMode, polled: bool) -> None:
    p = program(MemoryKind.PINNED)
    p.alloc(2 * P, MemoryKind.PINNED, bytes=4)
    p.op(Kind.LAUNCH, stream=S, memory=(P, 2 * P), mode=WRITE, reference_flags=TOUCHES)
    host(p, READ, 2 * P, polls=polled)
    host(p, READ, P)
    assert said(p) == ([] if polled else [NOTE, SURE])
    p.launch(S, P, mode=WRITE, reference_flags=TOUCHES)  # what comes later was not polled
    host(p, READ, P)
    assert said(p)[-1] == SURE


def test_in_a_recording_the_first_read_of_a_flag_may_be_one_of_many() -> None:
    p = program(MemoryKind.PINNED, origin="recording")
    p.alloc(2 * P, MemoryKind.PINNED, bytes=4)
    p.op(Kind.LAUNCH, stream=S, memory=(P, 2 * P), mode=WRITE, reference_flags=TOUCHES)
    host(p, READ, 2 * P)
    host(p, READ, P)
    assert said(p) == []


@pytest.mark.parametrize(("kind", "found"), [(MemoryKind.MANAGED, [SURE]), (MemoryKind.PINNED, [LIKELY])])
def test_in_a_recording_mapped_memory_is_never_sure(kind: MemoryKind, found: list[tuple[int, bool, bool]]) -> None:
    p = program(kind, origin="recording")
    p.launch(S, P, mode=WRITE, reference_flags=TOUCHES)
    host(p, READ)
    assert said(p) == found


def test_kernels_of_a_graph() -> None:
    p = program(MemoryKind.MANAGED)
    p.graph(G, [kernel(P, WRITE, touches=True)])
    p.graph_launch(G, S)
    host(p, READ)
    assert said(p) == [SURE]


def test_copies_and_fills_of_managed_memory() -> None:
    for sort in (Kind.COPY, Kind.MEMSET):
        p = program(MemoryKind.MANAGED)
        p.op(sort, stream=S, memory=P, bytes=SIZE, mode=WRITE)
        host(p, READ)
        assert said(p) == [SURE]
    p = program(MemoryKind.MANAGED)
    p.op(Kind.COPY, stream=S, memory=P, bytes=SIZE, mode=WRITE, detail=WaitClass.COMPLETE)
    p.op(Kind.PREFETCH, stream=S, memory=P, bytes=SIZE, mode=READ)
    host(p, WRITE)
    assert said(p) == []


def test_known_extents_of_kernels() -> None:
    for at, found in ((P + 1024, [SURE]), (P + 2048, [])):
        p = program(MemoryKind.MANAGED)
        p.graph(G, [Node(NodeKind.KERNEL, (Reference(P, 2048, 0, WRITE),))])
        p.graph_launch(G, S)
        host(p, READ, at)
        assert said(p) == found


def test_pageable_memory_that_kernels_reach_is_left_alone() -> None:
    p = program(MemoryKind.HOST_HEAP)
    p.launch(S, P, mode=WRITE, reference_flags=TOUCHES)
    host(p, READ)
    assert said(p) == []
