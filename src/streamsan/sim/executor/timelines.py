"""Which timeline a stream means, and what events have captured."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from streamsan.model.streams_and_graphs import LEGACY_HANDLE, PER_THREAD_HANDLE
from streamsan.sim.executor.tasks import Clock, ContextWork, Task, Timeline
from streamsan.vocabulary import StreamKind

if TYPE_CHECKING:
    from streamsan.model.process_state import HostThread
    from streamsan.model.resources import Context
    from streamsan.model.streams_and_graphs import Event, Stream

_MANY = 4096


class Record(Struct, frozen=True):
    """What an event captured."""

    task: Task
    """the record itself, which follows all that was captured"""
    timeline: int
    position: int
    clock: Clock


class Timelines:
    """The timelines of all contexts, and the events' latest records."""

    def __init__(self) -> None:
        self._works: dict[Context | None, ContextWork] = {}
        self._streams: dict[Stream, Timeline] = {}
        self._per_thread: dict[tuple[Context | None, HostThread | None], Timeline] = {}
        self._records: dict[Event, Record] = {}
        self._next_index = 0
        self._many_streams = self._many_records = _MANY
        self._last_thread: HostThread | None = None
        self.on_record: Callable[[Event, Record], None] | None = None
        """Called when an event captures a timeline."""
        self.others: Callable[[Event], Record | None] | None = None
        """Gives the latest record of an event that other processes have too; None: only this one."""

    def works(self) -> list[ContextWork]:
        """Return what is under way, by context."""
        return list(self._works.values())

    def work(self, context: Context | None) -> ContextWork:
        """Return what is under way in a context."""
        work = self._works.get(context)
        if work is None:
            work = self._works[context] = ContextWork(context)
        return work

    def of(self, thread: HostThread | None, stream: Stream, context: Context | None = None) -> Timeline:
        """Return a stream's timeline. Default streams are those of `context`, or of the thread's current one."""
        if thread is None:
            thread = self._last_thread
        self._last_thread = thread
        timeline = self._streams.get(stream)
        if timeline is not None:
            return timeline
        if context is None and thread is not None and thread.stack:
            context = thread.stack[-1]
        if stream.handle == LEGACY_HANDLE:
            work = self.work(context)
            if work.legacy is None:
                work.legacy = self._new(work, blocking=False, is_legacy=True)
            return work.legacy
        if stream.handle == PER_THREAD_HANDLE:
            key = (context, thread)
            timeline = self._per_thread.get(key)
            if timeline is None:
                timeline = self._per_thread[key] = self._new(self.work(context), blocking=True)
            return timeline
        if len(self._streams) >= self._many_streams:
            self._forget_streams()
        work = self.work(stream.context or context)
        timeline = self._streams[stream] = self._new(work, blocking=stream.kind is not StreamKind.NON_BLOCKING)
        return timeline

    def end(self, context: Context) -> None:
        """Forget a context."""
        self._works.pop(context, None)
        for stream in [stream for stream, timeline in self._streams.items() if timeline.work.context is context]:
            del self._streams[stream]
        for key in [key for key in self._per_thread if key[0] is context]:
            del self._per_thread[key]

    # -- events -----------------------------------------------------------------------------------
    def record(self, event: Event, task: Task, timeline: Timeline) -> None:
        """The event captures a timeline up to a task."""
        if len(self._records) >= self._many_records and event not in self._records:
            self._forget_events()
        record = self._records[event] = Record(task, timeline.index, timeline.position, timeline.clock)
        if self.on_record is not None:
            self.on_record(event, record)

    def recorded(self, event: Event) -> Record | None:
        """Return what the event's latest record captured; None: it was never recorded."""
        shared = None if self.others is None else self.others(event)
        return self._records.get(event) if shared is None else shared

    def _new(self, work: ContextWork, *, blocking: bool, is_legacy: bool = False) -> Timeline:
        self._next_index += 1
        return Timeline(self._next_index, work, blocking=blocking, is_legacy=is_legacy)

    def _forget_streams(self) -> None:
        for stream in [stream for stream, line in self._streams.items() if not stream.alive and line.last is None]:
            del self._streams[stream]
        self._many_streams = max(_MANY, 2 * len(self._streams))

    def _forget_events(self) -> None:
        for event in [event for event, record in self._records.items() if not event.alive and record.task.done]:
            del self._records[event]
        self._many_records = max(_MANY, 2 * len(self._records))
