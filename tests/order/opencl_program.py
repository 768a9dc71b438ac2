"""A short way to write a trace of OpenCL: each call as the operations that a recorder or the reader makes of it."""

from __future__ import annotations

from order_program import OPAQUE, Program

from streamsan.trace import Reference, Site, TraceBuilder
from streamsan.vocabulary import (
    AccessMode,
    CallbackTime,
    ContextKind,
    EdgeClass,
    EventKind,
    FreeClass,
    HandleKind,
    MarkerKind,
    MemoryKind,
    SlotFlag,
    StreamKind,
    WaitClass,
)
from streamsan.vocabulary import OperationKind as Kind

CONTEXT = 100
READ, WRITE = AccessMode.READ, AccessMode.WRITE
SIZE = 256


class OpenCL(Program):
    """One context, in-order queues and out-of-order ones."""

    def __init__(
        self, *queues: int, out_of_order: tuple[int, ...] = (), origin: str = "source", threads: int = 1
    ) -> None:
        self.builder = TraceBuilder("program", "opencl", origin=origin)
        for _ in range(threads):
            self.builder.thread(0, "thread")
        self.line = 0
        self.op(Kind.MAIN_BEGIN, api="")
        self.op(Kind.CONTEXT_CREATE, api="clCreateContext", object=CONTEXT, detail=ContextKind.CL)
        for queue in queues:
            self.queue(queue)
        for queue in out_of_order:
            self.queue(queue, StreamKind.OUT_OF_ORDER)

    def queue(self, handle: int, kind: StreamKind = StreamKind.NON_BLOCKING, **fields: object) -> int:
        api = "clCreateCommandQueueWithProperties"
        return self.op(Kind.STREAM_CREATE, api=api, object=handle, address=CONTEXT, detail=kind, **fields)  # type: ignore[arg-type]

    def buffer(self, address: int, size: int = SIZE, *, made_in: int = 0, **fields: object) -> int:
        """`made_in`: the context, 0 where that is not known."""
        api = "clCreateBuffer"
        if not made_in:
            return self.alloc(address, MemoryKind.CL_BUFFER, api=api, bytes=size, **fields)
        self.line += 1
        site = self.builder.site(Site("program", self.line))
        references = [Reference(address, size), Reference(made_in)]
        self.builder.append(
            Kind.ALLOC, thread=0, api=api, site=site, detail=MemoryKind.CL_BUFFER, references=references
        )
        return self.line

    def svm(self, address: int, size: int = SIZE) -> int:
        return self.alloc(address, MemoryKind.SVM, api="clSVMAlloc", bytes=size)

    def release(self, address: int, **fields: object) -> int:
        return self.free(address, FreeClass.CL_RELEASE, api="clReleaseMemObject", **fields)

    def _waits(self, queue: int, events: tuple[int, ...], api: str, thread: int) -> None:
        for event in events:
            self.op(Kind.STREAM_WAIT_EVENT, api=api, object=event, stream=queue, thread=thread)

    def _event(self, event: int, queue: int, api: str, thread: int) -> None:
        if event:
            self.op(Kind.EVENT_CREATE, api=api, object=event, thread=thread)
            self.op(Kind.EVENT_RECORD, api=api, object=event, stream=queue, thread=thread)

    def kernel(
        self,
        queue: int,
        *memory: int,
        mode: AccessMode = OPAQUE,
        after: tuple[int, ...] = (),
        event: int = 0,
        thread: int = 0,
    ) -> int:
        api = "clEnqueueNDRangeKernel"
        self._waits(queue, after, api, thread)
        line = self.op(Kind.LAUNCH, api=api, stream=queue, memory=memory, mode=mode, thread=thread)
        self._event(event, queue, api, thread)
        return line

    def transfer(
        self,
        queue: int,
        memory: int,
        mode: AccessMode,
        *,
        blocking: bool = False,
        after: tuple[int, ...] = (),
        event: int = 0,
        thread: int = 0,
        host: int = 0,
        unnamed: int = 0,
        size: int = SIZE,
    ) -> int:
        """A read or write of a buffer: `mode` is what it does to the buffer.

        `host` is memory that the trace knows, `unnamed` is none that it does.
        """
        api = "clEnqueueWriteBuffer" if mode is WRITE else "clEnqueueReadBuffer"
        self._waits(queue, after, api, thread)
        other = READ if mode is WRITE else WRITE
        sides = [Reference(memory, size, 0, mode), Reference(host, size if host else 0, 0, other)]
        aside = [Reference(unnamed, size, 0, other, SlotFlag.HOST_SIDE)] if unnamed else []
        self.line += 1
        self.builder.append(
            Kind.COPY,
            thread=thread,
            api=api,
            site=self.builder.site(Site("program", self.line)),
            stream=queue,
            detail=WaitClass.COMPLETE if blocking else WaitClass.NONE,
            references=[*(sides if mode is WRITE else sides[::-1]), *aside],
        )
        line = self.line
        self._event(event, queue, api, thread)
        return line

    def map(
        self,
        queue: int,
        pointer: int,
        region: int,
        mode: AccessMode = READ,
        *,
        blocking: bool = False,
        size: int = SIZE,
        after: tuple[int, ...] = (),
        event: int = 0,
    ) -> int:
        api = "clEnqueueMapBuffer"
        self._waits(queue, after, api, 0)
        self.line += 1
        line, site = self.line, self.builder.site(Site("program", self.line))
        detail = WaitClass.COMPLETE if blocking else WaitClass.NONE
        source = [Reference(0), Reference(region, size, 0, READ)]
        self.builder.append(Kind.COPY, thread=0, api=api, site=site, stream=queue, detail=detail, references=source)
        references = [Reference(pointer, size), Reference(region, size, 0, mode)]
        self.builder.append(
            Kind.ALLOC, thread=0, api=api, site=site, stream=queue, detail=MemoryKind.CL_MAPPED, references=references
        )
        self._event(event, queue, api, 0)
        return line

    def unmap(self, queue: int, pointer: int, region: int = 0, *, event: int = 0, after: tuple[int, ...] = ()) -> int:
        """`region`: what the host may have written there; 0: it was mapped for reading."""
        api = "clEnqueueUnmapMemObject"
        self._waits(queue, after, api, 0)
        self.line += 1
        line, site = self.line, self.builder.site(Site("program", self.line))
        self.builder.append(
            Kind.FREE,
            thread=0,
            api=api,
            site=site,
            stream=queue,
            detail=FreeClass.CL_UNMAP,
            references=[Reference(pointer)],
        )
        if region:
            references = [Reference(region, SIZE, 0, WRITE)]
            self.builder.append(Kind.COPY, thread=0, api=api, site=site, stream=queue, references=references)
        else:
            detail = MarkerKind.WAIT_LIST
            self.builder.append(Kind.QUEUE_MARKER, thread=0, api=api, site=site, stream=queue, detail=detail)
        self._event(event, queue, api, 0)
        return line

    def marker(
        self, queue: int, kind: MarkerKind, *, after: tuple[int, ...] = (), event: int = 0, thread: int = 0
    ) -> int:
        barrier = kind in (MarkerKind.BARRIER_ALL, MarkerKind.BARRIER_WAIT_LIST)
        api = "clEnqueueBarrierWithWaitList" if barrier else "clEnqueueMarkerWithWaitList"
        self._waits(queue, after, api, thread)
        line = self.op(Kind.QUEUE_MARKER, api=api, stream=queue, detail=kind, thread=thread)
        self._event(event, queue, api, thread)
        return line

    def user_event(self, event: int) -> int:
        return self.op(Kind.EVENT_CREATE, api="clCreateUserEvent", object=event, detail=EventKind.USER)

    def set_event(self, event: int, thread: int = 0) -> int:
        return self.op(Kind.EVENT_RECORD, api="clSetUserEventStatus", object=event, thread=thread)

    def finish(self, queue: int, thread: int = 0) -> int:
        return self.op(Kind.STREAM_SYNCHRONIZE, api="clFinish", stream=queue, thread=thread)

    def wait_for(self, event: int, thread: int = 0) -> int:
        return self.op(Kind.EVENT_SYNCHRONIZE, api="clWaitForEvents", object=event, thread=thread)

    def is_complete(self, event: int) -> int:
        return self.op(Kind.EVENT_QUERY, api="clGetEventInfo", object=event, detail=EdgeClass.OBSERVED)

    def callback(self, event: int, key: int, time: CallbackTime = CallbackTime.COMPLETE) -> int:
        return self.op(Kind.EVENT_CALLBACK, api="clSetEventCallback", object=event, address=key, detail=time)

    def body_begins(self, key: int, thread: int = 1) -> None:
        self.op(Kind.HOST_ACQUIRE, api="", object=key, detail=EdgeClass.CONTRACT, thread=thread)

    def body_ends(self, key: int, thread: int = 1) -> None:
        self.op(Kind.HOST_RELEASE, api="", object=key, detail=EdgeClass.CONTRACT, thread=thread)

    def handle(self, kind: Kind, handle: int, sort: HandleKind = HandleKind.KERNEL, **fields: object) -> int:
        return self.op(kind, object=handle, detail=sort, **fields)  # type: ignore[arg-type]

    def host(self, address: int, mode: AccessMode, *, thread: int = 0, size: int = SIZE) -> int:
        return self.op(Kind.HOST_ACCESS, api="", memory=address, mode=mode, bytes=size, thread=thread)

    def said(self, *codes: int) -> list[tuple[int, str, int]]:
        """Code, variant and line of every fact but notes on redundant and wide waits."""
        return [each for each in self.found() if (each[0] in codes if codes else each[0] not in (401, 503, 504))]
