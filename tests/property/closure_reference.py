"""The plain reference: an explicit graph of operations, its closure in four relations, and the required orders.

Nothing here is clever or streaming: every operation is a node, every edge has a class, a closure is a set of ancestors
for each node, and every pair of a use and a free is looked at. The definitions are those of docs/architecture.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from random_programs import Op

from streamsan.order.engine import Analysis

ORDERING = {101, 102, 103, 107, 108}
CONTRACT, RUN, OPAQUE, OBSERVED = 0, 1, 2, 3
"""edge classes; relation r has the edges of class <= r"""
UNORDERED = 4


@dataclass
class Stream:
    handle: int
    kind: str
    context: int
    last: int | None = None
    alive: bool = True
    keys: list[int] = field(default_factory=list)
    opaque: int = 0
    """how many opaque calls it is known to be after"""
    awaited_opaque: int = 0
    """how many of them came before the last wait for it"""
    used: bool = True
    """it was given something; streams of unknown callers, and default streams, may have been"""

    @property
    def assumed(self) -> bool:
        return self.kind == "unknown"

    @property
    def blocking(self) -> bool:
        return self.kind in ("blocking", "per_thread", "unknown")


@dataclass
class Event:
    created: bool
    record: int | None = None
    source: Stream | None = None
    opaque: int = 0


@dataclass
class Memory:
    kind: str
    context: int
    made: int | None
    uses: list[tuple[int, bool, bool, Stream]] = field(default_factory=list)
    """node, reads only, a copy (not a kernel)"""
    free_host: int | None = None
    free_stream: int | None = None
    free_assumed: bool = False
    free_sequence: int = 0
    family: str = ""
    reported: bool = False


class Reference:
    """Runs a program; `verdicts` are pairs of a rule and a sequence, `unseen` those that only an opaque call may avert.

    `dominated` are the sequences of idle waits. In a `recording` each operation of a thread comes after the earlier
    ones of the others, by a run edge; a host function's body says what it knows through its thread's operations only,
    and one that was not seen tells every thread, in a way that nobody sees.
    """

    def __init__(self, program: list[Op], threads: int, recording: bool = False) -> None:
        self.recording = recording
        self.last_host: int | None = None
        self.told: list[int] = []
        """device work that may have told everybody that it is reached"""
        self.edges: list[list[tuple[int, int]]] = []
        self.real: set[int] = set()
        self.records: set[int] = set()
        """event records: somebody may read their times"""
        self.hosts: list[int | None] = [None] * threads
        self.host_opaque = [0] * threads
        self.contexts = [0] * threads
        self.streams: dict[int, Stream] = {}
        self.every: list[Stream] = []
        self.default: dict[tuple[int, int], Stream] = {}
        self.events: dict[int, Event] = {}
        self.memory: dict[int, Memory] = {}
        self.keys: dict[int, list[tuple[int, int]]] = {}
        self.functions: dict[int, tuple[int, Stream]] = {}
        """key to the latest host function whose body takes it"""
        self.inside: dict[int, tuple[int, int, Stream]] = {}
        """thread to the key of the body that it runs, and its function"""
        self.opaque_nodes: list[int] = []
        self.awaited_opaque: dict[int, int] = {}
        """context to how many opaque calls came before the last wait for all of it"""
        self.unknown_work = False
        """a stream of an unknown caller was given something"""
        self.checks: list[tuple[str, int, object]] = []
        for sequence, op in enumerate(program, 1):
            getattr(self, "do_" + op.name)(op, sequence)
        self.ancestors = [self.closure(relation) for relation in (CONTRACT, RUN, OPAQUE, OBSERVED)]
        self.verdicts: set[tuple[int, int]] = set()
        self.unseen: set[tuple[int, int]] = set()
        self.dominated: set[int] = set()
        for name, sequence, what in self.checks:
            getattr(self, "check_" + name)(sequence, what)
        # The worst thing said of an operation is what counts.
        self.verdicts -= {(107, sequence) for code, sequence in self.verdicts if code in (102, 108)}
        self.unseen -= self.verdicts

    # -- the graph --------------------------------------------------------------------------------
    def node(self, *before: tuple[int | None, int], real: bool = False) -> int:
        self.edges.append([(other, strength) for other, strength in before if other is not None])
        number = len(self.edges) - 1
        if real:
            self.real.add(number)
        return number

    def closure(self, relation: int) -> list[set[int]]:
        result: list[set[int]] = []
        for number, edges in enumerate(self.edges):
            mine = {number}
            for other, strength in edges:
                if strength <= relation:
                    mine |= result[other]
            result.append(mine)
        return result

    def host(self, op: Op, *before: tuple[int | None, int], real: bool = False) -> int:
        edges = [(self.hosts[op.thread], CONTRACT), *before]
        if self.host_opaque[op.thread] != len(self.opaque_nodes):
            self.host_opaque[op.thread] = len(self.opaque_nodes)
            edges.append((self.opaque_nodes[-1], OPAQUE))
        if self.recording:
            edges += [(self.last_host, RUN), *((node, OPAQUE) for node in self.told)]
        self.hosts[op.thread] = self.last_host = self.node(*edges, real=real)
        return self.hosts[op.thread]  # type: ignore[return-value]

    def everything(self) -> list[tuple[int, int]]:
        return [(number, RUN) for number in range(len(self.edges))]

    # -- streams ----------------------------------------------------------------------------------
    def add_stream(self, handle: int, kind: str, context: int) -> Stream:
        opaque = len(self.opaque_nodes)
        stream = Stream(handle, kind, context, opaque=opaque, awaited_opaque=opaque)
        if kind in ("unknown", "legacy", "per_thread"):
            stream.last = self.node(real=True)  # somebody unknown may have work on it
        self.every.append(stream)
        return stream

    def stream(self, op: Op) -> Stream:
        context = self.contexts[op.thread]
        if op.stream in (1, 2):
            key = (context, 0 if op.stream == 1 else op.thread + 1)
            if key not in self.default:
                self.default[key] = self.add_stream(op.stream, "legacy" if op.stream == 1 else "per_thread", context)
            stream = self.default[key]
        elif op.stream not in self.streams:
            stream = self.streams[op.stream] = self.add_stream(op.stream, "unknown", context)
        else:
            stream = self.streams[op.stream]
        self.unknown_work |= stream.assumed and not self.recording
        return stream

    def meet_opaque(self, stream: Stream) -> None:
        if stream.opaque != len(self.opaque_nodes):
            stream.opaque = len(self.opaque_nodes)
            stream.used = True
            stream.last = self.node((stream.last, CONTRACT), (self.opaque_nodes[-1], OPAQUE), real=True)

    def behind(self, stream: Stream) -> list[tuple[int | None, int]]:
        """What the stream's queue waits for besides its own operations."""
        if stream.kind == "legacy":
            others = [
                other for other in self.every if other.blocking and other.used and other.context == stream.context
            ]
        else:
            legacy = self.default.get((stream.context, 0))
            others = [legacy] if stream.blocking and legacy is not None else []
        # A stream of an unknown kind may not be a blocking one: that it is, is believed.
        edges = [(other.assumed, edge) for other in others for edge in [(other.last, CONTRACT), *self.bodies(other)]]
        return [(node, RUN if doubt or stream.assumed else strength) for doubt, (node, strength) in edges]

    def bodies(self, stream: Stream) -> list[tuple[int | None, int]]:
        return [edge for key in stream.keys for edge in self.keys.get(key, [])]

    def on_stream(self, op: Op, stream: Stream, *before: tuple[int | None, int], real: bool) -> int:
        call = self.host(op)
        self.meet_opaque(stream)
        edges = [(stream.last, CONTRACT), (call, CONTRACT), *self.behind(stream), *self.bodies(stream), *before]
        stream.last = self.node(*edges, real=real)
        stream.used = True
        return stream.last

    def awaited(self, stream: Stream) -> list[tuple[int | None, int]]:
        self.meet_opaque(stream)
        return [(stream.last, CONTRACT), *self.behind(stream), *self.bodies(stream)]

    # -- operations -------------------------------------------------------------------------------
    def do_create_context(self, op: Op, sequence: int) -> None:
        self.host(op)

    def do_current(self, op: Op, sequence: int) -> None:
        self.host(op)
        self.contexts[op.thread] = op.object

    def do_create(self, op: Op, sequence: int) -> None:
        call = self.host(op)
        stream = self.add_stream(op.object, op.kind, self.contexts[op.thread])
        stream.last = self.node((call, CONTRACT))
        stream.used = False
        self.streams[op.object] = stream

    def do_destroy(self, op: Op, sequence: int) -> None:
        self.host(op)
        self.streams.pop(op.object).alive = False

    def do_launch(self, op: Op, sequence: int) -> None:
        stream = self.stream(op)
        if op.kind == "before":
            self.host(op, *self.awaited(stream))
        node = self.on_stream(op, stream, real=True)
        for address, mode in op.references:
            # What a kernel does with pinned memory is judged where it is known.
            judged = op.name == "copy" or mode != "opaque"
            self.use(op, address, node, stream, mode == "read", sequence, judged)
        if op.kind == "complete":
            self.host(op, *self.awaited(stream))

    do_copy = do_launch

    def use(self, op: Op, address: int, node: int, stream: Stream, reads: bool, sequence: int, judged: bool) -> None:
        memory = self.memory[address]
        if memory.free_host is not None:
            # The driver refuses a copy of what cudaFree gave back: one that was done is of other memory at the address.
            if self.recording and op.name == "copy" and (memory.kind, memory.family) == ("plain", "device"):
                return
            self.checks.append(("late", sequence, (memory, self.hosts[op.thread], node)))
            return
        if memory.made is not None:
            self.checks.append(("after_alloc", sequence, (memory.made, node)))
        memory.uses.append((node, reads, judged, stream))

    def do_host_function(self, op: Op, sequence: int) -> None:
        stream = self.stream(op)
        node = self.on_stream(op, stream, real=True)
        if not op.object:
            self.told.append(node)
            return
        # The body begins after all before it. That it is over when it has told somebody is believed, not promised.
        self.keys.setdefault(op.object, []).extend([*self.edges[node], (node, RUN)])
        self.functions[op.object] = (node, stream)
        if not self.recording:
            stream.keys.append(op.object)

    def do_alloc(self, op: Op, sequence: int) -> None:
        made = None
        context = self.contexts[op.thread]
        if op.kind == "ordered":
            stream = self.stream(op)
            made = self.on_stream(op, stream, real=True)
            context = stream.context
        else:
            self.host(op, real=True)
        self.memory[op.references[0][0]] = Memory(op.kind, context, made)

    def do_free(self, op: Op, sequence: int) -> None:
        memory = self.memory[op.references[0][0]]
        memory.family, memory.free_sequence = op.kind, sequence
        if op.kind == "async":
            stream = self.stream(op)
            memory.free_assumed = stream.assumed
            memory.free_host = self.host(op, real=True)
            memory.free_stream = self.on_stream(op, stream, real=True)
            self.checks.append(("free", sequence, (memory, memory.free_stream)))
            return
        before: list[tuple[int | None, int]] = []
        if memory.kind != "ordered":
            # The driver waits for the memory's context.
            before = [(stream.last, OBSERVED) for stream in self.every if stream.context == memory.context]
        memory.free_host = self.host(op, *before, real=True)
        self.checks.append(("free", sequence, (memory, memory.free_host)))

    def do_record(self, op: Op, sequence: int) -> None:
        stream = self.stream(op)
        event = self.events.setdefault(op.object, Event(False))
        event.record = self.on_stream(op, stream, real=False)
        self.records.add(event.record)
        event.source, event.opaque = stream, len(self.opaque_nodes)

    def do_event_create(self, op: Op, sequence: int) -> None:
        self.host(op)
        self.events[op.object] = Event(True, opaque=len(self.opaque_nodes))

    def do_event_destroy(self, op: Op, sequence: int) -> None:
        self.host(op)
        self.events.pop(op.object)

    def certain(self, event: Event, waiter: Stream | None) -> bool:
        """Whether the event surely holds what the trace says that it holds."""
        if event.record is not None and event.source is waiter:
            return True
        unchanged = event.created and event.opaque == len(self.opaque_nodes)
        if waiter is not None and waiter.assumed and event.source is not None:
            return False
        return unchanged and (event.source is None or not self.may_hold_unknown(event.source, event.source.blocking))

    def may_hold_unknown(self, stream: Stream, comes_after_legacy: bool) -> bool:
        """Whether a stream of an unknown caller was given something that this one may hold, or come after."""
        return stream.assumed or (comes_after_legacy and self.unknown_work)

    def do_wait(self, op: Op, sequence: int) -> None:
        stream = self.stream(op)
        event = self.events.setdefault(op.object, Event(False))
        self.host(op)
        self.meet_opaque(stream)
        call = self.hosts[op.thread]
        edges = [(stream.last, CONTRACT), (call, CONTRACT), *self.behind(stream), *self.bodies(stream)]
        before = self.node(*edges)
        unseen = self.everything() if event.record is None and not event.created else []
        stream.last = self.node((before, CONTRACT), (event.record, CONTRACT), *unseen)
        stream.used = True
        if self.certain(event, stream):
            self.checks.append(("idle", sequence, (before, stream.last, event.record)))

    def do_sync_event(self, op: Op, sequence: int) -> None:
        event = self.events.setdefault(op.object, Event(False))
        before = self.host(op)
        unseen = self.everything() if event.record is None and not event.created else []
        after = self.host(op, (event.record, CONTRACT), *unseen)
        if self.certain(event, None):
            self.checks.append(("idle_host", sequence, (before, after)))

    def do_sync_stream(self, op: Op, sequence: int) -> None:
        stream = self.stream(op)
        before = self.host(op)
        awaited = self.node((before, CONTRACT), *self.awaited(stream))
        self.host(op, (awaited, CONTRACT))
        if not self.may_hold_unknown(stream, stream.kind != "non_blocking") and self.nothing_unseen(stream):
            unknown = any(each.assumed for each in self.every)
            self.checks.append(("idle_in_all" if unknown else "idle_host", sequence, (before, awaited)))
        stream.awaited_opaque = len(self.opaque_nodes)

    def do_query(self, op: Op, sequence: int) -> None:
        stream = self.stream(op)
        before = self.host(op)
        awaited = self.node((before, CONTRACT), *self.awaited(stream))
        self.host(op, (awaited, CONTRACT))
        stream.awaited_opaque = len(self.opaque_nodes)

    def nothing_unseen(self, stream: Stream) -> bool:
        """Whether unknown code has left no work on the stream since somebody waited for it."""
        covered = max(stream.awaited_opaque, self.awaited_opaque.get(stream.context, 0))
        return covered == len(self.opaque_nodes)

    def do_sync_context(self, op: Op, sequence: int) -> None:
        if (op.object, 0) not in self.default:
            self.default[(op.object, 0)] = self.add_stream(1, "legacy", op.object)
        before = self.host(op)
        edges: list[tuple[int | None, int]] = []
        for stream in self.every:
            if stream.context == op.object:
                if stream.alive:
                    self.meet_opaque(stream)
                    edges += self.bodies(stream)
                edges.append((stream.last, CONTRACT))
        awaited = self.node((before, CONTRACT), *edges)
        self.host(op, (awaited, CONTRACT))
        # Unknown code may have left work on any stream of the context.
        if self.awaited_opaque.get(op.object, 0) == len(self.opaque_nodes):
            self.checks.append(("idle_host", sequence, (before, awaited)))
        self.awaited_opaque[op.object] = len(self.opaque_nodes)

    def do_release(self, op: Op, sequence: int) -> None:
        node = self.host(op, real=True)
        if op.thread in self.inside and self.inside[op.thread][0] == op.object:
            del self.inside[op.thread]
        self.keys.setdefault(op.object, []).append((node, CONTRACT if op.kind == "contract" else RUN))

    def do_acquire(self, op: Op, sequence: int) -> None:
        weakest = CONTRACT if op.kind == "contract" else RUN
        if op.object in self.functions:
            self.inside[op.thread] = (op.object, *self.functions[op.object])
        self.host(op, *[(node, max(strength, weakest)) for node, strength in self.keys.get(op.object, [])])

    def do_opaque(self, op: Op, sequence: int) -> None:
        self.opaque_nodes.append(self.node(*self.everything()))
        self.host(op)

    def do_host_access(self, op: Op, sequence: int) -> None:
        node = self.host(op, real=True)
        address, mode = op.references[0]
        uses = list(self.memory[address].uses)
        if op.thread in self.inside:
            # What is behind the function on its stream waits for the body.
            _, function, stream = self.inside[op.thread]
            uses = [use for use in uses if use[3] is not stream or use[0] < function]
        self.checks.append(("access", sequence, (uses, mode == "read", node)))

    # -- required orders --------------------------------------------------------------------------
    def strength(self, earlier: int, later: int) -> int:
        """The weakest class that the order needs, UNORDERED when there is none."""
        classes = (CONTRACT, RUN, OPAQUE, OBSERVED)
        return next((relation for relation in classes if earlier in self.ancestors[relation][later]), UNORDERED)

    def say(self, code: int, sequence: int, strength: int) -> None:
        if strength == UNORDERED:
            self.verdicts.add((code, sequence))
        elif strength == OBSERVED:
            self.verdicts.add((107, sequence))
        elif strength == OPAQUE:
            self.unseen.add((code, sequence))

    def check_free(self, sequence: int, what: object) -> None:
        memory, node = what  # type: ignore[misc]
        worst = max((self.strength(use, node) for use, *_ in memory.uses), default=CONTRACT)
        self.say(108 if memory.family == "pinned" else 102, sequence, worst)
        # In a recording what an unknown stream did may not be what it seems: that hides nothing that comes later.
        doubted = memory.free_assumed or all(
            stream.assumed for use, *_, stream in self.latest(memory) if self.strength(use, node) == UNORDERED
        )
        memory.reported = worst == UNORDERED and not (self.recording and doubted)

    def latest(self, memory: Memory) -> list[tuple[int, bool, bool, Stream]]:
        """The uses that no later one stands for, to whoever comes after that."""
        return [
            (use, reads, copy, stream)
            for place, (use, reads, copy, stream) in enumerate(memory.uses)
            if not any(
                (reads or not later_reads) and use in self.ancestors[CONTRACT][later] and use != later
                for later, later_reads, *_ in memory.uses[place + 1 :]
            )
        ]

    def check_late(self, sequence: int, what: object) -> None:
        memory, host, node = what  # type: ignore[misc]
        if memory.reported:
            return
        memory.reported = True
        ordered = self.strength(memory.free_host, host) != UNORDERED
        behind = memory.free_stream is not None and self.strength(memory.free_stream, node) <= OPAQUE
        if ordered or behind:
            self.verdicts.add((101, sequence))
        else:
            self.verdicts.add((108 if memory.family == "pinned" else 102, memory.free_sequence))

    def check_after_alloc(self, sequence: int, what: object) -> None:
        made, node = what  # type: ignore[misc]
        self.say(103, sequence, self.strength(made, node))

    def check_access(self, sequence: int, what: object) -> None:
        uses, reads, node = what  # type: ignore[misc]
        for use, use_reads, judged, _ in uses:
            if judged and not (reads and use_reads):
                self.say(108, sequence, self.strength(use, node))

    def check_idle(self, sequence: int, what: object) -> None:
        before, after, record = what  # type: ignore[misc]
        self.idle(sequence, (before, after), self.real | self.records - {record})

    def check_idle_host(self, sequence: int, what: object) -> None:
        self.idle(sequence, what, self.real | self.records)

    def check_idle_in_all(self, sequence: int, what: object) -> None:
        self.idle(sequence, what, self.real | self.records, (CONTRACT, RUN, OPAQUE, OBSERVED))

    def idle(self, sequence: int, what: object, work: set[int], relations: tuple[int, ...] = (CONTRACT,)) -> None:
        before, after = what  # type: ignore[misc]
        if all(not (self.ancestors[each][after] - self.ancestors[each][before]) & work for each in relations):
            self.dominated.add(sequence)


def differences(expected: Reference, analysis: Analysis) -> list[str]:
    """Say what the engine and the reference do not agree on."""
    ordering = [fact for fact in analysis.facts if fact.code in ORDERING]
    found = {(fact.code, fact.operation.sequence) for fact in ordering if not fact.unseen}
    found -= {(107, sequence) for code, sequence in found if code in (102, 108)}
    unseen = {(fact.code, fact.operation.sequence) for fact in ordering if fact.unseen} - found
    idle = {fact.operation.sequence for fact in analysis.facts if fact.code == 504}
    pairs = {
        "wrong": (expected.verdicts, found),
        "unseen": (expected.unseen, unseen),
        "idle": (expected.dominated, idle),
        "problems": (0, analysis.problems),
    }
    return [f"{what}: {wanted} expected, {got} found" for what, (wanted, got) in pairs.items() if wanted != got]
