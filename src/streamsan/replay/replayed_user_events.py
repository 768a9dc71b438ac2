"""OpenCL's user events: what waits for one does not run before the host sets it."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from streamsan.replay.replayed_work import ReplayedWork
from streamsan.sim.executor.tasks import Task, Timeline, closure
from streamsan.sim.executor.timelines import Record

NAME = "a user event"


class _UserEvent(Struct):
    is_set: bool = False
    task: Task | None = None


class UserEvents:
    """The user events of one process."""

    def __init__(self, runner: ReplayedWork) -> None:
        self._runner = runner
        self._events: dict[int, _UserEvent] = {}

    def create(self, handle: int, line: Timeline) -> Record:
        """Make one, and return what a wait for it waits for. `line` is a timeline of its own."""
        event = self._events[handle] = _UserEvent()
        event.task = self._runner.scheduler.issue(line, NAME, None, (), lambda: event.is_set)
        return Record(event.task, line.index, 0, {})

    def set(self, handle: int) -> None:
        """The host sets one: what waits for it may run. One that is not known was no user event of this program's."""
        event = self._events.get(handle)
        if event is not None and event.task is not None:
            event.is_set = True
            self._runner.mark(event.task)


def are_held(tasks: Iterable[Task]) -> bool:
    """Return whether tasks wait for an event that the host has not set."""
    return any(task.condition is not None and not task.condition() for task in closure(tasks))
