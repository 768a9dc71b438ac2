"""What a stream of an unknown caller may stand for: a blocking stream with work, or a default stream."""

from __future__ import annotations

import pytest
from order_program import PRIMARY, READ, WRITE, Program

from streamsan.trace import Reference
from streamsan.vocabulary import EdgeClass, MemoryKind
from streamsan.vocabulary import OperationKind as Kind

S, UNKNOWN, EVENT = 10, 20, 30
HOST = 0x90000


@pytest.mark.parametrize("unknown", [False, True])
def test_a_wait_for_the_default_stream_may_be_for_work_of_an_unknown_stream(unknown: bool) -> None:
    p = Program(S)
    if unknown:
        p.unknown_stream(UNKNOWN)
    p.op(Kind.EVENT_CREATE, object=EVENT)
    p.record(EVENT, 1)
    p.wait(S, EVENT)
    assert bool(p.facts(504)) is not unknown


def in_flight(p: Program) -> None:
    p.alloc(HOST, MemoryKind.PINNED)
    p.copy(1, HOST, WRITE, bytes=64)


def test_an_unknown_stream_may_be_the_default_one_that_a_reset_does_not_end() -> None:
    p = Program(S, whole=False)
    p.unknown_stream(UNKNOWN)
    p.op(Kind.DEVICE_RESET, object=PRIMARY)
    in_flight(p)
    p.sync(UNKNOWN)
    p.op(Kind.HOST_ACCESS, memory=HOST, mode=READ, bytes=16)
    (fact,) = p.facts(108)
    assert fact.may_be_equal


def test_a_stream_that_was_destroyed_is_no_default_stream() -> None:
    p = Program(S, whole=False)
    p.unknown_stream(UNKNOWN)
    p.op(Kind.STREAM_DESTROY, object=UNKNOWN)
    in_flight(p)
    p.sync(UNKNOWN)
    p.op(Kind.HOST_ACCESS, memory=HOST, mode=READ, bytes=16)
    (fact,) = p.facts(108)
    assert not fact.may_be_equal


@pytest.mark.parametrize("stream", [S, UNKNOWN])
def test_a_body_on_an_unknown_stream_may_be_behind_the_default_one(stream: int) -> None:
    p = Program(S, whole=False, processes=(0, 0))
    if stream == UNKNOWN:
        p.unknown_stream(UNKNOWN)
    p.alloc(HOST, MemoryKind.PINNED)
    p.copy(2, HOST, WRITE, bytes=64)
    p.builder.append(Kind.HOST_FUNCTION, thread=0, api="call", stream=stream, object=82, references=[Reference(0)])
    p.op(Kind.HOST_ACQUIRE, thread=1, object=82, detail=EdgeClass.CONTRACT, api="")
    p.op(Kind.HOST_ACCESS, thread=1, memory=HOST, mode=READ, bytes=16)
    (fact,) = p.facts(108)
    assert fact.may_be_equal is (stream == UNKNOWN)


@pytest.mark.parametrize(
    ("used", "awaited", "may_be_equal"),
    [
        ((11, 7), (12, 7), False),
        ((11, 7), (12, 8), True),
        ((11, 7), (12, 0), True),
        ((11, 0), (12, 7), True),
        ((11, 0), (12, 0), True),
        # What the program made is no default stream.
        ((2, 0), (12, 7), False),
        ((2, 0), (12, 0), True),
        ((11, 7), (1, 0), False),
    ],
)
def test_streams_of_one_number_are_apart(used: tuple[int, int], awaited: tuple[int, int], may_be_equal: bool) -> None:
    p = Program(whole=False)
    for stream, number in (used, awaited):
        if stream > 2:
            p.unknown_stream(stream, apart=number)
    p.alloc(HOST, MemoryKind.PINNED)
    p.copy(used[0], HOST, WRITE, bytes=64)
    p.sync(awaited[0])
    p.op(Kind.HOST_ACCESS, memory=HOST, mode=READ, bytes=16)
    facts = p.facts(108)
    # A wait for the legacy default stream is one for the blocking streams.
    assert [fact.may_be_equal for fact in facts] == ([] if awaited[0] == 1 else [may_be_equal])
