"""What engine and oracle once did not agree on, each in the fewest lines; both must say what the contract says."""

from __future__ import annotations

from execution_oracle.comparison import compare
from execution_oracle.program import Body, Node, Op, Program, sequences

from streamsan.trace import Reference
from streamsan.vocabulary import (
    AccessMode,
    ContextKind,
    EdgeClass,
    FreeClass,
    HandleKind,
    MemoryKind,
    NodeKind,
    SlotFlag,
    StreamKind,
    WaitClass,
)
from streamsan.vocabulary import OperationKind as Kind

PRIMARY = 50
S1, S2 = 10, 11
EVENT, OTHER_EVENT = 30, 31
BODY, TOLD, START = 82, 70, 79
GRAPH = 90
A, B = 0x1000, 0x2000
PER_THREAD, LEGACY = 2, 1


class Lines:
    """A program with two streams and two events, line by line; `wrong` and `idle` are lists of its lines."""

    def __init__(self, threads: int = 1, origin: str = "source") -> None:
        self.threads, self.origin = threads, origin
        self.ops: list[Op] = []
        self.add(Kind.MAIN_BEGIN)
        self.add(Kind.CONTEXT_CREATE, object=PRIMARY, detail=ContextKind.PRIMARY)
        self.add(Kind.CONTEXT_CURRENT, object=PRIMARY)
        for stream in (S1, S2):
            self.add(Kind.STREAM_CREATE, object=stream, detail=StreamKind.NON_BLOCKING)
        for event in (EVENT, OTHER_EVENT):
            self.add(Kind.EVENT_CREATE, object=event)

    def add(self, kind: Kind, thread: int = 0, **fields: object) -> int:
        """Add an operation; return its index."""
        self.ops.append(Op(kind, thread, **fields))  # type: ignore[arg-type]
        return len(self.ops) - 1

    def start(self, thread: int) -> None:
        """Start a thread: it comes after all of the first one so far."""
        self.add(Kind.HOST_RELEASE, object=START, detail=EdgeClass.CONTRACT)
        self.add(Kind.HOST_ACQUIRE, thread, object=START, detail=EdgeClass.CONTRACT)
        self.add(Kind.CONTEXT_CURRENT, thread, object=PRIMARY)

    def alloc(self, address: int, kind: MemoryKind, stream: int = 0) -> int:
        return self.add(Kind.ALLOC, detail=kind, stream=stream, references=(Reference(address, 0x100),))

    def launch(self, stream: int, address: int, mode: AccessMode = AccessMode.WRITE, thread: int = 0) -> int:
        reference = Reference(address, 0, 0, mode, SlotFlag.TOUCHES)
        return self.add(Kind.LAUNCH, thread, stream=stream, references=(reference,))

    def copy(self, stream: int, to: int, source: int, detail: WaitClass = WaitClass.NONE) -> int:
        pair = Reference(to, 0x80, 0, AccessMode.WRITE), Reference(source, 0x80, 0, AccessMode.READ)
        return self.add(Kind.COPY, stream=stream, detail=detail, references=pair)

    def take(self, key: int, thread: int) -> None:
        self.add(Kind.HOST_ACQUIRE, thread, object=key, detail=EdgeClass.CONTRACT)

    def give(self, key: int, thread: int) -> None:
        self.add(Kind.HOST_RELEASE, thread, object=key, detail=EdgeClass.CONTRACT)

    def agreed(self) -> tuple[set[tuple[int, int]], set[int]]:
        """Return what both find: rules and lines, and the lines of idle waits."""
        comparison = compare(Program(tuple(self.ops), self.threads, self.origin))
        assert comparison.differences == []
        lines = {number: index for index, number in enumerate(sequences(self.ops))}
        wrong = {(code, lines.get(number, -number)) for code, number in comparison.oracle.sure}
        return wrong, {lines[number] for number in comparison.oracle.idle}


def test_a_body_that_has_told_something_is_not_over() -> None:
    # The wait for the stream waits for the end of the body; it was called redundant.
    lines = Lines(threads=2)
    lines.add(Kind.HOST_FUNCTION, stream=S1, object=BODY)
    lines.take(BODY, 1)
    lines.give(TOLD, 1)
    lines.give(BODY, 1)
    lines.take(TOLD, 0)
    needed = lines.add(Kind.STREAM_SYNCHRONIZE, stream=S1)
    again = lines.add(Kind.STREAM_SYNCHRONIZE, stream=S1)
    assert lines.agreed() == (set(), {again})
    assert needed != again


