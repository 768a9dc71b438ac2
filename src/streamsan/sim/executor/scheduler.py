"""Which work is ready, and running it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from streamsan.sim.executor.tasks import Body, ContextWork, Task, Timeline, Underway, closure

MOST_PENDING = 100_000
"""Unfinished tasks at which a launch begins to run some, as it waits when a driver's queue is full."""
_TASK_MS = 0.002


class DeadlockError(Exception):
    """The host waits, and nothing can run: a stream waits for a value that nobody writes."""

    def __init__(self, message: str, site: int = 0) -> None:
        super().__init__(message)
        self.site = site
        """of the call that issued what cannot run, 0 when there is none"""


class Policy(Protocol):
    """One way to choose what runs when; `schedules` has them."""

    def after_call(self, scheduler: Scheduler) -> None:
        """Run what runs between two calls of the API."""

    def wait(self, scheduler: Scheduler, targets: Sequence[Task]) -> None:
        """Run at least until the targets are done. Raises DeadlockError."""

    def query(self, scheduler: Scheduler, targets: Sequence[Task]) -> bool:
        """Return whether the targets are done, and make progress towards it."""

    def idle(self, scheduler: Scheduler) -> bool:
        """Run a piece of what is ready, while the program does something else; return whether anything ran."""

    def chance(self, probability: float) -> bool:
        """Decide what the contract leaves open: return whether to take the choice in which mistakes show."""


