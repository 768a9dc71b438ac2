"""Joins by host functions, and the device while a program waits outside of CUDA."""

from __future__ import annotations

import ctypes
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from simulated_cuda import driver, ok, runtime

from streamsan.sim import wait_watch
from streamsan.testing import device
from streamsan.testing.device_under_test import Device

SCHEDULES: tuple[int | str, ...] = (0, 1, 3, "eager", "lazy")
SIZE = 256
LONG = 60
"""seconds: nothing here waits that long"""


def codes(found: Device) -> list[str]:
    return [finding.code for finding in found.findings()]


class Upload:
    """A copy out of pinned memory with a host function behind it, in a stream that nobody waits for."""

    def __init__(self, tells: Callable[[], object]) -> None:
        self.runtime = runtime
        self._body = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda data: tells() and None)
        self.stream = ok(runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking))
        self.data = ok(runtime.cudaMalloc(SIZE))
        self.pinned = ok(runtime.cudaMallocHost(SIZE))
        kind = runtime.cudaMemcpyKind.cudaMemcpyHostToDevice
        ok(runtime.cudaMemcpyAsync(self.data, self.pinned, SIZE, kind, self.stream))
        function = driver.CUhostFn(ctypes.cast(self._body, ctypes.c_void_p).value)
        ok(driver.cuLaunchHostFunc(self.stream, function, 0))

    def free(self) -> None:
        ok(self.runtime.cudaFreeHost(self.pinned))
        ok(self.runtime.cudaFree(self.data))

    def close(self) -> None:
        ok(self.runtime.cudaStreamSynchronize(self.stream))
        ok(self.runtime.cudaStreamDestroy(self.stream))


def by_event(start: Callable[[Callable[[], object]], None]) -> None:
    event = threading.Event()
    start(event.set)
    assert event.wait(LONG)


def by_event_without_end(start: Callable[[Callable[[], object]], None]) -> None:
    event = threading.Event()
    start(event.set)
    event.wait()


def by_queue(start: Callable[[Callable[[], object]], None]) -> None:
    done: queue.Queue[int] = queue.Queue()
    start(lambda: done.put(1))
    assert done.get(timeout=LONG) == 1


def by_short_waits(start: Callable[[Callable[[], object]], None]) -> None:
    done: queue.Queue[int] = queue.Queue()
    start(lambda: done.put(1))
    while True:
        try:
            done.get(timeout=0.001)
        except queue.Empty:
            continue
        return


def by_flag(start: Callable[[Callable[[], object]], None]) -> None:
    flag: list[int] = []
    start(lambda: flag.append(1))
    while not flag:
        time.sleep(0.001)


def by_future(start: Callable[[Callable[[], object]], None]) -> None:
    future: Future[int] = Future()
    start(lambda: future.set_result(3))
    assert future.result(LONG) == 3


def by_semaphore(start: Callable[[Callable[[], object]], None]) -> None:
    slots = threading.Semaphore(0)
    start(slots.release)
    assert slots.acquire(timeout=LONG)


JOINS = [by_event, by_event_without_end, by_queue, by_short_waits, by_flag, by_future, by_semaphore]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("join", JOINS)
def test_what_a_host_function_told_is_ordered_after_it(join: Callable[[Any], None], schedule: int | str) -> None:
    made: list[Upload] = []
    with device(schedule=schedule) as found:
        join(lambda tells: made.append(Upload(tells)))
        made[0].free()
        made[0].close()
    assert codes(found) == []


def test_without_a_join_the_free_is_too_early() -> None:
    with device(schedule="lazy") as found:
        upload = Upload(lambda: None)
        upload.free()
    assert "SS107" in codes(found) or "SS108" in codes(found)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_another_thread_is_told(schedule: int | str) -> None:
    with device(schedule=schedule) as found, ThreadPoolExecutor(1) as pool:
        done: queue.Queue[int] = queue.Queue()
        upload = Upload(lambda: done.put(1))

        def consume() -> None:
            assert done.get() == 1
            upload.free()

        pool.submit(consume).result(LONG)
        upload.close()
    assert codes(found) == []


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_body_takes_a_lock_that_a_sleeping_thread_holds(schedule: int | str) -> None:
    lock, flag, made = threading.Lock(), list[int](), list[Upload]()

    def body() -> None:
        with lock:
            flag.append(1)

    with device(schedule=schedule) as found:
        made.append(Upload(body))
        while not flag:
            with lock:
                time.sleep(0.001)
        made[0].free()
        made[0].close()
    assert codes(found) == []


def test_a_wait_under_another_lock() -> None:
    lock, event = threading.Lock(), threading.Event()

    def body() -> None:
        with lock:
            event.set()

    with device(schedule="lazy"):
        upload = Upload(body)
        while True:
            with lock:
                if event.wait(0.001):
                    break
        upload.close()
        upload.free()


def test_a_thread_that_starts_lets_nothing_run() -> None:
    ran: list[int] = []
    with device(schedule="lazy"):
        upload = Upload(lambda: ran.append(1))
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()
        assert not ran
        upload.close()
        assert ran
        upload.free()


def test_conditions_behave_as_ever() -> None:
    with device(schedule="lazy"):
        Upload(lambda: None).close()
        condition = threading.Condition()
        with condition:
            assert not condition.wait(0)
            assert not condition.wait(0.001)
            assert not condition.wait_for(lambda: False, 0.001)
        with pytest.raises(RuntimeError):
            condition.wait(0.001)
        with pytest.raises(ValueError, match="non-negative"):
            time.sleep(-1)
        barrier, seen = threading.Barrier(3), queue.Queue[int]()

        def meet(number: int) -> None:
            barrier.wait(LONG)
            seen.put(number)

        threads = [threading.Thread(target=meet, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        assert {seen.get() for _ in threads} == {0, 1, 2}
        for thread in threads:
            thread.join()
        with condition:
            assert condition.wait_for(lambda: True)


def test_nothing_stays_behind() -> None:
    sleep, wait = time.sleep, threading.Condition.wait
    with device():
        assert time.sleep is not sleep
        with device():
            pass
        assert threading.Condition.wait is not wait
    assert (time.sleep, threading.Condition.wait) == (sleep, wait)
    assert not wait_watch._waiting
