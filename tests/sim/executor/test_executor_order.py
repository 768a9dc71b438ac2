"""Each edge of the contract holds under every schedule, and what is not an edge does not hold under some."""

from __future__ import annotations

import ctypes

import pytest
from simulated_machine import SCHEDULES, UNKNOWN, Machine, value_work, words_of

from streamsan.sim.executor.scheduler import DeadlockError
from streamsan.sim.options import Schedule
from streamsan.vocabulary import MemoryKind, StreamKind, WaitClass

MANY = (Schedule.LAZY, *range(40))


def orders(program, schedules=MANY) -> set[tuple[str, ...]]:
    """Return the orders in which a program's work runs."""
    found = set()
    for schedule in schedules:
        log: list[str] = []
        machine = Machine(schedule)
        program(machine, log)
        machine.synchronize()
        found.add(tuple(log))
    return found


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_stream_is_first_in_first_out(schedule):
    machine, log = Machine(schedule), []
    stream = machine.stream()
    for entry in "abcdefgh":
        machine.note(stream, log, entry)
    machine.synchronize(stream)
    assert "".join(log) == "abcdefgh"


def test_two_streams_are_not_ordered():
    def program(machine, log):
        machine.note(machine.stream(), log, "a")
        machine.note(machine.stream(), log, "b")

    assert orders(program) == {("a", "b"), ("b", "a")}


def test_an_event_orders_streams():
    def program(machine, log):
        first, second = machine.stream(), machine.stream()
        machine.note(first, log, "a")
        machine.wait(second, machine.record(first))
        machine.note(second, log, "b")

    assert orders(program) == {("a", "b")}


def test_an_event_never_recorded_orders_nothing():
    def program(machine, log):
        first, second = machine.stream(), machine.stream()
        event = machine.event()
        machine.note(first, log, "a")
        machine.wait(second, event)
        machine.record(first, event)  # after the wait: too late
        machine.note(second, log, "b")

    assert orders(program) == {("a", "b"), ("b", "a")}


def test_a_wait_uses_the_latest_record_at_its_call():
    def program(machine, log):
        first, second, third = (machine.stream() for _ in range(3))
        event = machine.event()
        machine.note(first, log, "old")
        machine.record(first, event)
        machine.note(second, log, "new")
        machine.record(second, event)
        machine.wait(third, event)
        machine.note(third, log, "waiter")

    found = orders(program)
    assert all(order.index("new") < order.index("waiter") for order in found)
    assert any(order.index("waiter") < order.index("old") for order in found)


def test_an_event_captures_the_stream_as_it_is_at_the_call():
    def program(machine, log):
        first, second = machine.stream(), machine.stream()
        event = machine.record(first)
        machine.note(first, log, "later")
        machine.wait(second, event)
        machine.note(second, log, "waiter")

    assert orders(program) == {("later", "waiter"), ("waiter", "later")}


def test_the_legacy_stream_joins_blocking_streams_and_they_wait_for_it():
    def program(machine, log):
        first, second = machine.stream(), machine.stream()
        machine.note(first, log, "a")
        machine.note(machine.legacy, log, "b")
        machine.note(second, log, "c")

    assert orders(program) == {("a", "b", "c")}


def test_the_per_thread_stream_is_a_blocking_stream():
    def program(machine, log):
        machine.note(machine.per_thread, log, "a")
        machine.note(machine.legacy, log, "b")
        machine.note(machine.per_thread, log, "c")

    assert orders(program) == {("a", "b", "c")}


def test_each_thread_has_a_per_thread_stream_of_its_own():
    def program(machine, log):
        machine.note(machine.per_thread, log, "a")
        machine.thread = machine.new_thread()
        machine.note(machine.per_thread, log, "b")

    assert orders(program) == {("a", "b"), ("b", "a")}


def test_a_non_blocking_stream_is_not_ordered_with_the_legacy_stream():
    def program(machine, log):
        machine.note(machine.stream(StreamKind.NON_BLOCKING), log, "a")
        machine.note(machine.legacy, log, "b")
        machine.note(machine.stream(StreamKind.NON_BLOCKING), log, "c")

    found = orders(program)
    assert any(order.index("b") < order.index("a") for order in found)
    assert any(order.index("c") < order.index("b") for order in found)


def test_legacy_streams_of_two_contexts_are_not_ordered():
    def program(machine, log):
        machine.note(machine.legacy, log, "a")
        machine.thread.stack.append(machine.new_context())
        machine.note(machine.legacy, log, "b")
        machine.executor.synchronize_context(machine.thread, machine.thread.stack.pop())

    assert orders(program) == {("a", "b"), ("b", "a")}


def copied_between(wait: WaitClass):
    """Return a program that copies from one context to another while streams of both, which do not block, have work."""

    def program(machine, log):
        far = machine.new_context(1)
        streams = [machine.stream(StreamKind.NON_BLOCKING, context) for context in (machine.context, far)]
        near_memory, far_memory = machine.allocate(16), machine.allocate(16, context=far)
        machine.kernel(streams[0], lambda memory: words_of(memory, near_memory).fill(7))
        machine.kernel(streams[1], lambda memory: words_of(memory, far_memory).fill(5))
        machine.copy(machine.legacy, far_memory, near_memory, wait)
        machine.kernel(streams[1], lambda memory: log.append(str(words_of(memory, far_memory)[0])))
        machine.synchronize(streams[1])

    return program


def test_a_copy_between_contexts_is_in_order_with_all_of_their_work():
    assert orders(copied_between(WaitClass.BETWEEN_CONTEXTS)) == {("7",)}


