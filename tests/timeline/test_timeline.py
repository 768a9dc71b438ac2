"""The timeline of small traces: who stands where, what lives how long, who waits for whom."""

from __future__ import annotations

import numpy as np
from order_program import Program

from streamsan.order.engine import analyse
from streamsan.timeline import Timeline, timeline_of
from streamsan.timeline.drawn_edges import EdgeReason
from streamsan.timeline.timeline import durations
from streamsan.trace import Site, Trace, TraceBuilder
from streamsan.trace.layout import SLOT
from streamsan.trace.slot_fields import decode_duration, encode_duration
from streamsan.vocabulary import FreeClass, MemoryKind, StreamKind
from streamsan.vocabulary import OperationKind as Kind


def lanes(timeline: Timeline) -> list[tuple[str, list[int]]]:
    """Each lane's name with the lines of what stands there, allocations and works only."""
    shown = {"alloc", "launch", "free", "event_record", "stream_wait_event", "stream_synchronize", "graph_node"}
    found: list[tuple[str, list[int]]] = [(lane.name, []) for lane in timeline.lanes]
    for lane, call in zip(timeline.lane.tolist(), timeline.call.tolist(), strict=True):
        if timeline.calls[call].kind in shown:
            found[lane][1].append(timeline.calls[call].line)
    return found


def edges(timeline: Timeline) -> list[tuple[int, int, EdgeReason]]:
    """The edges by lines."""

    def line(operation: int) -> int:
        return timeline.calls[int(timeline.call[operation])].line

    columns = (timeline.edges.source.tolist(), timeline.edges.target.tolist(), timeline.edges.reason.tolist())
    return [(line(source), line(target), EdgeReason(reason)) for source, target, reason in zip(*columns, strict=True)]


def test_work_stands_on_its_stream_and_the_rest_on_its_thread() -> None:
    program = Program(10, 11)
    made = program.alloc(0x1000)
    first = program.launch(10, 0x1000)
    record = program.record(30, 10)
    wait = program.wait(11, 30)
    second = program.launch(11, 0x1000)
    sync = program.sync(11)
    freed = program.free(0x1000)
    timeline = timeline_of(program.trace())
    assert lanes(timeline) == [
        ("host thread `thread`", [made, sync, freed]),
        ("stream 1", [first, record]),
        ("stream 2", [wait, second]),
    ]
    assert edges(timeline) == [(record, wait, EdgeReason.EVENT), (second, sync, EdgeReason.STREAM_HOST)]


def test_a_handle_that_is_made_again_is_another_stream() -> None:
    program = Program(10)
    first = program.launch(10, 0)
    program.op(Kind.STREAM_DESTROY, object=10)
    program.stream(10)
    second = program.launch(10, 0)
    timeline = timeline_of(program.trace())
    assert lanes(timeline)[1:] == [("stream 1", [first]), ("stream 2", [second])]


def test_default_streams_are_of_a_context_and_the_per_thread_one_of_a_thread() -> None:
    program = Program(processes=(0, 0))
    program.current(100, thread=1)
    legacy = program.launch(1, 0)
    own = program.launch(2, 0)
    others = program.launch(2, 0, thread=1)
    program.context(200)
    elsewhere = program.launch(1, 0)
    found = lanes(timeline_of(program.trace()))
    assert [lines for _, lines in found if lines] == [[legacy], [own], [others], [elsewhere]]


def test_a_stream_has_the_name_that_the_program_gave_it() -> None:
    builder = TraceBuilder("program")
    builder.thread(0, "main")
    site = builder.site(Site("program", 1, label="upload"))
    builder.append(Kind.STREAM_CREATE, thread=0, object=10, detail=StreamKind.NON_BLOCKING, site=site)
    builder.append(Kind.LAUNCH, thread=0, stream=10, site=builder.site(Site("program", 2, label="void scale(int)")))
    timeline = timeline_of(builder.finish())
    assert [lane.name for lane in timeline.lanes] == ["host thread `main`", "stream `upload`"]
    assert timeline.calls[int(timeline.call[-1])].name == "scale"


def bars(trace: Trace) -> list[tuple[int, int, int]]:
    """Begin, end and address of each allocation, by sequence numbers; end 0: none."""
    timeline = timeline_of(trace)
    memory = timeline.memory
    numbers = timeline.sequence.tolist()
    return [
        (numbers[begin], numbers[end] if end >= 0 else 0, address)
        for begin, end, address in zip(memory.begin.tolist(), memory.end.tolist(), memory.address.tolist(), strict=True)
    ]


