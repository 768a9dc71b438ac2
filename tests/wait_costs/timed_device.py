"""Programs on a device of made-up speeds: what they ask for becomes a recording with times.

The device knows nothing of the engine. Its host threads, streams and copy engines are clocks that wait for one another,
written down here once more, so that a prediction can be held against a run of the changed program.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from streamsan.trace import Trace
from streamsan.trace.builder import Reference, TraceBuilder
from streamsan.trace.site import Site
from streamsan.vocabulary import (
    AccessMode,
    DeviceEngine,
    ExitKind,
    FreeClass,
    MemoryKind,
    OperationKind,
    StreamKind,
    WaitClass,
)
from streamsan.wait_costs.measured_run import OF_WORK, RECORDING_TAKES

CALL, LAUNCH, GAP, WAKE = 2_000, 6_000, 1_000, 4_000
"""ns: a call; from a launch to the begin; between two kernels of a stream; from the end of work to who waits"""


@dataclass
class _Stream:
    handle: int
    free: int = 0


@dataclass
class TimedDevice:
    """A program of one host thread. One that is recorded takes longer in each call."""

    recorded: bool = True

    trace: TraceBuilder = field(
        default_factory=lambda: TraceBuilder("run.sst", origin="recording", metadata={"times": True})
    )
    now: int = 1_000_000
    _streams: dict[int, _Stream] = field(default_factory=dict)
    _events: dict[int, int] = field(default_factory=dict)
    _copies: list[tuple[int, int, int]] = field(default_factory=list)
    _handles: int = 0x1000
    _address: int = 0x7000_0000
    _done: list[tuple[int, int, int, DeviceEngine, int]] = field(default_factory=list)
    _busy: list[tuple[int, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.thread = self.trace.thread(0, "main")
        self._say(OperationKind.MAIN_BEGIN)
        self._say(OperationKind.CONTEXT_CURRENT, object=0xC0)

    def _say(self, kind: OperationKind, line: int = 0, **values: object) -> int:
        site = self.trace.site(Site("program.cu", line, 1)) if line else 0
        return self.trace.append(kind, thread=self.thread, site=site, time=self.now, **values)  # type: ignore[arg-type]

    @property
    def _launch(self) -> int:
        return LAUNCH + (OF_WORK // 2 if self.recorded else 0)

    def _returns(self, recording: int = RECORDING_TAKES, takes: int = CALL) -> None:
        self.now += takes + (recording if self.recorded else 0)

    def works(self, nanoseconds: int) -> None:
        """Let the host do something else."""
        self.now += nanoseconds

    def stream(self) -> int:
        """Make a stream that does not wait for the default stream."""
        self._handles += 8
        self._say(OperationKind.STREAM_CREATE, 1, object=self._handles, detail=StreamKind.NON_BLOCKING)
        self._streams[self._handles] = _Stream(self._handles)
        self.now += CALL
        return self._handles

    def allocate(self, line: int, size: int = 1 << 20, kind: MemoryKind = MemoryKind.PLAIN, stream: int = 0) -> int:
        """Allocate memory; addresses do not come back."""
        self._address += size
        memory = [Reference(self._address, size)]
        self._say(OperationKind.ALLOC, line, api="cudaMalloc", detail=kind, stream=stream, references=memory)
        self._returns()
        return self._address

    def launch(self, line: int, stream: int, memory: int, takes: int, fills: int = 1) -> None:
        """Launch a kernel that runs for so many ns, and fills so many thousandths of the device."""
        used = [Reference(memory, 1 << 20, AccessMode.READ_WRITE)]
        sequence = self._say(OperationKind.LAUNCH, line, api="cudaLaunchKernel", stream=stream, references=used)
        where = self._streams[stream]
        begin = max(self.now + self._launch, where.free + GAP)
        begin = self._room(self._busy, begin, takes, fills)
        self._work(where, begin, takes, sequence, DeviceEngine.COMPUTE, fills)
        self._busy.append((begin, begin + takes, fills))
        self._returns(OF_WORK)

    def copy_in(self, line: int, stream: int, memory: int, takes: int) -> None:
        """Copy pinned memory to the device."""
        used = [Reference(memory, 1 << 20, AccessMode.WRITE)]
        sequence = self._say(
            OperationKind.COPY,
            line,
            api="cudaMemcpyAsync",
            stream=stream,
            references=used,
            detail=WaitClass.NONE,
        )
        where = self._streams[stream]
        begin = self._room(self._copies, max(self.now + self._launch, where.free + GAP), takes, 1000)
        self._work(where, begin, takes, sequence, DeviceEngine.COPY_IN, 0)
        self._copies.append((begin, begin + takes, 1000))
        self._returns(OF_WORK)

    @staticmethod
    def _room(busy: list[tuple[int, int, int]], begin: int, takes: int, fills: int) -> int:
        """Return when an engine has room: whoever is ready first, and of those whoever was called first."""
        while True:
            beside = [each for each in busy if each[0] < begin + takes and begin < each[1]]
            if fills + sum(each[2] for each in beside) <= 1000 or not beside:
                return begin
            begin = min(each[1] for each in beside)

    def _work(self, stream: _Stream, begin: int, takes: int, sequence: int, engine: DeviceEngine, fills: int) -> None:
        stream.free = begin + takes
        self._done.append((sequence, begin, takes, engine, fills))

    def record(self, line: int, stream: int) -> int:
        """Record a new event."""
        self._handles += 8
        self._say(OperationKind.EVENT_CREATE, line, object=self._handles)
        self._say(OperationKind.EVENT_RECORD, line, api="cudaEventRecord", stream=stream, object=self._handles)
        self._events[self._handles] = self._streams[stream].free
        self._returns()
        return self._handles

    def stream_waits(self, line: int, stream: int, event: int) -> None:
        """Let a stream wait for an event."""
        self._say(OperationKind.STREAM_WAIT_EVENT, line, api="cudaStreamWaitEvent", stream=stream, object=event)
        where = self._streams[stream]
        where.free = max(where.free, self._events[event])
        self._returns()

    def waits(self, line: int, stream: int) -> None:
        """Let the host wait for a stream."""
        self._waits(OperationKind.STREAM_SYNCHRONIZE, line, self._streams[stream].free, stream=stream)

    def waits_for_event(self, line: int, event: int) -> None:
        """Let the host wait for an event."""
        self._waits(OperationKind.EVENT_SYNCHRONIZE, line, self._events[event], object=event)

    def waits_for_all(self, line: int) -> None:
        """Let the host wait for all work."""
        self._waits(OperationKind.CONTEXT_SYNCHRONIZE, line, max(each.free for each in self._streams.values()))

    def asks_until_done(self, line: int, stream: int, every: int) -> None:
        """Ask again and again whether a stream has work left."""
        while self.now < self._streams[stream].free:
            self._say(OperationKind.STREAM_QUERY, line, api="cudaStreamQuery", stream=stream, status=600)
            self.now += every
        self._say(OperationKind.STREAM_QUERY, line, api="cudaStreamQuery", stream=stream)
        self._returns()

    def _waits(self, kind: OperationKind, line: int, until: int, **values: object) -> None:
        end = max(self.now, until) + WAKE
        self._say(kind, line, api=kind.name, duration=end - self.now, **values)
        self.now = end
        self._returns(takes=0)

    def free(self, line: int, memory: int, stream: int = 0) -> None:
        """Free memory: without a stream the host waits for all work."""
        gone = [Reference(memory, 1 << 20)]
        if stream:
            self._say(
                OperationKind.FREE, line, api="cudaFreeAsync", detail=FreeClass.ASYNC, stream=stream, references=gone
            )
            self._returns()
            return
        end = max(self.now, *(each.free for each in self._streams.values())) + WAKE
        self._say(
            OperationKind.FREE, line, api="cudaFree", detail=FreeClass.DEVICE, references=gone, duration=end - self.now
        )
        self.now = end
        self._returns(takes=0)

    def finish(self) -> tuple[Trace, int]:
        """End the program; return its recording, and how long it took."""
        self._say(OperationKind.MAIN_END)
        self._say(OperationKind.PROCESS_EXIT, detail=ExitKind.NORMAL)
        for sequence, begin, takes, engine, fills in self._done:
            self.trace.append(
                OperationKind.DEVICE_TIME,
                thread=self.thread,
                object=sequence,
                time=begin,
                size=takes,
                address=fills,
                detail=engine,
            )
        last = max([self.now, *(begin + takes for _, begin, takes, _, _ in self._done)])
        return self.trace.finish(), last - 1_000_000
