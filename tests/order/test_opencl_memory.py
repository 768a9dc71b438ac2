"""Memory of OpenCL: releases that wait by contract, frees that do not, maps, contexts."""

from __future__ import annotations

import pytest
from opencl_program import CONTEXT, READ, SIZE, WRITE, OpenCL

from streamsan.order.engine import analyse
from streamsan.order.recordings import NO_HOST_USES, NOT_SEEN, recording_remarks
from streamsan.vocabulary import (
    AccessMode,
    ContextKind,
    EdgeClass,
    FreeClass,
    HandleKind,
    MarkerKind,
    MemoryKind,
    RelatedRole,
)
from streamsan.vocabulary import OperationKind as Kind

Q, R = 1000, 1001
A, B = 1 << 61, (1 << 61) + 0x1000
S, P, H = 0x500000, 0x600000, 0x700000
E = 500
INVALID_MEM_OBJECT = -38


def test_a_release_with_commands_pending_is_legal() -> None:
    program = OpenCL(Q, out_of_order=(R,))
    program.buffer(A)
    program.kernel(Q, A)
    program.kernel(R, A)
    program.release(A)
    program.finish(Q)
    assert program.said() == []


def test_a_kernel_that_is_enqueued_after_the_release() -> None:
    program = OpenCL(Q)
    program.buffer(A)
    freed = program.release(A)
    used = program.kernel(Q, A)
    assert program.said() == [(101, "AFTER_FREE", used)]
    (fact,) = program.facts(101)
    assert fact.related[-1][0] is RelatedRole.FREE
    assert fact.related[-1][1].site == freed


def test_an_over_release() -> None:
    program = OpenCL(Q, origin="recording")
    program.buffer(A)
    program.release(A)
    again = program.release(A, status=INVALID_MEM_OBJECT)
    assert program.said() == [
        (201, "SAME_POINTER", again),
    ] or program.said(201) == [(201, "SAME_POINTER", again)]


def test_releases_of_two_buffers() -> None:
    program = OpenCL(Q, origin="recording")
    program.buffer(A)
    program.buffer(B)
    program.release(A)
    program.release(B)
    assert program.said() == []


def test_svm_is_freed_under_a_kernel() -> None:
    program = OpenCL(Q)
    program.svm(S)
    program.kernel(Q, S)
    freed = program.free(S, FreeClass.CL_SVM, api="clSVMFree")
    assert program.said() == [(102, "FREE_SVM", freed)]


@pytest.mark.parametrize("family", [FreeClass.CL_SVM, FreeClass.CL_SVM_BLOCKING])
def test_svm_is_freed_behind_a_wait(family: FreeClass) -> None:
    program = OpenCL(Q)
    program.svm(S)
    program.kernel(Q, S)
    if family is FreeClass.CL_SVM:
        program.finish(Q)
    program.free(S, family, api="clSVMFree")
    assert program.said() == []


def test_svm_is_used_after_a_free() -> None:
    program = OpenCL(Q)
    program.svm(S)
    program.free(S, FreeClass.CL_SVM, api="clSVMFree")
    used = program.kernel(Q, S)
    assert program.said() == [(101, "AFTER_FREE", used)]


def test_svm_is_used_after_it_was_given_to_a_queue() -> None:
    program = OpenCL(Q)
    program.svm(S)
    program.marker(Q, MarkerKind.WAIT_LIST)
    program.free(S, FreeClass.ASYNC, Q, api="clEnqueueSVMFree")
    used = program.kernel(Q, S)
    assert program.said() == [(101, "AFTER_ASYNC_FREE", used)]


def test_the_wrong_function_frees() -> None:
    program = OpenCL(Q)
    program.buffer(A)
    program.svm(S)
    wrong = program.free(S, FreeClass.CL_RELEASE, api="clReleaseMemObject")
    assert program.said() == [(202, "WRONG_FAMILY", wrong)]


def test_the_host_reads_svm_under_a_kernel() -> None:
    program = OpenCL(Q)
    program.svm(S)
    program.transfer(Q, S, WRITE)
    read = program.host(S, READ)
    program.finish(Q)
    program.host(S, READ)
    assert program.said() == [(108, "HOST_READ", read)]


