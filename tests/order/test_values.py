"""Waits for values in memory: each is behind the write that satisfies it, and behind no other."""

from __future__ import annotations

import pytest
from order_program import READ, READ_WRITE, WRITE, Program, line_of

from streamsan.trace import Reference
from streamsan.vocabulary import FreeClass, MemoryKind, SlotFlag, ValueOperation
from streamsan.vocabulary import OperationKind as Kind

S, T, U = 10, 11, 12
P, FLAG = 0x10000, 0x20000
GEQ, EQ, AND, NOR = (
    ValueOperation.WAIT_GEQ,
    ValueOperation.WAIT_EQ,
    ValueOperation.WAIT_AND,
    ValueOperation.WAIT_NOR,
)


def program(kind: MemoryKind = MemoryKind.PLAIN) -> Program:
    p = Program(S, T, U)
    p.alloc(P, MemoryKind.STREAM_ORDERED, S, bytes=4096)
    p.alloc(FLAG, kind, bytes=64)
    p.op(Kind.MEMSET, stream=S, memory=FLAG, mode=WRITE, bytes=4)
    p.sync(S)
    return p


def value(p: Program, stream: int, operation: ValueOperation, number: int, address: int = FLAG) -> None:
    mode = WRITE if operation in (ValueOperation.WRITE, ValueOperation.WRITE_64) else READ
    p.builder.append(
        Kind.STREAM_MEMORY_OP,
        thread=0,
        api="call",
        stream=stream,
        detail=operation,
        references=[Reference(address, number, 0, mode)],
    )


def write(p: Program, stream: int, number: int, address: int = FLAG) -> None:
    value(p, stream, ValueOperation.WRITE, number, address)


def use(p: Program, stream: int) -> int:
    return p.launch(stream, P, mode=READ_WRITE, reference_flags=SlotFlag.TOUCHES)


def loud(p: Program) -> list[tuple[int, int]]:
    return [(fact.code, line_of(fact)) for fact in p.facts(102, 103, 109) if not fact.assumed]


def test_behind_the_write_that_satisfies_it() -> None:
    p = program()
    use(p, S)
    write(p, S, 1)
    value(p, T, GEQ, 1)
    use(p, T)
    p.free(P, FreeClass.ASYNC, T)
    assert p.facts(102, 103, 107, 109) == []


def test_not_behind_a_later_write() -> None:
    p = program()
    write(p, S, 1)
    use(p, S)
    write(p, S, 2)
    value(p, T, GEQ, 1)
    later = use(p, T)
    freed = p.free(P, FreeClass.ASYNC, T)
    assert set(loud(p)) == {(109, later), (102, freed)}


@pytest.mark.parametrize(
    ("operation", "awaited", "first", "second"),
    [
        (GEQ, 2, 1, 2),
        (GEQ, 0xFFFFFFFF, 0xFFFFFFFE, 3),  # cyclic: 3 comes after 0xFFFFFFFF
        (EQ, 2, 3, 2),
        (AND, 4, 3, 6),
        (NOR, 0xFFFFFFF0, 0xF, 0x7),
    ],
)
def test_a_write_that_does_not_satisfy_it_is_not_what_it_waits_for(
    operation: ValueOperation, awaited: int, first: int, second: int
) -> None:
    right = program()
    write(right, S, first)
    use(right, S)
    write(right, S, second)
    value(right, T, operation, awaited)
    use(right, T)
    assert right.facts(102, 103, 109) == []
    wrong = program()
    write(wrong, S, second)
    use(wrong, S)
    write(wrong, S, first)
    value(wrong, T, operation, awaited)
    later = use(wrong, T)
    assert loud(wrong) == [(109, later)]


def test_words_of_64_bits() -> None:
    p = program()
    value(p, S, ValueOperation.WRITE_64, 1)
    use(p, S)
    value(p, S, ValueOperation.WRITE_64, 1 << 40)
    value(p, T, ValueOperation.WAIT_GEQ_64, 1 << 40)
    use(p, T)
    assert p.facts(102, 103, 109) == []


