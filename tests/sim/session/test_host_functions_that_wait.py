"""Host functions whose bodies wait: for the program, for time, for locks. Device and program go on meanwhile."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from simulated_cuda import driver, ok, runtime

from streamsan.sim.session import NeverReturnsError
from streamsan.testing import device
from streamsan.testing.device_under_test import Device
from streamsan.vocabulary import OperationKind

SCHEDULES: tuple[int | str, ...] = (0, 1, 3, "eager", "lazy")
LONG = 60
"""seconds: nothing here waits that long"""
NOT_READY = 600
NOT_PERMITTED = 800


class Streams:
    """Two streams that are in no order, and host functions on them."""

    def __init__(self) -> None:
        self.runtime, self.driver = runtime, driver
        self.first, self.second = (ok(runtime.cudaStreamCreateWithFlags(1)) for _ in range(2))
        self.memory = ok(runtime.cudaMalloc(64))
        self._bodies: list[Any] = []

    def call(self, stream: Any, body: Callable[[], object]) -> None:
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda data: body() and None)
        self._bodies.append(function)
        ok(self.driver.cuLaunchHostFunc(stream, self.driver.CUhostFn(ctypes.cast(function, ctypes.c_void_p).value), 0))

    def is_ready(self, stream: Any) -> bool:
        status = int(self.runtime.cudaStreamQuery(stream)[0])
        assert status in (0, NOT_READY)
        return not status

    def close(self) -> None:
        for stream in (self.first, self.second):
            ok(self.runtime.cudaStreamSynchronize(stream))
            ok(self.runtime.cudaStreamDestroy(stream))
        ok(self.runtime.cudaFree(self.memory))


def host_operations(found: Device) -> list[str]:
    kinds = (OperationKind.HOST_FUNCTION, OperationKind.HOST_ACQUIRE, OperationKind.HOST_RELEASE, OperationKind.MEMSET)
    slots = [slot for chunk in found.trace().chunks() for slot in chunk]
    return [OperationKind(int(slot["kind"])).name for slot in slots if slot["kind"] in kinds]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_its_stream_is_busy_and_others_go_on(schedule: int | str) -> None:
    with device(schedule=schedule) as found:
        streams, begun, may_end = Streams(), threading.Event(), threading.Event()
        streams.call(streams.first, lambda: (begun.set(), may_end.wait(LONG)))
        ok(streams.runtime.cudaMemsetAsync(streams.memory, 7, 64, streams.second))
        assert begun.wait(LONG)
        assert not any(streams.is_ready(streams.first) for _ in range(20))
        ok(streams.runtime.cudaStreamSynchronize(streams.second))
        assert found.read(streams.memory, 64) == bytes([7]) * 64
        may_end.set()
        ok(streams.runtime.cudaStreamSynchronize(streams.first))
        assert streams.is_ready(streams.first)
        streams.close()
    found.check()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_work_behind_it_runs_after_it(schedule: int | str) -> None:
    with device(schedule=schedule) as found:
        streams, may_end, seen = Streams(), threading.Event(), list[bytes]()
        ok(streams.runtime.cudaMemsetAsync(streams.memory, 1, 64, streams.first))
        streams.call(streams.first, lambda: may_end.wait(LONG))
        ok(streams.runtime.cudaMemsetAsync(streams.memory, 2, 64, streams.first))
        time.sleep(0)
        for _ in range(5):
            streams.is_ready(streams.first)
        seen.append(found.read(streams.memory, 1))
        may_end.set()
        ok(streams.runtime.cudaStreamSynchronize(streams.first))
        seen.append(found.read(streams.memory, 1))
        streams.close()
    found.check()
    assert seen[0] != b"\2"
    assert seen[1] == b"\2"


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_another_thread_ends_it_while_the_host_waits_in_a_call(schedule: int | str) -> None:
    with device(schedule=schedule) as found:
        streams, begun, may_end = Streams(), threading.Event(), threading.Event()

        def help_it() -> None:
            assert begun.wait(LONG)
            ok(streams.runtime.cudaStreamSynchronize(streams.second))
            may_end.set()

        helper = threading.Thread(target=help_it)
        helper.start()
        streams.call(streams.first, lambda: (begun.set(), may_end.wait()))
        ok(streams.runtime.cudaStreamSynchronize(streams.first))
        helper.join()
        streams.close()
    found.check()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_what_nobody_ends_never_returns(schedule: int | str) -> None:
    with device(schedule=schedule):
        streams, may_end = Streams(), threading.Event()
        streams.call(streams.first, may_end.wait)
        with pytest.raises(
            NeverReturnsError, match=r"`cudaStreamSynchronize` never .*a host function, which has begun"
        ):
            streams.runtime.cudaStreamSynchronize(streams.first)
        may_end.set()
        streams.close()


def test_one_that_waits_for_another_one_never_ends() -> None:
    # Host functions of independent streams "execute in undefined order and may be serialized".
    with device(schedule="eager"):
        streams, told = Streams(), threading.Event()
        streams.call(streams.first, told.wait)
        streams.call(streams.second, told.set)
        with pytest.raises(NeverReturnsError):
            streams.runtime.cudaStreamSynchronize(streams.first)
        told.set()
        streams.close()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_one_that_takes_its_time_is_waited_for(schedule: int | str) -> None:
    ended: list[int] = []
    with device(schedule=schedule):
        streams = Streams()
        streams.call(streams.first, lambda: (time.sleep(0.15), ended.append(1)))
        ok(streams.runtime.cudaStreamSynchronize(streams.first))
        assert ended == [1]
        streams.call(streams.first, lambda: (threading.Event().wait(0.01), ended.append(2)))
        ok(streams.runtime.cudaStreamSynchronize(streams.first))
        assert ended == [1, 2]
        streams.call(streams.first, lambda: (time.sleep(0.15), ended.append(3)))
    assert ended == [1, 2, 3]


def test_the_host_goes_on_while_one_polls() -> None:
    may_end: list[int] = []

    def body() -> None:
        while not may_end:
            time.sleep(0.01)

    with device(schedule="eager") as found:
        streams = Streams()
        streams.call(streams.first, body)
        assert not streams.is_ready(streams.first)
        may_end.append(1)
        ok(streams.runtime.cudaStreamSynchronize(streams.first))
        streams.close()
    found.check()


def test_a_bare_lock_that_the_caller_holds_is_no_deadlock() -> None:
    lock, ended = threading.Lock(), list[int]()

    def body() -> None:
        with lock:
            ended.append(1)

    with device(schedule="eager") as found:
        streams = Streams()
        with lock:
            streams.call(streams.first, body)
            assert not ended
        ok(streams.runtime.cudaStreamSynchronize(streams.first))
        assert ended == [1]
        streams.close()
    found.check()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_its_calls_are_refused_before_and_after_it_waited(schedule: int | str) -> None:
    statuses: list[int] = []
    with device(schedule=schedule) as found:
        streams, begun, may_end = Streams(), threading.Event(), threading.Event()

        def body() -> None:
            statuses.append(int(streams.runtime.cudaStreamQuery(streams.second)[0]))
            begun.set()
            may_end.wait(LONG)
            statuses.append(int(streams.runtime.cudaStreamQuery(streams.second)[0]))

        streams.call(streams.first, body)
        begun.wait(LONG)
        may_end.set()
        ok(streams.runtime.cudaStreamSynchronize(streams.first))
        streams.close()
    assert statuses == [NOT_PERMITTED] * 2
    calls = [slot for chunk in found.trace().chunks() for slot in chunk if slot["status"] == NOT_PERMITTED]
    threads = {found.trace().threads[int(slot["thread"])].name for slot in calls}
    assert threads == {"host function"}


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_one_that_joins_a_thread(schedule: int | str) -> None:
    with device(schedule=schedule) as found:
        streams, begun, may_end = Streams(), threading.Event(), threading.Event()

        def body() -> None:
            helper = threading.Thread(target=may_end.wait)
            helper.start()
            begun.set()
            helper.join()

        streams.call(streams.first, body)
        assert begun.wait(LONG)
        assert not streams.is_ready(streams.first)
        may_end.set()
        streams.close()
    found.check()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_same_schedule_gives_the_same_trace(schedule: int | str) -> None:
    def run() -> list[str]:
        with device(schedule=schedule) as found:
            streams = Streams()
            gates = [threading.Event() for _ in range(4)]
            for number, gate in enumerate(gates):
                stream = (streams.first, streams.second)[number % 2]
                ok(streams.runtime.cudaMemsetAsync(streams.memory, number, 64, stream))
                streams.call(stream, lambda gate=gate: gate.wait(LONG))  # type: ignore[misc]
            for gate in gates:
                gate.set()
                streams.is_ready(streams.first)
                ok(streams.runtime.cudaMemsetAsync(streams.memory, 9, 64, streams.second))
            ok(streams.runtime.cudaDeviceSynchronize())
        return host_operations(found)

    first = run()
    assert all(run() == first for _ in range(5))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_an_error_of_a_body_is_said_and_its_stream_goes_on(schedule: int | str) -> None:
    said: list[object] = []
    hook, sys.unraisablehook = sys.unraisablehook, lambda error: said.append(error.exc_type)
    try:
        with device(schedule=schedule):
            streams = Streams()

            def body() -> None:
                raise ValueError

            streams.call(streams.first, body)
            streams.close()
    finally:
        sys.unraisablehook = hook
    assert said == [ValueError]


def test_no_thread_stays_behind() -> None:
    with device(schedule="eager"):
        streams, ended = Streams(), threading.Event()
        idents: list[int] = []
        streams.call(streams.first, lambda: (idents.append(threading.get_ident()), ended.set()))
        assert ended.is_set()
        streams.close()
    assert idents[0] != threading.get_ident()
    for _ in range(1000):
        if idents[0] not in sys._current_frames():
            return
        time.sleep(0.005)
    raise AssertionError("the driver's thread is still there")


def test_one_that_computes_is_waited_for() -> None:
    ended: list[int] = []

    def body() -> None:
        end = time.thread_time() + 0.4
        while time.thread_time() < end:
            pass
        ended.append(1)

    with device(schedule="eager"):
        streams = Streams()
        streams.call(streams.first, body)
        assert ended == [1]
        streams.close()