def test_a_status_query_is_no_synchronisation_point() -> None:
    program = OpenCL(Q)
    program.svm(S)
    program.kernel(Q, S, event=E)
    asked = program.is_complete(E)
    freed = program.free(S, FreeClass.CL_SVM, api="clSVMFree")
    assert program.said() == [(107, "STATUS_QUERY", freed)]
    (fact,) = program.facts(107)
    assert fact.rests_on is EdgeClass.OBSERVED
    assert [each.site for role, each in fact.related if role is RelatedRole.SYNC] == [asked]


def test_a_wait_after_the_query_is_one() -> None:
    program = OpenCL(Q)
    program.svm(S)
    program.kernel(Q, S, event=E)
    program.is_complete(E)
    program.wait_for(E)
    program.free(S, FreeClass.CL_SVM, api="clSVMFree")
    assert program.said() == []


# -- maps -----------------------------------------------------------------------------------------


def test_a_pointer_is_used_before_its_map_is_complete() -> None:
    program = OpenCL(Q)
    program.buffer(A)
    program.map(Q, P, A, event=E)
    read = program.host(P, READ)
    program.wait_for(E)
    program.host(P, READ)
    program.unmap(Q, P)
    assert program.said() == [(103, "NONE", read)]


@pytest.mark.parametrize("queue", [Q, R])
def test_a_blocking_map(queue: int) -> None:
    program = OpenCL(Q, out_of_order=(R,))
    program.buffer(A)
    program.map(queue, P, A, WRITE, blocking=True)
    program.host(P, WRITE)
    program.unmap(queue, P, A, event=E)
    program.kernel(queue, A, after=(E,))
    program.finish(queue)
    assert program.said() == []


def test_a_pointer_is_used_after_its_unmap() -> None:
    program = OpenCL(Q)
    program.buffer(A)
    program.map(Q, P, A, blocking=True)
    program.unmap(Q, P)
    read = program.host(P, READ)
    assert program.said() == [(101, "AFTER_FREE", read)]


def test_a_kernel_writes_a_mapped_region() -> None:
    program = OpenCL(Q)
    program.buffer(A)
    mapped = program.map(Q, P, A, blocking=True)
    wrote = program.kernel(Q, A, mode=WRITE)
    program.finish(Q)
    program.unmap(Q, P)
    assert program.said() == [(108, "MAPPED_USE", wrote)]
    (fact,) = program.facts(108)
    assert not fact.assumed
    assert [each.site for role, each in fact.related if role is RelatedRole.OTHER] == [mapped]


def test_a_kernel_reads_what_is_mapped_for_reading() -> None:
    program = OpenCL(Q)
    program.buffer(A)
    program.map(Q, P, A, blocking=True)
    program.kernel(Q, A, mode=READ)
    program.unmap(Q, P)
    program.kernel(Q, A, mode=WRITE)
    assert program.said() == []


def test_a_kernel_reads_what_is_mapped_for_writing() -> None:
    program = OpenCL(Q)
    program.buffer(A)
    program.map(Q, P, A, WRITE, blocking=True)
    read = program.kernel(Q, A, mode=READ)
    program.unmap(Q, P, A)
    assert program.said() == [(108, "MAPPED_USE", read)]


def test_another_region_is_mapped() -> None:
    program = OpenCL(Q)
    program.buffer(A, 1024)
    program.map(Q, P, A, WRITE, blocking=True)
    program.transfer(Q, A + 512, WRITE)
    program.unmap(Q, P, A)
    assert program.said() == []


def test_one_pointer_of_two_maps_lives_until_the_second_unmap() -> None:
    program = OpenCL(Q)
    program.buffer(A)
    program.map(Q, P, A, blocking=True)
    program.map(Q, P, A, blocking=True)
    program.unmap(Q, P)
    program.host(P, READ)
    program.unmap(Q, P)
    read = program.host(P, READ)
    assert program.said() == [(101, "AFTER_FREE", read)]


