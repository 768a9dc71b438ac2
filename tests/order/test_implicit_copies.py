"""What rests on the measured wait of an asynchronous copy to pageable memory (SS107, L-10)."""

from __future__ import annotations

import pytest
from order_program import READ, READ_WRITE, WRITE, Program, line_of

from streamsan.trace import Reference
from streamsan.vocabulary import EdgeClass, FreeClass, MemoryKind, RelatedRole, SlotFlag, StreamKind, WaitClass
from streamsan.vocabulary import OperationKind as Kind

S, T = 10, 11
P, HOST, OTHER = 0x10000, 0x90000, 0xA0000


def program(kind: MemoryKind = MemoryKind.STREAM_ORDERED, host: MemoryKind = MemoryKind.HOST_HEAP) -> Program:
    p = Program(S, T)
    p.alloc(P, kind, S if kind is MemoryKind.STREAM_ORDERED else 0, bytes=4096)
    p.alloc(HOST, host, bytes=4096)
    return p


def download(p: Program, stream: int = S, wait: WaitClass = WaitClass.OBSERVED_COMPLETE, thread: int = 0) -> int:
    """Copy the device memory to the host memory; return the copy's number."""
    references = [Reference(HOST, 4096, 0, WRITE), Reference(P, 4096, 0, READ)]
    return p.builder.append(
        Kind.COPY, thread=thread, api="cudaMemcpyAsync", stream=stream, detail=wait, references=references
    )


def test_a_free_behind_the_copy() -> None:
    p = program()
    p.launch(S, P)
    copy = download(p)
    freed = p.free(P, FreeClass.ASYNC, T)
    (fact,) = p.facts()
    assert (fact.code, fact.variant.name, line_of(fact)) == (107, "IMPLICIT_COPY", freed)
    assert fact.rests_on is EdgeClass.OBSERVED
    assert [operation.sequence for role, operation in fact.related if role is RelatedRole.SYNC] == [copy]


@pytest.mark.parametrize("wait", [WaitClass.NONE, WaitClass.MAYBE_COMPLETE])
def test_a_copy_that_does_not_wait_orders_nothing(wait: WaitClass) -> None:
    p = program(host=MemoryKind.PINNED)
    p.launch(S, P)
    download(p, wait=wait)
    p.free(P, FreeClass.ASYNC, T)
    assert [fact.code for fact in p.facts()] == [102]


def test_a_promised_wait_behind_the_copy_is_silent() -> None:
    p = program()
    p.launch(S, P)
    download(p)
    p.sync(S)
    p.free(P, FreeClass.ASYNC, T)
    assert p.found() == []


def test_the_wait_for_such_a_copy_is_not_redundant() -> None:
    p = program()
    download(p)
    p.sync(S)
    p.free(P, FreeClass.ASYNC, S)
    assert p.facts(504) == []


def test_a_copy_before_the_use_orders_nothing() -> None:
    p = program()
    download(p)
    p.launch(S, P)
    p.free(P, FreeClass.ASYNC, T)
    assert [fact.code for fact in p.facts()] == [102]


def test_a_copy_on_another_stream_orders_nothing() -> None:
    p = program(MemoryKind.PLAIN)
    p.alloc(OTHER, MemoryKind.STREAM_ORDERED, S)
    p.launch(S, OTHER)
    download(p, T)
    p.free(OTHER, FreeClass.ASYNC, T)
    assert [fact.code for fact in p.facts()] == [102]


def test_a_plain_free_waits_itself() -> None:
    p = program(MemoryKind.PLAIN)
    p.launch(S, P)
    download(p)
    freed = p.free(P)
    assert p.found() == [(107, "FREE_DEVICE", freed)]


def test_what_the_copy_was_before_costs_a_free_nothing() -> None:
    p = program(MemoryKind.PLAIN)
    p.alloc(OTHER, MemoryKind.PLAIN)
    p.launch(S, P)
    p.free(OTHER)
    assert len(p.facts(501)) == 1
    p = program(MemoryKind.PLAIN)
    p.alloc(OTHER, MemoryKind.PLAIN)
    p.launch(S, P)
    download(p)
    p.free(OTHER)
    assert p.facts(501) == []


def test_a_use_on_another_stream_behind_the_copy() -> None:
    p = program(MemoryKind.PLAIN)
    p.copy(S, P, WRITE, bytes=4096)
    copy = download(p)
    later = p.launch(T, P, mode=READ_WRITE, reference_flags=SlotFlag.TOUCHES)
    assert set(p.found()) == {(107, "IMPLICIT_COPY", later)}
    for fact in p.facts():
        assert [operation.sequence for role, operation in fact.related if role is RelatedRole.SYNC] == [copy]


def test_a_use_that_may_be_of_other_bytes_is_silent_behind_the_copy() -> None:
    p = program(MemoryKind.PLAIN)
    p.launch(S, P)
    download(p)
    p.launch(T, P)
    assert p.found() == []


def test_a_use_of_memory_that_was_allocated_before_the_copy() -> None:
    p = program()
    p.alloc(OTHER, MemoryKind.STREAM_ORDERED, S)
    download(p)
    used = p.launch(T, OTHER)
    assert p.found() == [(107, "IMPLICIT_COPY", used)]


def test_what_a_free_orders_is_not_put_down_to_a_copy() -> None:
    p = program(MemoryKind.PLAIN)
    p.alloc(OTHER, MemoryKind.PLAIN)
    p.copy(S, P, WRITE, bytes=4096)
    p.free(OTHER)
    download(p, T)
    p.launch(T, P, mode=READ_WRITE, reference_flags=SlotFlag.TOUCHES)
    assert p.facts(107, 109) == []


@pytest.mark.parametrize("kind", [Kind.HOST_ACCESS, Kind.FREE])
def test_what_the_copy_has_written_is_nobodys_to_rely_on(kind: Kind) -> None:
    p = program()
    download(p)
    if kind is Kind.FREE:
        p.free(HOST, FreeClass.HOST_HEAP)
    else:
        p.op(kind, memory=HOST, mode=READ, bytes=16)
    assert [fact.code for fact in p.facts()] == [108]


def test_the_default_stream_waits_for_blocking_ones_before_it_copies() -> None:
    p = Program()
    p.stream(S, StreamKind.BLOCKING)
    p.stream(T)
    p.alloc(P, MemoryKind.STREAM_ORDERED, S, bytes=4096)
    p.alloc(HOST, MemoryKind.HOST_HEAP, bytes=4096)
    p.launch(S, P)
    download(p, 1)
    freed = p.free(P, FreeClass.ASYNC, T)
    assert p.found() == [(107, "IMPLICIT_COPY", freed)]


def test_another_thread_knows_nothing_of_the_wait() -> None:
    p = Program(S, T, processes=(0, 0))
    p.alloc(P, MemoryKind.STREAM_ORDERED, S, bytes=4096)
    p.hand_over(0, 1)
    p.alloc(HOST, MemoryKind.HOST_HEAP, bytes=4096)
    p.launch(S, P)
    download(p)
    p.free(P, FreeClass.ASYNC, T, thread=1)
    assert [fact.code for fact in p.facts()] == [102]
