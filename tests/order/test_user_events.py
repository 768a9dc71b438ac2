"""User events: what waits for one does not run before it is set. Releases meanwhile (SS208); callbacks (SS209)."""

from __future__ import annotations

import pytest
from opencl_program import READ, WRITE, OpenCL

from streamsan.vocabulary import (
    CallbackTime,
    CallClass,
    EdgeClass,
    FreeClass,
    HandleKind,
    MarkerKind,
    MemoryKind,
    RelatedRole,
    StreamKind,
)
from streamsan.vocabulary import OperationKind as Kind

Q, R = 1000, 1001
A, B, C = 1 << 61, (1 << 61) + 0x1000, (1 << 61) + 0x2000
H = 0x7000
U, E, F, V = 500, 501, 502, 503
KEY = 77


def test_what_the_host_does_before_it_sets_the_event_is_before_the_command() -> None:
    program = OpenCL(Q)
    program.buffer(A)
    program.alloc(H, MemoryKind.HOST_HEAP)
    program.user_event(U)
    program.transfer(Q, A, WRITE, host=H, after=(U,))
    program.host(H, WRITE)
    program.set_event(U)
    program.finish(Q)
    assert program.said() == []


def test_what_it_does_after_is_not() -> None:
    program = OpenCL(Q)
    program.buffer(A)
    program.alloc(H, MemoryKind.HOST_HEAP)
    program.user_event(U)
    program.transfer(Q, A, WRITE, host=H, after=(U,))
    program.set_event(U)
    wrote = program.host(H, WRITE)
    program.finish(Q)
    assert program.said() == [(108, "HOST_WRITE", wrote)]


def test_the_first_call_of_a_thread_may_be_held_too() -> None:
    program = OpenCL(Q, R, threads=2)
    program.buffer(A)
    program.user_event(U)
    program.marker(Q, MarkerKind.WAIT_LIST, after=(U,))
    program.kernel(R, A, mode=WRITE)
    program.kernel(Q, A, mode=READ, thread=1)
    program.finish(R)
    program.set_event(U)
    program.finish(Q)
    assert program.said() == []


def test_host_memory_that_is_freed_before_the_event_is_set_is_gone() -> None:
    program = OpenCL(Q)
    program.buffer(A)
    program.svm(H)
    program.user_event(U)
    used = program.kernel(Q, H, after=(U,))
    program.free(H, FreeClass.CL_SVM, api="clSVMFree")
    program.set_event(U)
    program.finish(Q)
    assert program.said() == [(101, "AFTER_FREE", used)]


def test_what_is_behind_on_an_in_order_queue_waits_too() -> None:
    program = OpenCL(Q, R)
    program.buffer(A)
    program.user_event(U)
    program.kernel(Q, B, after=(U,))
    program.transfer(Q, A, READ)
    program.transfer(R, A, WRITE)
    program.finish(R)
    program.set_event(U)
    assert program.said() == []


@pytest.mark.parametrize("program", [OpenCL(Q, R), OpenCL(R, out_of_order=(Q,))], ids=["in order", "out of order"])
def test_an_event_of_the_wait_list_may_be_released_before_the_user_event_is_set(program: OpenCL) -> None:
    for buffer in (A, B, C):
        program.buffer(buffer)
    program.user_event(U)
    program.transfer(R, A, WRITE, event=E)
    program.transfer(Q, B, WRITE, after=(U,), event=F)
    program.kernel(Q, A, after=(F, E))
    program.op(Kind.EVENT_DESTROY, api="clReleaseEvent", object=E)
    program.transfer(R, C, WRITE, event=E)  # the handle comes back, for another event: nobody waits for that one
    program.set_event(U)
    later = program.kernel(Q, C, mode=READ, after=(F,))
    assert program.said() == [(109, "CONFLICT_READ_WRITE", later)]


def test_on_an_out_of_order_queue_other_commands_go_on() -> None:
    program = OpenCL(R, out_of_order=(Q,))
    program.buffer(A)
    program.buffer(B)
    program.user_event(U)
    program.kernel(Q, B, after=(U,))
    program.transfer(Q, A, READ)
    wrote = program.transfer(R, A, WRITE)
    program.finish(R)
    program.set_event(U)
    assert program.said() == [(109, "CONFLICT_READ_WRITE", wrote)]


