"""Out-of-order queues of OpenCL: wait lists, markers, barriers, and what a wait for the queue covers."""

from __future__ import annotations

import random

import pytest
from opencl_program import READ, WRITE, OpenCL

from streamsan.order._engine import Engine
from streamsan.vocabulary import FreeClass, MarkerKind

Q, R = 1000, 1001
A, B, C = 1 << 61, (1 << 61) + 0x1000, (1 << 61) + 0x2000
E, F, G = 500, 501, 502


def conflict(program: OpenCL) -> list[int]:
    return [line for code, _, line in program.said(109)]


def test_commands_without_a_wait_list_are_not_ordered() -> None:
    program = OpenCL(out_of_order=(Q,))
    program.buffer(A)
    program.transfer(Q, A, WRITE)
    read = program.transfer(Q, A, READ)
    assert program.said() == [(109, "CONFLICT_READ_WRITE", read)]


def test_an_in_order_queue_orders_them() -> None:
    program = OpenCL(Q)
    program.buffer(A)
    program.transfer(Q, A, WRITE)
    program.transfer(Q, A, READ)
    assert program.said() == []


def test_a_wait_list_orders_the_command_that_has_it() -> None:
    program = OpenCL(out_of_order=(Q,))
    program.buffer(A)
    program.transfer(Q, A, WRITE, event=E)
    program.transfer(Q, A, READ, after=(E,))
    assert program.found() == []


def test_a_wait_list_is_of_the_next_command_only() -> None:
    program = OpenCL(out_of_order=(Q,))
    program.buffer(A)
    program.buffer(B)
    program.transfer(Q, A, WRITE, event=E)
    program.transfer(Q, B, READ, after=(E,))
    read = program.transfer(Q, A, READ)
    assert conflict(program) == [read]


def test_an_event_is_of_its_command_only() -> None:
    program = OpenCL(out_of_order=(Q,))
    program.buffer(A)
    program.buffer(B)
    program.transfer(Q, A, WRITE)
    program.transfer(Q, B, WRITE, event=E)
    read = program.transfer(Q, A, READ, after=(E,))
    assert conflict(program) == [read]


def test_several_events_are_all_awaited() -> None:
    program = OpenCL(out_of_order=(Q,))
    program.buffer(A)
    program.buffer(B)
    program.transfer(Q, A, WRITE, event=E)
    program.transfer(Q, B, WRITE, event=F)
    program.kernel(Q, A, B, mode=READ, after=(E, F))
    assert program.said() == []
    assert program.analysis().facts == []


@pytest.mark.parametrize(
    ("kind", "lines"),
    [
        (MarkerKind.BARRIER_ALL, 0),
        (MarkerKind.ALL_BEFORE, 1),
        (MarkerKind.WAIT_LIST, 1),
        (MarkerKind.BARRIER_WAIT_LIST, 1),
    ],
)
def test_a_barrier_holds_back_what_comes_later(kind: MarkerKind, lines: int) -> None:
    program = OpenCL(out_of_order=(Q,))
    program.buffer(A)
    program.transfer(Q, A, WRITE)
    program.marker(Q, kind)
    program.transfer(Q, A, READ)
    assert len(conflict(program)) == lines


@pytest.mark.parametrize(("kind", "lines"), [(MarkerKind.ALL_BEFORE, 0), (MarkerKind.WAIT_LIST, 1)])
def test_a_markers_event_is_after_all_before_it(kind: MarkerKind, lines: int) -> None:
    program = OpenCL(out_of_order=(Q,))
    program.buffer(A)
    program.transfer(Q, A, WRITE)
    program.marker(Q, kind, event=E)
    program.transfer(Q, A, READ, after=(E,))
    assert len(conflict(program)) == lines


def test_a_barrier_with_a_wait_list_waits_for_that() -> None:
    program = OpenCL(out_of_order=(Q,))
    program.buffer(A)
    program.buffer(B)
    program.transfer(Q, A, WRITE, event=E)
    program.transfer(Q, B, WRITE)
    program.marker(Q, MarkerKind.BARRIER_WAIT_LIST, after=(E,))
    program.transfer(Q, A, READ)
    read = program.transfer(Q, B, READ)
    assert conflict(program) == [read]


