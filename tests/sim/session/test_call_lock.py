"""The lock around calls, and its being lent."""

from __future__ import annotations

import _thread
import threading

import pytest

from streamsan.sim.call_lock import CallLock

LONG = 60
"""seconds: nothing here waits that long"""


class Guest:
    """A thread that does what it is told, one thing after another."""

    def __init__(self, lock: CallLock) -> None:
        self.done: list[str] = []
        self._asked, self._did = threading.Semaphore(0), threading.Semaphore(0)
        self._lock = lock
        self._word = ""
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        assert self.thread.ident is not None
        lock.guest = self.thread.ident

    def ask(self, word: str) -> None:
        self._word = word
        self._asked.release()

    def wait(self) -> None:
        assert self._did.acquire(timeout=LONG)

    def _run(self) -> None:
        while self._asked.acquire() and self._word:
            with self._lock, self._lock:
                self.done.append(self._word)
            self._did.release()


def test_it_is_a_reentrant_lock() -> None:
    lock = CallLock()
    with lock, lock:
        assert lock._is_owned()
        got: list[bool] = []
        thread = threading.Thread(target=lambda: got.append(lock.acquire(blocking=False)))
        thread.start()
        thread.join()
        assert got == [False]
    assert not lock._is_owned()
    with pytest.raises(RuntimeError, match="does not hold"):
        lock.release()


def test_conditions_work_with_it() -> None:
    lock = CallLock()
    condition = threading.Condition(lock)  # type: ignore[arg-type]
    seen: list[int] = []

    def tell() -> None:
        with condition:
            seen.append(1)
            condition.notify()

    with lock, condition:
        thread = threading.Thread(target=tell)
        thread.start()
        assert condition.wait(LONG)
        assert lock._is_owned()
        assert seen == [1]
        lock.release()
        assert lock._is_owned()  # it was held twice
        lock.acquire()
    thread.join()


def test_the_guest_goes_on_while_it_is_lent_and_not_before() -> None:
    lock = CallLock()
    guest = Guest(lock)
    with lock:
        guest.ask("while it is held")
        assert not guest._did.acquire(timeout=0.02)
        lock.lend()
        guest.wait()
        lock.take_back()
        assert lock._is_owned()
        assert guest.done == ["while it is held"]
        others: list[bool] = []
        lock.lend()
        other = threading.Thread(target=lambda: others.append(lock.acquire(timeout=0.02)))
        other.start()
        other.join()
        lock.take_back()
        assert others == [False]
        guest.ask("afterwards")
        assert not guest._did.acquire(timeout=0.02)
    guest.wait()
    assert guest.done == ["while it is held", "afterwards"]
    guest.ask("")
    guest.thread.join()


def test_it_is_taken_back_when_the_guest_is_through() -> None:
    lock = CallLock()
    may_enter, inside, may_leave, left = (_thread.allocate_lock() for _ in range(4))
    for gate in (may_enter, inside, may_leave, left):
        gate.acquire()

    def work() -> None:
        may_enter.acquire()
        with lock:
            inside.release()
            may_leave.acquire()
        left.release()

    lock.acquire()
    thread = threading.Thread(target=work)
    thread.start()
    assert thread.ident is not None
    lock.guest = thread.ident
    lock.lend()
    may_enter.release()
    inside.acquire()
    threading.Timer(0.02, may_leave.release).start()
    lock.take_back()
    assert left.acquire(timeout=LONG)
    assert lock._is_owned()
    lock.release()
    thread.join()
