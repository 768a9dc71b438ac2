"""The order between host threads that a recording shows: it silences, and never accuses."""

from __future__ import annotations

import numpy as np
from order_program import OPAQUE, READ, WRITE, Program
from recorded_program import Recording

from streamsan.order._engine import Engine
from streamsan.order.engine import analyse
from streamsan.trace import Trace
from streamsan.vocabulary import EdgeClass, FreeClass, MemoryKind, WaitClass
from streamsan.vocabulary import OperationKind as Kind

S, T = 10, 11
BUFFER, HOST = 0x10000, 0x90000


def use_then_free_by_another_thread(program: Program) -> None:
    program.stream(S)
    program.alloc(BUFFER, MemoryKind.STREAM_ORDERED, S)
    program.launch(S, BUFFER)
    program.sync(S)
    program.free(BUFFER, FreeClass.DEVICE, thread=1)


def codes(program: Program) -> set[int]:
    return {fact.code for fact in program.facts()} - {206}


def test_a_join_that_nobody_recorded_orders_in_a_recording_only() -> None:
    recording = Recording()
    use_then_free_by_another_thread(recording)
    assert codes(recording) == set()
    source = Program(processes=(0, 0))
    use_then_free_by_another_thread(source)
    assert codes(source) == {102}


def test_the_order_of_calls_is_no_order_of_the_device_work() -> None:
    program = Recording(S, T)
    program.alloc(BUFFER, MemoryKind.STREAM_ORDERED, S)
    use = program.launch(T, BUFFER, thread=1)
    program.sync(S)
    free = program.free(BUFFER, FreeClass.ASYNC, S)
    assert program.found() == [(103, "NONE", use), (102, "FREE_ASYNC", free)]


def test_waits_go_from_thread_to_thread_to_thread() -> None:
    program = Recording(S, threads=4)
    program.alloc(BUFFER)
    program.launch(S, BUFFER, mode=WRITE)
    program.sync(S, thread=1)
    program.op(Kind.CALL, thread=2)
    program.free(BUFFER, FreeClass.DEVICE, thread=3)
    assert codes(program) == set()


def test_what_was_done_after_the_other_thread_was_seen_last_is_not_known_to_it() -> None:
    program = Recording(S)
    program.alloc(BUFFER, MemoryKind.STREAM_ORDERED, S)
    program.sync(S)
    program.op(Kind.CALL, thread=1)
    program.launch(S, BUFFER)
    free = program.free(BUFFER, FreeClass.DEVICE, thread=1)
    assert program.found() == [(102, "FREE_DEVICE", free)]


def test_a_use_of_freed_memory_by_another_thread_rests_on_the_run() -> None:
    program = Recording(S)
    program.alloc(BUFFER)
    program.free(BUFFER)
    use = program.launch(S, BUFFER, thread=1)
    (fact,) = program.facts()
    assert (fact.code, fact.operation.site, fact.rests_on) == (101, use, EdgeClass.RUN)


def test_a_wait_of_another_thread_makes_no_wait_redundant() -> None:
    program = Recording(S)
    program.alloc(BUFFER)
    program.launch(S, BUFFER)
    program.sync(S)
    program.sync(S, thread=1)
    program.free(BUFFER)
    assert program.facts(504) == []


def test_a_wait_that_the_same_thread_repeats_is_redundant() -> None:
    program = Recording(S)
    program.alloc(BUFFER)
    program.launch(S, BUFFER)
    program.sync(S)
    again = program.sync(S)
    program.op(Kind.CALL, thread=1)
    program.free(BUFFER)
    assert program.found() == [(504, "DOMINATED", again)]


def test_processes_of_a_run_are_ordered_too_and_share_no_memory() -> None:
    program = Recording(processes=(0, 1))
    program.context(200, thread=1)
    program.stream(S)
    program.alloc(BUFFER)
    program.free(BUFFER)
    program.stream(S, thread=1)
    program.alloc(BUFFER, thread=1)
    program.launch(S, BUFFER, thread=1)
    program.sync(S, thread=1)
    program.free(BUFFER, thread=1)
    assert program.found() == []


def host_function(program: Recording, key: int) -> None:
    program.stream(S)
    program.alloc(BUFFER, MemoryKind.STREAM_ORDERED, S)
    program.launch(S, BUFFER)
    program.op(Kind.HOST_FUNCTION, stream=S, object=key)


def test_the_body_of_a_host_function_knows_what_the_stream_had_done() -> None:
    program = Recording()
    host_function(program, 77)
    program.op(Kind.HOST_ACQUIRE, object=77, detail=EdgeClass.CONTRACT, thread=1, api="")
    program.free(BUFFER)
    assert codes(program) == set()


def test_a_body_that_has_not_begun_tells_nobody() -> None:
    program = Recording()
    host_function(program, 77)
    free = program.free(BUFFER)
    program.op(Kind.HOST_ACQUIRE, object=77, detail=EdgeClass.CONTRACT, thread=1, api="")
    (fact,) = program.facts(102)
    assert (fact.operation.site, fact.unseen) == (free, False)


