"""SS101 to SS104, SS107, SS108: uses against allocations and frees."""

from __future__ import annotations

import pytest
from order_program import OPAQUE, READ, WRITE, Program, line_of
from recorded_program import Recording

from streamsan.vocabulary import EdgeClass, FreeClass, MemoryKind, RelatedRole, SlotFlag, StreamKind, WaitClass
from streamsan.vocabulary import OperationKind as Kind

ORDERED = MemoryKind.STREAM_ORDERED
S, T = 10, 11
P = 0x10000
INVALID_VALUE = 1


def test_free_races_a_use_on_another_stream() -> None:
    program = Program(S, T)
    made = program.alloc(P, ORDERED, S)
    program.record(30, S)
    program.wait(T, 30)
    used = program.launch(T, P)
    freed = program.free(P, FreeClass.ASYNC, S)
    (fact,) = program.facts()
    assert (fact.code, fact.variant.name, fact.operation.site) == (102, "FREE_ASYNC", freed)
    assert [(role, other.site) for role, other in fact.related] == [(RelatedRole.ALLOC, made), (RelatedRole.USE, used)]
    assert fact.related[1][1].stream == T
    assert fact.related[1][1].stream_kind is StreamKind.NON_BLOCKING
    assert fact.allocation is not None
    assert (fact.allocation.address, fact.allocation.size, fact.allocation.kind) == (P, 256, ORDERED)
    assert fact.rests_on is EdgeClass.CONTRACT
    assert not fact.assumed
    assert not fact.may_be_equal


def test_an_event_orders_the_free() -> None:
    program = Program(S, T)
    program.alloc(P, ORDERED, S)
    program.record(30, S)
    program.wait(T, 30)
    program.launch(T, P)
    program.record(31, T)
    program.wait(S, 31)
    program.free(P, FreeClass.ASYNC, S)
    assert program.found() == []


@pytest.mark.parametrize(("kind", "codes"), [(StreamKind.BLOCKING, []), (StreamKind.NON_BLOCKING, [102])])
def test_the_legacy_stream_waits_for_blocking_streams_only(kind: StreamKind, codes: list[int]) -> None:
    program = Program()
    program.stream(S, kind)
    program.stream(T, kind)
    program.alloc(P)
    program.launch(S, P)
    program.free(P, FreeClass.ASYNC, 1)  # F-08, F-09
    assert [fact.code for fact in program.facts()] == codes


def test_use_before_the_allocation_is_reached() -> None:
    program = Program(S, T)
    program.alloc(P, ORDERED, S)
    used = program.launch(T, P)
    program.sync(T)
    program.sync(S)
    program.free(P, FreeClass.ASYNC, S)
    assert program.found() == [(103, "NONE", used)]


def test_a_plain_free_waits_but_nobody_promised_it() -> None:
    program = Program(S, T)
    program.alloc(P)
    program.launch(S, P)
    freed = program.free(P, duration=5000)
    assert program.found() == [(107, "FREE_DEVICE", freed), (501, "FREE_DEVICE", freed)]
    implicit, blocking = program.facts()
    assert implicit.rests_on is EdgeClass.OBSERVED
    assert 5000 <= blocking.cost_ns < 5010


def test_a_plain_free_does_not_wait_for_another_context() -> None:
    program = Program(S, T)
    program.alloc(P)
    program.context(200)
    program.stream(12)
    program.launch(12, P)
    program.current(100)
    freed = program.free(P)
    assert program.found() == [(102, "FREE_DEVICE", freed)]


def test_device_free_of_stream_ordered_memory_does_not_wait() -> None:
    program = Program(S, T)
    program.alloc(P, ORDERED, S)
    program.launch(S, P)
    freed = program.free(P)
    assert program.found() == [(102, "FREE_DEVICE", freed)]  # F-03


def test_device_free_of_stream_ordered_memory_after_a_wait_is_only_noted() -> None:
    program = Program(S, T)
    program.alloc(P, ORDERED, S)
    program.launch(S, P)
    program.sync(S)
    freed = program.free(P)
    assert program.found() == [(206, "NONE", freed)]


def test_use_after_an_asynchronous_free_in_the_same_stream() -> None:
    program = Program(S, T)
    program.alloc(P, ORDERED, S)
    program.free(P, FreeClass.ASYNC, S)
    used = program.launch(S, P + 16)
    program.launch(S, P)  # the same cause
    assert program.found() == [(101, "AFTER_ASYNC_FREE", used)]
    assert program.facts()[0].rests_on is EdgeClass.CONTRACT


