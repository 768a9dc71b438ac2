"""A program as a machine: steps of host threads, queues and work, each with the steps that must have happened before.

Written from the contract alone (docs/facts.md, the API's documentation), in the words of a device: a stream is a queue,
what is put on it begins when what was put there before has ended, and whatever else it waits for. Nothing here knows of
clocks or of edges between operations.

- A call of a host thread is one step; one that waits is two, for it may be entered before what it waits for is done.
- What is on a stream is two steps, its begin and its end: work of two streams may overlap.
- A programmatic kernel right behind another one may begin as soon as that one may, whether it has ended or not. What it
  does before it waits for it is a part of its own, the rest is as if it were an ordinary one, and so is a kernel that
  may wait before it does anything. What comes later is behind all of them.
- An action on the legacy default stream begins when all that the context's blocking streams were given has ended, and
  what they are given later waits for it. That a host waits for a stream covers these as well (L-01).
- An event's record ends when all before it has; a wait refers to the latest record at the time of its call, and ends
  when that has. Never recorded: nothing to wait for. Destroying events and streams changes nothing for work that was
  issued (A-04, A-05).
- A host function's body, where the trace has it, is the steps of a thread between taking and giving back its sync key:
  it begins when the function does, and the function ends when it has given the key back. Whom the body tells something,
  by another key, may believe that it is over (`run`): programs do. In a recording the body's end is not seen, and
  whoever comes after its beginning believes so.
- A query that is answered by success is a wait. An answer that work is not done promises nothing: it may be old when
  it arrives. So it is a step that waits for nothing.
- A launch of a graph begins when the launch before has ended (of the same executable graph), its nodes begin after it
  and after what edges put before them, and it ends when all have. What a node in its midst waits for is believed to be
  before all of it, and what it records to be after all of it (`run`).
- Frees of other than stream-ordered memory "may" wait: by contract they do not. `observed`: with the waits of the real
  driver, for the memory's own context (F-01, F-10, F-11, F-12, F-15). So it is with an asynchronous copy to pageable
  memory (L-10).
- Threads: what is released under a key is before what takes it later, as in the trace. `run`: believe also what holds
  for this run only. In a recording calls follow each other as they are numbered, which is such an order.
- Whose call comes first decides what a queue holds, which record a wait means, and which streams a context has; as in
  the trace, whatever the schedule of the threads. Beyond that the threads are free.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from execution_oracle.lifetimes import Lifetimes
from execution_oracle.memory import PAGEABLE, Memory, is_unregistration, waiting_free
from execution_oracle.program import LEGACY, PER_THREAD, Body, Known, Node, Op, Program
from streamsan.vocabulary import EdgeClass, FreeClass, MemoryKind, NodeKind, SlotFlag, StreamKind, WaitClass
from streamsan.vocabulary import OperationKind as Kind

WORK = {Kind.LAUNCH, Kind.COPY, Kind.MEMSET, Kind.PREFETCH, Kind.HOST_FUNCTION, Kind.STREAM_MEMORY_OP}
QUIET = (NodeKind.EVENT_WAIT, NodeKind.EVENT_RECORD, NodeKind.EMPTY)
Part = tuple[int, int]
"""an operation's index, and a node's number; 0: the operation itself"""
EARLY = 1
"""the part of a kernel that does not wait for the kernel before it"""
WRITTEN = 2
"""what a copy does to pageable host memory, where only measurements say that it is complete when its call returns"""


@dataclass
class _Stream:
    kind: StreamKind
    context: int
    ends: int = 0
    """the step that made it, and those that end what it was given"""
    kernel: int | None = None
    """of a kernel that was put last on it: what must have happened before that could begin"""

    @property
    def blocking(self) -> bool:
        return self.kind in (StreamKind.BLOCKING, StreamKind.PER_THREAD)


@dataclass
class _Context:
    ends: int = 0
    """of all its streams, destroyed ones included"""
    legacy_ends: int = 0
    blocking_ends: int = 0


@dataclass
class _Key:
    released: int = 0
    """steps that whoever takes the key is after ..."""
    released_in_run: int = 0
    """... and those by orders of this run only"""
    function: tuple[int, int, int] | None = None
    """of the host function whose body takes it: its begin, its end, and the end of the launch that it is a node of"""


@dataclass
class _Exec:
    body: Body
    last_end: int = 0


@dataclass
class Machine:
    """The steps; `guards[step]` are the bits of those that must have happened before."""

    guards: list[int] = field(default_factory=list)
    call: dict[int, int] = field(default_factory=dict)
    """operation to the step in which its thread made the call ..."""
    back: dict[int, int] = field(default_factory=dict)
    """... and the one in which it returned; the same where it does not wait"""
    begin: dict[Part, int] = field(default_factory=dict)
    end: dict[Part, int] = field(default_factory=dict)
    vague: set[int] = field(default_factory=set)
    """waits for events that were recorded in the midst of a launch"""
    awaited: dict[int, int] = field(default_factory=dict)
    """a stream's wait (operation) to the bits of the record that it waits for, where that is nothing else"""
    perhaps: int = 0
    """bits of work that may have been on streams before, as their first use reveals it"""
    releases: int = 0
    """bits of the steps in which a thread tells others that its calls so far are over"""
    seen: set[int] = field(default_factory=set)
    """steps that somebody can tell from not having happened: ends of work, and what hosts do to memory"""


