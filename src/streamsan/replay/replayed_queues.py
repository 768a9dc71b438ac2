"""OpenCL's out-of-order queues: a command waits for its wait list and for barriers, and for nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from streamsan.replay.replayed_steps import Step
from streamsan.replay.replayed_work import ReplayedWork
from streamsan.sim.executor.tasks import Body, Task, Timeline
from streamsan.vocabulary import MarkerKind

_ALL_BEFORE = (MarkerKind.ALL_BEFORE, MarkerKind.BARRIER_ALL)
_BARRIERS = (MarkerKind.BARRIER_ALL, MarkerKind.BARRIER_WAIT_LIST)


class OutOfOrderQueue:
    """One such queue. Threads that share it have their wait lists, and their latest commands, for themselves."""

    def __init__(self, runner: ReplayedWork, line: Timeline) -> None:
        """`line` stands for the queue: no command has a place in it."""
        self._runner = runner
        self._line = line
        self._commands: list[Task] = []
        self._barrier: list[Task] = []
        self._waits: dict[int, list[Task]] = {}
        """thread -> the wait list of its next command"""
        self._latest: dict[int, Task] = {}
        """thread -> its latest command"""

    def wait_for(self, thread: int, task: Task) -> None:
        """Add to the wait list of a thread's next command."""
        self._waits.setdefault(thread, []).append(task)

    def command(self, step: Step, body: Body | None, extra: Sequence[Task] = ()) -> Task:
        """Issue a command, behind its wait list, the latest barrier and `extra`."""
        before = [*self._waits.pop(step.thread, ()), *self._barrier, *extra]
        task = self._runner.issue(step.sequence, self._line, body, before)
        self._commands = [*self.pending(), task]
        self._latest[step.thread] = task
        return task

    def part(self, step: Step, body: Body) -> Task:
        """Issue what belongs to the latest command of the thread: memory that it frees."""
        latest = self._latest.get(step.thread)
        return self.command(step, body, () if latest is None or step.thread in self._waits else (latest,))

    def marker(self, step: Step) -> Task:
        """Issue an empty command: a marker or a barrier."""
        task = self.command(step, None, self.pending() if step.detail in _ALL_BEFORE else ())
        if step.detail in _BARRIERS:
            self._barrier = [task]
        return task

    def latest(self, thread: int) -> Task | None:
        """Return the latest command of a thread: an event that is recorded now captures it."""
        return self._latest.get(thread)

    def pending(self) -> list[Task]:
        """Return the commands that are not complete."""
        return [task for task in self._commands if not task.done]
