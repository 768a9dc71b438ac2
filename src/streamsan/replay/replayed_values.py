"""Values in memory that streams write and wait for, as edges between their work."""

from __future__ import annotations

from streamsan.model.stream_memory_ops import value_work_of
from streamsan.model.work import ValueWork
from streamsan.replay.replayed_steps import Step
from streamsan.sim.executor.tasks import Task


class ReplayedValues:
    """The writes of one process's stream memory operations."""

    def __init__(self) -> None:
        self._writes: dict[int, list[tuple[ValueWork, Task]]] = {}
        """address -> what was written there, in the order of issue"""

    def before(self, step: Step) -> list[Task]:
        """Return the write that a wait for a value is behind: the first one that satisfies it since one that does not.

        A write that is issued after the wait is not known yet: then the wait is behind nothing.
        """
        work = value_work_of(step.detail, step.address, step.value)
        if work is None or work.condition == "write":
            return []
        found: list[Task] = []
        for written, task in self._writes.get(step.address, ()):
            if not work.is_met_by(written.value):
                found = []
            elif not found:
                found = [task]
        return [task for task in found if not task.done]

    def note(self, step: Step, task: Task) -> None:
        """Remember what a write writes."""
        work = value_work_of(step.detail, step.address, step.value)
        if work is not None and work.condition == "write":
            self._writes.setdefault(step.address, []).append((work, task))
