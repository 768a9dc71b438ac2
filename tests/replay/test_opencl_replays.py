"""Replays of OpenCL: queues out of order, commands that wait for user events, maps, deferred releases, callbacks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace
from opencl_program import READ, WRITE, OpenCL

from streamsan.evidence.witness.known_order import Before
from streamsan.evidence.witness.witness import Witness, witnesses
from streamsan.findings.finding import Finding
from streamsan.order.engine import analyse
from streamsan.replay import Replay, replay
from streamsan.rules.every_rule import RULES
from streamsan.rules.pipeline import findings_of
from streamsan.trace.view import iterate
from streamsan.vocabulary import AccessMode, CallbackTime, FreeClass, MarkerKind, MemoryKind
from streamsan.vocabulary import OperationKind as Kind
from witness_replays import wrong_words

Q, R, O = 1000, 1001, 1002  # noqa: E741
A, B = 1 << 61, (1 << 61) + 0x1000
H, P, S, HERE = 0x70000, 0xA0000, 0x80000, 0x90000
E, F, G, U = 500, 501, 502, 503
KEY = 77


def opencl() -> OpenCL:
    """Two in-order queues and one out of order, two buffers, memory of the host, and shared virtual memory."""
    program = OpenCL(Q, R, out_of_order=(O,), threads=2)
    program.buffer(A)
    program.buffer(B)
    program.alloc(H, MemoryKind.HOST_HEAP, api="malloc")
    program.svm(S)
    return program


def found(program: OpenCL) -> list[Finding]:
    trace = program.builder.finish()
    return [f for f in findings_of(trace, analyse(trace).facts) if RULES[f.code].is_about_order]


def witness_of(program: OpenCL, code: str) -> Witness:
    (finding,) = found(program)
    (answer,) = witnesses([finding])
    assert finding.code == code
    assert isinstance(answer, Witness)
    return answer


def shown(program: OpenCL, code: str) -> str:
    """Return what the replay of a program's one finding shows."""
    done = replay(witness_of(program, code))
    assert done.ran, done.problem
    return "; ".join(damage.text for damage in done.damage) or done.problem


def is_right(program: OpenCL) -> bool:
    """Tell whether nothing is found, and no schedule shows other words."""
    return not found(program) and not wrong_words(program.builder.finish())


# -- order --------------------------------------------------------------------------------------------
ORDERS: dict[str, tuple[int, int, Callable[[OpenCL], object], tuple[int, ...]]] = {
    "wait list": (O, O, lambda program: None, (E,)),
    "wait list of another queue": (O, R, lambda program: None, (E,)),
    "barrier": (O, O, lambda program: program.marker(O, MarkerKind.BARRIER_ALL), ()),
    "barrier with a list": (O, O, lambda program: program.marker(O, MarkerKind.BARRIER_WAIT_LIST, after=(E,)), ()),
    "marker": (O, Q, lambda program: program.marker(O, MarkerKind.ALL_BEFORE, event=F), (F,)),
    "marker with a list": (O, Q, lambda program: program.marker(O, MarkerKind.WAIT_LIST, after=(E,), event=F), (F,)),
    "finish": (O, O, lambda program: program.finish(O), ()),
    "finish of a queue in order": (Q, R, lambda program: program.finish(Q), ()),
    "wait of the host": (O, Q, lambda program: program.wait_for(E), ()),
    "one queue": (Q, Q, lambda program: None, ()),
}
"""how two commands are ordered: queue of the first, of the second, what stands between them, the second's wait list"""


def two_kernels(first: int, second: int, between: Callable[[OpenCL], object], after: tuple[int, ...]) -> OpenCL:
    program = opencl()
    program.kernel(first, A, mode=WRITE, event=E)
    between(program)
    program.kernel(second, A, mode=READ, after=after)
    return program


def test_commands_of_an_out_of_order_queue() -> None:
    assert "that a kernel (line 13) reads are wrong" in shown(two_kernels(O, O, lambda program: None, ()), "SS109")


def test_a_marker_holds_nothing_back() -> None:
    program = two_kernels(O, O, lambda program: program.marker(O, MarkerKind.ALL_BEFORE, event=F), ())
    assert "reads are wrong" in shown(program, "SS109")


@pytest.mark.parametrize("order", ORDERS)
def test_an_order_that_the_program_has(order: str) -> None:
    """Right programs see the same words whatever runs when, and a witness against the order is refused."""
    program = two_kernels(*ORDERS[order])
    assert is_right(program)
    wrong = witness_of(two_kernels(Q, R, lambda program: None, ()), "SS109")
    trace = program.builder.finish()
    writes, reads = (view.sequence for view in iterate(trace) if view.kind is Kind.LAUNCH)
    ahead, behind = (replace(wrong.plan.ahead, sequence=reads), replace(wrong.plan.behind, sequence=writes))
    forged = replace(
        wrong,
        trace=trace,
        plan=replace(wrong.plan, ahead=ahead, behind=behind),
        ahead=Before(range(1, reads)),
    )
    assert replay(forged).refused