def test_what_waits_behind_a_body_is_not_in_flight() -> None:
    # In a simulation a body runs late: the copy behind it was issued before, and has not begun. It was a false alarm.
    for copied_on, wrong in ((S1, False), (S2, True)):
        lines = Lines(threads=2)
        lines.alloc(A, MemoryKind.PINNED)
        lines.alloc(B, MemoryKind.PLAIN)
        lines.add(Kind.HOST_FUNCTION, stream=S1, object=BODY)
        lines.copy(copied_on, A, B)
        lines.take(BODY, 1)
        access = lines.add(Kind.HOST_ACCESS, 1, references=(Reference(A, 4, 0, AccessMode.READ),))
        lines.give(BODY, 1)
        assert lines.agreed()[0] == ({(108, access)} if wrong else set())


def test_a_body_may_use_what_its_function_was_given() -> None:
    lines = Lines(threads=2)
    lines.alloc(A, MemoryKind.HOST_HEAP)
    lines.add(Kind.HOST_FUNCTION, stream=S1, object=BODY, references=(Reference(A),))
    lines.take(BODY, 1)
    lines.add(Kind.HOST_ACCESS, 1, references=(Reference(A, 4, 0, AccessMode.WRITE),))
    lines.add(Kind.FREE, 1, detail=FreeClass.HOST_HEAP, references=(Reference(A),))
    lines.give(BODY, 1)
    assert lines.agreed() == (set(), set())


def test_who_waits_for_a_stream_waits_for_bodies_of_the_legacy_stream() -> None:
    lines = Lines(threads=2)
    lines.add(Kind.HOST_FUNCTION, stream=LEGACY, object=BODY)
    lines.take(BODY, 1)
    lines.add(Kind.HOST_ACCESS, 1)
    lines.give(BODY, 1)
    lines.add(Kind.STREAM_SYNCHRONIZE, stream=PER_THREAD)
    idle = lines.add(Kind.CONTEXT_SYNCHRONIZE, object=PRIMARY)
    assert lines.agreed() == (set(), {idle})


def test_who_waits_for_the_context_waits_for_bodies_of_destroyed_streams() -> None:
    lines = Lines(threads=3)
    lines.start(1)
    lines.add(Kind.HOST_FUNCTION, stream=S1, object=BODY)
    lines.take(BODY, 2)
    lines.add(Kind.HOST_ACCESS, 2)
    lines.give(TOLD, 2)
    lines.give(BODY, 2)
    lines.add(Kind.STREAM_DESTROY, object=S1)
    lines.take(TOLD, 1)
    lines.add(Kind.EVENT_RECORD, 1, stream=S2, object=EVENT)
    lines.add(Kind.CONTEXT_SYNCHRONIZE, object=PRIMARY)
    idle = lines.add(Kind.STREAM_SYNCHRONIZE, stream=S2)
    assert lines.agreed() == (set(), {idle})


def test_a_host_function_of_unknown_effect_hides_no_write_before_it() -> None:
    lines = Lines()
    lines.alloc(A, MemoryKind.PINNED)
    lines.add(Kind.MEMSET, stream=S1, references=(Reference(A, 0x20, 0, AccessMode.WRITE),))
    lines.add(Kind.HOST_FUNCTION, stream=S1, references=(Reference(A),))
    access = lines.add(Kind.HOST_ACCESS, references=(Reference(A, 4, 0, AccessMode.READ),))
    assert lines.agreed() == ({(108, access)}, set())


def test_a_default_stream_does_not_go_on_where_a_destroyed_one_ended() -> None:
    # A thread that has waited for a stream, gone now, is the first to use the default stream: others have not waited.
    lines = Lines(threads=2)
    lines.alloc(A, MemoryKind.STREAM_ORDERED, S1)
    lines.launch(S1, A)
    lines.start(1)
    lines.add(Kind.STREAM_SYNCHRONIZE, stream=S1)
    lines.add(Kind.STREAM_DESTROY, object=S1)
    first = lines.add(Kind.STREAM_SYNCHRONIZE, stream=LEGACY)
    second = lines.add(Kind.STREAM_SYNCHRONIZE, 1, stream=LEGACY)
    free = lines.add(Kind.FREE, 1, detail=FreeClass.DEVICE, references=(Reference(A),))
    assert lines.agreed() == ({(102, free)}, {first, second})


