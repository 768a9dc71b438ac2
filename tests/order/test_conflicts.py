"""Uses of the same memory that nothing orders (SS109)."""

from __future__ import annotations

import pytest
from order_program import OPAQUE, READ, READ_WRITE, WRITE, Program, line_of

from streamsan.trace import Reference
from streamsan.vocabulary import AccessMode, FreeClass, MemoryKind, RelatedRole, SlotFlag, StreamKind, WaitClass
from streamsan.vocabulary import OperationKind as Kind

S, T = 10, 11
P = 0x10000
TOUCHES, ATOMIC = SlotFlag.TOUCHES, SlotFlag.ATOMIC


def program(kind: MemoryKind = MemoryKind.PLAIN) -> Program:
    p = Program(S, T)
    p.alloc(P, kind, S if kind is MemoryKind.STREAM_ORDERED else 0, bytes=4096)
    return p


def kernel(p: Program, stream: int, mode: AccessMode, flags: int = 0, address: int = P) -> int:
    return p.launch(stream, address, mode=mode, reference_flags=flags)


@pytest.mark.parametrize("kind", [MemoryKind.PLAIN, MemoryKind.MAPPED])
def test_two_writes_of_the_same_bytes(kind: MemoryKind) -> None:
    p = program(kind)
    first = kernel(p, S, WRITE, TOUCHES)
    second = kernel(p, T, READ_WRITE, TOUCHES)
    (fact,) = p.facts()
    assert (fact.code, fact.variant.name, line_of(fact)) == (109, "CONFLICT_WRITE_WRITE", second)
    assert [role for role, _ in fact.related] == [RelatedRole.ALLOC, RelatedRole.USE]
    assert fact.related[1][1].site == first
    assert not fact.assumed
    assert all(operation.flags & TOUCHES for operation in (fact.operation, fact.related[1][1]))


def test_copies_of_overlapping_ranges() -> None:
    p = program()
    p.copy(S, P, WRITE, bytes=512)
    later = p.copy(T, P + 511, READ, bytes=16)
    assert p.found() == [(109, "CONFLICT_READ_WRITE", later)]
    assert not p.facts()[0].assumed


def test_a_known_write_and_a_use_that_may_touch_it_is_a_doubt() -> None:
    p = program()
    kernel(p, S, WRITE)
    kernel(p, T, OPAQUE)
    (fact,) = p.facts()
    assert fact.code == 109
    assert fact.assumed
    assert not fact.operation.flags & fact.related[1][1].flags & TOUCHES


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((READ, TOUCHES, P), (READ, TOUCHES, P)),
        ((OPAQUE, 0, P), (OPAQUE, 0, P)),
        ((READ_WRITE, TOUCHES | ATOMIC, P), (READ_WRITE, TOUCHES | ATOMIC, P)),
        ((WRITE, TOUCHES, P), (WRITE, TOUCHES, P + 2048)),  # streams that partition a buffer
        ((OPAQUE, 0, P), (READ, TOUCHES, P)),
    ],
)
def test_no_conflict(one: tuple[AccessMode, int, int], other: tuple[AccessMode, int, int]) -> None:
    p = program()
    kernel(p, S, *one)
    kernel(p, T, *other)
    assert p.found() == []


def test_copies_of_parts() -> None:
    p = program()
    for i, stream in enumerate((S, T, S, T)):
        p.copy(stream, P + 1024 * i, WRITE, bytes=1024)
        kernel(p, stream, READ_WRITE, TOUCHES, P + 1024 * i)
        p.copy(stream, P + 1024 * i, READ, bytes=1024)
    assert p.found() == []


def test_double_buffering_with_events() -> None:
    p = program()
    p.alloc(2 * P, bytes=4096)
    for event in (30, 31, 32, 33):
        p.op(Kind.EVENT_CREATE, object=event)
    for i in range(6):
        buffer, filled, used = (P, 30, 31) if i % 2 == 0 else (2 * P, 32, 33)
        if i > 1:
            p.wait(S, used, at=40)
        p.copy(S, buffer, WRITE, bytes=4096, at=41)
        p.record(filled, S, at=42)
        p.wait(T, filled, at=43)
        p.launch(T, buffer, mode=READ, reference_flags=TOUCHES, at=44)
        p.record(used, T, at=45)
    assert p.found() == []