# -- user events --------------------------------------------------------------------------------------
def held(*, write_before: bool, write_after: bool) -> OpenCL:
    program = opencl()
    program.user_event(U)
    program.transfer(Q, A, WRITE, host=H, after=(U,), event=E)
    if write_before:
        program.host(H, WRITE)
    program.set_event(U)
    if write_after:
        program.host(H, WRITE)
    program.finish(Q)
    return program


def test_what_the_host_does_before_it_sets_the_event_is_before_the_command() -> None:
    assert is_right(held(write_before=True, write_after=False))


def test_what_it_does_after_that_is_not() -> None:
    text = shown(held(write_before=True, write_after=True), "SS108")
    assert "words that the write (line 12) reads are wrong" in text


@pytest.mark.parametrize("queue", [Q, O])
def test_a_command_of_smaller_number_goes_ahead_when_its_event_is_set(queue: int) -> None:
    program = opencl()
    program.user_event(U)
    first = program.kernel(queue, A, mode=READ, after=(U,))
    program.kernel(R, A, mode=WRITE)
    program.set_event(U)
    assert f"that a kernel (line {first}) reads are wrong" in shown(program, "SS109")


def test_a_command_whose_event_comes_behind_the_other_one() -> None:
    program = opencl()
    program.user_event(U)
    program.kernel(Q, A, mode=READ, after=(U,))
    program.kernel(R, A, mode=WRITE)
    program.finish(R)
    program.set_event(U)
    assert is_right(program)


# -- maps ---------------------------------------------------------------------------------------------
def mapped(mode: AccessMode, *, blocking: bool) -> OpenCL:
    program = opencl()
    program.kernel(Q, A, mode=WRITE)
    program.map(Q, P, A, mode, blocking=blocking)
    return program


def test_a_pointer_that_is_used_before_its_map_is_complete() -> None:
    program = mapped(READ, blocking=False)
    read = program.host(P, READ)
    program.finish(Q)
    assert f"words that the host (line {read}) reads are wrong" in shown(program, "SS103")


@pytest.mark.parametrize(
    ("mode", "end"),
    [
        (READ, "the memory has not got the region's words yet: it reads what was there before"),
        (WRITE, "the map brings the region's words to the memory: what was written there is lost"),
    ],
)
def test_a_witness_of_a_map_speaks_of_it(mode: AccessMode, end: str) -> None:
    program = mapped(AccessMode.READ_WRITE, blocking=False)
    program.host(P, mode)
    steps = witness_of(program, "SS103").steps
    assert "has not reached the map" in steps[-2]
    assert steps[-1] == end


def test_what_is_written_before_the_map_is_complete_is_lost() -> None:
    program = mapped(AccessMode.READ_WRITE, blocking=False)
    program.host(P, WRITE)
    program.finish(Q)
    assert "wrong after the map (line 11): what was written before it is lost" in shown(program, "SS103")


def test_a_map_that_blocks() -> None:
    program = mapped(AccessMode.READ_WRITE, blocking=True)
    program.host(P, READ)
    program.host(P, WRITE)
    program.unmap(Q, P, A)
    program.kernel(Q, A, mode=READ)
    assert is_right(program)


def test_what_the_host_wrote_is_there_when_the_unmap_is_complete() -> None:
    program = mapped(WRITE, blocking=True)
    program.host(P, WRITE)
    program.unmap(Q, P, A)
    reads = program.kernel(R, A, mode=READ)
    assert f"that a kernel (line {reads}) reads are wrong" in shown(program, "SS109")


def test_what_the_host_wrote_need_not_be_in_the_trace() -> None:
    """As in a recording: the host's own accesses of a mapped region are no calls."""
    program = mapped(WRITE, blocking=False)
    program.unmap(Q, P, A)
    reads = program.kernel(R, A, mode=READ)
    assert f"that a kernel (line {reads}) reads are wrong" in shown(program, "SS109")


def test_what_the_host_did_not_change_stays_as_it_was() -> None:
    program = mapped(WRITE, blocking=True)
    program.host(P, WRITE, size=64)
    program.unmap(Q, P, A)
    reads = program.kernel(R, A, mode=READ)
    assert f"16 of 64 words that a kernel (line {reads}) reads are wrong" in shown(program, "SS109")