@pytest.mark.parametrize(
    ("edge", "code", "rests_on"),
    [
        (EdgeClass.CONTRACT, 101, EdgeClass.CONTRACT),
        (EdgeClass.RUN, 101, EdgeClass.RUN),
        (None, 102, EdgeClass.CONTRACT),
    ],
)
def test_use_after_free_by_another_thread(edge: EdgeClass | None, code: int, rests_on: EdgeClass) -> None:
    program = Program(processes=(0, 0))
    program.current(100, thread=1)
    program.stream(S)
    program.hand_over(0, 1, key=1)
    program.alloc(P)
    program.free(P)
    if edge is not None:
        program.hand_over(0, 1, edge)
    program.launch(S, P, thread=1)
    (fact,) = program.facts()
    assert (fact.code, fact.rests_on) == (code, rests_on)
    assert fact.operation.kind is (Kind.LAUNCH if code == 101 else Kind.FREE)


@pytest.mark.parametrize("status", [0, INVALID_VALUE])
def test_a_copy_that_is_done_at_a_freed_address_is_of_other_memory(status: int) -> None:
    program = Recording(S)
    program.alloc(P)
    program.free(P)
    # The host's malloc got the addresses. What is still the freed memory, the driver refuses.
    used = program.copy(S, P + 16, READ, thread=1, status=status)
    expected = [(101, used)] if status else []
    assert [(fact.code, fact.operation.site) for fact in program.facts()] == expected


def test_a_kernel_that_is_launched_on_freed_memory_uses_it() -> None:
    program = Recording(S)
    program.alloc(P)
    program.free(P)
    used = program.launch(S, P + 16)
    assert [(fact.code, fact.operation.site) for fact in program.facts()] == [(101, used)]


def test_a_recycled_address_is_new_memory() -> None:
    program = Program(S, T)
    program.alloc(P, generation=1)
    program.free(P, generation=1)
    program.alloc(P, generation=2)
    program.launch(S, P, generation=2)
    program.sync(S)
    program.free(P, generation=2)
    assert program.found() == []


def test_a_pointer_of_an_earlier_generation_is_stale() -> None:
    program = Program(S, T)
    program.alloc(P, generation=1)
    program.free(P, generation=1)
    program.alloc(P, generation=2)
    used = program.launch(S, P, generation=1)
    assert [(fact.code, fact.operation.site) for fact in program.facts()] == [(101, used)]


@pytest.mark.parametrize(
    ("kind", "family", "variant"),
    [(MemoryKind.MAPPED, FreeClass.UNMAP, "UNMAP"), (MemoryKind.IPC, FreeClass.IPC_CLOSE, "IPC_CLOSE")],
)
def test_unmapping_memory_in_use(kind: MemoryKind, family: FreeClass, variant: str) -> None:
    program = Program(S, T)
    program.alloc(P, kind)
    program.launch(S, P)
    unmapped = program.free(P, family)
    assert program.found() == [(104, variant, unmapped)]


@pytest.mark.parametrize(
    ("kind", "family", "variant"),
    [
        (MemoryKind.HOST_HEAP, FreeClass.HOST_HEAP, "HOST_FREE"),
        (MemoryKind.HOST_STACK, FreeClass.HOST_SCOPE, "HOST_SCOPE_END"),
    ],
)
def test_host_memory_gone_while_a_copy_reads_it(kind: MemoryKind, family: FreeClass, variant: str) -> None:
    program = Program(S, T)
    program.alloc(P, kind)
    program.copy(S, P, READ)
    gone = program.free(P, family)
    assert program.found() == [(108, variant, gone)]


def test_freeing_pinned_memory_waits_but_nobody_promised_it() -> None:
    program = Program(S, T)
    program.alloc(P, MemoryKind.PINNED)
    program.copy(S, P, READ)
    freed = program.free(P, FreeClass.PINNED)  # F-11
    assert program.found() == [(107, "FREE_PINNED", freed), (501, "FREE_PINNED", freed)]


def test_unregistering_leaves_host_memory() -> None:
    program = Program(S, T)
    program.alloc(P, MemoryKind.HOST_HEAP, generation=1)
    program.alloc(P, MemoryKind.REGISTERED, generation=2)
    program.copy(S, P, READ, generation=1)
    undone = program.free(P, FreeClass.UNREGISTER, generation=2)  # F-12
    program.copy(S, P, READ, generation=1)
    program.sync(S)
    program.free(P, FreeClass.HOST_HEAP, generation=1)
    assert program.found() == [(107, "FREE_UNREGISTER", undone), (501, "FREE_UNREGISTER", undone)]


@pytest.mark.parametrize(
    ("device", "host", "variant"),
    [(READ, WRITE, "HOST_WRITE"), (WRITE, READ, "HOST_READ"), (WRITE, WRITE, "HOST_WRITE"), (READ, READ, None)],
)
def test_host_access_while_a_copy_is_pending(device: object, host: object, variant: str | None) -> None:
    program = Program(S, T)
    program.alloc(P, MemoryKind.PINNED)
    program.copy(S, P, device)  # type: ignore[arg-type]
    touched = program.op(Kind.HOST_ACCESS, memory=P, mode=host, api="")  # type: ignore[arg-type]
    assert program.found() == ([] if variant is None else [(108, variant, touched)])