class Scheduler:
    """Holds what is not done. Finished tasks are forgotten."""

    def __init__(self, policy: Policy, run_body: Callable[[Task, Body], Underway | None]) -> None:
        self.policy = policy
        self.now = 0.0
        """the simulated clock, ms"""
        self.pending = 0
        self.site = 0
        """of the call that is being made"""
        self.let_others_run: Callable[[], bool] | None = None
        """Called when a wait can only go on if another host thread does something; False: none will."""
        self._run_body = run_body
        self._ready: list[Task] = []
        self._blocked: list[Task] = []
        """ready but for the value that they wait for"""
        self._underway: dict[Task, Underway] = {}
        """tasks that have begun: a host function's body, which waits for the program"""
        self._next_number = 1

    @property
    def has_ready(self) -> bool:
        """Whether anything may run, or end, now."""
        return bool(self._ready or self._blocked or self._underway)

    def host_is_free(self) -> bool:
        """Return whether the driver's thread may begin a host function: it runs one after another."""
        return not self._underway

    def abandon(self) -> None:
        """Forget host functions that have begun: this is a forked child, whose driver has no thread."""
        self._underway.clear()

    @property
    def latest(self) -> int:
        """The number of the task that was issued last."""
        return self._next_number - 1

    @property
    def blocked(self) -> int:
        """The number of tasks that wait for nothing but a value."""
        return len(self._blocked)

    # -- issuing ----------------------------------------------------------------------------------
    def issue(
        self,
        timeline: Timeline,
        label: str,
        body: Body | None,
        predecessors: Iterable[Task],
        condition: Callable[[], bool] | None = None,
    ) -> Task:
        """Make a task that runs after its predecessors. It takes no place in the timeline (`follow` does that)."""
        task = Task(self._next_number, timeline, label, body)
        self._next_number += 1
        task.condition = condition
        task.site = self.site
        before = tuple({task: None for task in predecessors if not task.done})
        task.predecessors = before
        task.unfinished = len(before)
        for other in before:
            other.successors.append(task)
        self.pending += 1
        if not before:
            self._make_ready(task)
        return task

    def follow(
        self,
        timeline: Timeline,
        label: str,
        body: Body | None,
        extra: Sequence[Task] = (),
        condition: Callable[[], bool] | None = None,
    ) -> Task:
        """Issue a task to a timeline: it follows what the stream's order says, and `extra`."""
        before = timeline.awaited()
        before.extend(extra)
        timeline.join_neighbours()
        task = self.issue(timeline, label, body, before, condition)
        timeline.last = task
        timeline.position += 1
        timeline.work.active[timeline] = None
        if self.pending > MOST_PENDING:
            self._relieve()
        return task

    def follow_contexts(self, timeline: Timeline, label: str, body: Body | None, others: Sequence[ContextWork]) -> Task:
        """Issue a copy between a timeline's context and others: it follows all of their work, and all later work it."""
        works = (timeline.work, *others) if others else ()
        task = self.follow(timeline, label, body, [tail for work in works for tail in work.tails()])
        for work in works:
            work.is_behind(task)
        return task

    def follow_kernel(
        self, timeline: Timeline, label: str, body: Body | None, *, overtakes: bool, runs_early: bool
    ) -> Task:
        """Issue a kernel; what comes later follows all of it.

        `overtakes`: it may begin when the kernel right before it may, whether that has ended or not, and `runs_early`
        if all that it does may come then (else the kernels behind it may be the ones to come early).
        """
        before = timeline.before_kernel() if overtakes else None
        waited = timeline.awaited() if before is None else before
        early = () if before is None or not runs_early else (self.issue(timeline, label, body, before),)
        task = self.follow(timeline, label, None if early else body, early)
        timeline.kernel = task, tuple(waited)
        return task

    # -- waiting ----------------------------------------------------------------------------------
    def wait(self, targets: Sequence[Task]) -> None:
        """Run until the targets are done. Raises DeadlockError."""
        waiting = [task for task in targets if not task.done]
        if waiting:
            self.policy.wait(self, waiting)

    def query(self, targets: Sequence[Task]) -> bool:
        """Return whether the targets are done, and make progress towards it."""
        return self.policy.query(self, targets)

    def after_call(self) -> None:
        """Run what runs between two calls."""
        if self._ready or self._blocked:
            self.policy.after_call(self)

    def settle(self) -> bool:
        """Let what is under way go on as far as it can; return whether a task has ended so."""
        ended = [task for task, underway in self._underway.items() if underway.settle()]
        for task in ended:
            self._underway.pop(task).end()
            if not task.done:  # its context may have ended meanwhile
                self._finish(task)
        return bool(ended)

    def idle(self) -> None:
        """Run a share of what is pending, one piece at least: the program sleeps."""
        self.settle()
        for _ in range(1 + self.pending // 16):
            if not self.policy.idle(self):
                break

    def idle_for_long(self) -> None:
        """Run all that can: the program waits for something that is not CUDA."""
        self.settle()
        while self.policy.idle(self):
            pass

    def stuck(self, targets: Sequence[Task]) -> None:
        """Nothing can run that a wait needs: let other host threads go on, or raise DeadlockError."""
        if self.settle() or (self.let_others_run is not None and self.let_others_run()):
            return
        awaited = next((task.label for task in targets if not task.done), "work")
        blocked = list(dict.fromkeys(task.label for task in self._blocked[:3])) or ["nothing that is known"]
        site = self._blocked[0].site if self._blocked else 0
        if self._underway:
            begun = next(iter(self._underway))
            raise DeadlockError(f"the host waits for {awaited}, and {begun.label}, which has begun, for it", begun.site)
        why = "it" if blocked == [awaited] else ", ".join(blocked)
        raise DeadlockError(
            f"the host waits for {awaited}, but nothing can run: {why} is not met, and nobody is left to change it",
            site,
        )

    # -- running ----------------------------------------------------------------------------------
    def run_all(self) -> None:
        """Run until nothing is ready."""
        while self.run_one(lambda ready: len(ready) - 1):
            pass

    def run_one(self, choose: Callable[[Sequence[Task]], int]) -> bool:
        """Run one ready task; return whether there was one."""
        if self._blocked:
            self._unblock()
        if not self._ready:
            return False
        self._run(self._ready[choose(self._ready)])
        return True

    def try_run(self, task: Task) -> bool:
        """Run a task if it is ready; return whether it was."""
        if self._blocked:
            self._unblock()
        if task.ready_index < 0:
            return False
        self._run(task)
        return True

    def drop(self, work: ContextWork) -> None:
        """End all unfinished work of a context without running it, except what must happen all the same."""
        for task in sorted(closure(work.tails()), key=lambda task: task.number):
            if task.timeline.work is work:
                if task.ready_index >= 0:
                    self._take(task)
                if task.essential and task.body is not None:
                    self._run_body(task, task.body)
                task.body = None
                self._finish(task)
        self._blocked = [task for task in self._blocked if not task.done]

    def _relieve(self) -> None:
        for _ in range(MOST_PENDING // 64):
            if not self.run_one(lambda ready: 0):
                break

    def _unblock(self) -> None:
        met = [task for task in self._blocked if task.condition is None or task.condition()]
        if met:
            self._blocked = [task for task in self._blocked if task not in met]
            for task in met:
                self._append(task)

    def _make_ready(self, task: Task) -> None:
        if task.condition is not None and not task.condition():
            self._blocked.append(task)
        else:
            self._append(task)

    def _append(self, task: Task) -> None:
        task.ready_index = len(self._ready)
        self._ready.append(task)

    def _take(self, task: Task) -> None:
        last = self._ready.pop()
        if last is not task:
            last.ready_index = task.ready_index
            self._ready[task.ready_index] = last
        task.ready_index = -1

    def _run(self, task: Task) -> None:
        self._take(task)
        body, task.body = task.body, None
        underway = None
        try:
            if body is not None:
                underway = self._run_body(task, body)
        finally:
            if underway is None:
                self._finish(task)
        if underway is not None:
            self._underway[task] = underway
            if not self.settle():
                self._hold_back()

    def _hold_back(self) -> None:
        """Host functions that were ready are so no longer: one has begun, and waits."""
        for task in [task for task in self._ready if task.condition == self.host_is_free]:
            self._take(task)
            self._blocked.append(task)

    def _finish(self, task: Task) -> None:
        self.now += _TASK_MS
        task.finished_at = self.now
        task.done = True
        task.condition = None
        self.pending -= 1
        timeline = task.timeline
        if timeline.last is task:
            timeline.last = None
            timeline.work.active.pop(timeline, None)
        successors, task.successors, task.predecessors = task.successors, [], ()
        for other in successors:
            other.unfinished -= 1
            if not other.unfinished and not other.done:  # done: dropped with its context
                self._make_ready(other)