def test_a_barrier_is_of_its_queue() -> None:
    program = OpenCL(out_of_order=(Q, R))
    program.buffer(A)
    program.transfer(Q, A, WRITE)
    program.marker(Q, MarkerKind.BARRIER_ALL)
    read = program.transfer(R, A, READ)
    assert conflict(program) == [read]


def test_finish_covers_all_commands() -> None:
    program = OpenCL(out_of_order=(Q,))
    program.buffer(A)
    program.buffer(B)
    program.transfer(Q, A, WRITE)
    program.transfer(Q, B, WRITE)
    program.finish(Q)
    program.kernel(Q, A, B, mode=WRITE)
    assert program.said() == []


def test_waiting_for_one_event_leaves_the_others() -> None:
    program = OpenCL(out_of_order=(Q,))
    program.buffer(A)
    program.buffer(B)
    program.transfer(Q, A, WRITE, event=E)
    program.transfer(Q, B, WRITE, event=F)
    program.wait_for(E)
    program.transfer(Q, A, READ)
    read = program.transfer(Q, B, READ)
    assert conflict(program) == [read]


def test_a_blocking_command_waits_for_itself_alone() -> None:
    program = OpenCL(out_of_order=(Q,))
    program.buffer(A)
    program.buffer(B)
    program.transfer(Q, A, WRITE)
    program.transfer(Q, B, READ, blocking=True)
    read = program.transfer(Q, A, READ)
    assert conflict(program) == [read]


def test_an_event_orders_commands_of_two_queues() -> None:
    program = OpenCL(out_of_order=(Q, R))
    program.buffer(A)
    program.transfer(Q, A, WRITE, event=E)
    program.transfer(R, A, READ, after=(E,))
    assert program.said() == []


def test_two_threads_have_wait_lists_of_their_own() -> None:
    program = OpenCL(out_of_order=(Q,), threads=2)
    program.buffer(A)
    program.transfer(Q, A, WRITE, event=E)
    program.hand_over(0, 1)
    # The wait lists of both stand in the trace before either command.
    program.op(39, api="clEnqueueReadBuffer", object=E, stream=Q, thread=0)  # type: ignore[arg-type]
    read = program.transfer(Q, A, WRITE, thread=1)
    program.transfer(Q, A, READ, thread=0)
    lines = conflict(program)
    assert read in lines


def test_svm_freed_in_a_queue_that_does_not_order() -> None:
    program = OpenCL(out_of_order=(Q,))
    program.svm(A)
    used = program.kernel(Q, A)
    program.marker(Q, MarkerKind.WAIT_LIST)
    freed = program.free(A, FreeClass.ASYNC, Q, api="clEnqueueSVMFree")
    assert program.said() == [(102, "FREE_ASYNC", freed)]
    assert used


def test_svm_freed_behind_its_use() -> None:
    program = OpenCL(out_of_order=(Q,))
    program.svm(A)
    program.svm(B)
    program.kernel(Q, A, B, event=E)
    program.marker(Q, MarkerKind.WAIT_LIST, after=(E,))
    program.free(A, FreeClass.ASYNC, Q, api="clEnqueueSVMFree")
    program.free(B, FreeClass.ASYNC, Q, api="clEnqueueSVMFree")
    assert program.said() == []


def test_a_wait_that_is_needed_is_not_called_redundant() -> None:
    program = OpenCL(out_of_order=(Q,))
    program.buffer(A)
    program.transfer(Q, A, WRITE, event=E)
    program.kernel(Q, A, mode=READ, after=(E,), event=F)
    program.wait_for(F)
    assert program.said(503, 504) == []


def test_a_wait_for_what_the_host_knows_is_redundant() -> None:
    program = OpenCL(out_of_order=(Q,))
    program.buffer(A)
    program.transfer(Q, A, WRITE, event=E)
    program.wait_for(E)
    program.kernel(Q, A, mode=READ, after=(E,))
    assert [(code, variant) for code, variant, _ in program.said(504)] == [(504, "DOMINATED")]