def test_another_half_of_a_buffer_is_free_to_touch() -> None:
    program = Program(S, T)
    program.alloc(P, MemoryKind.PINNED)
    program.copy(S, P, READ, bytes=128)
    program.op(Kind.HOST_ACCESS, memory=P + 128, mode=WRITE, bytes=128, api="")
    assert program.found() == []
    program.copy(T, P + 128, READ, bytes=128)
    touched = program.op(Kind.HOST_ACCESS, memory=P, mode=WRITE, bytes=4, api="")
    assert program.found() == [(108, "HOST_WRITE", touched)]


def test_a_staged_copy_has_read_its_pageable_source() -> None:
    program = Program(S, T)
    program.alloc(P, MemoryKind.HOST_STACK)
    program.copy(1, P, READ, detail=WaitClass.BEFORE)
    program.free(P, FreeClass.HOST_SCOPE)
    assert program.found() == []


def test_an_opaque_call_silences() -> None:
    program = Program(S, T)
    program.alloc(P, ORDERED, S)
    program.launch(S, P)
    program.op(Kind.OPAQUE_CALL, memory=P)
    program.free(P, FreeClass.ASYNC, T)
    assert program.found() == []


@pytest.mark.parametrize("made_here", [False, True])
def test_unknown_streams_may_be_one(made_here: bool) -> None:
    program = Program(whole=False)
    program.unknown_stream(S)
    (program.stream if made_here else program.unknown_stream)(T)
    program.alloc(P)
    program.launch(T, P)
    program.free(P, FreeClass.ASYNC, S)
    (fact,) = program.facts(102)
    assert fact.may_be_equal is not made_here
    assert fact.assumed
    assert fact.operation.stream_assumed


def test_a_reference_that_may_not_be_used_is_assumed() -> None:
    program = Program(S, T)
    program.alloc(P)
    program.free(P)
    program.launch(S, P, mode=OPAQUE, flags=int(SlotFlag.ASSUMED))
    (fact,) = program.facts(101)
    assert fact.assumed


def test_instances_of_one_place_are_one_fact() -> None:
    program = Program(S, T)
    for _ in range(3):
        program.alloc(P, at=50)
        program.launch(S, P, at=51)
        program.free(P, at=52, duration=100)
    implicit, blocking = program.facts()
    assert (implicit.code, implicit.count) == (107, 3)
    assert (blocking.code, blocking.count, blocking.cost_ns) == (501, 3, 300)


def test_order_that_only_unseen_code_could_give() -> None:
    program = Program(S, T)
    program.alloc(P, MemoryKind.STREAM_ORDERED, S)
    program.op(Kind.OPAQUE_CALL, api="")
    used = program.launch(T, P)
    program.op(Kind.OPAQUE_CALL, api="")
    freed = program.free(P, FreeClass.ASYNC, S)
    facts = program.facts(102, 103)
    assert [(fact.code, line_of(fact), fact.unseen, fact.assumed) for fact in facts] == [
        (103, used, True, True),
        (102, freed, True, True),
    ]


def test_unseen_code_that_had_the_memory_silences() -> None:
    program = Program(S)
    program.alloc(P)
    program.launch(S, P)
    program.op(Kind.OPAQUE_CALL, api="", memory=P)
    program.free(P)
    assert program.facts(102, 107) == []


def test_order_that_was_seen_in_the_run_silences_beside_unseen_code() -> None:
    program = Program(S, processes=(0, 0))
    program.alloc(P)
    program.launch(S, P)
    program.sync(S)
    program.hand_over(0, 1, EdgeClass.RUN)
    program.op(Kind.OPAQUE_CALL, api="")
    program.free(P, thread=1)
    assert program.facts(102, 107) == []


def test_a_host_read_that_only_unseen_code_could_order() -> None:
    program = Program(S)
    program.alloc(P, MemoryKind.PINNED)
    program.copy(S, P, WRITE)
    program.op(Kind.OPAQUE_CALL, api="")
    program.op(Kind.HOST_ACCESS, memory=P, mode=READ, api="")
    (fact,) = program.facts(108)
    assert (fact.unseen, fact.assumed) == (True, True)


@pytest.mark.parametrize(("size", "assumed"), [(0, True), (256, False)])
def test_a_host_read_of_unknown_extent_may_end_before_the_copy(size: int, assumed: bool) -> None:
    program = Program(S, T)
    program.alloc(P, MemoryKind.PINNED, bytes=256)
    program.copy(S, P + 128, WRITE, bytes=128)
    program.op(Kind.HOST_ACCESS, memory=P, mode=READ, api="", bytes=size)
    (fact,) = program.facts(108)
    assert fact.assumed is assumed
