"""When replayed work runs: at once, or exactly as a witness says."""

from __future__ import annotations

from collections.abc import Sequence

from streamsan.sim.executor.scheduler import Scheduler
from streamsan.sim.executor.tasks import Task


class RefusedError(Exception):
    """An interleaving that the program's own order does not allow. `str()` says what it is at odds with."""


class Scripted:
    """Runs nothing by itself: a wait finds done what it waits for, or the script is none of this program."""

    def after_call(self, scheduler: Scheduler) -> None:
        """Run nothing."""

    def wait(self, scheduler: Scheduler, targets: Sequence[Task]) -> None:
        """Raises RefusedError unless all is done."""
        for task in targets:
            if not task.done:
                raise RefusedError(f"the host waits for {task.label}, which has not run")

    def query(self, scheduler: Scheduler, targets: Sequence[Task]) -> bool:
        """Return whether the targets are done."""
        return all(task.done for task in targets)

    def idle(self, scheduler: Scheduler) -> bool:
        """Run nothing."""
        return False

    def chance(self, probability: float) -> bool:
        """Leave nothing to chance: memory is reused only where the program's own order allows it."""
        return False
