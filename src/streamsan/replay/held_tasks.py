"""Work that a script wants done, but that waits for a user event: it is done when the host has set that."""

from __future__ import annotations

from streamsan.replay.policies import RefusedError
from streamsan.replay.replayed_machine import ReplayedMachine
from streamsan.replay.replayed_steps import Step
from streamsan.replay.replayed_user_events import NAME, are_held
from streamsan.sim.executor.tasks import Task, closure
from streamsan.vocabulary import FreeClass, OperationKind


class HeldTasks:
    """What is done later than the script says. It runs as soon as it may, in the order in which it was wanted."""

    def __init__(self, machine: ReplayedMachine) -> None:
        self._runner = machine.runner
        self._waiting: list[list[Task]] = []

    def finish(self, step: Step) -> None:
        """Run the work of an operation, now or later. Raises RefusedError where something before it has not run."""
        tasks = list(self._runner.tasks_of(step.sequence))
        if step.kind is OperationKind.FREE and step.detail == FreeClass.CL_RELEASE:
            # The memory goes when the commands that use it are complete: whatever these are, they run first.
            tasks = sorted(closure(tasks), key=lambda task: task.number)
        if self._waiting or are_held(tasks):
            self._waiting.append(tasks)
            self.go_on()
        else:
            self._runner.finish(tasks)

    def go_on(self) -> None:
        """Run what nothing holds any more."""
        free = [tasks for tasks in self._waiting if not are_held(tasks)]
        self._waiting = [tasks for tasks in self._waiting if are_held(tasks)]
        for tasks in free:
            self._runner.finish(tasks)

    def expect_none(self) -> None:
        """Raises RefusedError where anything still waits: the event is never set."""
        if self._waiting:
            label = self._waiting[0][0].label if self._waiting[0] else "work"
            raise RefusedError(f"{label} waits for {NAME}, which has not been set")
