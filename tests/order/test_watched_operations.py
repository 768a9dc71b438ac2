"""What the engine says to be before chosen operations."""

from __future__ import annotations

import numpy as np
import pytest
from opencl_program import OpenCL
from order_program import Program, memory_node

from streamsan.evidence.witness.known_order import Before, order_before
from streamsan.order._engine import Engine
from streamsan.trace import Trace
from streamsan.trace.layout import SLOT
from streamsan.vocabulary import FreeClass, MemoryKind, NodeKind
from streamsan.vocabulary import OperationKind as Kind


def numbers(trace: Trace, kind: Kind) -> list[int]:
    return [int(slot["sequence"]) for chunk in trace.chunks() for slot in chunk if slot["kind"] == kind]


def before(trace: Trace, sequence: int) -> Before:
    return order_before(trace, [sequence]).before[sequence]


def two_streams(*, waits: bool) -> Trace:
    program = Program(10, 11)
    program.alloc(0x1000, MemoryKind.STREAM_ORDERED, 10)
    program.op(Kind.EVENT_CREATE, object=30)
    program.launch(11, 0x1000)
    if waits:
        program.record(30, 11)
        program.wait(10, 30)
    program.free(0x1000, FreeClass.ASYNC, 10)
    program.launch(11, 0x1000)
    return program.trace()


def test_work_of_another_stream_is_before_only_with_an_event() -> None:
    for waits in (False, True):
        trace = two_streams(waits=waits)
        (made,), (free,) = numbers(trace, Kind.ALLOC), numbers(trace, Kind.FREE)
        first, second = numbers(trace, Kind.LAUNCH)
        found = before(trace, free)
        assert made in found.works
        assert (first in found.works) is waits
        assert second not in found.works | found.calls
        assert first in found.calls


def test_all_earlier_calls_of_the_thread_have_been_made() -> None:
    trace = two_streams(waits=False)
    (free,) = numbers(trace, Kind.FREE)
    assert before(trace, free).calls == frozenset(range(1, free))


def test_calls_of_another_thread_are_known_by_what_was_handed_over() -> None:
    program = Program(10, processes=(0, 0))
    program.alloc(0x1000)
    program.launch(10, 0x1000)
    program.hand_over(0, 1)
    program.launch(10, 0x1000)
    program.current(100, thread=1)
    program.free(0x1000, FreeClass.DEVICE, thread=1)
    trace = program.trace()
    (free,) = numbers(trace, Kind.FREE)
    early, late = numbers(trace, Kind.LAUNCH)
    found = before(trace, free)
    assert early in found.calls
    assert late not in found.calls
    assert not found.works


def test_a_wait_of_the_host_completes_work() -> None:
    program = Program(10)
    program.alloc(0x1000)
    program.launch(10, 0x1000)
    program.sync(10)
    program.launch(10, 0x1000)
    program.free(0x1000)
    trace = program.trace()
    (free,) = numbers(trace, Kind.FREE)
    early, late = numbers(trace, Kind.LAUNCH)
    assert before(trace, free).works == {early}
    assert late in before(trace, free).calls


def test_nodes_are_before_each_other_by_paths_of_edges() -> None:
    program = Program()
    nodes = [memory_node(NodeKind.KERNEL, 0x1000) for _ in range(4)]
    program.graph(70, nodes, [(1, 3), (3, 4)])
    trace = program.trace()
    first, second, third, fourth = numbers(trace, Kind.GRAPH_NODE)
    found = order_before(trace, [third, fourth]).before
    assert found[third].works == {first}
    assert found[fourth].works == {first, third}
    assert second not in found[fourth].works


def test_an_updated_node_keeps_its_place() -> None:
    program = Program()
    program.graph(70, [memory_node(NodeKind.KERNEL, 0x1000) for _ in range(3)], [(1, 3)])
    program.op(Kind.GRAPH_NODE_UPDATE, object=70, address=3, detail=NodeKind.KERNEL, memory=0x1000)
    trace = program.trace()
    (update,) = numbers(trace, Kind.GRAPH_NODE_UPDATE)
    assert before(trace, update).works == {numbers(trace, Kind.GRAPH_NODE)[0]}


def test_what_is_not_there_has_no_answer() -> None:
    trace = two_streams(waits=True)
    assert order_before(trace, [10_000]).before == {}
    assert order_before(trace, []).before == {}


def test_only_the_beginning_of_the_trace_is_looked_at() -> None:
    trace = two_streams(waits=True)
    (free,) = numbers(trace, Kind.FREE)
    found, early = order_before(trace, [free]), order_before(trace, [1])
    assert [sync.kind for sync in found.syncs_of(10)] == [Kind.STREAM_CREATE, Kind.STREAM_WAIT_EVENT]
    assert [sync.kind for sync in found.syncs_of(11)] == [Kind.STREAM_CREATE, Kind.EVENT_RECORD]
    assert found.is_recorded_before(30, free)
    assert not found.is_recorded_before(31, free)
    assert not early.syncs_of(10)
    assert not early.is_recorded_before(30, free)


@pytest.mark.parametrize("seed", range(4))
def test_arbitrary_slots_do_no_harm(seed: int) -> None:
    chooser = np.random.default_rng(seed)
    for recording in (False, True) * 50:
        slots = np.zeros(int(chooser.integers(1, 60)), SLOT)
        slots["sequence"] = chooser.integers(0, 70, len(slots))
        limits = {
            "kind": 256,
            "stream": 12,
            "object": 12,
            "address": 6,
            "thread": 4,
            "detail": 20,
            "flags": 256,
            "more": 3,
        }
        for field, limit in limits.items():
            slots[field] = chooser.integers(0, limit, len(slots))
        engine = Engine([0, 0, 1], False, [], [], recording, 0)
        asked = [int(number) for number in chooser.integers(0, 70, 5)]
        engine.watch(asked)
        engine.feed(slots.view(np.uint8))
        engine.finish()
        for number in asked:
            met, calls, works = engine.before(number)
            assert met is engine.has_met(number)
            assert met or not (calls or works)
            assert number not in calls + works  # what waited for a user event is behind greater numbers
            assert not engine.is_before(number, number)


def test_what_waited_for_a_user_event_is_behind_its_set() -> None:
    program = OpenCL(1000, 1001)
    program.buffer(1 << 61)
    program.user_event(500)
    program.kernel(1000, 1 << 61, after=(500,))
    program.kernel(1001, 1 << 61)
    program.finish(1001)
    program.set_event(500)
    trace = program.builder.finish()
    held, other = numbers(trace, Kind.LAUNCH)
    (set_at,) = numbers(trace, Kind.EVENT_RECORD)
    found = before(trace, held)
    assert set_at in found.calls
    assert other in found.works
    assert found.has_work(other)
    assert not before(trace, other).has_work(held)