def test_svm_is_mapped_where_it_lies() -> None:
    program = OpenCL(Q)
    program.svm(S)
    program.map(Q, S, S, WRITE, blocking=True)
    program.host(S, WRITE)
    program.unmap(Q, S, S)
    program.kernel(Q, S)
    program.finish(Q)
    program.free(S, FreeClass.CL_SVM, api="clSVMFree")
    assert program.said() == []


def test_an_unmap_is_ordered_on_an_out_of_order_queue() -> None:
    program = OpenCL(out_of_order=(R,))
    program.buffer(A)
    program.map(R, P, A, WRITE, blocking=True)
    program.unmap(R, P, A, event=E)
    program.transfer(R, A, READ, after=(E,))
    assert program.said() == []


def test_an_unmap_without_an_event() -> None:
    program = OpenCL(out_of_order=(R,))
    program.buffer(A)
    program.map(R, P, A, WRITE, blocking=True)
    program.unmap(R, P, A)
    read = program.transfer(R, A, READ)
    assert program.said() == [(109, "CONFLICT_READ_WRITE", read)]


# -- host pointers --------------------------------------------------------------------------------


def test_a_non_blocking_read_and_the_host() -> None:
    program = OpenCL(Q)
    program.buffer(A)
    program.alloc(H, MemoryKind.HOST_HEAP)
    program.transfer(Q, A, READ, host=H)
    read = program.host(H, READ)
    program.finish(Q)
    program.host(H, READ)
    assert program.said() == [(108, "HOST_READ", read)]


def test_a_buffer_over_host_memory() -> None:
    program = OpenCL(Q)
    program.alloc(H, MemoryKind.HOST_HEAP)
    program.buffer(H)
    program.kernel(Q, H, mode=WRITE)
    program.release(H)
    freed = program.free(H, FreeClass.HOST_HEAP)
    assert [(code, line) for code, _, line in program.said()] == [(108, freed)]


def test_a_kernel_uses_a_buffer_over_host_memory_that_is_mapped() -> None:
    program = OpenCL(Q)
    program.alloc(H, MemoryKind.HOST_HEAP)
    program.buffer(H)
    program.map(Q, P, H, WRITE, blocking=True)
    read = program.kernel(Q, H, mode=READ)
    program.unmap(Q, P, H)
    program.finish(Q)
    assert program.said() == [(108, "MAPPED_USE", read)]
    (fact,) = program.facts(108)
    assert not fact.assumed


def test_host_memory_is_freed_behind_the_buffers_work() -> None:
    program = OpenCL(Q)
    program.alloc(H, MemoryKind.HOST_HEAP)
    program.buffer(H)
    program.kernel(Q, H, mode=WRITE)
    program.finish(Q)
    program.release(H)
    program.free(H, FreeClass.HOST_HEAP)
    assert program.said() == []


def test_a_destructor_callback_frees_the_host_memory() -> None:
    key = 70
    program = OpenCL(Q, threads=2)
    program.alloc(H, MemoryKind.HOST_HEAP)
    program.buffer(H)
    program.kernel(Q, H, mode=WRITE)
    program.op(Kind.FREE, api="clReleaseMemObject", memory=H, detail=FreeClass.CL_RELEASE, bytes=key)
    program.body_begins(key)
    program.free(H, FreeClass.HOST_HEAP, thread=1)
    program.body_ends(key)
    assert program.said() == []


# -- host memory that only copies name ---------------------------------------------------------------


@pytest.mark.parametrize("queues", ["two queues", "one out-of-order queue"])
@pytest.mark.parametrize("second", [READ, WRITE])
def test_two_copies_meet_in_host_memory(queues: str, second: AccessMode) -> None:
    program = OpenCL(Q, R) if queues == "two queues" else OpenCL(out_of_order=(Q,))
    program.buffer(A)
    program.buffer(B)
    program.transfer(Q, A, READ, unnamed=H)
    queue = R if queues == "two queues" else Q
    later = program.transfer(queue, B, second, unnamed=H + SIZE - 1)
    variant = "CONFLICT_WRITE_WRITE" if second is READ else "CONFLICT_READ_WRITE"
    assert program.said() == [(109, variant, later)]
    (fact,) = program.facts(109)
    assert not fact.assumed


