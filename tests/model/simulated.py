"""A program on a machine that is known: an executor that keeps what it is told, and recycles addresses at once."""

from __future__ import annotations

from model_program import Program

from streamsan.model.executor import Executor
from streamsan.model.process_state import HostThread
from streamsan.model.resources import Allocation, Context, OtherHandle, Pool
from streamsan.model.streams_and_graphs import Event, Stream
from streamsan.model.values import Pointer, Symbol, Value
from streamsan.model.work import Work
from streamsan.vocabulary import FreeClass, MemoryKind, WaitClass

HOST = 0x7F00_0000_0000
"""an address of the host that no allocation covers"""
TOTAL = 1 << 30


class Recorder(Executor):
    """Keeps `told`: what it was told, in order."""

    unknown_is_pageable = True

    def __init__(self, devices: int = 2) -> None:
        super().__init__()
        self.devices = devices
        self.told: list[tuple[object, ...]] = []
        self.errors: dict[int, int] = {}
        self.pending: set[int] = set()
        """handles of streams and events that are not complete"""
        self.used = 0
        self._freed: dict[int, list[int]] = {}

    @property
    def last(self) -> tuple[object, ...]:
        return self.told[-1]

    def work(self) -> list[Work]:
        return [each[2] for each in self.told if each[0] == "enqueue"]  # type: ignore[misc]

    def place(
        self,
        size: int,
        kind: MemoryKind,
        context: Context | None,
        stream: Stream | None,
        pool: OtherHandle | None,
        wanted: int = 0,
        thread: HostThread | None = None,
    ) -> int | None:
        self.told.append(("place", size, kind, pool, wanted))
        if wanted:
            return wanted
        if size > TOTAL - self.used:
            return None
        self.used += size
        if self._freed.get(size):
            return self._freed[size].pop()
        return super().place(size, kind, context, stream, pool)

    def free(self, thread: HostThread, allocation: Allocation, family: FreeClass, stream: Stream | None) -> None:
        self.told.append(("free", allocation.address, family, stream.handle if stream else 0))
        self.used -= allocation.size
        self._freed.setdefault(allocation.size, []).append(allocation.address)

    def enqueue(self, thread: HostThread, stream: Stream, work: Work, wait: WaitClass) -> None:
        self.told.append(("enqueue", stream.handle, work, wait))

    def record(self, thread: HostThread, stream: Stream, event: Event) -> None:
        self.told.append(("record", stream.handle, event.handle))

    def wait_event(self, thread: HostThread, stream: Stream, event: Event) -> None:
        self.told.append(("wait_event", stream.handle, event.handle))

    def synchronize_stream(self, thread: HostThread, stream: Stream) -> None:
        self.told.append(("synchronize_stream", stream.handle))

    def synchronize_event(self, thread: HostThread, event: Event) -> None:
        self.told.append(("synchronize_event", event.handle))

    def synchronize_context(self, thread: HostThread, context: Context) -> None:
        self.told.append(("synchronize_context", context.handle))

    def query_stream(self, thread: HostThread, stream: Stream, fresh: Symbol) -> Value:
        return 600 if stream.handle in self.pending else 0

    def query_event(self, thread: HostThread, event: Event, fresh: Symbol) -> Value:
        return 600 if event.handle in self.pending else 0

    def elapsed(self, start: Event, end: Event, fresh: Symbol) -> Value:
        return 1.5

    def end_context(self, thread: HostThread, context: Context) -> None:
        self.told.append(("end_context", context.handle))
        self.errors.pop(context.handle, None)

    def trim(self, pool: OtherHandle | None, keep: int) -> None:
        self.told.append(("trim", pool, keep))

    def release_addresses(self, reservation: Allocation) -> None:
        self.told.append(("release_addresses", reservation.address))

    def release_physical(self, physical: OtherHandle) -> None:
        self.told.append(("release_physical", physical.handle))

    def device_count(self, fresh: Symbol) -> Value:
        return self.devices

    def memory_info(self, ordinal: int) -> tuple[int, int]:
        return TOTAL - self.used, TOTAL

    def pool_usage(self, pool: Pool) -> tuple[int, int]:
        return 2 * self.used, self.used

    def sticky_error(self, context: Context) -> int:
        return self.errors.get(context.handle, 0)


class Simulated(Program):
    """A program whose executor keeps what it is told."""

    def __init__(self, devices: int = 2) -> None:
        self.executor = Recorder(devices)
        super().__init__(executor=self.executor)

    def memory(self, size: int = 1024) -> Pointer:
        made = self.make("cudaMalloc", 1, size)
        assert isinstance(made, Pointer)
        return made

    def status(self, api: str, *arguments: Value, **more: object) -> int:
        return self.call(api, *arguments, **more).status  # type: ignore[arg-type]

    def error(self, device: int = 0, status: int = 700) -> None:
        """Work of a device's primary context met an error."""
        self.executor.errors[self.main.process.primaries[device].handle] = status