def test_a_body_that_nobody_saw_does_not_accuse() -> None:
    program = Recording()
    host_function(program, 0)
    program.free(BUFFER, thread=1)
    (fact,) = program.facts(102)
    assert fact.unseen
    assert fact.assumed


def test_work_behind_a_body_that_nobody_saw_is_not_excused() -> None:
    program = Recording()
    host_function(program, 0)
    program.launch(S, BUFFER)
    program.free(BUFFER)
    (fact,) = program.facts(102)
    assert not fact.unseen


def test_keys_of_bodies_are_each_process_s_own() -> None:
    program = Recording(processes=(0, 1))
    program.context(200, thread=1)
    host_function(program, 77)
    program.op(Kind.HOST_FUNCTION, stream=1, object=77, thread=1)
    program.op(Kind.HOST_ACQUIRE, object=77, detail=EdgeClass.CONTRACT, thread=1, api="")
    free = program.free(BUFFER)
    assert (102, "FREE_DEVICE", free) in program.found()


def test_a_value_that_the_host_may_poll_does_not_accuse() -> None:
    program = Recording(S)
    program.alloc(BUFFER, MemoryKind.STREAM_ORDERED, S)
    program.launch(S, BUFFER)
    program.op(Kind.STREAM_MEMORY_OP, stream=S, memory=HOST)
    program.free(BUFFER, thread=1)
    (fact,) = program.facts(102)
    assert fact.unseen


def test_addresses_that_are_no_memory_mean_nothing_and_leave_nothing() -> None:
    program = Recording(S, threads=1)
    program.alloc(BUFFER, bytes=4096)
    for step in range(2000):
        program.launch(S, BUFFER + 8 * (step % 512), 0x7F0000000000 + 64 * step, at=50)
        program.op(
            Kind.COPY,
            stream=S,
            memory=(BUFFER, 0x7E0000000000 + 4096 * step),
            bytes=64,
            detail=WaitClass.MAYBE_COMPLETE,
            at=51,
        )
    engine = Engine([0], recording=True)
    for chunk in program.trace().chunks():
        engine.feed(np.ascontiguousarray(chunk).view(np.uint8))
    engine.finish()
    assert engine.facts() == []
    assert engine.allocations == 1


def test_an_address_inside_is_a_use_of_the_allocation() -> None:
    program = Recording(S, threads=1)
    program.alloc(BUFFER, MemoryKind.STREAM_ORDERED, S, bytes=4096)
    program.launch(S, BUFFER + 1000, mode=READ)
    free = program.free(BUFFER)
    assert program.found() == [(102, "FREE_DEVICE", free)]


def test_unknown_handles_are_not_stale() -> None:
    program = Recording(threads=1, whole=False)
    program.launch(0xABC, BUFFER)
    program.record(0xE1, 0xABC)
    program.wait(0xDEF, 0xE2)
    program.op(Kind.EVENT_SYNCHRONIZE, object=0xE3)
    program.op(Kind.STREAM_DESTROY, object=0xABC, stream=0xABC)
    program.sync(0xDEF)
    assert program.found() == []


def test_two_streams_that_were_there_before_are_two_streams() -> None:
    program = Recording(threads=1, whole=False)
    program.alloc(BUFFER, MemoryKind.STREAM_ORDERED, 0xABC)
    program.launch(0xDEF, BUFFER, mode=OPAQUE)
    (fact,) = program.facts(103)
    assert not fact.may_be_equal
    assert fact.assumed


def restated(begins_at: int) -> Trace:
    program = Recording(S, T, threads=1)
    program.op(Kind.EVENT_CREATE, object=30)
    program.alloc(BUFFER, MemoryKind.STREAM_ORDERED, S)
    program.wait(T, 30)
    program.launch(T, BUFFER)
    program.wait(S, 30)
    program.free(BUFFER, FreeClass.ASYNC, T)
    program.sync(S)
    trace = program.trace()
    trace.metadata["begins_at"] = begins_at
    return trace


def test_what_was_there_before_the_recording_s_present_beginning_had_a_life() -> None:
    # Main begins, the context is made and made current, two streams, an event, memory: what follows is number 8.
    assert {fact.code for fact in analyse(restated(8)).facts} == set()
    assert {fact.code for fact in analyse(restated(0)).facts} == {103, 504}


def test_a_thread_for_each_task_costs_no_timeline_for_each() -> None:
    threads = 3000
    program = Recording(S, threads=threads)
    for thread in range(threads):
        program.alloc(BUFFER, MemoryKind.STREAM_ORDERED, 2, thread=thread, at=90)
        program.launch(2, BUFFER, thread=thread, at=91)
        program.free(BUFFER, FreeClass.ASYNC, 2, thread=thread, at=92)
        program.sync(2, thread=thread, at=93)
    program.alloc(BUFFER, MemoryKind.STREAM_ORDERED, S)
    program.launch(S, BUFFER)
    program.free(BUFFER, thread=threads - 1, at=95)
    engine = Engine([0] * threads, recording=True)
    for chunk in program.trace().chunks():
        engine.feed(np.ascontiguousarray(chunk).view(np.uint8))
    engine.finish()
    assert engine.timelines < 1100
    assert engine.problems == 0
    assert [(fact.code, fact.count) for fact in program.facts()] == [(102, 1)]