def test_the_announcement_of_a_graphs_memory_is_nothing_to_wait_for() -> None:
    lines = Lines(threads=2)
    lines.start(1)
    lines.alloc(0x9000, MemoryKind.GRAPH)
    never = lines.add(Kind.STREAM_WAIT_EVENT, stream=S1, object=EVENT)
    idle = lines.add(Kind.STREAM_SYNCHRONIZE, 1, stream=S1)
    assert lines.agreed() == (set(), {never, idle})


def body(*nodes: Node, edges: tuple[tuple[int, int], ...] = ()) -> Body:
    return Body(nodes, edges)


def kernel(address: int, mode: AccessMode = AccessMode.WRITE) -> Node:
    return Node(NodeKind.KERNEL, (Reference(address, 0, 0, mode, SlotFlag.TOUCHES),))


def test_an_event_recorded_in_the_midst_of_a_launch_is_not_its_end() -> None:
    # Work of the launch that is not before the record may go on: the wait for the stream was called redundant.
    for edges, over in (((), False), (((1, 2),), True)):
        lines = Lines()
        lines.alloc(A, MemoryKind.PLAIN)
        made = body(kernel(A), Node(NodeKind.EVENT_RECORD, (), EVENT), edges=edges)
        lines.add(Kind.GRAPH_INSTANTIATE, object=GRAPH, body=made)
        lines.add(Kind.GRAPH_LAUNCH, object=GRAPH, stream=S1)
        lines.add(Kind.EVENT_SYNCHRONIZE, object=EVENT)
        last = lines.add(Kind.STREAM_SYNCHRONIZE, stream=S1)
        assert lines.agreed() == (set(), {last} if over else set())


def test_a_host_node_that_has_told_something_is_not_the_end_of_its_launch() -> None:
    lines = Lines(threads=2)
    lines.alloc(A, MemoryKind.PLAIN)
    made = body(Node(NodeKind.HOST, (), BODY), kernel(A), edges=((1, 2),))
    lines.add(Kind.GRAPH_INSTANTIATE, object=GRAPH, body=made)
    lines.add(Kind.GRAPH_LAUNCH, object=GRAPH, stream=S1)
    lines.take(BODY, 1)
    lines.give(TOLD, 1)
    lines.give(BODY, 1)
    lines.take(TOLD, 0)
    lines.add(Kind.STREAM_SYNCHRONIZE, stream=S1)
    last = lines.add(Kind.STREAM_SYNCHRONIZE, stream=S1)
    assert lines.agreed() == (set(), {last})


def test_a_graphs_pointer_means_the_memory_that_it_was_made_with() -> None:
    lines = Lines()
    lines.alloc(A, MemoryKind.STREAM_ORDERED, S1)
    lines.add(Kind.GRAPH_INSTANTIATE, object=GRAPH, body=body(kernel(A)))
    lines.add(Kind.FREE, detail=FreeClass.ASYNC, stream=S1, references=(Reference(A),))
    lines.alloc(A, MemoryKind.STREAM_ORDERED, S1)
    launch = lines.add(Kind.GRAPH_LAUNCH, object=GRAPH, stream=S1)
    assert lines.agreed()[0] == {(303, launch)}


def test_a_record_is_something_to_wait_for() -> None:
    # Its time may be read. Only of the record that a stream waits for itself that does not count.
    lines = Lines()
    lines.add(Kind.EVENT_RECORD, stream=S1, object=EVENT)
    first = lines.add(Kind.STREAM_WAIT_EVENT, stream=S2, object=EVENT)
    lines.add(Kind.EVENT_RECORD, stream=S1, object=OTHER_EVENT)
    lines.add(Kind.EVENT_RECORD, stream=S1, object=EVENT)
    lines.add(Kind.STREAM_WAIT_EVENT, stream=S2, object=EVENT)
    lines.add(Kind.STREAM_SYNCHRONIZE, stream=S1)
    assert lines.agreed() == (set(), {first})


def test_memory_of_a_destroyed_graph_that_another_one_names() -> None:
    # The engine looked up memory that it had forgotten, and crashed.
    lines = Lines()
    lines.alloc(0x9000, MemoryKind.GRAPH)
    lines.add(Kind.FREE, detail=FreeClass.GRAPH_NODE, references=(Reference(0x9000),))
    own = (Reference(0x9000, 0x100),)
    owner = body(Node(NodeKind.ALLOC, own), Node(NodeKind.FREE, own), edges=((1, 2),))
    lines.add(Kind.GRAPH_INSTANTIATE, object=GRAPH, body=owner)
    lines.add(Kind.GRAPH_INSTANTIATE, object=GRAPH + 1, body=body(kernel(0x9000)))
    lines.add(Kind.HANDLE_DESTROY, object=GRAPH, detail=HandleKind.GRAPH_EXEC)
    lines.add(Kind.GRAPH_LAUNCH, object=GRAPH + 1, stream=S1)
    assert lines.agreed() == (set(), set())