def test_a_wait_list_of_both_sorts_is_kept_whole() -> None:
    for events in ((E, U), (U, E)):
        program = OpenCL(out_of_order=(Q,))
        program.buffer(A)
        program.user_event(U)
        program.transfer(Q, A, WRITE, event=E)
        program.transfer(Q, A, READ, after=events, event=F)
        program.transfer(Q, B, READ)
        program.set_event(U)
        program.wait_for(F)
        program.transfer(Q, A, WRITE)
        assert program.said() == [], events


def test_an_event_of_a_command_that_waits_holds_back_who_waits_for_it() -> None:
    program = OpenCL(Q, R)
    program.buffer(A)
    program.user_event(U)
    program.transfer(Q, A, WRITE, after=(U,), event=E)
    program.transfer(R, A, READ, after=(E,))
    program.op(Kind.EVENT_DESTROY, api="clReleaseEvent", object=E)
    program.set_event(U)
    assert program.said() == []


def test_two_user_events() -> None:
    program = OpenCL(Q)
    program.buffer(A)
    program.alloc(H, MemoryKind.HOST_HEAP)
    program.user_event(U)
    program.user_event(V)
    program.transfer(Q, A, WRITE, host=H, after=(U, V))
    program.set_event(U)
    program.host(H, WRITE)
    program.set_event(V)
    wrote = program.host(H, WRITE)
    assert program.said() == [(108, "HOST_WRITE", wrote)]


def test_an_event_that_is_never_set_lets_nothing_run() -> None:
    program = OpenCL(Q)
    program.buffer(A)
    program.user_event(U)
    program.kernel(Q, A, after=(U,))
    program.exit()
    assert program.said() == []


def test_a_barrier_behind_a_user_event_holds_the_queue() -> None:
    program = OpenCL(R, out_of_order=(Q,))
    program.buffer(A)
    program.user_event(U)
    program.marker(Q, MarkerKind.BARRIER_WAIT_LIST, after=(U,))
    program.transfer(Q, A, READ)
    program.transfer(R, A, WRITE)
    program.finish(R)
    program.set_event(U)
    assert program.said() == []


def test_a_release_while_a_command_waits() -> None:
    for destroy in (
        lambda program: program.release(B),
        lambda program: program.handle(Kind.HANDLE_DESTROY, 900, HandleKind.KERNEL, api="clReleaseKernel"),
        lambda program: program.op(Kind.STREAM_DESTROY, api="clReleaseCommandQueue", object=R),
    ):
        program = OpenCL(Q, R)
        program.buffer(A)
        program.buffer(B)
        program.handle(Kind.HANDLE_CREATE, 900, HandleKind.KERNEL, api="clCreateKernel")
        made = program.user_event(U)
        waits = program.transfer(Q, A, WRITE, after=(U,))
        released = destroy(program)
        program.set_event(U)
        program.finish(Q)
        (fact,) = program.facts(208)
        assert (fact.operation.site, [(role, each.site) for role, each in fact.related]) == (
            released,
            [(RelatedRole.CREATE, made), (RelatedRole.USE, waits)],
        )
        assert fact.rests_on is EdgeClass.CONTRACT


def test_no_release_while_a_command_waits() -> None:
    program = OpenCL(Q)
    program.buffer(A)
    program.buffer(B)
    program.user_event(U)
    program.release(B)  # nothing waits yet
    program.transfer(Q, A, WRITE, after=(U,), event=E)
    program.op(Kind.EVENT_DESTROY, api="clReleaseEvent", object=E)  # events may be released
    program.set_event(U)
    program.release(A)
    program.finish(Q)
    assert program.said() == []


def test_a_buffer_that_is_released_under_the_event_is_said_once() -> None:
    program = OpenCL(Q)
    program.buffer(A)
    program.user_event(U)
    program.transfer(Q, A, WRITE, after=(U,))
    released = program.release(A)
    program.set_event(U)
    program.finish(Q)
    assert program.said() == [(208, "NONE", released)]


def test_a_callback_is_after_its_command() -> None:
    program = OpenCL(Q, threads=2)
    program.buffer(A)
    program.svm(H)
    program.kernel(Q, H, event=E)
    program.callback(E, KEY)
    program.body_begins(KEY)
    program.free(H, FreeClass.CL_SVM, thread=1, api="clSVMFree")
    program.body_ends(KEY)
    assert program.said() == []


def test_a_callback_of_a_command_that_begins_is_before_its_end() -> None:
    program = OpenCL(Q, threads=2)
    program.svm(H)
    program.kernel(Q, H, event=E)
    program.callback(E, KEY, CallbackTime.EARLIER)
    program.body_begins(KEY)
    freed = program.free(H, FreeClass.CL_SVM, thread=1, api="clSVMFree")
    program.body_ends(KEY)
    assert program.said() == [(102, "FREE_SVM", freed)]


