"""Releases that the contract defers: OpenCL's memory goes when the commands that use it are complete (5.5.1)."""

from __future__ import annotations

from streamsan.replay.replayed_steps import Memory, Step
from streamsan.replay.replayed_work import ReplayedWork
from streamsan.sim.executor.tasks import Body, ContextWork, Task, Timeline
from streamsan.vocabulary import FreeClass, MemoryKind

_KEPT_BY_COMMANDS = (MemoryKind.CL_BUFFER, MemoryKind.SVM)


class Releases:
    """Which commands use which memory, and what waits for them."""

    def __init__(self, runner: ReplayedWork) -> None:
        self._runner = runner
        self._line = Timeline(0, ContextWork(None), blocking=False, is_legacy=False)
        self._users: dict[int, list[Task]] = {}
        """number of memory -> tasks that use it"""

    def note(self, step: Step) -> None:
        """Know the memory that a command uses, which has just been issued."""
        tasks = self._runner.tasks_of(step.sequence)
        for access in step.accesses:
            if access.memory.kind in _KEPT_BY_COMMANDS:
                self._users.setdefault(access.memory.number, []).extend(tasks)

    def users_of(self, memory: Memory) -> list[Task]:
        """Return the commands that use memory and are not complete."""
        users = self._users[memory.number] = [task for task in self._users.get(memory.number, ()) if not task.done]
        return users

    def free_behind_uses(self, step: Step, memory: Memory) -> Task:
        """Let memory go as soon as no command uses it: now, if none does."""
        users = self.users_of(memory)
        task = self._runner.issue(step.sequence, self._line, self.body(step, memory), users)
        if not users:
            self._runner.finish([task])
        return task

    def body(self, step: Step, memory: Memory) -> Body:
        """Return what frees memory when its turn has come."""

        def run() -> None:
            self._runner.free_now(step.sequence, memory, FreeClass(step.detail))

        return run
