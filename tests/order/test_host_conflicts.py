"""Work of several streams on memory that the host sees, and copies whose rows leave gaps (SS109, SS108)."""

from __future__ import annotations

import pytest
from order_program import OPAQUE, READ, READ_WRITE, WRITE, Node, Program, kernel, line_of

from streamsan.order.facts import Fact
from streamsan.trace import Reference
from streamsan.vocabulary import AccessMode, MemoryKind, NodeKind, RelatedRole, SlotFlag, WaitClass
from streamsan.vocabulary import OperationKind as Kind

S, T = 10, 11
G, E = 70, 30
P = 0x10000
TOUCHES, ATOMIC, STRIDED = SlotFlag.TOUCHES, SlotFlag.ATOMIC, SlotFlag.STRIDED
HOST_KINDS = [MemoryKind.PINNED, MemoryKind.REGISTERED, MemoryKind.MANAGED]


def program(kind: MemoryKind = MemoryKind.PINNED) -> Program:
    p = Program(S, T)
    p.op(Kind.EVENT_CREATE, object=E)
    p.alloc(P, kind, bytes=4096)
    return p


def order(p: Program) -> None:
    p.record(E, S)
    p.wait(T, E)


def copy_node(address: int, size: int, mode: AccessMode, flags: int = 0) -> Node:
    return Node(NodeKind.COPY, (Reference(address, size, 0, mode, flags),))


def conflict(p: Program) -> Fact:
    (fact,) = p.facts()
    assert fact.code == 109
    return fact


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("kind", HOST_KINDS)
@pytest.mark.parametrize(("one", "other"), [(WRITE, WRITE), (WRITE, READ), (READ, WRITE)])
def test_copies_of_two_streams(kind: MemoryKind, one: AccessMode, other: AccessMode, ordered: bool) -> None:
    p = program(kind)
    first = p.copy(S, P, one, bytes=4096)
    if ordered:
        order(p)
    second = p.copy(T, P + 1024, other, bytes=512)
    if ordered:
        assert p.found() == []
        return
    fact = conflict(p)
    assert (line_of(fact), fact.related[1][1].site, fact.assumed) == (second, first, False)
    assert [role for role, _ in fact.related] == [RelatedRole.ALLOC, RelatedRole.USE]


def test_a_fill_and_a_copy_of_mapped_memory() -> None:
    p = program()
    p.op(Kind.MEMSET, stream=S, memory=P, bytes=4096, mode=WRITE)
    p.copy(T, P, WRITE, bytes=4096)
    assert not conflict(p).assumed


def test_a_registered_range_of_host_memory() -> None:
    p = program(MemoryKind.HOST_HEAP)
    p.alloc(P, MemoryKind.REGISTERED, bytes=4096)
    p.copy(S, P, WRITE, bytes=4096)
    p.copy(T, P, WRITE, bytes=4096)
    assert not conflict(p).assumed


def test_pageable_memory_is_a_doubt() -> None:
    p = program(MemoryKind.HOST_HEAP)
    p.copy(S, P, WRITE, bytes=4096)
    p.copy(T, P, WRITE, bytes=4096)
    assert conflict(p).assumed


def test_parts_of_a_host_buffer_and_readers() -> None:
    p = program()
    for i, stream in enumerate((S, T, S, T)):
        p.copy(stream, P + 1024 * i, WRITE, bytes=1024)
        p.launch(stream, P + 1024 * i, mode=READ_WRITE, reference_flags=TOUCHES)
        p.copy(stream, P + 1024 * i, READ, bytes=1024)
    assert p.found() == []
    q = program()
    q.copy(S, P, READ, bytes=4096)
    q.copy(T, P, READ, bytes=4096)
    assert q.found() == []


@pytest.mark.parametrize("kind", HOST_KINDS)
def test_kernels_may_be_meant_to_meet_in_memory_that_the_host_sees(kind: MemoryKind) -> None:
    p = program(kind)
    p.launch(S, P, mode=WRITE, reference_flags=TOUCHES)
    p.launch(T, P, mode=READ_WRITE, reference_flags=TOUCHES)
    assert conflict(p).assumed
    q = program(kind)
    q.launch(S, P, mode=WRITE, reference_flags=TOUCHES)
    q.copy(T, P, READ, bytes=256)
    assert not conflict(q).assumed
    r = program(kind)
    for stream in (S, T):
        r.launch(stream, P, mode=READ_WRITE, reference_flags=TOUCHES | ATOMIC)
    assert r.found() == []


