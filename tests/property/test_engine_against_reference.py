"""The engine against the plain reference, on random programs."""

from __future__ import annotations

import os
from dataclasses import replace

from closure_reference import Reference
from hypothesis import HealthCheck, given, settings
from random_programs import KEYS, PROGRAMS, SIZE, THREADS, Op

from streamsan.order.engine import analyse
from streamsan.trace import Reference as MemoryReference
from streamsan.trace import Site, Trace, TraceBuilder
from streamsan.vocabulary import AccessMode, ContextKind, EdgeClass, FreeClass, MemoryKind, StreamKind, WaitClass
from streamsan.vocabulary import OperationKind as Kind

EXAMPLES = int(os.environ.get("STREAMSAN_PROPERTY_EXAMPLES", "400"))
ORDERING = {101, 102, 103, 107, 108}

KINDS = {
    "create_context": Kind.CONTEXT_CREATE, "current": Kind.CONTEXT_CURRENT, "create": Kind.STREAM_CREATE,
    "destroy": Kind.STREAM_DESTROY, "launch": Kind.LAUNCH, "copy": Kind.COPY, "alloc": Kind.ALLOC, "free": Kind.FREE,
    "record": Kind.EVENT_RECORD, "wait": Kind.STREAM_WAIT_EVENT, "sync_stream": Kind.STREAM_SYNCHRONIZE,
    "sync_event": Kind.EVENT_SYNCHRONIZE, "sync_context": Kind.CONTEXT_SYNCHRONIZE, "query": Kind.STREAM_QUERY,
    "release": Kind.HOST_RELEASE, "acquire": Kind.HOST_ACQUIRE, "opaque": Kind.OPAQUE_CALL,
    "host_function": Kind.HOST_FUNCTION, "host_access": Kind.HOST_ACCESS, "event_create": Kind.EVENT_CREATE,
    "event_destroy": Kind.EVENT_DESTROY,
}  # fmt: skip
DETAILS: dict[str, dict[str, int]] = {
    "create_context": {"": ContextKind.CREATED},
    "create": {"blocking": StreamKind.BLOCKING, "non_blocking": StreamKind.NON_BLOCKING},
    "copy": {"none": WaitClass.NONE, "before": WaitClass.BEFORE, "complete": WaitClass.COMPLETE},
    "alloc": {"plain": MemoryKind.PLAIN, "ordered": MemoryKind.STREAM_ORDERED, "pinned": MemoryKind.PINNED},
    "free": {"device": FreeClass.DEVICE, "async": FreeClass.ASYNC, "pinned": FreeClass.PINNED},
    "release": {"contract": EdgeClass.CONTRACT, "run": EdgeClass.RUN},
    "acquire": {"contract": EdgeClass.CONTRACT, "run": EdgeClass.RUN},
}
MODES = {"read": AccessMode.READ, "write": AccessMode.WRITE, "opaque": AccessMode.OPAQUE}


def trace_of(program: list[Op], origin: str = "source") -> Trace:
    """The program as a trace; every operation has a site of its own, so that no two facts are aggregated."""
    builder = TraceBuilder("program", origin=origin)
    for thread in range(THREADS):
        builder.thread(0, f"thread {thread}")
    for line, op in enumerate(program, 1):
        builder.append(
            KINDS[op.name],
            thread=op.thread,
            api="call",
            site=builder.site(Site("program", line)),
            stream=op.stream,
            object=op.object,
            references=[
                MemoryReference(address, SIZE if op.name == "alloc" else 0, 0, MODES[mode])
                for address, mode in op.references
            ],
            detail=DETAILS.get(op.name, {}).get(op.kind, 0),
        )
    return builder.finish()


def agrees(expected: Reference, trace: Trace) -> None:
    """Assert that the engine finds in the trace what the reference found in the program."""
    analysis = analyse(trace)
    ordering = [fact for fact in analysis.facts if fact.code in ORDERING]
    found = {(fact.code, fact.operation.sequence) for fact in ordering if not fact.unseen}
    found -= {(107, sequence) for code, sequence in found if code in (102, 108)}
    assert found == expected.verdicts
    assert {(fact.code, fact.operation.sequence) for fact in ordering if fact.unseen} - found == expected.unseen
    assert {fact.operation.sequence for fact in analysis.facts if fact.code == 504} == expected.dominated
    assert analysis.problems == 0


SEARCH = settings(max_examples=EXAMPLES, deadline=None, derandomize="STREAMSAN_PROPERTY_EXAMPLES" not in os.environ,
                  suppress_health_check=[HealthCheck.too_slow])  # fmt: skip


@SEARCH
@given(PROGRAMS)
def test_engine_agrees_with_the_closure(program: list[Op]) -> None:
    agrees(Reference(program, THREADS), trace_of(program))


@SEARCH
@given(PROGRAMS)
def test_engine_agrees_with_the_closure_of_a_recording(program: list[Op]) -> None:
    # Of the two keys one stands for bodies that nobody saw.
    unseen = [replace(op, object=0) if op.name == "host_function" and op.object == KEYS[1] else op for op in program]
    agrees(Reference(unseen, THREADS, recording=True), trace_of(unseen, "recording"))
