"""Each kind of edges left out of the engine in turn: the random programs, or those here, must notice it.

Program order and the order of a stream's queue are no edges of a kind: they are the engine's timelines themselves.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache, partial

import pytest
from closure_reference import Reference
from closure_reference import differences as closure_differences
from execution_oracle.campaign import numbered
from execution_oracle.choices import program_of
from execution_oracle.comparison import differences
from execution_oracle.traces import trace_of
from execution_oracle.verdicts import Oracle, Verdicts
from random_programs import THREADS, random_program, with_unseen_bodies
from reference_traces import trace_of as reference_trace

import streamsan.order.engine
from streamsan.order._engine import EDGE_KINDS, Engine
from streamsan.order.engine import analyse
from streamsan.trace import Reference as MemoryReference
from streamsan.trace import Trace, TraceBuilder
from streamsan.vocabulary import AccessMode, EdgeClass, FreeClass, MemoryKind, StreamKind, ValueOperation
from streamsan.vocabulary import OperationKind as Kind

# Thousands of programs for each kind of edge.
pytestmark = pytest.mark.deep

SEED = 1
PROGRAMS = 3000
CLOSURE_PROGRAMS = 600


@cache
def _judged(number: int) -> tuple[Trace, Verdicts]:
    program = program_of(*numbered(SEED, number))
    return trace_of(program), Oracle(program).verdicts


@cache
def _closed(number: int) -> tuple[Trace, Reference]:
    program = random_program(random.Random(f"{SEED}:{number}"))
    recording = number % 2 == 1
    if recording:
        program = with_unseen_bodies(program)
    origin = "recording" if recording else "source"
    return reference_trace(program, origin), Reference(program, THREADS, recording=recording)


def _disagreements() -> Iterator[str]:
    for number in range(PROGRAMS):
        trace, verdicts = _judged(number)
        yield from differences(verdicts, analyse(trace))
    for number in range(CLOSURE_PROGRAMS):
        trace, reference = _closed(number)
        yield from closure_differences(reference, analyse(trace))
    for make in (wait_in_a_child, wait_for_a_destroyed_event, wait_for_a_value):
        trace, wanted = make()
        found = {(fact.code, fact.operation.sequence) for fact in analyse(trace).facts}
        if found != wanted:
            yield f"{make.__name__}: {wanted} expected, {found} found"


def wait_in_a_child() -> tuple[Trace, set[tuple[int, int]]]:
    """A child waits for what a thread of its own has learned of its parent, and has known that since the fork."""
    builder = TraceBuilder("fork")
    parent, one, other = builder.thread(0, "parent"), builder.thread(1, "child"), builder.thread(1, "second")

    def add(kind: Kind, thread: int, **fields: int) -> int:
        return builder.append(kind, thread=thread, api="call", **fields)  # type: ignore[arg-type]

    add(Kind.MAIN_BEGIN, parent)
    add(Kind.HOST_ACCESS, parent)
    add(Kind.HOST_RELEASE, parent, object=7, detail=EdgeClass.CONTRACT)
    add(Kind.FORK, parent, object=1)
    first = add(Kind.STREAM_CREATE, one, object=10, detail=StreamKind.NON_BLOCKING)
    add(Kind.STREAM_CREATE, one, object=11, detail=StreamKind.NON_BLOCKING)
    add(Kind.EVENT_CREATE, one, object=30)
    add(Kind.HOST_RELEASE, one, object=8, detail=EdgeClass.CONTRACT)
    add(Kind.HOST_ACQUIRE, other, object=8, detail=EdgeClass.CONTRACT)
    add(Kind.HOST_ACQUIRE, one, object=7, detail=EdgeClass.CONTRACT)
    add(Kind.EVENT_RECORD, one, object=30, stream=10)
    idle = add(Kind.STREAM_WAIT_EVENT, other, object=30, stream=11)
    return builder.finish(), {(204, first), (504, idle)}


def wait_for_a_destroyed_event() -> tuple[Trace, set[tuple[int, int]]]:
    """The wait comes after the event is gone, which is said; what it was meant to order is not said again."""
    builder = TraceBuilder("event")
    thread = builder.thread(0, "main")

    def add(kind: Kind, **fields: int | tuple[MemoryReference, ...]) -> int:
        return builder.append(kind, thread=thread, api="call", **fields)  # type: ignore[arg-type]

    memory = MemoryReference(0x1000, 64)
    for stream in (10, 11):
        add(Kind.STREAM_CREATE, object=stream, detail=StreamKind.NON_BLOCKING)
    add(Kind.EVENT_CREATE, object=30)
    add(Kind.ALLOC, detail=MemoryKind.STREAM_ORDERED, stream=10, references=(memory,))
    add(Kind.LAUNCH, stream=10, references=(MemoryReference(0x1000, 0, 0, AccessMode.WRITE),))
    add(Kind.EVENT_RECORD, object=30, stream=10)
    add(Kind.EVENT_DESTROY, object=30)
    late = add(Kind.STREAM_WAIT_EVENT, object=30, stream=11)
    add(Kind.FREE, detail=FreeClass.ASYNC, stream=11, references=(memory,))
    return builder.finish(), {(205, late)}


def wait_for_a_value() -> tuple[Trace, set[tuple[int, int]]]:
    """A free waits for the value that is written behind the kernel."""
    builder = TraceBuilder("value")
    thread = builder.thread(0, "main")

    def add(kind: Kind, **fields: int | tuple[MemoryReference, ...]) -> int:
        return builder.append(kind, thread=thread, api="call", **fields)  # type: ignore[arg-type]

    memory = MemoryReference(0x1000, 64)
    for stream in (10, 11):
        add(Kind.STREAM_CREATE, object=stream, detail=StreamKind.NON_BLOCKING)
    add(Kind.ALLOC, detail=MemoryKind.PLAIN, references=(MemoryReference(0x2000, 64),))
    add(Kind.ALLOC, detail=MemoryKind.STREAM_ORDERED, stream=10, references=(memory,))
    add(Kind.LAUNCH, stream=10, references=(MemoryReference(0x1000, 0, 0, AccessMode.WRITE),))
    for stream, detail, mode in (
        (10, ValueOperation.WRITE, AccessMode.WRITE),
        (11, ValueOperation.WAIT_EQ, AccessMode.READ),
    ):
        add(Kind.STREAM_MEMORY_OP, stream=stream, detail=detail, references=(MemoryReference(0x2000, 1, 0, mode),))
    add(Kind.FREE, detail=FreeClass.ASYNC, stream=11, references=(memory,))
    return builder.finish(), set()


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """An engine that adds no edges of one kind."""
    kind: str = request.param
    monkeypatch.setattr(streamsan.order.engine, "Engine", partial(Engine, without=1 << EDGE_KINDS.index(kind)))
    return kind


def test_nothing_is_noticed_where_nothing_is_missing() -> None:
    assert list(_disagreements()) == []


@pytest.mark.parametrize("without", EDGE_KINDS, indirect=True)
def test_a_missing_kind_of_edges_is_noticed(without: str) -> None:
    assert next(_disagreements(), None) is not None, without