def test_copies_of_unknown_size_are_a_doubt_where_they_begin_together() -> None:
    p = program()
    p.copy(S, P, WRITE)
    p.copy(T, P + 1024, WRITE)
    assert p.found() == []
    p.copy(T, P, WRITE)
    assert conflict(p).assumed


def test_a_host_function_is_not_judged() -> None:
    p = program()
    p.op(Kind.HOST_FUNCTION, stream=S, memory=P, mode=WRITE, bytes=64)
    p.copy(T, P, WRITE, bytes=4096)
    assert p.found() == []
    q = program()
    q.graph(G, [Node(NodeKind.HOST, (Reference(P, 0, 0, WRITE, TOUCHES),)), copy_node(P, 64, WRITE)])
    q.copy(T, P + 2048, WRITE, bytes=64)
    q.graph_launch(G, S)
    q.copy(T, P + 1024, WRITE, bytes=64)
    assert q.found() == []


def test_values_in_memory_may_order_host_buffers() -> None:
    p = program()
    p.copy(S, P, WRITE, bytes=4096)
    p.op(Kind.STREAM_MEMORY_OP, stream=T)
    p.copy(T, P, WRITE, bytes=4096)
    assert p.found() == []


def test_a_synchronous_copy_of_the_default_stream_is_taken_to_be_over() -> None:
    p = program()
    p.copy(1, P, READ, bytes=4096, detail=WaitClass.MAYBE_COMPLETE)
    p.copy(S, P, WRITE, bytes=4096)
    assert conflict(p).assumed


def test_an_older_part_of_a_host_buffer_is_remembered() -> None:
    p = program()
    first = p.copy(S, P, WRITE, bytes=4096)
    p.launch(S, P, mode=READ_WRITE)
    p.copy(S, P, WRITE)  # how much is not known
    p.copy(T, P + 2048, READ, bytes=16)
    fact = conflict(p)
    assert (fact.related[1][1].site, fact.assumed) == (first, False)


@pytest.mark.parametrize("ordered", [False, True])
def test_a_graph_and_a_stream_share_a_pinned_buffer(ordered: bool) -> None:
    p = program()
    p.graph(G, [copy_node(P, 256, WRITE)])
    p.graph_launch(G, S)
    if ordered:
        order(p)
    p.copy(T, P, READ, bytes=256)
    p.graph_destroy(G)
    if ordered:
        assert p.found() == []
    else:
        assert not conflict(p).assumed


def test_a_graph_that_is_gone_is_remembered_for_host_buffers() -> None:
    p = program()
    p.graph(G, [copy_node(P, 256, WRITE), kernel(P + 1024, WRITE)], [(1, 2)])
    p.graph_launch(G, S)
    p.graph_destroy(G)
    p.copy(T, P + 128, READ, bytes=64)
    assert not conflict(p).assumed


@pytest.mark.parametrize("memory", [MemoryKind.PLAIN, MemoryKind.PINNED])
@pytest.mark.parametrize(
    ("one", "other", "assumed"),
    [
        ((P, 1000, STRIDED), (P + 64, 1000, STRIDED), True),  # columns side by side, or not
        ((P, 1000, STRIDED), (P + 64, 100, 0), True),  # between its rows, or not
        ((P, 1000, STRIDED), (P, 100, 0), False),
        ((P, 1000, STRIDED), (P, 900, STRIDED), False),
        ((P + 64, 1000, STRIDED), (P, 2000, 0), False),
        ((P, 1000, STRIDED), (P + 1000, 1000, STRIDED), None),
        ((P + 64, 1000, 0), (P, 1000, 0), False),
    ],
)
@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("in_a_graph", [False, True])
def test_rows_with_gaps(
    memory: MemoryKind,
    one: tuple[int, int, int],
    other: tuple[int, int, int],
    assumed: bool | None,
    swap: bool,
    in_a_graph: bool,
) -> None:
    p = program(memory)
    pair = [other, one] if swap else [one, other]
    if in_a_graph:
        p.graph(G, [copy_node(address, size, WRITE, flags) for address, size, flags in pair])
    else:
        for stream, (address, size, flags) in zip((S, T), pair, strict=True):
            p.op(Kind.COPY, stream=stream, memory=address, bytes=size, mode=WRITE, reference_flags=flags)
    assert [fact.assumed for fact in p.facts(109)] == ([] if assumed is None else [assumed])