@pytest.mark.parametrize("why", ["in order", "beside", "both read", "awaited", "wait list", "blocking", "callback"])
def test_two_copies_do_not_meet_in_host_memory(why: str) -> None:
    program = OpenCL(Q, R, threads=2)
    program.buffer(A)
    program.buffer(B)
    mode = WRITE if why == "both read" else READ
    program.transfer(Q, A, mode, unnamed=H, event=E, blocking=why == "blocking")
    if why == "awaited":
        program.finish(Q)
    if why == "callback":
        program.callback(E, 70)
        program.body_begins(70)
    program.transfer(
        Q if why == "in order" else R,
        B,
        mode,
        unnamed=H + SIZE if why == "beside" else H,
        after=(E,) if why == "wait list" else (),
        thread=1 if why == "callback" else 0,
    )
    assert program.said() == []


def test_two_copies_meet_in_host_memory_that_the_trace_knows() -> None:
    program = OpenCL(Q, R)
    program.alloc(H, MemoryKind.HOST_HEAP)
    program.buffer(A)
    program.buffer(B)
    program.transfer(Q, A, READ, host=H)
    later = program.transfer(R, B, READ, host=H)
    assert program.said() == [(109, "CONFLICT_WRITE_WRITE", later)]
    (fact,) = program.facts(109)
    assert not fact.assumed


# -- objects --------------------------------------------------------------------------------------


def test_handles_are_used_after_their_last_release() -> None:
    program = OpenCL(Q)
    program.handle(Kind.HANDLE_CREATE, 900, HandleKind.KERNEL, api="clCreateKernel")
    program.handle(Kind.HANDLE_DESTROY, 900, HandleKind.KERNEL, api="clReleaseKernel")
    used = program.handle(Kind.HANDLE_USE, 900, HandleKind.KERNEL, api="clSetKernelArg")
    program.op(Kind.STREAM_DESTROY, api="clReleaseCommandQueue", object=Q)
    late = program.kernel(Q, A)
    assert program.said() == [(205, "STALE_OTHER", used), (205, "STALE_STREAM", late)]


def test_what_was_made_in_a_context_outlives_its_last_release() -> None:
    program = OpenCL(Q)
    program.buffer(A)
    program.op(Kind.CONTEXT_DESTROY, api="clReleaseContext", object=CONTEXT)
    program.kernel(Q, A, event=E)
    program.wait_for(E)
    program.release(A)
    assert program.said() == []


def test_a_context_is_used_after_its_last_release() -> None:
    program = OpenCL()
    program.op(Kind.CONTEXT_DESTROY, api="clReleaseContext", object=CONTEXT)
    made = program.queue(Q)
    assert program.said() == [(205, "STALE_CONTEXT", made)]


def test_a_context_is_deleted_under_commands() -> None:
    program = OpenCL(Q)
    program.buffer(A)
    program.kernel(Q, A)
    program.release(A)
    program.op(Kind.STREAM_DESTROY, api="clReleaseCommandQueue", object=Q)
    end = program.op(Kind.CONTEXT_DESTROY, api="clReleaseContext", object=CONTEXT)
    assert program.said() == [(106, "PENDING_WORK", end)]


@pytest.mark.parametrize("why", ["finished", "held by a buffer", "held by a queue"])
def test_a_context_is_released_as_it_should_be(why: str) -> None:
    program = OpenCL(Q)
    program.buffer(A)
    program.kernel(Q, A)
    if why == "finished":
        program.finish(Q)
    if why != "held by a buffer":
        program.release(A)
    if why != "held by a queue":
        program.op(Kind.STREAM_DESTROY, api="clReleaseCommandQueue", object=Q)
    program.op(Kind.CONTEXT_DESTROY, api="clReleaseContext", object=CONTEXT)
    assert program.said() == []


OTHER = CONTEXT + 1


