"""The programs of `random_programs` as traces."""

from __future__ import annotations

from random_programs import SIZE, THREADS, Op

from streamsan.trace import Reference as MemoryReference
from streamsan.trace import Site, Trace, TraceBuilder
from streamsan.vocabulary import AccessMode, ContextKind, EdgeClass, FreeClass, MemoryKind, StreamKind, WaitClass
from streamsan.vocabulary import OperationKind as Kind

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