def test_a_recycled_queue_has_branches_of_its_own() -> None:
    program = OpenCL(out_of_order=(Q,))
    program.buffer(A)
    program.transfer(Q, A, WRITE)
    program.op(33, api="clReleaseCommandQueue", object=Q)  # type: ignore[arg-type]
    program.queue(Q, kind=6)  # type: ignore[arg-type]
    read = program.transfer(Q, A, READ)
    assert conflict(program) == [read]


def test_the_number_of_branches_is_bounded() -> None:
    """What one command costs does not grow with those before it, whether anybody waits or not."""

    def timelines(commands: int, every: int) -> int:
        program = OpenCL(out_of_order=(Q,))
        program.buffer(A)
        for number in range(commands):
            program.kernel(Q, A, mode=READ)
            if every and number % every == 0:
                program.finish(Q)
        engine = Engine([0])
        for chunk in program.trace().chunks():
            engine.feed(chunk.view("u1"))
        return int(engine.timelines)

    assert timelines(3000, 0) <= 300
    assert timelines(3000, 10) <= 20


def brute_force(seed: int) -> tuple[OpenCL, set[int]]:
    """A random program, and the lines of the uses that are not ordered after an earlier one in conflict."""
    choose = random.Random(seed)
    program = OpenCL(Q, out_of_order=(R,))
    for address in (A, B, C):
        program.buffer(address)
    before: dict[int, set[int]] = {}  # command -> what is complete before it begins
    accesses: dict[int, tuple[int, bool]] = {}
    known: set[int] = set()  # to the host
    barrier: set[int] = set()
    of_queue: dict[int, list[int]] = {Q: [], R: []}
    event_of: dict[int, int] = {}
    wrong: set[int] = set()
    for number in range(choose.randint(4, 24)):
        queue = choose.choice((Q, R, R, R))
        kind = choose.choice(("use", "use", "use", "use", "marker", "barrier", "finish", "wait"))
        events = tuple(choose.sample(sorted(event_of), min(len(event_of), choose.choice((0, 0, 1, 1, 2)))))
        if kind == "finish":
            program.finish(queue)
            for command in of_queue[queue]:
                known |= {command} | before[command]
            continue
        if kind == "wait":
            for event in events[:1]:
                program.wait_for(event)
                known |= {event_of[event]} | before[event_of[event]]
            continue
        waits = set(known)
        if queue == Q:
            for command in of_queue[Q]:
                waits |= {command} | before[command]
        else:
            waits |= barrier
        for event in events:
            waits |= {event_of[event]} | before[event_of[event]]
        event = 10_000 + number
        if kind == "use":
            memory, writes = choose.choice((A, B, C)), choose.random() < 0.5
            line = program.transfer(queue, memory, WRITE if writes else READ, after=events, event=event)
            for earlier, (where, wrote) in accesses.items():
                if where == memory and (writes or wrote) and earlier not in waits:
                    wrong.add(line)
            accesses[number] = (memory, writes)
        else:
            all_before = choose.random() < 0.5
            if all_before and queue == R:
                for command in of_queue[R]:
                    waits |= {command} | before[command]
            is_barrier = kind == "barrier"
            names = ("BARRIER_ALL" if all_before else "BARRIER_WAIT_LIST") if is_barrier else None
            marker = MarkerKind[names or ("ALL_BEFORE" if all_before else "WAIT_LIST")]
            program.marker(queue, marker, after=events, event=event)
            if is_barrier and queue == R:
                barrier = {number} | waits
        before[number] = waits
        of_queue[queue].append(number)
        event_of[event] = number
    return program, wrong


@pytest.mark.parametrize("seed", range(0, 600, 50))
def test_against_brute_force(seed: int) -> None:
    for each in range(seed, seed + 50):
        program, wrong = brute_force(each)
        assert set(conflict(program)) == wrong, each