def test_an_allocation_lives_until_its_free_and_its_address_may_come_again() -> None:
    program = Program(10)
    program.alloc(0x1000)
    program.free(0x1000)
    program.alloc(0x1000)
    program.alloc(0x2000)
    program.free(0x2000, status=1)
    trace = program.trace()
    first, free, second, third, _ = (int(slot["sequence"]) for chunk in trace.chunks() for slot in chunk[-5:])
    assert bars(trace) == [(first, free, 0x1000), (second, 0, 0x1000), (third, 0, 0x2000)]


def test_a_block_of_a_pool_lies_over_the_memory_that_it_is_cut_from() -> None:
    program = Program(10)
    program.alloc(0x1000, bytes=4096)
    program.alloc(0x1000, MemoryKind.POOL_BLOCK, 10, bytes=512, api="CachingAllocator::malloc")
    program.free(0x1000, FreeClass.POOL_BLOCK, 10)
    program.free(0x1000)
    trace = program.trace()
    segment, block, back, free = (int(slot["sequence"]) for chunk in trace.chunks() for slot in chunk[-4:])
    assert bars(trace) == [(segment, free, 0x1000), (block, back, 0x1000)]
    memory = timeline_of(trace).memory
    assert [memory.pools[number] for number in memory.pool.tolist()] == ["driver, no pool", "CachingAllocator"]


def test_what_is_left_ends_with_the_process() -> None:
    program = Program(10)
    program.alloc(0x1000)
    program.exit()
    ((_, end, _),) = bars(program.trace())
    assert end


def test_a_wait_that_failed_and_a_query_of_pending_work_order_nothing() -> None:
    program = Program(10, 11)
    program.launch(10, 0)
    program.record(30, 10)
    program.wait(11, 30, status=1)
    program.op(Kind.EVENT_QUERY, object=30, status=600)
    program.op(Kind.STREAM_QUERY, stream=10, status=600)
    program.launch(11, 0)
    assert edges(timeline_of(program.trace())) == []


def test_a_wait_for_an_event_that_nobody_recorded_has_no_edge() -> None:
    program = Program(10, 11)
    program.launch(10, 0)
    program.wait(11, 30)
    program.record(30, 10)
    program.launch(11, 0)
    assert edges(timeline_of(program.trace())) == []


def test_a_wait_for_everything_has_an_edge_from_each_stream_with_new_work() -> None:
    program = Program(10, 11)
    first, second = program.launch(10, 0), program.launch(11, 0)
    whole = program.sync_all()
    third = program.launch(10, 0)
    again = program.sync_all()
    assert edges(timeline_of(program.trace())) == [
        (first, whole, EdgeReason.CONTEXT_HOST),
        (second, whole, EdgeReason.CONTEXT_HOST),
        (third, again, EdgeReason.CONTEXT_HOST),
    ]


def test_waits_say_whether_they_add_order() -> None:
    program = Program(10)
    program.alloc(0x1000)
    program.launch(10, 0x1000)
    needed = program.sync(10)
    needless = program.sync(10)
    program.free(0x1000)
    trace = program.trace()
    timeline = timeline_of(trace, analyse(trace).needed_waits)
    assert {timeline.calls[site.call].line: site.adds_order for site in timeline.waits} == {
        needed: True,
        needless: False,
    }
    assert {site.adds_order for site in timeline_of(trace).waits} == {None}


def test_an_operation_is_found_by_its_number() -> None:
    program = Program(10)
    program.launch(10, 0)
    timeline = timeline_of(program.trace())
    assert [timeline.index_of(int(number)) for number in timeline.sequence] == list(range(timeline.operations))
    assert timeline.index_of(10**9) == -1


def test_durations_are_those_of_the_format() -> None:
    slots = np.zeros(5, SLOT)
    times = [0, 1, 2047, 1_000_000, 1 << 40]
    slots["duration"] = [encode_duration(time) for time in times]
    assert durations(slots).tolist() == [decode_duration(encode_duration(time)) for time in times]


def test_an_empty_trace_has_an_empty_timeline() -> None:
    builder = TraceBuilder("program")
    builder.thread(0, "main")
    timeline = timeline_of(builder.finish())
    assert (timeline.operations, timeline.timed, timeline.lanes) == (0, False, ())
