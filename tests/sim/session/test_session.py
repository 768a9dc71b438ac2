from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from streamsan.sim import active, thread_watch
from streamsan.sim.options import SimulationOptions
from streamsan.sim.session import Session
from streamsan.trace import Trace
from streamsan.vocabulary import EdgeClass, ExitKind, OperationKind


@pytest.fixture
def session() -> Iterator[Session]:
    made = Session(SimulationOptions(), "program.py")
    active.push(made)
    thread_watch.watch()
    yield made
    thread_watch.unwatch()
    active.pop(made)


def operations(trace: Trace) -> list[tuple[OperationKind, int, int]]:
    """Kind, thread and detail of each operation."""
    return [
        (OperationKind(int(slot["kind"])), int(slot["thread"]), int(slot["detail"]))
        for chunk in trace.chunks()
        for slot in chunk
    ]


def test_a_call_has_its_place_its_text_and_the_variable_it_makes(session: Session) -> None:
    error, d_x = session.call("cudaMalloc", [1, 64]), 0
    d_y = session.call("cudaMalloc", [1, 64])
    assert error.status == d_y.status == d_x == 0
    trace = session.trace()
    sites = [
        trace.site(int(slot["site"]))
        for chunk in trace.chunks()
        for slot in chunk
        if int(slot["kind"]) == OperationKind.ALLOC
    ]
    first, second = sites
    assert second.line == first.line + 1
    assert second.text == 'session.call("cudaMalloc", [1, 64])'
    assert second.label == "d_y"
    assert second.file.endswith("test_session.py")
    assert (second.column, second.end_column) == (11, 11 + len(second.text))
    assert second.function == "test_a_call_has_its_place_its_text_and_the_variable_it_makes"


def test_callers_are_kept_and_the_same_call_has_one_site(session: Session) -> None:
    def helper() -> None:
        session.call("cudaDeviceSynchronize", [])

    for _ in range(3):
        helper()
    trace = session.trace()
    numbers = {
        int(slot["site"])
        for chunk in trace.chunks()
        for slot in chunk
        if int(slot["kind"]) == OperationKind.CONTEXT_SYNCHRONIZE
    }
    assert len(numbers) == 1
    site = trace.site(numbers.pop())
    assert site.function.endswith("helper")
    assert trace.site(site.caller).text == "helper()"


def test_starting_and_joining_a_thread_are_contract_edges(session: Session) -> None:
    worker = threading.Thread(target=lambda: session.call("cudaDeviceSynchronize", []), name="worker")
    worker.start()
    worker.join()
    trace = session.trace()
    assert [thread.name for thread in trace.threads] == ["main", "worker"]
    contract = [
        (kind, thread)
        for kind, thread, detail in operations(trace)
        if kind in (OperationKind.HOST_RELEASE, OperationKind.HOST_ACQUIRE) and detail == EdgeClass.CONTRACT
    ]
    assert contract == [
        (OperationKind.HOST_RELEASE, 0),
        (OperationKind.HOST_ACQUIRE, 1),
        (OperationKind.HOST_RELEASE, 1),
        (OperationKind.HOST_ACQUIRE, 0),
    ]


def test_calls_of_two_threads_are_ordered_by_run_edges_only(session: Session) -> None:
    turn, done = threading.Semaphore(0), threading.Semaphore(0)

    def work() -> None:
        turn.acquire()
        session.call("cudaDeviceSynchronize", [])
        done.release()
        turn.acquire()

    worker = threading.Thread(target=work)
    worker.start()
    session.call("cudaDeviceSynchronize", [])
    turn.release()
    done.acquire()
    session.call("cudaDeviceSynchronize", [])
    run = [thread for kind, thread, detail in operations(session.trace()) if detail == EdgeClass.RUN]
    assert run[:2] == [0, 1]
    assert (OperationKind.HOST_ACQUIRE, 0, EdgeClass.RUN) in operations(session.trace())
    turn.release()
    worker.join()


def test_a_host_function_may_not_call_cuda(session: Session) -> None:
    seen: list[int] = []
    session.call("cudaLaunchHostFunc", [0, 1, 0], payload=lambda: seen.append(session.call("cudaFree", [0]).status))
    session.call("cudaDeviceSynchronize", [])
    assert seen == [800]
    assert session.call("cudaFree", [0]).status == 0


def test_the_end_is_written_once_and_later_calls_fail(session: Session) -> None:
    session.call("cudaDeviceSynchronize", [])
    trace = session.finish()
    assert operations(trace)[-2:] == [
        (OperationKind.MAIN_END, 0, 0),
        (OperationKind.PROCESS_EXIT, 0, ExitKind.NORMAL),
    ]
    assert session.call("cudaDeviceSynchronize", []).status == 4
    assert session.finish().operations == trace.operations
