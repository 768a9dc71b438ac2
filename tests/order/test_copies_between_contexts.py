"""A copy that names no stream, of memory of two contexts, is in order with all work of both."""

from __future__ import annotations

import pytest
from order_program import PRIMARY, READ, WRITE, Program

from streamsan.trace import Reference
from streamsan.vocabulary import MemoryKind, SlotFlag, StreamKind, WaitClass
from streamsan.vocabulary import OperationKind as Kind

OTHER = 101
LEGACY, NEAR_STREAM, FAR_STREAM = 1, 10, 11
NEAR, FAR, ASIDE = 0x10000, 0x20000, 0x30000


def program(kind: StreamKind = StreamKind.BLOCKING) -> Program:
    p = Program()
    p.stream(NEAR_STREAM, kind)
    p.alloc(NEAR)
    p.context(OTHER)
    p.stream(FAR_STREAM, kind)
    p.alloc(FAR)
    p.current(PRIMARY)
    return p


def copy(p: Program, wait: WaitClass = WaitClass.BETWEEN_CONTEXTS, to: int = FAR, source: int = NEAR) -> None:
    references = [Reference(to, 256, 0, WRITE), Reference(source, 256, 0, READ)]
    p.builder.append(Kind.COPY, thread=0, api="cudaMemcpyPeer", stream=LEGACY, detail=wait, references=references)


def launch(p: Program, stream: int, address: int, context: int) -> None:
    p.current(context)
    p.launch(stream, address, mode=WRITE, bytes=256)
    p.current(PRIMARY)


KINDS = [StreamKind.BLOCKING, StreamKind.NON_BLOCKING]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("stream", "address", "context"), [(FAR_STREAM, FAR, OTHER), (NEAR_STREAM, NEAR, PRIMARY)])
def test_the_copy_is_behind_work_of_both_contexts(kind: StreamKind, stream: int, address: int, context: int) -> None:
    p = program(kind)
    launch(p, stream, address, context)
    copy(p)
    assert p.facts(109) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("stream", "address", "context"), [(FAR_STREAM, FAR, OTHER), (NEAR_STREAM, NEAR, PRIMARY)])
def test_later_work_of_both_contexts_is_behind_the_copy(
    kind: StreamKind, stream: int, address: int, context: int
) -> None:
    p = program(kind)
    copy(p)
    launch(p, stream, address, context)
    assert p.facts(109) == []


def test_work_of_a_stream_that_is_made_later_is_behind_the_copy() -> None:
    p = program()
    copy(p)
    p.current(OTHER)
    p.stream(12, StreamKind.NON_BLOCKING)
    p.launch(12, FAR, mode=WRITE, bytes=256)
    assert p.facts(109) == []


def test_a_copy_in_a_stream_is_in_the_order_of_that_alone() -> None:
    p = program()
    launch(p, FAR_STREAM, FAR, OTHER)
    copy(p, WaitClass.NONE)
    assert [fact.code for fact in p.facts(109)] == [109]


def test_a_copy_within_a_context_orders_no_other_one() -> None:
    p = program()
    p.alloc(ASIDE)
    launch(p, FAR_STREAM, NEAR, OTHER)
    copy(p, to=ASIDE)
    assert [fact.code for fact in p.facts(109)] == [109]


def test_what_does_not_block_the_default_stream_is_waited_for_with_reason() -> None:
    p = program(StreamKind.NON_BLOCKING)
    launch(p, FAR_STREAM, FAR, OTHER)
    p.sync(FAR_STREAM)
    copy(p)
    assert p.facts(504) == []


def test_memory_whose_context_is_not_known_may_be_of_any() -> None:
    p = program()
    p.alloc(ASIDE, MemoryKind.UNKNOWN, flags=SlotFlag.ASSUMED)
    launch(p, FAR_STREAM, ASIDE, OTHER)
    copy(p, to=ASIDE)
    assert p.facts(109) == []