def test_a_value_that_was_taken_back_satisfies_nobody() -> None:
    p = program()
    write(p, S, 1)
    value(p, T, EQ, 1)
    write(p, T, 0)
    value(p, S, EQ, 0)
    use(p, S)
    write(p, S, 1)
    value(p, T, EQ, 1)
    use(p, T)
    assert p.facts(102, 103, 109) == []


def test_either_of_two_writes_may_satisfy_it() -> None:
    p = program()
    use(p, S)
    write(p, S, 1)
    write(p, U, 1)
    value(p, T, GEQ, 1)
    later = use(p, T)
    assert loud(p) == [(109, later)]


def test_what_both_writes_are_behind_is_ordered() -> None:
    p = program()
    use(p, S)
    p.op(Kind.EVENT_CREATE, object=30)
    p.record(30, S)
    p.wait(U, 30)
    write(p, S, 1)
    write(p, U, 1)
    value(p, T, GEQ, 1)
    use(p, T)
    assert p.facts(102, 103, 109) == []


def test_a_wait_that_is_issued_before_its_write() -> None:
    p = program()
    value(p, T, GEQ, 1)
    use(p, T)
    p.facts()
    p = program()
    value(p, T, GEQ, 1)
    use(p, S)
    write(p, S, 1)
    use(p, T)
    p.free(P, FreeClass.ASYNC, T)
    assert loud(p) == []


def test_after_the_write_all_is_known_again() -> None:
    p = program()
    value(p, T, GEQ, 1)
    write(p, S, 1)
    use(p, T)
    later = use(p, S)
    assert loud(p) == [(109, later)]


@pytest.mark.parametrize("kind", [MemoryKind.PINNED, MemoryKind.MANAGED])
def test_memory_that_the_host_writes_unseen(kind: MemoryKind) -> None:
    p = program(kind)
    write(p, S, 1)
    use(p, S)
    value(p, T, GEQ, 1)
    use(p, T)
    p.free(P, FreeClass.ASYNC, T)
    assert loud(p) == []
    assert [fact.code for fact in p.facts(102)] == [102]


def test_a_kernel_that_may_write_the_word() -> None:
    p = program()
    write(p, S, 1)
    p.launch(U, FLAG)
    use(p, S)
    value(p, T, GEQ, 1)
    use(p, T)
    p.free(P, FreeClass.ASYNC, T)
    assert loud(p) == []


def test_a_fill_that_takes_the_value_back() -> None:
    p = program()
    write(p, S, 1)
    p.op(Kind.MEMSET, stream=S, memory=FLAG, mode=WRITE, bytes=4)
    use(p, S)
    value(p, T, GEQ, 1)
    use(p, T)
    assert loud(p) == []


def test_values_that_are_not_known() -> None:
    p = program()
    use(p, S)
    p.op(Kind.STREAM_MEMORY_OP, stream=S, memory=FLAG, mode=WRITE)
    p.op(Kind.STREAM_MEMORY_OP, stream=T, memory=FLAG, mode=READ)
    use(p, T)
    p.free(P, FreeClass.ASYNC, T)
    (fact,) = p.facts(102, 103, 109)
    assert (fact.code, fact.assumed, fact.unseen) == (102, True, True)


def test_words_that_overlap_are_vague() -> None:
    p = program()
    value(p, S, ValueOperation.WRITE_64, 1 << 32)
    use(p, S)
    value(p, T, GEQ, 1, FLAG + 4)
    use(p, T)
    assert loud(p) == []


def test_another_word_of_the_same_memory() -> None:
    p = program()
    write(p, S, 1, FLAG + 8)
    use(p, S)
    write(p, S, 1)
    value(p, T, GEQ, 1, FLAG + 8)
    later = use(p, T)
    assert loud(p) == [(109, later)]


def test_work_on_the_word_itself_is_no_conflict() -> None:
    p = program()
    write(p, S, 1)
    value(p, T, EQ, 1)
    write(p, T, 2)
    assert p.facts(109) == []


def test_an_allocation_behind_a_wait_that_nothing_has_satisfied_yet() -> None:
    p = program()
    value(p, T, GEQ, 1)
    p.alloc(0x40000, MemoryKind.STREAM_ORDERED, S, bytes=256)
    p.launch(T, 0x40000)
    write(p, S, 1)
    assert loud(p) == []
