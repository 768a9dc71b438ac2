"""Which work the host knows to be complete: by a wait, or by a query that said so."""

from __future__ import annotations

from collections.abc import Iterable

from streamsan.sim.executor.tasks import Clock, ContextWork, Task, Timeline
from streamsan.sim.executor.timelines import Record


class HostKnowledge:
    """What all waits and queries of a process have said so far."""

    def __init__(self) -> None:
        self._positions: Clock = {}
        self._contexts: dict[ContextWork, int] = {}
        """context -> number of the last task that a wait for all of it covered"""
        self._blocking: dict[ContextWork, int] = {}
        """the same for its blocking streams"""

    def stream(self, timeline: Timeline, latest: int) -> None:
        """A stream is complete; for the legacy default stream, also the blocking ones up to task number `latest`."""
        self._join(timeline.index, timeline.position, timeline.clock)
        legacy = timeline.work.legacy
        if timeline.is_legacy:
            self._blocking[timeline.work] = latest
        elif timeline.blocking and legacy is not None:
            self._join(legacy.index, legacy.position, legacy.clock)

    def event(self, record: Record) -> None:
        """What an event captured is complete."""
        self._join(record.timeline, record.position, record.clock)

    def contexts(self, works: Iterable[ContextWork], last: int) -> None:
        """All work of contexts up to a task's number is complete."""
        for work in works:
            self._contexts[work] = last

    def knows(self, task: Task, position: int) -> bool:
        """Return whether the host knows that a task is complete; `position`: its place in its timeline."""
        timeline, number = task.timeline, task.number
        return (
            self._positions.get(timeline.index, -1) >= position
            or self._contexts.get(timeline.work, 0) >= number
            or (timeline.blocking and self._blocking.get(timeline.work, 0) >= number)
        )

    def forget(self, work: ContextWork) -> None:
        """Forget a context that has ended."""
        self._contexts.pop(work, None)
        self._blocking.pop(work, None)

    def _join(self, index: int, position: int, clock: Clock) -> None:
        known = self._positions
        known[index] = max(position, known.get(index, -1))
        for key, value in clock.items():
            if known.get(key, -1) < value:
                known[key] = value
