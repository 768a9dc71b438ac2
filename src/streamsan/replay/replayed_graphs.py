"""Replayed graphs: a launch is the tasks of the body's nodes, ordered by its edges."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from streamsan.replay.replayed_steps import Memory, Node, Step
from streamsan.replay.replayed_work import ReplayedWork
from streamsan.sim.executor.tasks import Body, Task, Timeline
from streamsan.sim.executor.timelines import Record
from streamsan.vocabulary import GraphExecFlag, NodeKind, OperationKind

_WORK = (NodeKind.KERNEL, NodeKind.COPY, NodeKind.MEMSET, NodeKind.HOST)


class Executable(Struct, eq=False):
    """An executable graph."""

    nodes: tuple[Node, ...]
    auto_free: bool
    latest: Task | None = None
    """the end of its last launch"""


class Graphs:
    """The executable graphs of one process, with what their nodes share with its streams."""

    def __init__(self, runner: ReplayedWork, events: dict[int, Record | None], keys: dict[int, list[Task]]) -> None:
        self._runner = runner
        self._events = events
        self._keys = keys
        self._executables: dict[int, Executable] = {}

    def instantiate(self, step: Step) -> None:
        """Take up a body: of a new executable graph, or of an updated one."""
        known = self._executables.get(step.object)
        if step.kind is OperationKind.GRAPH_UPDATE and known is not None:
            known.nodes = step.nodes
        else:
            self._executables[step.object] = Executable(step.nodes, bool(step.detail & GraphExecFlag.AUTO_FREE))

    def update_node(self, step: Step) -> None:
        """Give a node other memory, from the next launch on."""
        known = self._executables.get(step.object)
        if known is not None:
            known.nodes = with_update(known.nodes, step)

    def launch(self, step: Step, line: Timeline) -> None:
        """Issue the body as it is now. Launches of one executable graph are ordered among themselves."""
        runner, number = self._runner, step.sequence
        executable = self._executables.get(step.object)
        if executable is None:
            runner.follow(number, line, None)
            return
        latest = () if executable.latest is None else (executable.latest,)
        begin = runner.follow(number, line, self._leftovers(executable), latest)
        tasks: dict[int, Task] = {}
        for node in executable.nodes:
            before = [tasks[earlier] for earlier in node.dependencies if earlier in tasks] or [begin]
            record = self._events.get(node.object) if node.kind is NodeKind.EVENT_WAIT else None
            if record is not None:
                before.append(record.task)
            task = runner.branch(number, node.sequence, line, self._body(node, number), before)
            tasks[node.number] = task
            if node.kind is NodeKind.EVENT_RECORD:
                self._events[node.object] = Record(task, line.index, line.position, line.clock)
            if node.kind is NodeKind.HOST and node.object:
                self._keys.setdefault(node.object, []).append(task)
        executable.latest = runner.follow(number, line, None, tuple(tasks.values()))

    def _leftovers(self, executable: Executable) -> Body | None:
        """Return what a launch with automatic frees does first."""
        own = [_memory_of(node) for node in executable.nodes if node.kind is NodeKind.ALLOC]
        blocks = [memory for memory in own if memory is not None]
        if not executable.auto_free or not blocks:
            return None

        def free_them() -> None:
            for memory in blocks:
                self._runner.places.retire(memory)

        return free_them

    def _body(self, node: Node, launch: int) -> Body | None:
        memory, places = _memory_of(node), self._runner.places
        if node.kind is NodeKind.ALLOC and memory is not None:
            return lambda: places.revive(memory)
        if node.kind is NodeKind.FREE and memory is not None:
            return lambda: places.retire_by_node(memory)
        return self._runner.body(node.kind, node.sequence, node.accesses, launch=launch) if node.kind in _WORK else None


def with_update(nodes: tuple[Node, ...], step: Step) -> tuple[Node, ...]:
    """Return a body of which one node uses what its update says, and is known by that."""
    return tuple(
        replace(node, accesses=step.accesses, sequence=step.sequence, site=step.site)
        if node.number == step.address
        else node
        for node in nodes
    )


def _memory_of(node: Node) -> Memory | None:
    return node.accesses[0].memory if node.accesses else None
