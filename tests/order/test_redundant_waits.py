"""SS504: waits that bring nothing, and waits that nothing needs."""

from __future__ import annotations

import pytest
from order_program import PRIMARY, READ, WRITE, Program, kernel

from streamsan.order.consumers import unconsumed_waits
from streamsan.order.rearranged_operations import inserted, packed, without
from streamsan.trace.layout import SLOT
from streamsan.trace.packed_slots import operations_in
from streamsan.vocabulary import FreeClass, MemoryKind, StreamKind
from streamsan.vocabulary import OperationKind as Kind

S, T = 10, 11
P = 0x10000


def dominated(program: Program) -> list[int]:
    return [fact.operation.site for fact in program.facts(504)]


def unconsumed(program: Program) -> list[int]:
    return [fact.operation.site for fact in unconsumed_waits(program.trace(), program.analysis())]


def test_second_wait_for_the_same_work() -> None:
    program = Program(S)
    program.launch(S)
    program.sync(S)
    second = program.sync(S)
    third = program.sync_all()
    assert dominated(program) == [second, third]


def test_an_event_in_its_own_stream() -> None:
    program = Program()
    program.unknown_stream(S)
    program.op(Kind.EVENT_CREATE, object=30)
    program.launch(S)
    program.record(30, S)
    waited = program.wait(S, 30)
    assert dominated(program) == [waited]


def test_one_needed_instance_keeps_the_site() -> None:
    program = Program(S)
    for launched in (False, True, False):
        if launched:
            program.launch(S)
        program.sync(S, at=20)
    assert dominated(program) == []


def test_work_of_unknown_code_may_be_on_any_stream() -> None:
    program = Program(S)
    program.launch(S)
    program.sync_all()
    program.op(Kind.OPAQUE_CALL)
    program.sync_all()
    again = program.sync_all()
    of_stream = program.sync(S)
    program.op(Kind.OPAQUE_CALL)
    program.sync(S)
    program.sync(1)
    assert dominated(program) == [again, of_stream]


def test_work_of_unknown_code_may_be_waited_for() -> None:
    program = Program(S)
    program.op(Kind.OPAQUE_CALL)
    program.sync(S)
    assert dominated(program) == []


def test_a_fragments_caller_may_have_work_on_the_device() -> None:
    program = Program(whole=False)
    program.sync_all()
    again = program.sync_all()
    assert dominated(program) == [again]


def test_waits_on_unknown_streams_and_events_are_left_alone() -> None:
    program = Program(whole=False)
    program.unknown_stream(S)
    program.sync(S)
    program.sync(S)
    program.wait(S, 35)
    assert dominated(program) == []


def test_an_event_that_the_host_already_waited_for() -> None:
    program = Program(S, T)
    program.op(Kind.EVENT_CREATE, object=30)
    program.launch(S)
    program.record(30, S)
    program.op(Kind.EVENT_SYNCHRONIZE, object=30)
    waited = program.wait(T, 30)
    assert dominated(program) == [waited]


def test_blocking_streams_meet_in_the_legacy_stream() -> None:
    program = Program()
    program.stream(S, StreamKind.BLOCKING)
    program.stream(T, StreamKind.BLOCKING)
    program.op(Kind.EVENT_CREATE, object=30)
    program.launch(S)
    program.record(30, S)
    program.launch(1)
    waited = program.wait(T, 30)
    assert dominated(program) == [waited]


def test_a_wait_between_allocation_and_kernel_of_one_stream_has_no_consumer() -> None:
    program = Program(S)
    program.alloc(P, MemoryKind.STREAM_ORDERED, S)
    waited = program.sync(S)
    program.launch(S, P)
    program.free(P, FreeClass.ASYNC, S)
    program.sync(S)
    program.exit()
    assert unconsumed(program) == [waited]


def test_a_free_needs_the_wait() -> None:
    program = Program()
    program.alloc(P)
    program.launch(1, P)
    program.sync_all()
    program.free(P)
    program.exit()
    assert unconsumed(program) == []


def test_a_host_read_needs_the_wait() -> None:
    program = Program(S)
    program.alloc(P, MemoryKind.PINNED)
    program.copy(S, P, WRITE)
    program.sync(S)
    program.op(Kind.HOST_ACCESS, memory=P, mode=READ, api="")
    program.free(P, FreeClass.PINNED)
    program.exit()
    assert unconsumed(program) == []


def test_another_stream_needs_the_wait() -> None:
    program = Program(S, T)
    program.alloc(P)
    program.launch(S, P)
    program.sync(S)
    program.launch(T, P)
    program.sync(T)
    program.free(P)
    program.exit()
    assert unconsumed(program) == []