def test_a_pointer_leads_nowhere_after_the_unmap() -> None:
    program = mapped(READ, blocking=True)
    program.unmap(Q, P)
    read = program.host(P, READ)
    assert (
        witness_of(program, "SS101").steps[-1]
        == f"the host reads the memory (line {read}): the pointer leads nowhere any more"
    )
    assert shown(program, "SS101") == f"the host (line {read}): the pointer leads nowhere after the unmap"


def test_two_maps_that_give_one_pointer() -> None:
    program = mapped(READ, blocking=True)
    program.map(Q, P, A, READ, blocking=True)
    program.unmap(Q, P)
    program.host(P, READ)
    program.unmap(Q, P)
    assert is_right(program)


# -- releases -----------------------------------------------------------------------------------------
def test_a_release_with_commands_pending_waits_for_them() -> None:
    program = opencl()
    program.kernel(Q, A, mode=WRITE)
    program.transfer(Q, A, READ, host=H, event=E)
    program.release(A)
    program.wait_for(E)
    program.host(H, READ)
    assert is_right(program)


def test_a_kernel_that_is_enqueued_after_the_release() -> None:
    program = opencl()
    program.kernel(Q, A, mode=WRITE)
    program.release(A)
    program.kernel(Q, A, mode=READ)
    assert "they are the next owner's" in shown(program, "SS101")


@pytest.mark.parametrize("queue", [Q, O])
def test_shared_memory_that_is_freed_with_a_command_pending(queue: int) -> None:
    program = opencl()
    program.kernel(queue, S, mode=READ)
    program.free(S, FreeClass.CL_SVM, api="clSVMFree")
    assert "they are the next owner's" in shown(program, "SS102")


def test_a_free_that_waits() -> None:
    program = opencl()
    program.kernel(O, S, mode=READ)
    program.free(S, FreeClass.CL_SVM_BLOCKING, api="clMemBlockingFreeINTEL")
    assert is_right(program)


def freed_in_order(queue: int, *after: int) -> OpenCL:
    program = opencl()
    program.kernel(queue, S, mode=READ, event=E)
    program.marker(queue, MarkerKind.WAIT_LIST, after=after)
    program.free(S, FreeClass.ASYNC, queue, api="clEnqueueSVMFree")
    return program


def test_a_free_in_the_order_of_a_queue() -> None:
    assert is_right(freed_in_order(Q))
    assert is_right(freed_in_order(O, E))


def test_a_free_that_nothing_orders() -> None:
    assert "they are the next owner's" in shown(freed_in_order(O), "SS102")


# -- the host -----------------------------------------------------------------------------------------
def callback(time: CallbackTime) -> OpenCL:
    program = opencl()
    program.transfer(Q, A, READ, host=H, event=E)
    program.callback(E, KEY, time)
    program.body_begins(KEY)
    program.host(H, READ, thread=1)
    program.body_ends(KEY)
    return program


def test_the_body_of_a_callback_is_behind_its_command() -> None:
    assert is_right(callback(CallbackTime.COMPLETE))


def test_the_body_of_a_callback_that_comes_earlier_is_not() -> None:
    assert "words that the host (line 15) reads are wrong" in shown(callback(CallbackTime.EARLIER), "SS108")


def test_a_status_is_no_order() -> None:
    program = opencl()
    program.transfer(Q, A, READ, host=H, event=E)
    program.is_complete(E)
    read = program.host(H, READ)
    assert f"words that the host (line {read}) reads are wrong" in shown(program, "SS107")


def test_copies_into_memory_of_the_host_that_only_they_name() -> None:
    program = opencl()
    program.transfer(Q, A, READ, unnamed=HERE)
    program.transfer(R, B, READ, unnamed=HERE + 128)
    assert "words [32..63] of the host's memory: 32 of 96 words wrong after the read (line 10)" in shown(
        program, "SS109"
    )


def test_places_of_the_host_have_words_of_their_own() -> None:
    program = opencl()
    program.transfer(Q, A, WRITE, unnamed=HERE)
    program.transfer(R, A, WRITE, unnamed=HERE + 0x1000)
    assert "64 of 64 words wrong after the write (line 10)" in shown(program, "SS109")


def test_copies_of_halves() -> None:
    program = opencl()
    program.transfer(Q, A, WRITE, unnamed=HERE, size=128)
    program.transfer(R, A + 128, WRITE, unnamed=HERE + 128, size=128)
    assert is_right(program)


def test_a_finding_that_cannot_be_shown_says_why() -> None:
    program = opencl()
    program.transfer(Q, A, READ, unnamed=HERE)
    program.transfer(R, A, READ, unnamed=HERE)
    done = replay(witness_of(program, "SS109"))
    assert done == Replay(problem="no word of what the trace shows goes wrong by it", ran=True)