def machine_of(
    program: Program,
    *,
    run: bool = True,
    observed: bool = False,
    idle: frozenset[int] = frozenset(),
    lifetimes: Lifetimes | None = None,
) -> Machine:
    """Build a program's machine. The waits `idle` (indices) do not wait."""
    return _Builder(program, run, observed, idle, lifetimes or Lifetimes(program)).machine


class _Builder:
    def __init__(self, program: Program, run: bool, observed: bool, idle: frozenset[int], lifetimes: Lifetimes) -> None:
        self.run, self.observed, self.idle, self.lifetimes = run, observed, idle, lifetimes
        self.recording = program.origin == "recording"
        self.machine = Machine()
        self.memory = Memory()
        self.hosts = [0] * program.threads
        """bits of the last step of each thread"""
        self.latest = 0
        self.current = [0] * program.threads
        self.contexts: dict[int, _Context] = {}
        self.streams: dict[int, _Stream] = {}
        self.defaults: dict[tuple[int, int], _Stream] = {}
        self.events: dict[int, int] = {}
        """what a wait for the event waits for"""
        self.keys: dict[int, _Key] = {}
        self.bodies: dict[int, int] = {}
        """thread that runs a body to its key"""
        self.execs: dict[int, _Exec] = {}
        self.inside_launch: set[int] = set()
        """events that were recorded by a node in the midst of a launch"""
        self.floor = 0
        """all that comes after this: calls that nobody can see"""
        self.everything = program.everything
        self.whole = program.ops[0].kind is Kind.MAIN_BEGIN
        self.used_before: set[int] = set()
        """default streams of which it is not known what was put on them before the program"""
        self.by_graph: set[int] = set()
        """events that were recorded by a node: what they stand for is the launch"""
        for known in program.before:
            self.know(known)
        for index, op in enumerate(program.ops):
            self.take(index, op)

    # -- steps --------------------------------------------------------------------------------------
    def step(self, guard: int, seen: bool = False) -> int:
        machine = self.machine
        machine.guards.append(guard)
        if seen:
            machine.seen.add(len(machine.guards) - 1)
        return len(machine.guards) - 1

    def host(self, thread: int, guard: int = 0, seen: bool = False) -> int:
        """The next step of a thread."""
        before = self.hosts[thread] | self.floor
        if self.recording and self.run:
            before |= self.latest
        step = self.step(before | guard, seen)
        self.hosts[thread] = self.latest = 1 << step
        return step

    def stream(self, op: Op) -> _Stream:
        context = self.current[op.thread]
        if op.stream not in (LEGACY, PER_THREAD):
            return self.streams[op.stream]
        key = (context, -1 if op.stream == LEGACY else op.thread)
        if key not in self.defaults:
            kind = StreamKind.LEGACY if op.stream == LEGACY else StreamKind.PER_THREAD
            self.defaults[key] = _Stream(kind, context)
            if self.floor or op.stream in self.used_before:  # who knows what was put there
                self.machine.perhaps |= 1 << len(self.machine.guards)
                self.close(self.defaults[key], 1 << self.step(0, seen=True))
        return self.defaults[key]

    def ahead(self, stream: _Stream) -> int:
        """What is ahead of the stream's next entry, and of whoever waits for the stream now."""
        return stream.ends | self.neighbours(stream)

    def neighbours(self, stream: _Stream) -> int:
        """What the legacy stream's rules put ahead of the stream's next entry."""
        context = self.contexts[stream.context]
        if stream.kind is StreamKind.LEGACY:
            return context.blocking_ends
        return context.legacy_ends if stream.blocking else 0

    def put(self, part: Part, stream: _Stream, guard: int, awaited: int = 0, seen: bool = True) -> int:
        """Put something on a stream; return the bit of its end."""
        begin = self.step(guard | self.ahead(stream))
        end = self.step(1 << begin | awaited, seen)
        self.machine.begin[part], self.machine.end[part] = begin, end
        self.close(stream, 1 << end)
        return 1 << end

    def close(self, stream: _Stream, bit: int) -> None:
        context = self.contexts[stream.context]
        stream.kernel = None
        stream.ends |= bit
        context.ends |= bit
        if stream.kind is StreamKind.LEGACY:
            context.legacy_ends |= bit
        elif stream.blocking:
            context.blocking_ends |= bit

    def plain(self, index: int, op: Op, seen: bool = False) -> int:
        step = self.host(op.thread, seen=seen)
        self.machine.call[index] = self.machine.back[index] = step
        return 1 << step

    def waiting(self, index: int, op: Op, awaited: int, seen: bool = False) -> int:
        call = self.host(op.thread)
        back = self.host(op.thread, 0 if index in self.idle else awaited, seen)
        self.machine.call[index], self.machine.back[index] = call, back
        return 1 << back

    # -- operations ---------------------------------------------------------------------------------
    def know(self, known: Known) -> None:
        """Of a stream that was there before the program it is not known what was put on it."""
        self.contexts.setdefault(known.context, _Context())
        if known.handle > PER_THREAD:
            stream = self.streams[known.handle] = _Stream(known.kind, known.context)
            if not known.stated:
                self.machine.perhaps |= 1 << len(self.machine.guards)
            self.close(stream, 1 << self.step(0, seen=True))
        else:
            self.used_before.add(known.handle)  # each thread and context has its own: seen when it is used

    def without_effect(self, index: int, op: Op) -> None:
        """A call that failed, or that names something which is gone. What it was meant to order is believed."""
        meant = self.events.get(op.object, 0) if self.run and index in self.lifetimes.stale else 0
        if op.kind is Kind.EVENT_SYNCHRONIZE and meant:
            self.waiting(index, op, meant)
            return
        self.plain(index, op)
        if op.kind is Kind.STREAM_WAIT_EVENT and meant and index not in self.lifetimes.gone_stream:
            stream = self.stream(op)
            kernel = stream.kernel
            self.close(stream, meant)
            stream.kernel = kernel  # nothing was put behind it

    def take(self, index: int, op: Op) -> None:
        if not self.lifetimes.has_effect(index):
            self.without_effect(index, op)
        elif op.kind in WORK:
            self.work(index, op)
        else:
            handler = getattr(self, "do_" + op.kind.name.lower(), None)
            if handler is None:
                self.plain(index, op)
            else:
                handler(index, op)

    def do_context_create(self, index: int, op: Op) -> None:
        self.plain(index, op)
        self.contexts.setdefault(op.object, _Context())

    def do_context_current(self, index: int, op: Op) -> None:
        self.plain(index, op)
        self.current[op.thread] = op.object

    def end_context(self, index: int, op: Op) -> None:
        # By contract at once; the driver waits for all of its work (R-01, L-22).
        if self.observed:
            self.waiting(index, op, self.contexts[op.object].ends, seen=True)
        else:
            self.plain(index, op, seen=True)
        self.memory.end_context(index, op)

    do_device_reset = do_context_destroy = end_context

    def do_stream_create(self, index: int, op: Op) -> None:
        made = self.plain(index, op)
        # Who waits for the stream, or for all that a context has, comes after it was made. The legacy stream waits for
        # work only.
        context = self.current[op.thread]
        self.streams[op.object] = _Stream(StreamKind(op.detail), context, made)
        self.contexts[context].ends |= made

    def do_event_create(self, index: int, op: Op) -> None:
        self.plain(index, op)
        if op.flags & SlotFlag.ASSUMED:
            self.events.pop(op.object, None)
        else:
            self.events[op.object] = 0
        self.inside_launch.discard(op.object)
        self.by_graph.discard(op.object)

    def do_event_record(self, index: int, op: Op) -> None:
        call = self.plain(index, op)
        end = self.put((index, 0), self.stream(op), call)
        self.events[op.object] = end
        self.inside_launch.discard(op.object)
        self.by_graph.discard(op.object)

    def do_stream_wait_event(self, index: int, op: Op) -> None:
        call = self.plain(index, op)
        if op.object in self.inside_launch:
            self.machine.vague.add(index)
        recorded = self.recorded(op.object)
        self.machine.awaited[index] = 0 if op.object in self.by_graph else recorded
        awaited = 0 if index in self.idle else recorded
        self.put((index, 0), self.stream(op), call, awaited, seen=False)

    def do_stream_synchronize(self, index: int, op: Op) -> None:
        self.waiting(index, op, self.ahead(self.stream(op)))

    def do_stream_query(self, index: int, op: Op) -> None:
        if op.status:
            self.plain(index, op)
        else:
            self.do_stream_synchronize(index, op)

    def do_event_synchronize(self, index: int, op: Op) -> None:
        if op.object in self.inside_launch:
            self.machine.vague.add(index)
        self.waiting(index, op, self.recorded(op.object))

    def do_event_query(self, index: int, op: Op) -> None:
        if op.status:
            self.plain(index, op)
        else:
            self.do_event_synchronize(index, op)

    def do_context_synchronize(self, index: int, op: Op) -> None:
        if LEGACY in self.used_before and (op.object, -1) not in self.defaults:
            legacy = self.defaults[op.object, -1] = _Stream(StreamKind.LEGACY, op.object)
            if self.whole:  # only a stream of unknown code that is this one can have had work
                self.machine.perhaps |= 1 << len(self.machine.guards)
            self.close(legacy, 1 << self.step(0, seen=True))
        self.waiting(index, op, self.contexts[op.object].ends)

    def do_host_release(self, index: int, op: Op) -> None:
        step = self.plain(index, op, seen=True)
        self.machine.releases |= step
        key = self.keys.setdefault(op.object, _Key())
        body = self.keys[self.bodies[op.thread]].function if op.thread in self.bodies else None
        if body is not None and not self.recording:
            if self.bodies[op.thread] == op.object:
                self.machine.guards[body[1]] |= step  # the body is over
                del self.bodies[op.thread]
            elif self.run:
                key.released_in_run |= 1 << body[2]
        if op.detail == EdgeClass.CONTRACT:
            key.released |= step
        else:
            key.released_in_run |= step

    def do_host_acquire(self, index: int, op: Op) -> None:
        key = self.keys.setdefault(op.object, _Key())
        guard = 0
        if op.detail == EdgeClass.CONTRACT or self.run:
            guard = key.released | (key.released_in_run if self.run else 0)
        if key.function is not None:
            guard |= 1 << key.function[2 if self.recording and self.run else 0]
            self.bodies[op.thread] = op.object
        step = self.host(op.thread, guard)
        self.machine.call[index] = self.machine.back[index] = step

    def do_opaque_call(self, index: int, op: Op) -> None:
        self.plain(index, op)
        if not self.everything:
            return
        self.floor = 1 << self.host(op.thread, self.all_so_far())
        for stream in (*self.streams.values(), *self.defaults.values()):
            self.close(stream, 1 << self.step(self.floor, seen=True))
        recorded = 1 << self.step(self.floor, seen=True)
        self.events = {event: known | recorded for event, known in self.events.items()}
        for context in self.contexts.values():  # an event's record is on a stream of its own context
            context.ends |= recorded

    def all_so_far(self) -> int:
        work = reduce(or_, (context.ends for context in self.contexts.values()), 0)
        return work | reduce(or_, self.hosts, 0)

    def recorded(self, event: int) -> int:
        """What a wait for the event waits for."""
        if event not in self.events and self.everything:
            return self.all_so_far()
        return self.events.get(event, 0)

    def do_host_access(self, index: int, op: Op) -> None:
        self.plain(index, op, seen=True)

    def do_alloc(self, index: int, op: Op) -> None:
        ordered = op.detail == MemoryKind.STREAM_ORDERED and not op.flags & SlotFlag.ASSUMED
        announced = op.detail == MemoryKind.GRAPH
        host = self.memory.at(op.references[0].address) if op.detail == MemoryKind.REGISTERED else None
        known = op.detail in PAGEABLE or (host is not None and host.kind in PAGEABLE and host.freed is None)
        call = self.plain(index, op, seen=not ordered and not announced and not known)
        context = 0 if op.flags & SlotFlag.ASSUMED else self.current[op.thread]
        if ordered:
            stream = self.stream(op)
            context = stream.context
            self.put((index, 0), stream, call)
        self.memory.allocate(index, op, context)

    def do_free(self, index: int, op: Op) -> None:
        allocation = self.memory.at(op.references[0].address)
        assert allocation is not None
        if op.detail == FreeClass.GRAPH_NODE or allocation.dead:
            self.plain(index, op)
            return
        if op.detail == FreeClass.ASYNC:
            self.put((index, 0), self.stream(op), self.plain(index, op, seen=True))
        elif self.observed and waiting_free(op, allocation):
            unregistered = is_unregistration(op, allocation)
            context = self.contexts.get(self.current[op.thread] if unregistered else allocation.context)
            every = reduce(or_, (each.ends for each in self.contexts.values()), 0)
            self.waiting(index, op, every if context is None else context.ends, seen=not unregistered)
        else:
            self.plain(index, op, seen=not is_unregistration(op, allocation))
        self.memory.free(index, op)

    def work(self, index: int, op: Op) -> None:
        wait = WaitClass.NONE if op.kind is Kind.HOST_FUNCTION else op.detail
        if op.stream == 0:
            self.plain(index, op, seen=True)  # from host memory to host memory: done by the host itself
            return
        stream = self.stream(op)
        if wait == WaitClass.BEFORE:
            call = self.waiting(index, op, self.ahead(stream))
            self.machine.call[index] = self.machine.back[index]  # it is issued, and reads, when the wait is over
        elif wait == WaitClass.COMPLETE or (self.observed and wait == WaitClass.OBSERVED_COMPLETE):
            call = 1 << self.host(op.thread)
        else:
            call = self.plain(index, op)
        if op.kind is Kind.LAUNCH:
            self.kernel(index, op, stream, call)
        else:
            self.put((index, 0), stream, call)
        if wait == WaitClass.COMPLETE or (self.observed and wait == WaitClass.OBSERVED_COMPLETE):
            self.machine.call[index] = call.bit_length() - 1
            self.machine.back[index] = self.host(op.thread, self.ahead(stream))
        if wait == WaitClass.OBSERVED_COMPLETE:
            self.put((index, WRITTEN), stream, call)
        if op.kind is Kind.HOST_FUNCTION and op.object:
            self.keys.setdefault(op.object, _Key()).function = (
                self.machine.begin[index, 0],
                self.machine.end[index, 0],
                self.machine.end[index, 0],
            )

    def kernel(self, index: int, op: Op, stream: _Stream, call: int) -> None:
        if op.detail != WaitClass.AT_ONCE or stream.kernel is None:
            before = call | self.ahead(stream)
            self.put((index, 0), stream, call)
        else:
            before = call | stream.kernel | self.neighbours(stream)
            begin = self.step(before)
            end = self.step(1 << begin, seen=True)
            self.machine.begin[index, EARLY], self.machine.end[index, EARLY] = begin, end
            self.put((index, 0), stream, call, 1 << end)
        stream.kernel = before

    # -- graphs -------------------------------------------------------------------------------------
    def do_graph_instantiate(self, index: int, op: Op) -> None:
        self.plain(index, op)
        assert op.body is not None
        self.execs[op.object] = _Exec(op.body)

    def do_graph_update(self, index: int, op: Op) -> None:
        self.plain(index, op)
        assert op.body is not None
        self.execs[op.object].body = op.body

    def do_graph_node_update(self, index: int, op: Op) -> None:
        self.plain(index, op)
        graph = self.execs[op.object]
        nodes = list(graph.body.nodes)
        old = nodes[op.address - 1]
        nodes[op.address - 1] = Node(old.kind, op.references, old.object)
        graph.body = Body(tuple(nodes), graph.body.edges)

    def do_graph_launch(self, index: int, op: Op) -> None:
        call = self.plain(index, op)
        graph, stream = self.execs[op.object], self.stream(op)
        ahead = call | self.ahead(stream) | graph.last_end
        nodes = list(enumerate(graph.body.nodes, 1))
        waits = {number: self.recorded(node.object) for number, node in nodes if node.kind is NodeKind.EVENT_WAIT}
        begin = self.step(ahead | (reduce(or_, waits.values(), 0) if self.run else 0))
        self.machine.begin[index, 0] = begin
        ends = 1 << begin
        for number, node in nodes:
            before = 1 << begin
            for earlier, later in graph.body.edges:
                if later == number:
                    before |= 1 << self.machine.end[index, earlier]
            starts = self.step(before)
            done = self.step(1 << starts | waits.get(number, 0), seen=node.kind not in QUIET)
            self.machine.begin[index, number], self.machine.end[index, number] = starts, done
            ends |= 1 << done
        end = self.step(ends, seen=True)
        self.machine.end[index, 0] = end
        graph.last_end = 1 << end
        self.close(stream, 1 << end)
        for number, node in nodes:
            if node.kind is NodeKind.EVENT_RECORD:
                last = comes_last(graph.body, number)
                self.by_graph.add(node.object)
                self.inside_launch.discard(node.object)
                if not last:
                    self.inside_launch.add(node.object)
                self.events[node.object] = 1 << end if last or self.run else ahead
            elif node.kind is NodeKind.HOST and node.object:
                function = (self.machine.begin[index, number], self.machine.end[index, number], end)
                self.keys.setdefault(node.object, _Key()).function = function


def comes_last(body: Body, number: int) -> bool:
    """Whether a node comes after all others, by the body's edges."""
    before = {number}
    for earlier, later in sorted(body.edges, reverse=True):
        if later in before:
            before.add(earlier)
    return len(before) == len(body.nodes)