def test_a_callback_is_not_after_other_commands() -> None:
    program = OpenCL(out_of_order=(Q,), threads=2)
    program.svm(H)
    program.kernel(Q, H)
    program.kernel(Q, A, event=E)
    program.callback(E, KEY)
    program.body_begins(KEY)
    freed = program.free(H, FreeClass.CL_SVM, thread=1, api="clSVMFree")
    program.body_ends(KEY)
    assert program.said() == [(102, "FREE_SVM", freed)]


@pytest.mark.parametrize("within", [False, True])
def test_a_callback_that_has_run_on_the_programs_thread_promises_nothing(within: bool) -> None:
    """A runtime may call it within any call, or on a thread of its own: what comes later still has to wait."""
    program = OpenCL(Q, R)
    program.buffer(A)
    program.kernel(Q, A, mode=WRITE, event=E)
    program.callback(E, KEY)
    program.body_begins(KEY, thread=0)
    if within:
        program.kernel(R, A, mode=WRITE)
    program.body_ends(KEY, thread=0)
    program.kernel(R, A, mode=WRITE, after=(E,))
    assert len(program.facts(504)) == within  # R is in order: its kernel of the body was after the event
    assert program.said() == []


def test_a_wait_that_a_callback_has_nothing_to_do_with_is_redundant() -> None:
    program = OpenCL(Q, R)
    program.buffer(A)
    program.kernel(Q, A, mode=WRITE, event=E)
    program.callback(E, KEY)
    program.wait_for(E)
    program.body_begins(KEY, thread=0)
    program.body_ends(KEY, thread=0)
    program.kernel(R, A, mode=WRITE, after=(E,))
    assert len(program.facts(504)) == 1


def test_nothing_waits_for_a_callback() -> None:
    program = OpenCL(Q, threads=2)
    program.svm(H)
    program.kernel(Q, A, event=E)
    program.callback(E, KEY)
    program.body_begins(KEY)
    program.kernel(Q, H, thread=1)
    program.body_ends(KEY)
    freed = program.free(H, FreeClass.CL_SVM, api="clSVMFree")
    assert [fact[0] for fact in program.said()] == [102]
    assert freed


def in_callback(*, ended: bool = False) -> OpenCL:
    program = OpenCL(Q, threads=2)
    program.buffer(A)
    program.kernel(Q, A, event=E)
    program.callback(E, KEY)
    program.body_begins(KEY)
    if ended:
        program.body_ends(KEY)
    return program


def test_calls_that_block_in_a_callback() -> None:
    for call in (
        lambda program: program.finish(Q, thread=1),
        lambda program: program.wait_for(E, thread=1),
        lambda program: program.transfer(Q, A, READ, blocking=True, thread=1),
        lambda program: program.queue(R, thread=1),
        lambda program: program.op(Kind.CALL, api="clBuildProgram", detail=CallClass.BLOCKING, thread=1),
    ):
        program = in_callback()
        line = call(program)
        (fact,) = program.facts(209)
        assert fact.operation.site == line
        assert fact.related[0][0] is RelatedRole.CREATE


def test_calls_that_are_allowed_there() -> None:
    program = in_callback()
    program.kernel(Q, A, thread=1)
    program.transfer(Q, A, READ, thread=1)
    program.is_complete(E)
    program.op(Kind.HANDLE_USE, api="clFlush", object=Q, detail=HandleKind.STREAM, thread=1)
    assert program.facts(209) == []


def test_other_threads_and_later_calls_may_block() -> None:
    program = in_callback(ended=True)
    program.finish(Q, thread=1)
    program.finish(Q)
    assert program.facts(209) == []


def test_queues_of_streams_keep_their_kind() -> None:
    program = OpenCL(out_of_order=(Q,))
    program.svm(H)
    program.kernel(Q, H)
    program.free(H, FreeClass.CL_SVM, api="clSVMFree")
    (fact,) = program.facts(102)
    assert fact.related[1][1].stream_kind is StreamKind.OUT_OF_ORDER


def test_no_wait_for_a_user_event_is_redundant() -> None:
    """What is brought when the event is set follows a host thread that knows more by then."""
    program = OpenCL(Q, R)
    program.buffer(A)
    program.user_event(U)
    program.transfer(R, A, WRITE, event=E)
    program.transfer(Q, A, READ, after=(U, E), event=F)
    program.finish(R)
    program.set_event(U)
    program.wait_for(F)
    assert program.said(504) == []
