"""The simulated device: implements the model's executor with bytes, a schedule and recycled addresses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from streamsan.model import rarer_calls as rarer_calls  # what a program asks this machine is answered there
from streamsan.model.executor import Executor
from streamsan.model.programmatic import is_used_early
from streamsan.model.work import CopyWork, KernelWork, Work
from streamsan.platforms import CUDA
from streamsan.sim.exchange.pool_files import is_pool_file
from streamsan.sim.executor.graph_launch import GraphLaunches
from streamsan.sim.executor.host_knowledge import HostKnowledge
from streamsan.sim.executor.placement import Placement
from streamsan.sim.executor.poison import Poison
from streamsan.sim.executor.reuse import ObservedReuse, PromisedReuse
from streamsan.sim.executor.scheduler import DeadlockError, Scheduler
from streamsan.sim.executor.schedules import Lazy, policy_of
from streamsan.sim.executor.sharing import Sharing
from streamsan.sim.executor.simulated_memory import SimulatedMemory
from streamsan.sim.executor.storage import Storage
from streamsan.sim.executor.tasks import Body, ContextWork, Task, Timeline, Underway
from streamsan.sim.executor.timelines import Timelines
from streamsan.sim.executor.works import Works, label_of, staged_body
from streamsan.sim.options import Driver, SimulationOptions
from streamsan.sim.payloads import IllegalAddressError, LaunchFailedError
from streamsan.vocabulary import ContextKind, MemoryKind, WaitClass

if TYPE_CHECKING:
    from streamsan.model.process_state import HostThread
    from streamsan.model.resources import Context, OtherHandle
    from streamsan.model.streams_and_graphs import Event, GraphExec, Stream
    from streamsan.model.values import Symbol, Value

STAGED_BYTES = 2 << 20
"""of pageable memory, up to which an asynchronous copy to a device returns at once (L-09)"""
MOST_FAULTS = 100
"""messages kept"""


class SimulatedDevice(Executor):
    """Not thread-safe: the session holds one lock around every call.

    Waits raise DeadlockError where the host would hang.
    """

    unknown_is_pageable = True

    def __init__(self, options: SimulationOptions) -> None:
        super().__init__()
        self.options = options
        seed = options.schedule if isinstance(options.schedule, int) else 0
        self._policy = policy_of(options.schedule)
        self._waits = options.driver is Driver.H200
        """whether frees, resets and unregistrations wait as measured"""
        self.refuses_freed_memory = self._waits
        self.memory = SimulatedMemory(Poison(seed))
        self.faults: list[str] = []
        """What work touched memory that was not there, one line each."""
        self.on_fault: Callable[[str, int], None] | None = None
        """Called with the line and the site of the call that issued the work."""
        self._broken = 0
        """the error that work met: "any further CUDA work will return the same error" (cudaErrorIllegalAddress)"""
        self.scheduler = Scheduler(self._policy, self._run)
        """what is under way, and the site of the call that is being made"""
        self.works = Works(self.memory, self.scheduler.host_is_free)
        self._timelines = Timelines()
        self._knowledge = HostKnowledge()
        reuse = ObservedReuse(self._knowledge) if self._waits else PromisedReuse(self._policy)
        self._storage = Storage(self.memory, reuse, options.memory)
        self._sharing = Sharing(self._storage, self._timelines, self.scheduler, damages=not self._waits)
        self.exchange = self._sharing.exchange
        self.host_buffers: Callable[[int], int] | None = None
        """Asked where the host's buffer that holds an address ends; 0: not known."""
        placement = Placement(self._storage, self._timelines, self.scheduler, self._wait_for_context, waits=self._waits)
        self.place, self.free, self.trim = placement.place, placement.free, placement.trim  # type: ignore[method-assign]
        self.release_addresses, self.release_physical = placement.release_addresses, placement.release_physical  # type: ignore[method-assign]
        self.set_access = placement.set_access  # type: ignore[method-assign]
        sharing = self._sharing
        self.share_memory, self.open_memory = sharing.share_memory, sharing.open_memory  # type: ignore[method-assign]
        self.share_event, self.open_event = sharing.share_event, sharing.open_event  # type: ignore[method-assign]
        self.share_pool, self.open_pool = sharing.share_pool, is_pool_file  # type: ignore[method-assign]
        self.share_physical, self.open_physical = self._storage.share_physical, self._storage.open_physical  # type: ignore[method-assign]
        self.end_process = sharing.end
        self._graphs = GraphLaunches(self.memory, self._storage, self.scheduler, self._timelines, self.works)

    # -- for the session and tests ----------------------------------------------------------------
    def on_stuck(self, let_others_run: Callable[[], bool]) -> None:
        """Say how other host threads can go on while one waits for what only they can bring about.

        Called, again and again, when the host waits and nothing can run (a stream waits for a value): it gives the
        session's lock to other threads for a moment and returns True; False when no other thread is there (or has done
        anything for long): then the wait raises DeadlockError. Without it every such wait does.
        """
        self.scheduler.let_others_run = let_others_run

    def drain(self, let_host_functions_run: Callable[[], bool] | None = None) -> None:
        """Run all that is pending, as a normal exit of the program may. What waits for ever stays."""
        self.scheduler.let_others_run = let_host_functions_run
        for work in self._timelines.works():
            with suppress(DeadlockError):
                self.scheduler.wait(work.tails())

    def idle(self) -> None:
        """Run a share of what is pending: the program sleeps."""
        self.exchange.go_on_elsewhere()
        self.scheduler.idle()

    def idle_for_long(self) -> None:
        """Run all that can run: the program waits for something that is not CUDA."""
        self.exchange.go_on_elsewhere()
        self.scheduler.idle_for_long()

    def read(self, address: int, size: int) -> bytes:
        """Return bytes as they are now, without waiting. Raises IllegalAddressError."""
        return bytes(self.memory.view(address, size)) if size else b""

    # -- order ------------------------------------------------------------------------------------
    def enqueue(self, thread: HostThread, stream: Stream, work: Work, wait: WaitClass) -> None:
        timeline = self._timelines.of(thread, stream)
        if wait is WaitClass.BEFORE:
            self._wait_for_stream(timeline)
        staged = False
        if isinstance(work, CopyWork):
            to_host = self.memory.is_pageable(work.to.address)
            staged = not to_host and self.memory.is_pageable(work.source.address)
            if to_host:
                # Python may free or move what it gave after the call: pageable memory is touched during it only.
                wait = WaitClass.COMPLETE
        if staged and isinstance(work, CopyWork):
            body: Body | None = staged_body(self.memory, work)
        else:
            body = self.works.body(work, timeline.work.context)
        if isinstance(work, KernelWork):
            overtakes, runs_early = wait is WaitClass.AT_ONCE, is_used_early(work.references)
            task = self.scheduler.follow_kernel(
                timeline, label_of(work), body, overtakes=overtakes, runs_early=runs_early
            )
        elif isinstance(work, CopyWork) and wait is WaitClass.BETWEEN_CONTEXTS:
            task = self.scheduler.follow_contexts(timeline, label_of(work), body, self._other_contexts(work, timeline))
        else:
            task = self.scheduler.follow(timeline, label_of(work), body, (), self.works.condition(work))
        if wait is WaitClass.COMPLETE or self._copy_waits(work, wait, staged):
            self.scheduler.wait([task])
            self._knowledge.stream(timeline, task.number)
            if isinstance(work, CopyWork):
                self._sharing.looked_at(work.source.address)
        self.scheduler.after_call()

    def _copy_waits(self, work: Work, wait: WaitClass, staged: bool) -> bool:
        """Decide whether a copy that need not be complete on return is."""
        maybe = wait is WaitClass.MAYBE_COMPLETE
        if self._waits and isinstance(work, CopyWork):
            if staged:
                return maybe and work.width * work.height * work.depth > STAGED_BYTES
            to, source = self._is_managed(work.to.address), self._is_managed(work.source.address)
            if to or source:  # L-24
                form = work.form
                return not form.asynchronous or (to and form.to_host) or (source and form.from_host)
        return maybe and not self._policy.chance(0.6)

    def _other_contexts(self, work: CopyWork, timeline: Timeline) -> list[ContextWork]:
        """Return what is under way in contexts of a copy's memory, beside the timeline's own."""
        blocks = [self.memory.find(side.address) for side in (work.to, work.source)]
        contexts = dict.fromkeys(block.context for block in blocks if block is not None and block.context is not None)
        return [self._timelines.work(context) for context in contexts if context is not timeline.work.context]

    def _is_managed(self, address: int) -> bool:
        block = self.memory.find(address)
        return block is not None and block.kind is MemoryKind.MANAGED

    def host_buffer_end(self, address: int) -> int:
        """Return where the host's own buffer that holds an address ends; 0: its size is not known."""
        if self.host_buffers is None or not self.memory.is_pageable(address):
            return 0
        return self.host_buffers(address)

    def run_now(self, thread: HostThread, work: Work) -> None:
        """Work that the host does itself during the call. What it cannot reach is a fault of no context."""
        body = self.works.body(work, None)
        if body is not None:
            try:
                body()
            except (IllegalAddressError, LaunchFailedError) as error:
                self._note(f"{label_of(work)}: {error}", self.scheduler.site)

    def record(self, thread: HostThread, stream: Stream, event: Event) -> None:
        timeline = self._timelines.of(thread, stream)
        task = self.scheduler.follow(timeline, "an event", None)
        self._timelines.record(event, task, timeline)
        self.scheduler.after_call()

    def wait_event(self, thread: HostThread, stream: Stream, event: Event) -> None:
        """What is issued to the stream from here on waits for the event's latest record; none: for nothing (A-06)."""
        record = self._timelines.recorded(event)
        if record is not None:
            timeline = self._timelines.of(thread, stream)
            timeline.join(record.timeline, record.position, record.clock)
            if not record.task.done:
                self.scheduler.follow(timeline, "a wait for an event", None, (record.task,))
        self.scheduler.after_call()

    def synchronize_stream(self, thread: HostThread, stream: Stream) -> None:
        """The host waits for a stream, and what the default stream's rules put before its end."""
        self._wait_for_stream(self._timelines.of(thread, stream))
        self._waited()

    def synchronize_event(self, thread: HostThread, event: Event) -> None:
        record = self._timelines.recorded(event)
        if record is not None:
            self.scheduler.wait([record.task])
            self._knowledge.event(record)
        self._waited()

    def synchronize_context(self, thread: HostThread, context: Context) -> None:
        self._wait_for_context(context)
        self._waited()

    def query_stream(self, thread: HostThread, stream: Stream, fresh: Symbol) -> Value:
        """Return 0 (complete) or 600 (not ready)."""
        timeline = self._timelines.of(thread, stream)
        complete = self.scheduler.query(timeline.awaited())
        if complete:
            self._knowledge.stream(timeline, self.scheduler.latest)
        return self._answer(complete)

    def query_event(self, thread: HostThread, event: Event, fresh: Symbol) -> Value:
        """Return 0 (complete, or never recorded) or 600 (not ready)."""
        record = self._timelines.recorded(event)
        complete = record is None or self.scheduler.query([record.task])
        if complete and record is not None:
            self._knowledge.event(record)
        return self._answer(complete)

    def elapsed(self, start: Event, end: Event, fresh: Symbol) -> Value:
        """Return the simulated milliseconds between two events; `fresh` where one is not complete."""
        first, second = self._timelines.recorded(start), self._timelines.recorded(end)
        if first is None or second is None or not first.task.done or not second.task.done:
            return fresh
        return second.task.finished_at - first.task.finished_at

    # -- graphs -----------------------------------------------------------------------------------
    def launch_graph(self, thread: HostThread, executable: GraphExec, stream: Stream) -> None:
        timeline = self._timelines.of(thread, stream)
        end = self._graphs.launch(executable, timeline)
        if self._graphs.uses_pageable(executable):
            self.scheduler.wait([end])
        self.scheduler.after_call()

    # -- ends -------------------------------------------------------------------------------------
    def end_context(self, thread: HostThread, context: Context) -> None:
        """A context was reset or destroyed: its memory is gone, and (contract) what was pending may never have run."""
        work = self._timelines.work(context)
        if self._waits:
            with suppress(DeadlockError):
                self._wait_for_works(self._awaited_at_end(context))
        elif not self._drops_pending():
            with suppress(DeadlockError):
                self._wait_for_context(context)
        self.scheduler.drop(work)
        self._knowledge.forget(work)
        self._storage.end_context(context)
        self._timelines.end(context)
        if self._broken and context.kind is ContextKind.PRIMARY:
            # After a reset that followed a sticky error only a new process can use the device.
            self._broken = CUDA.status.devices_unavailable
        self.scheduler.after_call()

    def _awaited_at_end(self, context: Context) -> list[ContextWork]:
        """Return what a context's end waits for: its device's work (L-22), at a reset all devices' (R-01, P-07)."""
        works = self._timelines.works()
        if context.kind is ContextKind.PRIMARY:
            return works
        return [work for work in works if work.context is None or work.context.ordinal == context.ordinal]

    def _drops_pending(self) -> bool:
        return isinstance(self._policy, Lazy) or self._policy.chance(0.5)

    # -- other processes --------------------------------------------------------------------------
    @property
    def exporter(self) -> int:
        return self.exchange.number

    # -- the machine ------------------------------------------------------------------------------
    def device_count(self, fresh: Symbol) -> Value:
        return self.options.devices

    def memory_info(self, ordinal: int) -> tuple[int, int]:
        return self._storage.memory_info(ordinal)

    def pool_usage(self, pool: OtherHandle) -> tuple[int, int]:
        found = self._storage.pool(pool, None)
        return found.reserved, found.asked

    def sticky_error(self, context: Context) -> int:
        """Return the error that work met (700, 719), 0 if none: it ends the process's use of CUDA, in all contexts."""
        return self._broken

    # -- running ----------------------------------------------------------------------------------
    def _run(self, task: Task, body: Body) -> Underway | None:
        if self._broken and not task.essential:
            return None  # after a sticky error nothing runs
        try:
            return body()
        except IllegalAddressError as error:
            self._broken = self._broken or CUDA.status.illegal_address
            self._note(f"{task.label}: {error} (error {CUDA.status.illegal_address})", task.site)
        except LaunchFailedError as error:
            self._broken = self._broken or CUDA.status.launch_failure
            self._note(f"{task.label} failed: {error} (error {CUDA.status.launch_failure})", task.site)
        return None

    def _note(self, message: str, site: int) -> None:
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(message)
            if self.on_fault is not None:
                self.on_fault(message, site)

    def _answer(self, complete: bool) -> Value:
        if not complete:
            self.exchange.go_on_elsewhere()
        self.scheduler.after_call()
        return CUDA.status.success if complete else CUDA.status.not_ready

    def _waited(self) -> None:
        """After a wait the driver gives back what pools hold above their thresholds; promised is that it will try."""
        if self._waits:
            self._storage.release_unused()
        self.scheduler.after_call()

    def _wait_for_stream(self, timeline: Timeline) -> None:
        self.scheduler.wait(timeline.awaited())
        self._knowledge.stream(timeline, self.scheduler.latest)

    def _wait_for_context(self, context: Context | None) -> None:
        self._wait_for_works([self._timelines.work(context)])

    def _wait_for_works(self, works: Sequence[ContextWork]) -> None:
        latest = self.scheduler.latest
        self.scheduler.wait([task for work in works for task in work.tails()])
        self._knowledge.contexts(works, latest)
