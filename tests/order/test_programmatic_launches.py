"""Kernels that may begin before the kernel before them on the stream has ended (programmatic dependent launch)."""

from __future__ import annotations

import pytest
from order_program import READ, WRITE, Program

from streamsan.trace import Reference
from streamsan.vocabulary import AccessMode, FreeClass, MemoryKind, OperationKind, SlotFlag, StreamKind, WaitClass

S, T, EVENT = 10, 11, 30
X, Y = 0x10000, 0x20000
OVERTAKES = "CONFLICT_OVERTAKES"


def program(kind: StreamKind = StreamKind.NON_BLOCKING) -> Program:
    p = Program()
    p.stream(S, kind)
    p.stream(T)
    p.alloc(X)
    p.alloc(Y)
    return p


def use(address: int, mode: AccessMode, *, behind: bool = False) -> Reference:
    return Reference(address, 0, 0, mode, SlotFlag.TOUCHES | (SlotFlag.BEHIND if behind else 0))


def kernel(p: Program, *references: Reference, detail: WaitClass = WaitClass.NONE, stream: int = S) -> int:
    p.line += 1
    p.builder.append(
        OperationKind.LAUNCH,
        thread=0,
        api="call",
        site=p.builder.site(p.builder.site_at(1).__class__("program", p.line)),
        stream=stream,
        detail=detail,
        references=references,
    )
    return p.line


def at_once(p: Program, *references: Reference, stream: int = S) -> int:
    return kernel(p, *references, detail=WaitClass.AT_ONCE, stream=stream)


@pytest.mark.parametrize(
    ("first", "second", "wrong"),
    [(WRITE, READ, True), (READ, WRITE, True), (WRITE, WRITE, True), (READ, READ, False)],
)
def test_a_kernel_that_does_not_wait_meets_the_one_before_it(
    first: AccessMode, second: AccessMode, wrong: bool
) -> None:
    p = program()
    kernel(p, use(X, first))
    later = at_once(p, use(X, second))
    assert p.found() == ([(109, OVERTAKES, later)] if wrong else [])


@pytest.mark.parametrize("detail", [WaitClass.NONE, WaitClass.PROGRAMMATIC])
def test_one_that_waits_or_may_wait_is_ordinary(detail: WaitClass) -> None:
    p = program()
    kernel(p, use(X, WRITE))
    kernel(p, use(X, READ), detail=detail)
    assert p.found() == []


def test_what_is_used_after_the_wait_is_ordered() -> None:
    p = program()
    kernel(p, use(X, WRITE))
    at_once(p, use(Y, READ), use(X, READ, behind=True))
    assert p.found() == []


def test_what_is_before_the_kernel_before_it_is_before_both() -> None:
    p = program()
    p.copy(S, X, WRITE, bytes=256)
    kernel(p, use(Y, WRITE))
    at_once(p, use(X, READ))
    assert p.found() == []


def test_no_kernel_of_a_chain_is_behind_another() -> None:
    p = program()
    kernel(p, use(X, WRITE))
    at_once(p, use(Y, WRITE))
    last = at_once(p, use(X, READ), use(Y, READ))
    assert [found[0::2] for found in p.found()] == [(109, last), (109, last)]


def test_a_kernel_that_waits_first_brings_the_next_one_behind_what_it_waited_for() -> None:
    p = program()
    kernel(p, use(X, WRITE))
    kernel(p, use(Y, WRITE), detail=WaitClass.PROGRAMMATIC)
    at_once(p, use(X, READ))
    assert p.found() == []


def test_not_so_one_that_lets_it_begin_before_it_waits() -> None:
    p = program()
    kernel(p, use(X, WRITE))
    at_once(p, Reference(0), use(Y, WRITE, behind=True))
    last = at_once(p, use(X, READ))
    assert p.found() == [(109, OVERTAKES, last)]


def test_what_comes_later_is_behind_both() -> None:
    p = program()
    kernel(p, use(X, WRITE))
    at_once(p, use(Y, WRITE))
    kernel(p, use(X, WRITE), use(Y, WRITE))
    p.sync(S)
    p.free(X)
    p.free(Y)
    assert p.found() == []


def test_other_streams_learn_of_both_by_an_event() -> None:
    p = program()
    p.op(OperationKind.EVENT_CREATE, object=EVENT)
    kernel(p, use(X, WRITE))
    at_once(p, use(Y, WRITE))
    p.record(EVENT, S)
    p.wait(T, EVENT)
    kernel(p, use(X, READ), use(Y, READ), stream=T)
    assert p.found() == []


@pytest.mark.parametrize("between", ["copy", "record", "wait", "alloc", "host wait"])
def test_behind_anything_but_a_kernel_it_is_ordinary(between: str) -> None:
    p = program()
    p.op(OperationKind.EVENT_CREATE, object=EVENT)
    p.record(EVENT, T)
    kernel(p, use(X, WRITE))
    if between == "copy":
        p.copy(S, Y, WRITE, bytes=256)
    elif between == "record":
        p.record(EVENT, S)
    elif between == "wait":
        p.wait(S, EVENT)
    elif between == "alloc":
        p.alloc(0x30000, MemoryKind.STREAM_ORDERED, S)
    else:
        p.sync(S)
    at_once(p, use(X, READ))
    assert not p.facts(109)


def test_work_of_the_legacy_stream_between_two_kernels_is_behind_the_first() -> None:
    p = program(StreamKind.BLOCKING)
    kernel(p, use(X, WRITE))
    kernel(p, use(Y, WRITE), stream=1)
    at_once(p, use(X, READ))
    assert p.found() == []


def test_another_stream_s_work_is_no_part_of_it() -> None:
    p = program()
    kernel(p, use(X, WRITE), stream=T)
    kernel(p, use(Y, WRITE))
    later = at_once(p, use(X, READ))
    assert p.found() == [(109, "CONFLICT_READ_WRITE", later)]


def test_a_wait_for_the_kernel_before_is_not_redundant() -> None:
    p = program()
    kernel(p, use(X, WRITE))
    p.sync(S)
    at_once(p, use(X, READ))
    p.sync(S)
    p.free(X)
    p.free(Y)
    p.exit()
    assert not p.facts(109, 504)


def test_a_stream_that_is_destroyed_leaves_both() -> None:
    p = program()
    kernel(p, use(X, WRITE))
    at_once(p, use(Y, WRITE))
    p.op(OperationKind.STREAM_DESTROY, object=S)
    wrong = p.free(Y, FreeClass.ASYNC, T)
    assert [found[0::2] for found in p.found()] == [(102, wrong)]
