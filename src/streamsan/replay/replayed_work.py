"""The work of replayed operations: tasks of the simulator's scheduler, and what they do to words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from streamsan.replay.policies import RefusedError
from streamsan.replay.replayed_handles import HOST_MEMORY
from streamsan.replay.replayed_memory import ReplayedMemory
from streamsan.replay.replayed_steps import Access, Memory, Step
from streamsan.replay.word_layout import Layout
from streamsan.replay.words import Seen, Words, perform
from streamsan.sim.executor.scheduler import Policy, Scheduler
from streamsan.sim.executor.tasks import Body, ContextWork, Task, Timeline
from streamsan.sim.payloads import IllegalAddressError
from streamsan.vocabulary import FreeClass, NodeKind, OperationKind, WaitClass

Name = Callable[[int], str]
"""sequence number of an operation or a node -> what it is called"""


class ReplayedWork:
    """Issues the tasks of operations and runs them, one by one or as the policy likes."""

    def __init__(self, layouts: dict[int, Layout], policy: Policy, name: Name) -> None:
        self.scheduler = Scheduler(policy, self._run)
        self.places = ReplayedMemory(layouts, policy, self.scheduler)
        self.seen = Seen()
        self.name = name
        self._tasks: dict[int, list[Task]] = {}
        """sequence number -> what runs for it, in an order that is possible"""
        self._nodes: dict[int, Task] = {}
        """sequence number of a node -> its task in the latest launch"""
        self._markers: list[Task] = []
        self._causes: dict[Task, int] = {}
        """task -> sequence number of its operation or node"""

    # -- issuing ----------------------------------------------------------------------------------
    def follow(self, sequence: int, line: Timeline, body: Body | None, extra: Sequence[Task] = ()) -> Task:
        """Issue work of an operation to a stream, behind all that is there."""
        return self.keep(sequence, self.scheduler.follow(line, self.name(sequence), body, extra))

    def follow_contexts(self, sequence: int, line: Timeline, body: Body | None, others: Sequence[ContextWork]) -> Task:
        """Issue a copy between the stream's context and others, behind all that is there in any of them."""
        return self.keep(sequence, self.scheduler.follow_contexts(line, self.name(sequence), body, others))

    def issue(self, sequence: int, line: Timeline, body: Body | None, before: Iterable[Task]) -> Task:
        """Issue work of an operation behind other tasks; it takes no place in the stream."""
        return self.keep(sequence, self.scheduler.issue(line, self.name(sequence), body, before))

    def follow_kernel(self, step: Step, line: Timeline) -> Task:
        """Issue a kernel to a stream: what it does without waiting for the kernel before it is work of its own."""
        before = line.before_kernel() if step.waits is WaitClass.AT_ONCE else None
        waited = tuple(line.awaited() if before is None else before)
        first: list[Task] = []
        accesses = step.accesses
        if before is not None:
            early = tuple(access for access in accesses if not access.behind)
            accesses = tuple(access for access in accesses if access.behind)
            body = self.body(step.kind, step.sequence, early)
            if body is not None:
                task = self.scheduler.issue(line, self.name(step.sequence), body, before)
                first.append(self.keep(step.sequence, task))
        body = self.body(step.kind, step.sequence, accesses, len(step.accesses) - len(accesses))
        task = self.follow(step.sequence, line, body, first)
        line.kernel = task, waited
        return task

    def branch(self, sequence: int, node: int, line: Timeline, body: Body | None, before: Iterable[Task]) -> Task:
        """Issue the work of a launch's node, behind what its edges say."""
        task = self.keep(sequence, self.scheduler.issue(line, self.name(node), body, before))
        self._causes[task] = node
        task.label = self.name(node)
        self._nodes[node] = task
        return task

    def keep(self, sequence: int, task: Task) -> Task:
        """Know a task as one of an operation's."""
        self._tasks.setdefault(sequence, []).append(task)
        self._causes[task] = sequence
        task.label = self.name(sequence)
        if task.body is None:
            self.mark(task)
        return task

    def also_known_as(self, sequence: int, other: int) -> None:
        """Let another operation be known by what runs for one."""
        self._tasks.setdefault(other, []).extend(self._tasks.get(sequence, ()))

    def mark(self, task: Task) -> None:
        """Know a task that only orders others."""
        if not task.done:
            self._markers.append(task)

    def tasks_of(self, sequence: int) -> Sequence[Task]:
        """Return what runs for an operation; of a launch its begin is the first."""
        return self._tasks.get(sequence, ())

    def body(
        self,
        kind: OperationKind | NodeKind,
        sequence: int,
        accesses: tuple[Access, ...],
        first: int = 0,
        launch: int = 0,
    ) -> Body | None:
        """Return what an operation does when it runs, or a node in a launch; `first`: number of the first access."""
        if not accesses:
            return None
        registered = self.places.registered_of(accesses)

        def run() -> None:
            self.places.require_registered(registered)
            # What can be read is seen, though another access fails: that may be the mistake of another finding.
            views = self.views(sequence, accesses, first)
            perform(kind, sequence, accesses, views, self.seen, first, launch)
            self.store(accesses, views)

        return run

    def store(self, accesses: Sequence[Access], views: Sequence[Words]) -> None:
        """Write back what `views` gave, where that is a copy."""
        for access, view in zip(accesses, views, strict=True):
            if access.writes and access.rows is not None and len(view):
                self.places.store_rows(access, view)

    def views(self, sequence: int, accesses: Sequence[Access], first: int = 0) -> list[Words]:
        """Return the words of accesses, none of one that fails: that is noted. `first`: number of the first one."""
        views = []
        for number, access in enumerate(accesses, first):
            try:
                views.append(self.places.view(access))
            except IllegalAddressError as error:
                self.seen.faults.setdefault((sequence, number), str(error))
                views.append(np.zeros(0, np.uint32))
        return views

    def reads_pageable(self, accesses: Sequence[Access]) -> bool:
        """Return whether the last access, a copy's source, is host memory that the driver does not know."""
        if not accesses:
            return False
        memory = accesses[-1].memory
        return accesses[-1].reads and memory.kind in HOST_MEMORY and memory.number not in self.places.registered

    def staged_body(self, kind: OperationKind, sequence: int, accesses: tuple[Access, ...]) -> Body:
        """Return what is left of a copy whose source is read now."""
        try:
            staged = self.places.view(accesses[-1]).copy()
        except IllegalAddressError as error:
            self.seen.faults.setdefault((sequence, len(accesses) - 1), str(error))
            staged = np.zeros(0, np.uint32)

        def run() -> None:
            views = self.views(sequence, accesses[:-1])
            perform(kind, sequence, accesses, [*views, staged], self.seen)
            self.store(accesses[:-1], views)

        return run

    def now(self, kind: OperationKind, sequence: int, accesses: tuple[Access, ...]) -> None:
        """Do what the host does itself during the call."""
        body = self.body(kind, sequence, accesses)
        if body is not None:
            self._guarded(sequence, body)

    def free_now(self, sequence: int, memory: Memory, family: FreeClass) -> None:
        """Do what a free of the host does, whatever is pending."""
        self._guarded(sequence, lambda: self.places.free(memory, family))

    # -- running ----------------------------------------------------------------------------------
    def wait(self, targets: Sequence[Task]) -> None:
        """Wait as the policy does. Raises RefusedError, DeadlockError."""
        self.run_markers()
        self.scheduler.wait(targets)

    def run_markers(self) -> None:
        """Run what only orders other work, wherever it may run: it changes no word."""
        while self._markers:
            self._try(self._markers.pop())

    def _try(self, task: Task) -> bool:
        """Run a task if it may run; markers behind it are looked at next."""
        if task.done:
            return True
        followers = [other for other in task.successors if other.body is None]
        if not self.scheduler.try_run(task):
            return False
        self._markers.extend(other for other in followers if not other.done)
        return True

    def finish(self, tasks: Iterable[Task]) -> None:
        """Run tasks now, in this order. Raises RefusedError where something before one of them has not run."""
        for task in tasks:
            if not self._try(task):
                raise RefusedError(f"{task.label} waits for {_cause(task)}, which has not run")
            self.run_markers()

    def finish_node(self, sequence: int) -> None:
        """Run a node of the graph launched last. Raises RefusedError."""
        task = self._nodes.get(sequence)
        if task is not None:
            self.finish([task])

    def is_complete(self, sequence: int) -> bool:
        """Return whether an operation, or a node, was issued and all of its work has run."""
        node = self._nodes.get(sequence)
        if node is not None:
            return node.done
        tasks = self._tasks.get(sequence)
        return tasks is not None and all(task.done for task in tasks)

    def drain(self) -> None:
        """Run all that is pending."""
        self.scheduler.run_all()

    def _run(self, task: Task, body: Body) -> None:
        self._guarded(self._causes.get(task, 0), body)

    def _guarded(self, sequence: int, body: Body) -> None:
        # In a real context an error stays, and nothing runs there any more. Here it is the work's own: it may come from
        # the mistake of another finding, which is not to hide this one.
        try:
            body()
        except IllegalAddressError as error:
            self.seen.faults.setdefault((sequence, -1), str(error))


def _cause(task: Task) -> str:
    """Return what a task waits for: the work behind events and waits, if there is any."""
    before = next((other for other in task.predecessors if not other.done), None)
    while before is not None and before.body is None:
        further = next((other for other in before.predecessors if not other.done), None)
        if further is None:
            break
        before = further
    return "a value in memory" if before is None else before.label
