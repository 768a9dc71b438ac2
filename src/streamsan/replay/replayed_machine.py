"""Performs the operations of a trace on the simulated device's executor: storage, timelines, scheduler.

What is ordered before what is the executor's own business here, as in a simulated program: streams are first in, first
out, events capture a stream, the default stream's rules, launches of one executable graph. Nothing of the order engine
is asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from streamsan.replay.policies import RefusedError
from streamsan.replay.replayed_graphs import Graphs
from streamsan.replay.replayed_queues import OutOfOrderQueue
from streamsan.replay.replayed_regions import Regions
from streamsan.replay.replayed_releases import Releases
from streamsan.replay.replayed_steps import Step
from streamsan.replay.replayed_user_events import UserEvents
from streamsan.replay.replayed_values import ReplayedValues
from streamsan.replay.replayed_work import Name, ReplayedWork
from streamsan.replay.word_layout import Layout
from streamsan.sim.executor.scheduler import Policy
from streamsan.sim.executor.tasks import Body, ContextWork, Task, Timeline, closure
from streamsan.sim.executor.timelines import Record
from streamsan.vocabulary import (
    CallbackTime,
    EdgeClass,
    EventKind,
    FreeClass,
    MemoryKind,
    OperationKind,
    StreamKind,
    WaitClass,
)

LEGACY, PER_THREAD = 1, 2
SUCCESS = 0


class _Thread(Struct):
    issued: int = 0
    """sequence number of its latest call"""
    entered: int = 0
    """sequence number of a call that waits before it does anything"""
    inside: Sequence[Task] = ()
    """what its latest call waits for: the next one is made when all of it is done"""


class _Process:
    def __init__(self, runner: ReplayedWork) -> None:
        self.runner = runner
        self.contexts: dict[int, ContextWork] = {}
        self.streams: dict[tuple[int, int, int], Timeline] = {}
        """context (default streams only), thread (per-thread default stream only), handle"""
        self.events: dict[int, Record | None] = {}
        self.keys: dict[int, list[Task]] = {}
        """sync key -> host functions whose bodies run under it"""
        self.values = ReplayedValues()
        self.queues: dict[int, OutOfOrderQueue] = {}
        """those of OpenCL that are out of order, by handle"""
        self.graphs = Graphs(runner, self.events, self.keys)
        self.user_events = UserEvents(runner)


class ReplayedMachine:
    """One execution. Steps are issued in some order; their work runs as the policy, or the runner, is told."""

    def __init__(self, layouts: dict[int, Layout], policy: Policy, name: Name) -> None:
        self.runner = ReplayedWork(layouts, policy, name)
        self._regions = Regions(self.runner)
        self._releases = Releases(self.runner)
        self._threads: dict[int, _Thread] = {}
        self._processes: dict[int, _Process] = {}
        self._lines = 0

    def _who(self, step: Step) -> tuple[_Thread, _Process]:
        thread = self._threads.setdefault(step.thread, _Thread())
        process = self._processes.get(step.process)
        if process is None:
            process = self._processes[step.process] = _Process(self.runner)
        return thread, process

    # -- issuing ----------------------------------------------------------------------------------
    def issue(self, step: Step) -> None:
        """Make the call. Raises RefusedError where its thread is still in an earlier one that the script lets wait."""
        thread, process = self._who(step)
        if thread.issued >= step.sequence:
            raise RefusedError(f"{self.runner.name(step.sequence)} is issued out of its thread's order")
        self.runner.wait(thread.inside)
        thread.inside = ()
        if step.succeeded:
            if step.waits is WaitClass.BEFORE and thread.entered != step.sequence:
                self.runner.wait(self._awaited(step, process))
            # A wait is for what there is when the call is made, whatever other threads do meanwhile.
            thread.inside = () if step.waits is WaitClass.BEFORE else self._awaited(step, process)
            self._issue(step, thread, process)
        thread.issued = step.sequence
        self.runner.run_markers()
        self.runner.scheduler.after_call()

    def has_issued(self, step: Step) -> bool:
        """Return whether the call was made. Calls of a thread are made in their order."""
        thread = self._threads.get(step.thread)
        return thread is not None and thread.issued >= step.sequence

    def let_go_on(self, step: Step, pending: int) -> bool:
        """Run what the thread of a step waits for, but not operation `pending`; return whether the call can be made."""
        if self._is_held(step):
            needed = closure(self._threads[step.thread].inside)
            if any(task in needed for task in self.runner.tasks_of(pending)):
                return False
            self.runner.finish(sorted(needed, key=lambda task: task.number))
        return True

    def _is_held(self, step: Step) -> bool:
        """Return whether the thread cannot make the call yet: it is still in an earlier one, or waits in this one."""
        thread, process = self._who(step)
        self.runner.run_markers()
        if not all(task.done for task in thread.inside):
            return True
        if not step.succeeded or step.waits is not WaitClass.BEFORE:
            return False
        thread.entered, thread.inside = step.sequence, self._awaited(step, process)
        return not all(task.done for task in thread.inside)

    def _awaited(self, step: Step, process: _Process) -> Sequence[Task]:
        """Return what the host waits for in a call, as things are now; but not work that the call itself issues."""
        kind = OperationKind
        match step.kind:
            case kind.CONTEXT_SYNCHRONIZE:
                return self._work(process, step.context).tails()
            case kind.STREAM_SYNCHRONIZE if step.stream in process.queues:
                return process.queues[step.stream].pending()
            case kind.STREAM_SYNCHRONIZE:
                return self._line(step, process).awaited()
            case kind.STREAM_QUERY if step.status == SUCCESS:
                return self._line(step, process).awaited()
            case kind.EVENT_SYNCHRONIZE:
                return _task_of(process.events.get(step.object))
            case kind.EVENT_QUERY if step.status == SUCCESS and step.detail != EdgeClass.OBSERVED:
                return _task_of(process.events.get(step.object))
            case kind.HOST_ACQUIRE:
                return process.keys.get(step.object, [])
            case kind.FREE if step.detail == FreeClass.CL_SVM_BLOCKING and step.memory is not None:
                return self._releases.users_of(step.memory)
        if step.stream and step.waits is WaitClass.BEFORE:
            return self._line(step, process).awaited()
        return []

    def _issue(self, step: Step, thread: _Thread, process: _Process) -> None:
        kind = OperationKind
        match step.kind:
            case kind.CONTEXT_DESTROY | kind.DEVICE_RESET if step.context:
                self._end_context(step, process)
            case kind.STREAM_CREATE:
                self._create_stream(step, process)
            case kind.STREAM_DESTROY:
                process.streams.pop((0, 0, step.object), None)  # its work goes on
                process.queues.pop(step.object, None)
            case kind.EVENT_CREATE:
                user = step.detail == EventKind.USER
                line = self._new_line(self._work(process, 0), blocking=False) if user else None
                process.events[step.object] = None if line is None else process.user_events.create(step.object, line)
            case kind.EVENT_RECORD if not step.stream:
                process.user_events.set(step.object)
            case kind.EVENT_RECORD:
                self._record(step, process)
            case kind.EVENT_CALLBACK if step.detail == CallbackTime.COMPLETE:
                process.keys.setdefault(step.address, []).extend(_task_of(process.events.get(step.object)))
            case kind.STREAM_WAIT_EVENT:
                self._wait_event(step, process)
            case kind.QUEUE_MARKER:
                self._mark(step, process)
            case kind.ALLOC:
                self._allocate(step, process)
            case kind.FREE:
                self._free(step, process)
            case kind.GRAPH_INSTANTIATE | kind.GRAPH_UPDATE:
                process.graphs.instantiate(step)
            case kind.GRAPH_NODE_UPDATE:
                process.graphs.update_node(step)
            case kind.GRAPH_LAUNCH:
                process.graphs.launch(step, self._line(step, process))
            case kind.HOST_ACCESS:
                self.runner.now(step.kind, step.sequence, step.accesses)
            case kind.LAUNCH | kind.COPY | kind.MEMSET | kind.PREFETCH | kind.HOST_FUNCTION | kind.STREAM_MEMORY_OP:
                self._enqueue(step, thread, process)

    # -- contexts and streams ---------------------------------------------------------------------
    @staticmethod
    def _work(process: _Process, context: int) -> ContextWork:
        return process.contexts.setdefault(context, ContextWork(None))

    def _end_context(self, step: Step, process: _Process) -> None:
        # What was pending may run still: that the call ends it, or waits for it, is not promised.
        ended = process.contexts.pop(step.context, None)
        process.streams = {key: line for key, line in process.streams.items() if line.work is not ended}
        self.runner.places.end_context(step.context)

    def _create_stream(self, step: Step, process: _Process) -> None:
        blocking = step.detail not in (StreamKind.NON_BLOCKING, StreamKind.OUT_OF_ORDER)
        work = self._work(process, step.context)
        line = process.streams[0, 0, step.object] = self._new_line(work, blocking=blocking)
        process.queues.pop(step.object, None)
        if step.detail == StreamKind.OUT_OF_ORDER:
            process.queues[step.object] = OutOfOrderQueue(self.runner, line)

    def _new_line(self, work: ContextWork, *, blocking: bool, is_legacy: bool = False) -> Timeline:
        self._lines += 1
        return Timeline(self._lines, work, blocking=blocking, is_legacy=is_legacy)

    def _line(self, step: Step, process: _Process) -> Timeline:
        context, handle = step.context, step.stream
        if handle == LEGACY:
            work = self._work(process, context)
            if work.legacy is None:
                work.legacy = self._new_line(work, blocking=False, is_legacy=True)
            return work.legacy
        key = (context, step.thread, handle) if handle == PER_THREAD else (0, 0, handle)
        line = process.streams.get(key)
        if line is None:
            # Whatever a caller hands in may be ordered against the default stream.
            line = process.streams[key] = self._new_line(self._work(process, context), blocking=True)
        return line

    # -- events -----------------------------------------------------------------------------------
    def _record(self, step: Step, process: _Process) -> None:
        line, queue = self._line(step, process), process.queues.get(step.stream)
        task = None if queue is None else queue.latest(step.thread)
        if task is None:
            task = self.runner.follow(step.sequence, line, None, () if queue is None else queue.pending())
        process.events[step.object] = Record(task, line.index, line.position, line.clock)

    def _wait_event(self, step: Step, process: _Process) -> None:
        line, record = self._line(step, process), process.events.get(step.object)
        if record is not None and step.stream in process.queues:
            process.queues[step.stream].wait_for(step.thread, record.task)
        elif record is not None:
            line.join(record.timeline, record.position, record.clock)
            if not record.task.done:
                self.runner.mark(self.runner.scheduler.follow(line, "a wait for an event", None, (record.task,)))

    def _mark(self, step: Step, process: _Process) -> None:
        queue = process.queues.get(step.stream)
        if queue is not None:
            queue.marker(step)
        else:
            self.runner.follow(step.sequence, self._line(step, process), None)

    # -- memory -----------------------------------------------------------------------------------
    def _allocate(self, step: Step, process: _Process) -> None:
        memory = step.memory
        if memory is None:
            return
        if step.overlays:
            if step.detail == MemoryKind.REGISTERED:
                self.runner.places.registered.add(memory.number)
        elif memory.kind is MemoryKind.CL_MAPPED:
            if not step.mapped_by:  # else its command has made it
                self.runner.places.allocate(memory, step.context)
            self.runner.also_known_as(step.mapped_by, step.sequence)
        elif memory.kind is MemoryKind.STREAM_ORDERED and step.stream:
            task = self.runner.places.allocate_in_stream(memory, self._line(step, process))
            self.runner.keep(step.sequence, task)
        else:
            self.runner.places.allocate(memory, step.context)

    def _free(self, step: Step, process: _Process) -> None:
        memory = step.memory
        if memory is None:
            return
        if step.overlays:
            self.runner.places.registered.discard(memory.number)
        elif step.detail == FreeClass.CL_UNMAP:
            self.runner.places.take_back(memory)
        elif step.detail == FreeClass.CL_RELEASE:
            process.keys.setdefault(step.value, []).append(self._releases.free_behind_uses(step, memory))
        elif step.detail == FreeClass.ASYNC and step.stream in process.queues:
            process.queues[step.stream].part(step, self._releases.body(step, memory))
        elif step.detail == FreeClass.ASYNC and step.stream:
            task = self.runner.places.free_in_stream(memory, self._line(step, process))
            if task is not None:
                self.runner.keep(step.sequence, task)
        else:
            self.runner.free_now(step.sequence, memory, FreeClass(step.detail))

    def timeline_of(self, step: Step) -> Timeline | None:
        """Return the stream of a step that has run, None for what the host did itself."""
        if not step.stream:
            return None
        return self._line(step, self._who(step)[1])

    # -- work -------------------------------------------------------------------------------------
    def _enqueue(self, step: Step, thread: _Thread, process: _Process) -> None:
        runner, queue = self.runner, process.queues.get(step.stream)
        if not step.stream:
            runner.now(step.kind, step.sequence, step.accesses)
            return
        if queue is not None:
            task = queue.command(step, self._body(step))
        elif step.kind is OperationKind.LAUNCH:
            task = runner.follow_kernel(step, self._line(step, process))
        elif step.waits is WaitClass.BETWEEN_CONTEXTS:
            others = runner.places.contexts_of(step.accesses) - {step.context}
            works = [self._work(process, context) for context in sorted(others)]
            task = runner.follow_contexts(step.sequence, self._line(step, process), self._body(step), works)
        else:
            before = process.values.before(step) if step.kind is OperationKind.STREAM_MEMORY_OP else ()
            task = runner.follow(step.sequence, self._line(step, process), self._body(step), before)
        self._releases.note(step)
        if step.kind is OperationKind.STREAM_MEMORY_OP:
            process.values.note(step, task)
        if step.kind is OperationKind.HOST_FUNCTION and step.object:
            process.keys.setdefault(step.object, []).append(task)
        if step.waits is WaitClass.COMPLETE:
            thread.inside = [task]

    def _body(self, step: Step) -> Body | None:
        if step.maps is not None:
            return self._regions.map(step)
        if step.unmaps is not None:
            return self._regions.unmap(step)
        # A copy that only waits for what came before has read its pageable source when it returns.
        staged = step.waits is WaitClass.BEFORE and self.runner.reads_pageable(step.accesses)
        make = self.runner.staged_body if staged else self.runner.body
        return make(step.kind, step.sequence, step.accesses)


def _task_of(record: Record | None) -> Sequence[Task]:
    return [] if record is None else [record.task]