@pytest.mark.parametrize("how", ["event", "host", "query", "legacy", "legacy waits"])
def test_what_orders(how: str) -> None:
    p = program()
    one, other = S, T
    if how.startswith("legacy"):
        p.stream(12, StreamKind.BLOCKING)
        one, other = (12, 1) if how == "legacy" else (1, 12)
    kernel(p, one, WRITE, TOUCHES)
    if how == "event":
        p.record(30, S)
        p.wait(T, 30)
    if how == "host":
        p.sync(S)
    if how == "query":
        p.op(Kind.STREAM_QUERY, stream=S)
    kernel(p, other, WRITE, TOUCHES)
    assert p.found() == []


def test_streams_that_may_be_one() -> None:
    p = program()
    p.unknown_stream(20)
    p.unknown_stream(21)
    kernel(p, 20, WRITE, TOUCHES)
    kernel(p, 21, WRITE, TOUCHES)
    (fact,) = p.facts()
    assert fact.may_be_equal
    assert fact.assumed


def test_values_in_memory_may_order() -> None:
    p = program()
    kernel(p, S, WRITE, TOUCHES)
    p.op(Kind.STREAM_MEMORY_OP, stream=T)
    kernel(p, T, WRITE, TOUCHES)
    assert p.found() == []


def test_one_cause_is_said_once() -> None:
    p = program(MemoryKind.STREAM_ORDERED)
    kernel(p, S, WRITE, TOUCHES)
    used = kernel(p, T, WRITE, TOUCHES)  # not after the allocation: that says it
    assert p.found() == [(103, "NONE", used)]


def test_parts_and_frees_do_not_mix_up() -> None:
    p = program(MemoryKind.STREAM_ORDERED)
    p.record(30, S)
    p.wait(T, 30)
    p.copy(S, P, WRITE, bytes=1024)
    p.copy(T, P + 1024, WRITE, bytes=1024)
    p.copy(S, P, WRITE, bytes=512)
    kernel(p, T, READ, TOUCHES, P + 2048)
    freed = p.free(P, FreeClass.ASYNC, S)
    assert p.found() == [(102, "FREE_ASYNC", freed)]


def pipeline(ordered: bool, chunks: int = 4) -> tuple[Program, list[int]]:
    """Copies to parts on one stream; another stream uses each part, behind an event or not."""
    p = program()
    copies = []
    for i in range(chunks):
        copies.append(p.copy(S, P + 512 * i, WRITE, bytes=512))
        p.record(30 + i, S)
    for i in range(chunks):
        if ordered:
            p.wait(T, 30 + i)
        kernel(p, T, READ, TOUCHES, P + 512 * i)
    return p, copies


def test_every_part_of_a_pipeline_is_remembered() -> None:
    p, copies = pipeline(ordered=False)
    facts = p.facts()
    assert [fact.code for fact in facts] == [109] * 4
    assert [fact.related[1][1].site for fact in facts] == copies
    assert not any(fact.assumed for fact in facts)
    assert pipeline(ordered=True)[0].found() == []


def test_a_part_that_a_later_use_covers_is_said_once() -> None:
    p = program()
    p.copy(S, P, WRITE, bytes=512)
    p.copy(S, P + 512, WRITE, bytes=512)
    whole = p.copy(S, P, WRITE, bytes=4096)
    kernel(p, T, READ, TOUCHES, P + 512)
    (fact,) = p.facts()
    assert fact.related[1][1].site == whole


def test_an_older_part_of_another_stream() -> None:
    p = program()
    p.stream(12)
    first = p.copy(S, P, WRITE, bytes=512)
    p.record(30, S)
    p.wait(T, 30)
    p.copy(T, P + 512, WRITE, bytes=512)
    later = p.copy(12, P, READ, bytes=16)
    (fact,) = p.facts()
    assert (line_of(fact), fact.related[1][1].site, fact.assumed) == (later, first, False)