def test_a_part_on_another_stream_needs_the_wait_for_the_whole() -> None:
    """A later write of another part, on the waiting stream itself, does not stand for the fill of the whole."""
    program = Program(S, T)
    program.alloc(P, bytes=1024)
    program.copy(S, P, WRITE, bytes=1024)
    program.sync(S)
    program.copy(S, P, WRITE, bytes=512)
    program.copy(T, P + 512, WRITE, bytes=512)
    program.sync(S)
    program.sync(T)
    program.free(P)
    program.exit()
    assert unconsumed(program) == []
    program = Program(S, T)
    program.alloc(P, bytes=1024)
    program.copy(S, P, WRITE, bytes=512)
    waited = program.sync(S)
    program.copy(S, P, WRITE, bytes=512)
    program.copy(T, P + 512, WRITE, bytes=512)
    program.sync(S)
    program.sync(T)
    program.free(P)
    program.exit()
    assert unconsumed(program) == [waited]


def test_elapsed_time_needs_the_wait() -> None:
    program = Program()
    for event in (30, 31):
        program.op(Kind.EVENT_CREATE, object=event)
    program.record(30, 1)
    program.launch(1)
    program.record(31, 1)
    program.op(Kind.EVENT_SYNCHRONIZE, object=31)
    program.op(Kind.EVENT_ELAPSED, object=30, address=31)
    program.sync_all()
    program.exit()
    assert unconsumed(program) == []


def test_nothing_is_said_where_later_code_is_not_visible() -> None:
    program = Program(S)
    program.alloc(P, MemoryKind.STREAM_ORDERED, S)
    program.sync(S)
    program.launch(S, P)
    assert unconsumed(program) == []  # does not end here
    program.op(Kind.OPAQUE_CALL, memory=P)
    program.exit()
    assert unconsumed(program) == []  # was given away


def test_taking_out_and_putting_in() -> None:
    program = Program()
    program.alloc(P)
    program.launch(1, P, P + 16, P + 32)
    program.sync_all()
    (whole,) = program.trace().packed()
    operations = operations_in(bytes(whole))
    (launch,) = (each for each in operations if each.slot.kind == Kind.LAUNCH)
    (shorter,) = packed(without(operations, [launch.slot.sequence]))
    assert len(shorter) == len(whole) - 2 * SLOT.itemsize  # its continuation goes as well
    longer = inserted(operations, {launch.slot.sequence: [operations[0].with_fields(kind=Kind.CALL)]})
    place = longer.index(launch)
    assert len(longer) == len(operations) + 1
    assert longer[place - 1].slot.kind == Kind.CALL


@pytest.mark.parametrize("before", [None, Kind.DEVICE_RESET, Kind.STREAM_DESTROY])
def test_a_wait_for_a_free_before_an_end_has_a_consumer(before: Kind | None) -> None:
    program = Program(S)
    program.alloc(P, MemoryKind.STREAM_ORDERED, S)
    program.launch(S, P)
    program.sync(S)
    program.free(P, FreeClass.ASYNC, S)
    last = program.sync(S)
    if before is not None:
        program.op(before, object=PRIMARY if before is Kind.DEVICE_RESET else S)
        program.sync_all()
    program.exit()
    assert last not in unconsumed(program)


def test_the_free_of_a_destroyed_stream_is_pending_at_the_reset() -> None:
    program = Program(S)
    program.alloc(P, MemoryKind.STREAM_ORDERED, S)
    program.launch(S, P)
    program.sync(S)
    program.free(P, FreeClass.ASYNC, S)
    program.op(Kind.STREAM_DESTROY, object=S)
    reset = program.op(Kind.DEVICE_RESET, object=PRIMARY)
    program.exit()
    assert (106, "PENDING_FREE", reset) in program.found()


def test_a_wait_to_see_whether_the_work_failed() -> None:
    for asks in (True, False):
        program = Program(S)
        program.alloc(P)
        program.launch(S, P)
        waited = program.sync(S)
        if asks:
            program.op(Kind.CALL, api="cudaGetLastError")
        program.launch(S, P)
        program.sync_all()
        program.free(P)
        program.exit()
        assert unconsumed(program) == ([] if asks else [waited])


def test_a_wait_between_launches_of_one_graph() -> None:
    program = Program(S)
    program.alloc(P)
    program.graph(70, [kernel(P, WRITE)])
    program.graph_launch(70, S)
    waited = program.sync(S)
    program.graph_launch(70, S)
    program.sync_all()
    program.free(P)
    program.exit()
    assert unconsumed(program) == [waited]