def test_a_copy_of_a_launch_is_in_flight_though_the_graph_does_other_things_now() -> None:
    lines = Lines()
    lines.alloc(A, MemoryKind.PINNED)
    lines.alloc(B, MemoryKind.PLAIN)
    pair = Reference(A, 0x20, 0, AccessMode.WRITE), Reference(B, 0x20, 0, AccessMode.READ)
    lines.add(Kind.GRAPH_INSTANTIATE, object=GRAPH, body=body(Node(NodeKind.COPY, pair)))
    lines.add(Kind.GRAPH_LAUNCH, object=GRAPH, stream=S1)
    lines.add(Kind.GRAPH_UPDATE, object=GRAPH, body=body(kernel(B)))
    access = lines.add(Kind.HOST_ACCESS, references=(Reference(A, 4, 0, AccessMode.READ),))
    assert lines.agreed() == ({(108, access)}, set())


def test_a_free_that_waits_waits_for_bodies_too() -> None:
    # That the body has freed the memory by then rests on the driver's wait, which nobody promises.
    lines = Lines(threads=2)
    lines.alloc(A, MemoryKind.HOST_HEAP)
    lines.alloc(B, MemoryKind.PLAIN)
    lines.add(Kind.HOST_FUNCTION, stream=S1, object=BODY, references=(Reference(A),))
    lines.take(BODY, 1)
    lines.add(Kind.FREE, 1, detail=FreeClass.HOST_HEAP, references=(Reference(A),))
    lines.give(BODY, 1)
    lines.add(Kind.FREE, detail=FreeClass.DEVICE, references=(Reference(B),))
    late = lines.launch(S1, A)
    assert lines.agreed() == ({(101, late)}, set())


def test_a_call_that_may_come_while_another_thread_resets_the_device() -> None:
    # It was issued after the reset, in the trace, but no order says so: it was not seen.
    for joined in (False, True):
        lines = Lines(threads=2)
        lines.start(1)
        reset = lines.add(Kind.DEVICE_RESET, 1, object=PRIMARY)
        if joined:
            lines.give(TOLD, 1)
            lines.take(TOLD, 0)
        lines.alloc(A, MemoryKind.PLAIN)
        assert lines.agreed() == (set() if joined else {(106, reset)}, set())


def test_a_context_ends_while_another_ones_stream_uses_its_memory() -> None:
    # Only the work on the context's own streams was looked at.
    for waits in (False, True):
        lines = Lines()
        lines.add(Kind.CONTEXT_CREATE, object=PRIMARY + 1, detail=ContextKind.CREATED)
        lines.add(Kind.CONTEXT_CURRENT, object=PRIMARY + 1)
        lines.alloc(A, MemoryKind.PLAIN)
        lines.add(Kind.CONTEXT_CURRENT, object=PRIMARY)
        lines.launch(S1, A)
        if waits:
            lines.add(Kind.STREAM_SYNCHRONIZE, stream=S1)
        end = lines.add(Kind.CONTEXT_DESTROY, object=PRIMARY + 1)
        assert lines.agreed() == (set() if waits else {(106, end)}, set())


def test_a_thread_used_the_context_before_it_went_on_in_another_one() -> None:
    # Only each thread's latest call was looked at, and that is in the other context.
    lines = Lines(threads=2)
    lines.add(Kind.CONTEXT_CREATE, object=PRIMARY + 1, detail=ContextKind.CREATED)
    lines.start(1)
    lines.add(Kind.EVENT_QUERY, 1, object=EVENT)
    lines.add(Kind.CONTEXT_CURRENT, 1, object=PRIMARY + 1)
    lines.add(Kind.CONTEXT_SYNCHRONIZE, 1, object=PRIMARY + 1)
    reset = lines.add(Kind.DEVICE_RESET, object=PRIMARY)
    assert (106, reset) in lines.agreed()[0]


