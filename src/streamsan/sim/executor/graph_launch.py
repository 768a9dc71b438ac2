"""Launches of executable graphs: their nodes as tasks, with the graph's edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamsan.model.work import CopyWork
from streamsan.sim.executor.scheduler import Scheduler
from streamsan.sim.executor.simulated_memory import Block, SimulatedMemory
from streamsan.sim.executor.storage import Storage
from streamsan.sim.executor.tasks import Body, Task, Timeline
from streamsan.sim.executor.timelines import Timelines
from streamsan.sim.executor.works import Works, label_of
from streamsan.vocabulary import MemoryKind, NodeKind

if TYPE_CHECKING:
    from streamsan.model.resources import Allocation
    from streamsan.model.streams_and_graphs import BodyNode, GraphExec

_MANY = 1024


class GraphLaunches:
    """Launches graphs. A node's work is taken at the launch: later updates do not change what was launched."""

    def __init__(
        self,
        memory: SimulatedMemory,
        storage: Storage,
        scheduler: Scheduler,
        timelines: Timelines,
        works: Works,
    ) -> None:
        self._memory = memory
        self._storage = storage
        self._scheduler = scheduler
        self._timelines = timelines
        self._works = works
        self._latest: dict[GraphExec, Task] = {}
        """the end of its last launch"""

    def launch(self, executable: GraphExec, timeline: Timeline) -> Task:
        """Issue the body as it is now; return the task that follows all of it.

        The host must wait for that task if `uses_pageable` says so.
        """
        scheduler = self._scheduler
        latest = self._latest.get(executable)
        # Launches of one executable graph are ordered among themselves, on whatever streams they are.
        begin = scheduler.follow(
            timeline,
            "a graph's launch",
            self._begin(executable),
            extra=() if latest is None else (latest,),
        )
        tasks: dict[int, Task] = {}
        leaves: dict[int, None] = {}
        for node in executable.body:
            before = [tasks[number] for number in node.dependencies if number in tasks] or [begin]
            if node.kind is NodeKind.EVENT_WAIT and node.event is not None:
                record = self._timelines.recorded(node.event)
                if record is not None:
                    before.append(record.task)
            task = scheduler.issue(
                timeline,
                label_of(node.work),
                self._body(node, timeline),
                before,
                self._works.condition(node.work) if node.enabled else None,
            )
            if node.kind is NodeKind.EVENT_RECORD and node.event is not None and node.enabled:
                self._timelines.record(node.event, task, timeline)
            task.essential = task.essential or node.kind is NodeKind.FREE
            for work in node.further if node.enabled else ():
                task = scheduler.issue(
                    timeline,
                    label_of(work),
                    self._works.body(work, timeline.work.context),
                    [task],
                    self._works.condition(work),
                )
            tasks[node.number] = task
            leaves[node.number] = None
            for number in node.dependencies:
                leaves.pop(number, None)
        end = scheduler.follow(timeline, "a graph's launch", None, extra=[tasks[number] for number in leaves])
        if len(self._latest) >= _MANY:
            self._latest = {known: last for known, last in self._latest.items() if not last.done}
        self._latest[executable] = end
        return end

    def uses_pageable(self, executable: GraphExec) -> bool:
        """Return whether a copy of the body reaches pageable host memory, which is safe during the call only."""
        is_pageable = self._memory.is_pageable
        return any(
            isinstance(work, CopyWork) and (is_pageable(work.to.address) or is_pageable(work.source.address))
            for node in executable.body
            if node.enabled
            for work in (node.work, *node.further)
        )

    def _begin(self, executable: GraphExec) -> Body | None:
        if not executable.auto_free:
            return None
        blocks = [block for node in executable.body if (block := self._own(node)) is not None]

        def free_leftovers() -> None:
            for block in blocks:
                self._storage.retire(block)

        return free_leftovers if blocks else None

    def _own(self, node: BodyNode) -> Block | None:
        return self._block(node.allocation) if node.kind is NodeKind.ALLOC else None

    def _block(self, allocation: Allocation | None) -> Block | None:
        block = None if allocation is None else self._memory.at(allocation.address)
        return block if block is not None and block.kind is MemoryKind.GRAPH else None

    def _body(self, node: BodyNode, timeline: Timeline) -> Body | None:
        if not node.enabled:
            return None
        if node.kind in (NodeKind.ALLOC, NodeKind.FREE):
            block = self._block(node.allocation)
            if block is None:
                return None
            act = self._storage.revive if node.kind is NodeKind.ALLOC else self._storage.retire
            return lambda: act(block)
        return self._works.body(node.work, timeline.work.context)