def test_parts_are_bounded_and_end_with_their_memory() -> None:
    p = program(MemoryKind.STREAM_ORDERED)
    for i in range(200):
        p.copy(S, P + 16 * (i % 64), WRITE, bytes=16, at=50)
    p.free(P, FreeClass.ASYNC, S)
    p.alloc(P, MemoryKind.STREAM_ORDERED, T, bytes=4096)
    kernel(p, T, READ, TOUCHES)
    assert p.found() == []


HOST = 0x90000


@pytest.mark.parametrize(
    ("memory", "wait", "assumed"),
    [
        (MemoryKind.HOST_HEAP, WaitClass.BEFORE, True),  # staged, and in practice there
        (MemoryKind.PINNED, WaitClass.NONE, False),
        (MemoryKind.MANAGED, WaitClass.MAYBE_COMPLETE, True),
    ],
)
def test_a_copy_of_the_default_stream_before_a_launch(memory: MemoryKind, wait: WaitClass, assumed: bool) -> None:
    p = program()
    p.alloc(HOST, memory, bytes=4096)
    p.builder.append(
        Kind.COPY,
        thread=0,
        api="cudaMemcpy",
        stream=1,
        detail=wait,
        references=[Reference(P, 4096, 0, WRITE), Reference(HOST, 4096, 0, READ)],
    )
    kernel(p, S, READ_WRITE, TOUCHES)
    (fact,) = p.facts()
    assert (fact.code, fact.assumed) == (109, assumed)


def test_a_complete_copy_and_an_asynchronous_one() -> None:
    p = program()
    p.copy(1, P, WRITE, bytes=4096, detail=WaitClass.COMPLETE)
    kernel(p, S, READ_WRITE, TOUCHES)
    assert p.found() == []
    p.copy(T, P, READ, bytes=4096, detail=WaitClass.MAYBE_COMPLETE)
    (fact,) = p.facts()
    assert (fact.code, fact.assumed) == (109, False)


def test_a_staged_copy_does_not_wait_for_a_launch() -> None:
    p = program()
    kernel(p, S, READ, TOUCHES)
    p.copy(1, P, WRITE, bytes=4096, detail=WaitClass.BEFORE)
    (fact,) = p.facts()
    assert (fact.code, fact.assumed) == (109, False)


@pytest.mark.parametrize(("mode", "variant"), [(READ, "HOST_READ"), (WRITE, "HOST_WRITE")])
@pytest.mark.parametrize("waits", [False, True])
def test_a_copy_by_the_host_itself(mode: AccessMode, variant: str, waits: bool) -> None:
    p = program()
    p.alloc(HOST, MemoryKind.PINNED, bytes=4096)
    p.copy(S, HOST, WRITE, bytes=1024)
    if waits:
        p.sync(S)
    p.copy(0, HOST + 1024, mode, bytes=1024)
    copied = p.copy(0, HOST + 512, mode, bytes=16)
    assert p.found() == ([] if waits else [(108, variant, copied)])


def test_kernels_meet_in_the_first_element_of_an_array() -> None:
    p = program(MemoryKind.ARRAY)
    kernel(p, S, READ, TOUCHES)
    later = kernel(p, T, WRITE, TOUCHES)
    assert p.found() == [(109, "CONFLICT_READ_WRITE", later)]


@pytest.mark.parametrize("flags", [(0, TOUCHES), (TOUCHES, 0)])
def test_elsewhere_nobody_knows_how_an_array_lies(flags: tuple[int, int]) -> None:
    p = program(MemoryKind.ARRAY)
    kernel(p, S, WRITE, flags[0])
    kernel(p, T, WRITE, flags[1])
    assert p.found() == []


def test_copies_of_parts_of_an_array_have_its_own_address() -> None:
    p = program(MemoryKind.ARRAY)
    p.copy(S, P, WRITE, bytes=64)
    p.copy(T, P, WRITE, bytes=64)
    assert p.found() == []