def test_a_wait_for_an_event_that_is_gone_puts_nothing_on_its_stream() -> None:
    # Whoever waited for that stream was taken to be after the call, and so after the reset: that is not promised.
    lines = Lines(threads=2)
    lines.alloc(A, MemoryKind.PLAIN)
    lines.alloc(B, MemoryKind.STREAM_ORDERED, S1)
    lines.start(1)
    lines.add(Kind.EVENT_RECORD, stream=S1, object=EVENT)
    lines.give(TOLD, 1)
    lines.take(TOLD, 0)
    lines.add(Kind.DEVICE_RESET, object=PRIMARY)
    gone = lines.add(Kind.STREAM_WAIT_EVENT, stream=LEGACY, object=EVENT)
    lines.add(Kind.STREAM_SYNCHRONIZE, 1, stream=LEGACY)
    late = lines.add(Kind.FREE, 1, detail=FreeClass.DEVICE, references=(Reference(A),))
    wrong, _ = lines.agreed()
    assert {(205, gone), (101, late)} <= wrong


def test_a_graph_whose_imported_or_registered_memory_went_with_the_context() -> None:
    for kind in (MemoryKind.IPC, MemoryKind.REGISTERED, MemoryKind.PLAIN):
        lines = Lines()
        lines.alloc(A, kind)
        lines.add(Kind.GRAPH_INSTANTIATE, object=GRAPH, body=body(kernel(A)))
        lines.add(Kind.DEVICE_RESET, object=PRIMARY)
        launch = lines.add(Kind.GRAPH_LAUNCH, object=GRAPH, stream=LEGACY)
        assert lines.agreed()[0] == {(303, launch)}


def unknown_stream(lines: Lines) -> int:
    """A stream of an unknown caller."""
    lines.add(Kind.STREAM_CREATE, object=20, detail=StreamKind.UNKNOWN, flags=SlotFlag.ASSUMED)
    return 20


def test_a_wait_for_an_unknown_stream_may_cover_the_blocking_streams() -> None:
    # It may be the legacy default stream: that the work is pending at the reset is not sure, and was said to be.
    for kind, sure in ((StreamKind.BLOCKING, False), (StreamKind.NON_BLOCKING, True)):
        lines = Lines()
        stream = unknown_stream(lines)
        lines.add(Kind.STREAM_CREATE, object=12, detail=kind)
        lines.alloc(A, MemoryKind.PLAIN)
        lines.launch(12, A)
        lines.add(Kind.STREAM_SYNCHRONIZE, stream=stream)
        reset = lines.add(Kind.DEVICE_RESET, object=PRIMARY)
        assert lines.agreed()[0] == ({(106, reset)} if sure else set())


def test_a_wait_for_the_per_thread_stream_may_be_for_what_an_unknown_stream_was_given() -> None:
    # They may be the same stream: the wait was called redundant.
    for given in (True, False):
        lines = Lines()
        lines.alloc(A, MemoryKind.PLAIN)
        if given:
            lines.launch(unknown_stream(lines), A)
        wait = lines.add(Kind.STREAM_SYNCHRONIZE, stream=PER_THREAD)
        assert lines.agreed()[1] == (set() if given else {wait})


def test_a_wait_for_an_unknown_stream_may_not_cover_the_legacy_stream() -> None:
    # It may be one that is not blocking: the wait for the legacy stream behind it was called redundant.
    lines = Lines()
    stream = unknown_stream(lines)
    lines.alloc(A, MemoryKind.PLAIN)
    lines.launch(LEGACY, A)
    lines.launch(stream, A)
    lines.add(Kind.STREAM_SYNCHRONIZE, stream=stream)
    lines.add(Kind.STREAM_SYNCHRONIZE, stream=LEGACY)
    assert lines.agreed()[1] == set()


def test_a_graph_may_wait_for_what_unknown_code_recorded() -> None:
    # The event is seen for the first time in the graph's node: the launch was called unordered after the allocation.
    for known, wrong in ((False, False), (True, True)):
        lines = Lines()
        lines.alloc(A, MemoryKind.STREAM_ORDERED, S1)
        waits = Node(NodeKind.EVENT_WAIT, (), EVENT if known else 35)
        lines.add(Kind.GRAPH_INSTANTIATE, object=GRAPH, body=body(waits, kernel(A), edges=((1, 2),)))
        launch = lines.add(Kind.GRAPH_LAUNCH, object=GRAPH, stream=S2)
        if not known:
            lines.add(Kind.EVENT_DESTROY, object=35)
        assert lines.agreed()[0] == ({(103, launch)} if wrong else set())