def test_a_kernel_in_the_gaps() -> None:
    p = program(MemoryKind.PLAIN)
    p.op(Kind.MEMSET, stream=S, memory=P, bytes=1000, mode=WRITE, reference_flags=STRIDED)
    p.launch(T, P + 64, mode=READ_WRITE, reference_flags=TOUCHES | ATOMIC)
    assert conflict(p).assumed
    p.launch(T, P, mode=READ, reference_flags=TOUCHES)
    assert [fact.assumed for fact in p.facts()] == [True, False]


def test_atomics_and_rows_are_told_apart() -> None:
    p = program(MemoryKind.PLAIN)
    p.op(Kind.COPY, stream=S, memory=P, bytes=1000, mode=WRITE, reference_flags=STRIDED)
    p.op(Kind.COPY, stream=T, memory=P, bytes=1000, mode=WRITE, reference_flags=STRIDED)
    assert not conflict(p).assumed


def test_a_later_copy_with_gaps_stands_for_no_earlier_one() -> None:
    p = program(MemoryKind.PLAIN)
    first = p.copy(S, P, WRITE, bytes=1000)
    p.op(Kind.COPY, stream=S, memory=P, bytes=1000, mode=WRITE, reference_flags=STRIDED)
    p.copy(T, P + 64, READ, bytes=16)
    facts = p.facts(109)
    assert sorted((fact.related[1][1].site == first, fact.assumed) for fact in facts) == [(False, True), (True, False)]


@pytest.mark.parametrize(
    ("address", "size", "flags", "assumed"),
    [
        (P, 4096, 0, False),
        (P, 0, 0, False),
        (P + 64, 64, 0, True),
        (P + 64, 0, 0, True),
    ],
)
@pytest.mark.parametrize("waits", [False, True])
def test_the_host_reads_what_a_copy_with_gaps_writes(
    address: int, size: int, flags: int, assumed: bool, waits: bool
) -> None:
    p = program()
    p.op(Kind.COPY, stream=S, memory=P, bytes=1000, mode=WRITE, reference_flags=STRIDED)
    if waits:
        p.sync(S)
    p.op(Kind.HOST_ACCESS, memory=address, bytes=size, mode=READ, reference_flags=flags)
    assert [(fact.code, fact.assumed) for fact in p.facts()] == ([] if waits else [(108, assumed)])


@pytest.mark.parametrize(("begin", "assumed"), [(P, True), (P + 64, False), (P + 100, False)])
def test_a_copy_with_gaps_by_the_host_itself(begin: int, assumed: bool) -> None:
    p = program()
    p.copy(S, P + 64, WRITE, bytes=1000)
    p.op(Kind.COPY, stream=0, memory=begin, bytes=900, mode=READ, reference_flags=STRIDED)
    assert [(fact.code, fact.assumed) for fact in p.facts()] == [(108, assumed)]


def test_nodes_that_may_touch_the_same_bytes_are_said_once_for_two_places() -> None:
    p = program(MemoryKind.PLAIN)
    p.alloc(2 * P, bytes=4096)
    both = tuple(Reference(address, 0, 0, WRITE) for address in (P, 2 * P))
    line = p.graph(G, [Node(NodeKind.KERNEL, both), Node(NodeKind.KERNEL, both)])
    fact = conflict(p)
    assert (line_of(fact), fact.related[1][1].site, fact.assumed) == (line + 2, line + 1, True)


@pytest.mark.parametrize(
    ("one", "other", "edges"),
    [
        ((WRITE, 0), (OPAQUE, 0), []),  # it may only read
        ((READ, 0), (READ, 0), []),
        ((WRITE, 0), (WRITE, 0), [(1, 2)]),
        ((WRITE, SlotFlag.CONDITIONAL), (WRITE, SlotFlag.CONDITIONAL), []),  # perhaps only one of them runs
    ],
)
def test_nodes_of_which_nothing_is_said(
    one: tuple[AccessMode, int], other: tuple[AccessMode, int], edges: list[tuple[int, int]]
) -> None:
    p = program(MemoryKind.PLAIN)
    nodes = [Node(NodeKind.KERNEL, (Reference(P, 0, 0, mode),), flags=flags) for mode, flags in (one, other)]
    p.graph(G, nodes, edges)
    assert p.found() == []


def test_a_sure_conflict_of_two_nodes_needs_no_doubt() -> None:
    p = program(MemoryKind.PLAIN)
    p.alloc(2 * P, bytes=4096)
    references = (Reference(P, 0, 0, WRITE), Reference(2 * P, 0, 0, WRITE, TOUCHES))
    p.graph(G, [Node(NodeKind.KERNEL, references), Node(NodeKind.KERNEL, references)])
    assert not conflict(p).assumed