def test_a_copy_in_a_stream_is_not_in_order_with_another_context():
    assert len(orders(copied_between(WaitClass.NONE))) > 1


def test_a_host_function_runs_in_the_stream_s_order():
    def program(machine, log):
        stream = machine.stream()
        machine.note(stream, log, "a")
        machine.host_function(stream, lambda: log.append("host"))
        machine.note(stream, log, "b")

    assert orders(program) == {("a", "host", "b")}


def test_a_stream_wait_needs_its_value():
    def program(machine, log):
        flag = machine.allocate(4)
        writer, waiter = machine.stream(StreamKind.NON_BLOCKING), machine.stream(StreamKind.NON_BLOCKING)
        machine.issue(machine.legacy, value_work(flag, 0, "write"))
        machine.synchronize()
        machine.issue(waiter, value_work(flag, 7, "geq"))
        machine.note(waiter, log, "b")
        machine.note(writer, log, "a")
        machine.issue(writer, value_work(flag, 8, "write"))

    assert orders(program) == {("a", "b")}


@pytest.mark.parametrize(
    ("condition", "value", "stored", "met"),
    [
        ("eq", 5, 5, True),
        ("eq", 5, 6, False),
        ("geq", 5, 6, True),
        ("geq", 5, 4, False),
        ("geq", 0xFFFFFFFF, 1, True),  # cyclic
        ("and", 6, 2, True),
        ("and", 6, 1, False),
        ("nor", 0xFFFFFFFE, 0, True),
        ("nor", 0xFFFFFFFE, 1, False),
    ],
)
def test_conditions_of_stream_waits(condition, value, stored, met):
    machine, log = Machine(Schedule.EAGER), []
    flag, stream = machine.allocate(4), machine.stream()
    machine.fill(stream, flag, stored)
    machine.issue(stream, value_work(flag, value, condition))
    machine.note(stream, log, "after")
    assert bool(log) is met


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_waiting_for_a_value_that_nobody_writes_is_an_error_and_no_hang(schedule):
    machine = Machine(schedule)
    flag, stream = machine.allocate(4), machine.stream()
    machine.issue(stream, value_work(flag, 1, "eq"))
    with pytest.raises(DeadlockError, match=r"a stream's wait until the value at 0x.* is eq 0x1, but nothing can run"):
        machine.synchronize(stream)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_another_host_thread_may_write_the_value(schedule):
    machine, tries, log = Machine(schedule), [], []
    flag, stream = machine.allocate(4, MemoryKind.PINNED), machine.stream()

    def let_others_run():
        tries.append(1)
        if len(tries) == 3:
            ctypes.c_uint32.from_address(flag.address).value = 1
        return True

    machine.device.on_stuck(let_others_run)
    machine.issue(stream, value_work(flag, 1, "eq"))
    machine.note(stream, log, "after")
    machine.synchronize(stream)
    assert (len(tries), log) == (3, ["after"])


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_query_loops_end(schedule):
    machine, log = Machine(schedule), []
    first, second = machine.stream(), machine.stream()
    for entry in "abc":
        machine.note(first, log, entry)
    event = machine.record(first)
    machine.wait(second, event)
    machine.note(second, log, "d")
    for _ in range(20):
        if machine.executor.query_event(machine.thread, event, UNKNOWN) == 0:
            break
    assert log[:3] == ["a", "b", "c"]
    for _ in range(20):
        if machine.executor.query_stream(machine.thread, second, UNKNOWN) == 0:
            break
    assert log == ["a", "b", "c", "d"]


def test_lazy_answers_not_ready_and_eager_ready():
    for schedule, answer in ((Schedule.LAZY, 600), (Schedule.EAGER, 0)):
        machine = Machine(schedule)
        stream = machine.stream()
        machine.note(stream, [], "a")
        assert machine.executor.query_stream(machine.thread, stream, UNKNOWN) == answer


def test_lazy_runs_only_what_is_awaited():
    machine, log = Machine(Schedule.LAZY), []
    first, second = machine.stream(), machine.stream()
    machine.note(first, log, "a")
    machine.note(second, log, "b")
    machine.synchronize(second)
    assert log == ["b"]


def test_an_event_s_destruction_does_not_end_a_wait():
    def program(machine, log):
        first, second = machine.stream(), machine.stream()
        machine.note(first, log, "a")
        event = machine.record(first)
        machine.wait(second, event)
        event.alive = first.alive = False
        machine.note(second, log, "b")

    assert orders(program) == {("a", "b")}


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_time_between_two_events_is_positive(schedule):
    machine = Machine(schedule)
    stream = machine.stream()
    start = machine.record(stream)
    machine.note(stream, [], "work")
    end = machine.record(stream)
    machine.executor.synchronize_event(machine.thread, end)
    elapsed = machine.executor.elapsed(start, end, UNKNOWN)
    assert isinstance(elapsed, float)
    assert elapsed > 0
    assert machine.executor.elapsed(start, machine.event(), UNKNOWN) is UNKNOWN


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_finished_work_is_forgotten(schedule):
    machine = Machine(schedule)
    streams = [machine.stream() for _ in range(3)]
    for index in range(3000):
        machine.note(streams[index % 3], [], "a")
        machine.wait(streams[(index + 1) % 3], machine.record(streams[index % 3]))
    machine.synchronize()
    assert machine.device.scheduler.pending == 0
    assert not any(work.active for work in machine.device._timelines.works())
