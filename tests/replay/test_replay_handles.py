"""Replayed calls with handles of streams, events and contexts that have ended."""

from __future__ import annotations

from streamsan.replay.replayed_program import read_program
from streamsan.replay.replayed_steps import Step
from streamsan.trace import TraceBuilder
from streamsan.vocabulary import ContextKind, FreeClass, MemoryKind, OperationKind, StreamKind, WaitClass

CONTEXT, CREATED, STREAM, EVENT, PER_THREAD = 50, 60, 10, 30, 2
END = 1 << 63


class Calls:
    """Builds a trace of one thread."""

    def __init__(self) -> None:
        self.builder = TraceBuilder("program")
        self.thread = self.builder.thread(0, "main")

    def add(self, kind: OperationKind, *, stream: int = 0, about: int = 0, address: int = 0, detail: int = 0) -> None:
        self.builder.append(
            kind,
            thread=self.thread,
            stream=stream,
            object=about,
            address=address,
            size=256 if address else 0,
            detail=detail,
        )

    def begin(self) -> None:
        self.add(OperationKind.CONTEXT_CREATE, about=CONTEXT, detail=ContextKind.PRIMARY)
        self.add(OperationKind.CONTEXT_CURRENT, about=CONTEXT)
        self.add(OperationKind.STREAM_CREATE, about=STREAM, detail=StreamKind.BLOCKING)
        self.add(OperationKind.EVENT_CREATE, about=EVENT)

    def steps(self) -> list[Step]:
        return read_program(self.builder.finish(), END).steps


def test_work_in_a_destroyed_stream_is_undefined_and_its_free_frees_nothing() -> None:
    calls = Calls()
    calls.begin()
    calls.add(OperationKind.ALLOC, stream=PER_THREAD, address=0x1000, detail=MemoryKind.STREAM_ORDERED)
    calls.add(OperationKind.STREAM_DESTROY, about=STREAM)
    calls.add(OperationKind.LAUNCH, stream=STREAM)
    calls.add(OperationKind.FREE, stream=STREAM, address=0x1000, detail=FreeClass.ASYNC)
    calls.add(OperationKind.FREE, stream=PER_THREAD, address=0x1000, detail=FreeClass.ASYNC)
    launch, stale, free = calls.steps()[-3:]
    assert not launch.succeeded
    assert not stale.succeeded
    assert stale.memory is None
    assert free.memory is not None


def test_streams_and_events_end_with_their_context_and_default_streams_do_not() -> None:
    calls = Calls()
    calls.begin()
    calls.add(OperationKind.DEVICE_RESET, about=CONTEXT)
    calls.add(OperationKind.LAUNCH, stream=STREAM)
    calls.add(OperationKind.EVENT_RECORD, stream=PER_THREAD, about=EVENT)
    calls.add(OperationKind.STREAM_SYNCHRONIZE, stream=STREAM)
    calls.add(OperationKind.LAUNCH, stream=PER_THREAD, detail=WaitClass.NONE)
    calls.add(OperationKind.STREAM_CREATE, about=STREAM, detail=StreamKind.BLOCKING)
    calls.add(OperationKind.LAUNCH, stream=STREAM)
    assert [step.succeeded for step in calls.steps()[-6:]] == [False, False, False, True, True, True]


def test_a_created_context_ends_for_good_and_a_primary_one_comes_back() -> None:
    calls = Calls()
    calls.begin()
    calls.add(OperationKind.CONTEXT_CREATE, about=CREATED, detail=ContextKind.CREATED)
    calls.add(OperationKind.CONTEXT_CURRENT, about=CREATED)
    calls.add(OperationKind.LAUNCH, stream=PER_THREAD)
    calls.add(OperationKind.CONTEXT_DESTROY, about=CREATED)
    calls.add(OperationKind.CONTEXT_SYNCHRONIZE, about=CREATED)
    calls.add(OperationKind.CONTEXT_DESTROY, about=CONTEXT)
    calls.add(OperationKind.CONTEXT_SYNCHRONIZE, about=CONTEXT)
    calls.add(OperationKind.LAUNCH, stream=PER_THREAD)
    _, _, inside, _, gone, _, back, after = calls.steps()[-8:]
    assert not gone.succeeded
    assert back.succeeded
    assert after.context == back.context != inside.context


def test_what_a_caller_hands_in_is_there_until_its_context_ends() -> None:
    calls = Calls()
    calls.add(OperationKind.LAUNCH, stream=STREAM)
    calls.add(OperationKind.STREAM_WAIT_EVENT, stream=STREAM, about=EVENT)
    calls.add(OperationKind.CONTEXT_CURRENT, about=CONTEXT)
    calls.add(OperationKind.DEVICE_RESET)
    calls.add(OperationKind.LAUNCH, stream=STREAM)
    calls.add(OperationKind.EVENT_SYNCHRONIZE, about=EVENT)
    assert [step.succeeded for step in calls.steps()] == [True, True, True, True, False, False]