@pytest.mark.parametrize("held", [False, True])
def test_what_another_context_holds_keeps_no_context(held: bool) -> None:
    program = OpenCL(Q)
    program.context(OTHER, ContextKind.CL)
    program.buffer(B, made_in=CONTEXT if held else OTHER)
    sort = HandleKind.KERNEL
    program.handle(Kind.HANDLE_CREATE, 0x71, sort, api="clCreateKernel", address=CONTEXT if held else OTHER)
    program.buffer(A, made_in=CONTEXT)
    program.handle(Kind.HANDLE_CREATE, 0x72, sort, api="clCreateKernel", address=CONTEXT)
    program.kernel(Q, A)
    program.release(A)
    program.handle(Kind.HANDLE_DESTROY, 0x72, sort, api="clReleaseKernel")
    program.op(Kind.STREAM_DESTROY, api="clReleaseCommandQueue", object=Q)
    end = program.op(Kind.CONTEXT_DESTROY, api="clReleaseContext", object=CONTEXT)
    assert program.said() == ([] if held else [(106, "PENDING_WORK", end)])


def test_an_event_holds_its_context() -> None:
    program = OpenCL(Q)
    program.buffer(A)
    program.kernel(Q, A, event=E)
    program.release(A)
    program.op(Kind.STREAM_DESTROY, api="clReleaseCommandQueue", object=Q)
    program.op(Kind.CONTEXT_DESTROY, api="clReleaseContext", object=CONTEXT)
    assert program.said() == []


def test_buffers_and_svm_leak() -> None:
    program = OpenCL(Q)
    made = program.buffer(A)
    shared = program.svm(S)
    program.exit()
    assert program.said(401) == [(401, "LEAK_AT_EXIT", made), (401, "LEAK_AT_EXIT", shared)]


def test_objects_that_a_recording_sees_no_release_of() -> None:
    program = OpenCL(Q, R, origin="recording")
    gone, event, gate = E, E + 1, E + 2
    program.handle(Kind.HANDLE_CREATE, 0x71, api="clCreateKernel")
    kernel = program.handle(Kind.HANDLE_CREATE, 0x72, api="clCreateKernel")
    program.handle(Kind.HANDLE_DESTROY, 0x71, api="clReleaseKernel")
    program.buffer(A)
    program.kernel(Q, A, event=gone)
    program.op(Kind.EVENT_DESTROY, api="clReleaseEvent", object=gone)
    held = program.kernel(Q, A, event=event) + 1
    user = program.user_event(gate)
    program.set_event(gate)
    program.finish(Q)
    program.release(A)
    program.op(Kind.STREAM_DESTROY, api="clReleaseCommandQueue", object=R)
    program.exit()
    found = {line for _, variant, line in program.said(401) if variant == "UNRELEASED"}
    assert len(found) == len(program.said(401)) == 5
    assert {held, kernel, user} < found


@pytest.mark.parametrize("why", ["a source", "killed", "all released"])
def test_objects_are_no_leak(why: str) -> None:
    program = OpenCL(Q, origin="source" if why == "a source" else "recording")
    program.handle(Kind.HANDLE_CREATE, 0x71, api="clCreateKernel")
    if why == "all released":
        program.handle(Kind.HANDLE_DESTROY, 0x71, api="clReleaseKernel")
        program.op(Kind.CONTEXT_DESTROY, api="clReleaseContext", object=CONTEXT)
        program.op(Kind.STREAM_DESTROY, api="clReleaseCommandQueue", object=Q)
    if why != "killed":
        program.exit()
    assert program.said(401) == []


def test_modes_of_the_vocabulary_stand_for_what_the_host_got() -> None:
    program = OpenCL(Q)
    program.buffer(A)
    program.map(Q, P, A, AccessMode.READ_WRITE, blocking=True)
    read = program.kernel(Q, A, mode=READ)
    assert program.said() == [(108, "MAPPED_USE", read)]


def test_a_recording_says_that_no_access_of_the_host_is_in_it() -> None:
    program = OpenCL(Q, origin="recording")
    program.svm(S)
    program.kernel(Q, S)
    trace = program.trace()
    assert recording_remarks(trace, analyse(trace)) == [NOT_SEEN, NO_HOST_USES]
