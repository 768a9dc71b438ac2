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
from streamsan.vocabulary import (
    AccessMode,
    EdgeClass,
    FreeClass,
    MarkerKind,
    MemoryKind,
    SlotFlag,
    StreamKind,
    ValueOperation,
)
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
    for make in (
        wait_in_a_child,
        wait_for_a_destroyed_event,
        wait_for_a_value,
        a_word_that_is_polled,
        orders_of_opencl,
    ):
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


def a_word_that_is_polled() -> tuple[Trace, set[tuple[int, int]]]:
    """A kernel awaits a flag that is set behind what it reads."""
    builder = TraceBuilder("word")
    thread = builder.thread(0, "main")

    def add(kind: Kind, **fields: int | tuple[MemoryReference, ...]) -> int:
        return builder.append(kind, thread=thread, api="call", **fields)  # type: ignore[arg-type]

    for stream in (10, 11):
        add(Kind.STREAM_CREATE, object=stream, detail=StreamKind.NON_BLOCKING)
    for address in (0x1000, 0x2000):
        add(Kind.ALLOC, detail=MemoryKind.PLAIN, references=(MemoryReference(address, 64),))
    for address in (0x1000, 0x2000):
        add(Kind.LAUNCH, stream=10, references=(MemoryReference(address, 4, 0, AccessMode.WRITE),))
    data = MemoryReference(0x1000, 4, 0, AccessMode.READ)
    polled = MemoryReference(0x2000, 0, 0, AccessMode.OPAQUE, SlotFlag.ATOMIC)
    add(Kind.LAUNCH, stream=11, references=(data, polled))
    return builder.finish(), set()


def orders_of_opencl() -> tuple[Trace, set[tuple[int, int]]]:
    """Each order of an out-of-order queue, of callbacks and of frees that wait, in turn."""
    builder = TraceBuilder("queue", "opencl")
    threads = [builder.thread(0, "main"), builder.thread(0, "callbacks")]
    queue = 1000

    def add(kind: Kind, thread: int = 0, **fields: object) -> int:
        return builder.append(kind, thread=threads[thread], api="call", **fields)  # type: ignore[arg-type]

    def kernel(address: int, event: int = 0) -> None:
        add(Kind.LAUNCH, stream=queue, references=(MemoryReference(address, 4, 0, AccessMode.WRITE),))
        if event:
            add(Kind.EVENT_CREATE, object=event)
            add(Kind.EVENT_RECORD, object=event, stream=queue)

    def free(address: int, family: FreeClass = FreeClass.CL_SVM, thread: int = 0, key: int = 0) -> None:
        add(Kind.FREE, thread, detail=family, references=(MemoryReference(address, key),))

    add(Kind.STREAM_CREATE, object=queue, detail=StreamKind.OUT_OF_ORDER)
    memory = [0x1000 * number for number in range(1, 8)]
    for address in (*memory[:5], memory[6]):
        add(Kind.ALLOC, detail=MemoryKind.SVM, references=(MemoryReference(address, 64),))
    kernel(memory[0])
    add(Kind.STREAM_SYNCHRONIZE, stream=queue)
    free(memory[0])
    kernel(memory[1])
    add(Kind.QUEUE_MARKER, stream=queue, detail=MarkerKind.ALL_BEFORE)
    add(Kind.EVENT_CREATE, object=500)
    add(Kind.EVENT_RECORD, object=500, stream=queue)
    add(Kind.EVENT_SYNCHRONIZE, object=500)
    free(memory[1])
    kernel(memory[2])
    kernel(memory[6])
    add(Kind.QUEUE_MARKER, stream=queue, detail=MarkerKind.BARRIER_ALL)
    kernel(0x9000)  # right behind the barrier, on its branch
    both = tuple(MemoryReference(memory[each], 4, 0, AccessMode.WRITE) for each in (2, 6))
    add(Kind.LAUNCH, stream=queue, references=both)
    add(Kind.STREAM_SYNCHRONIZE, stream=queue)
    kernel(memory[3], event=501)
    add(Kind.EVENT_CALLBACK, object=501, address=71)
    add(Kind.HOST_ACQUIRE, 1, object=71, detail=EdgeClass.CONTRACT)
    free(memory[3], thread=1)
    add(Kind.HOST_RELEASE, 1, object=71, detail=EdgeClass.CONTRACT)
    kernel(memory[4])
    free(memory[4], FreeClass.CL_SVM_BLOCKING)
    add(Kind.ALLOC, detail=MemoryKind.HOST_HEAP, references=(MemoryReference(memory[5], 64),))
    add(Kind.ALLOC, detail=MemoryKind.CL_BUFFER, references=(MemoryReference(memory[5], 64),))
    kernel(memory[5])
    free(memory[5], FreeClass.CL_RELEASE, key=72)
    add(Kind.HOST_ACQUIRE, 1, object=72, detail=EdgeClass.CONTRACT)
    free(memory[5], FreeClass.HOST_HEAP, thread=1)
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
