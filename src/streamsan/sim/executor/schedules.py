"""When ready work runs: at once, as late as possible, or as a seed says."""

from __future__ import annotations

import random
from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from streamsan.sim.executor.scheduler import Policy, Scheduler
from streamsan.sim.executor.tasks import Task, Timeline, closure
from streamsan.sim.options import Schedule


class Eager:
    """Everything runs as soon as it can."""

    def after_call(self, scheduler: Scheduler) -> None:
        """Run all that is ready."""
        scheduler.run_all()

    def wait(self, scheduler: Scheduler, targets: Sequence[Task]) -> None:
        """Run all that is ready."""
        scheduler.run_all()
        while not all(task.done for task in targets):
            scheduler.stuck(targets)
            scheduler.run_all()

    def query(self, scheduler: Scheduler, targets: Sequence[Task]) -> bool:
        """Run all that is ready."""
        scheduler.run_all()
        return all(task.done for task in targets)

    def idle(self, scheduler: Scheduler) -> bool:
        """Run one."""
        return scheduler.run_one(lambda ready: len(ready) - 1)

    def chance(self, probability: float) -> bool:
        """Choose what is likelier."""
        return probability > 0.5


class Lazy:
    """Only what a wait needs, and of that what was issued last first."""

    def after_call(self, scheduler: Scheduler) -> None:
        """Run nothing."""

    def wait(self, scheduler: Scheduler, targets: Sequence[Task]) -> None:
        """Run what the targets need, the youngest first; other work only if that is stuck (a value to be written)."""
        while needed := closure(targets):
            self._run(scheduler, needed, len(needed))
            if any(not task.done for task in needed) and not self._run_another(scheduler):
                scheduler.stuck(targets)

    def _run(self, scheduler: Scheduler, needed: dict[Task, None], most: int) -> int:
        """Run up to so many of these tasks; return how many ran."""
        # The youngest of those that may run, again and again: numbers are negative because the heap gives the least.
        heap = [(-task.number, task) for task in needed if not task.unfinished]
        heapify(heap)
        ran = 0
        while heap and ran < most:
            task = heappop(heap)[1]
            followers = [other for other in task.successors if other in needed]
            if scheduler.try_run(task):
                ran += 1
                for other in followers:
                    if not other.unfinished and not other.done:
                        heappush(heap, (-other.number, other))
        return ran

    def query(self, scheduler: Scheduler, targets: Sequence[Task]) -> bool:
        """Answer as things are, then do a part of what is needed: the answer is late, and comes."""
        needed = closure(targets)
        if not needed:
            return True
        if not self._run(scheduler, needed, _share(needed)):
            self._run_another(scheduler)
        return False

    def idle(self, scheduler: Scheduler) -> bool:
        """Run one."""
        return self._run_another(scheduler)

    @staticmethod
    def _run_another(scheduler: Scheduler) -> bool:
        return scheduler.run_one(lambda ready: len(ready) - 1)

    def chance(self, probability: float) -> bool:
        """Choose what shows mistakes."""
        return True


class Random:
    """A seeded number of seeded choices at each call."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        # Some seeds leave almost everything for later, some almost nothing: each shows other mistakes.
        self._eagerness = self._random.choice((0.0, 0.02, 0.1, 0.5))
        self._loyalty = self._random.choice((0.0, 0.5, 0.95))
        self._speeds: dict[Timeline, float] = {}

    def _choose(self, ready: Sequence[Task]) -> int:
        chooser = self._random
        count = len(ready)
        if count == 1:
            return 0
        index = int(chooser.random() * count)
        if chooser.random() >= self._loyalty:
            return index
        # Prefer a fast timeline: then whole streams run before others, which single choices hardly ever do.
        for _ in range(3):
            other = int(chooser.random() * count)
            if self._speed(ready[other].timeline) > self._speed(ready[index].timeline):
                index = other
        return index

    def _speed(self, timeline: Timeline) -> float:
        speed = self._speeds.get(timeline)
        if speed is None:
            if len(self._speeds) > 4096:
                self._speeds.clear()
            speed = self._speeds[timeline] = self._random.random()
        return speed

    def after_call(self, scheduler: Scheduler) -> None:
        """Run a seeded number of tasks."""
        while scheduler.has_ready and self._random.random() < self._eagerness:
            if not scheduler.run_one(self._choose):
                return

    def wait(self, scheduler: Scheduler, targets: Sequence[Task]) -> None:
        """Run tasks by choice until the targets are done."""
        for task in targets:
            while not task.done:
                if not scheduler.run_one(self._choose):
                    scheduler.stuck(targets)

    def query(self, scheduler: Scheduler, targets: Sequence[Task]) -> bool:
        """Run a seeded number of tasks, one that is needed among them, and answer."""
        needed = closure(targets)
        if needed:
            ran = 0
            # Predecessors have smaller numbers, so this order finds something to run as long as there is anything.
            for task in sorted(needed, key=lambda task: task.number):
                ran += scheduler.try_run(task)
                if ran >= _share(needed):
                    break
            if not ran:
                scheduler.run_one(self._choose)
            self.after_call(scheduler)
        return all(task.done for task in targets)

    def idle(self, scheduler: Scheduler) -> bool:
        """Run one by choice."""
        return scheduler.run_one(self._choose)

    def chance(self, probability: float) -> bool:
        """Choose by the seed."""
        return self._random.random() < probability


def _share(needed: dict[Task, None]) -> int:
    """Return how many tasks a query runs at least: a share, so that a loop of queries costs no square of them."""
    return 1 + len(needed) // 16


def policy_of(schedule: Schedule | int) -> Policy:
    """Return the way to choose that an option names."""
    if schedule == Schedule.EAGER:
        return Eager()
    return Lazy() if schedule == Schedule.LAZY else Random(int(schedule))
