"""The driver's own thread: the bodies of host functions run on it, one after another.

Whoever lets the device go on waits for the body that it has begun, until that ends or itself waits for the program:
for a condition (so for an event, a queue, a future), for another thread's end, or for time to pass. Then the program's
calls go on, and before each one the body goes on if it can. So who does what next is the program's doing, not the
machine's. A body that waits in a way that is not seen (for a bare lock, in C code) is given no more than `PATIENCE`,
one that computes no more than `LONGEST`: it may poll a flag of the program.

One thread: host functions of independent streams "may be serialized", so a body may not wait for another one.
"""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from typing import Any

from streamsan.sim.call_lock import CallLock

PATIENCE = 0.25
"""seconds that a body gets in which it does nothing"""
LONGEST = 5.0
"""seconds that a body gets in which it computes"""
NAP = 0.1
"""seconds that a body may sleep before the program's calls go on"""
_SLICE = 0.05
_IDLE = 0.1
"""share of the time that a body that computes has the processor for, at least"""


class Going(Enum):
    """Whether a body may go on without anything that the program does."""

    NO = 0
    MAYBE = 1
    SURELY = 2


class _Wait:
    def __init__(self, is_over: Callable[[], bool], alone: bool) -> None:
        self.is_over = is_over
        self.alone = alone
        """it ends at some time, whatever the program does"""


class DriverThread:
    """The thread, which begins with the first body."""

    def __init__(self, lock: CallLock) -> None:
        self._lock = lock
        self._given = _closed()
        """open: there is a body to run"""
        self._sign = _closed()
        """open: the body has ended, or has begun to wait"""
        self._body: Callable[[], None] | None = None
        self._wait: _Wait | None = None
        self._missed = False
        """nothing was seen of the body for as long as anybody waits for it"""
        self._slept = 0.0
        self._signs_given = 0
        self._native = 0
        self._stops = False

    @property
    def ident(self) -> int:
        """The thread's number, 0 as long as there is none."""
        return self._lock.guest

    @property
    def is_here(self) -> bool:
        """Whether this is the thread."""
        return _thread.get_ident() == self._lock.guest

    @property
    def going(self) -> Going:
        """Whether the body may go on, or end, without the program."""
        wait = self._wait
        if self._body is None:
            return Going.NO
        if wait is None:
            return Going.MAYBE
        return Going.SURELY if wait.alone or wait.is_over() else Going.NO

    @property
    def signs(self) -> int:
        """A number that rises with all that is seen of the thread: what it says, and the time that it computes."""
        return self._signs_given + int(1000 * self._processor_time())

    # -- for those who let the device go on ---------------------------------------------------------
    def begin(self, body: Callable[[], None], ended: Callable[[], None]) -> HostBody:
        """Let the thread, which is idle, run a body; `ended` is called, by another thread, when that is seen."""
        self._body, self._missed, self._slept = body, False, 0.0
        if not self.ident:
            try:
                self._lock.guest = _thread.start_new_thread(self._run, ())
            except RuntimeError:  # the interpreter is ending, or there are too many threads
                self._run_body(body)
                return HostBody(self, ended)
        self._given.release()
        return HostBody(self, ended)

    def settle(self) -> bool:
        """Let the body go on until it ends or waits; return whether it has ended. The caller holds the lock."""
        if self.is_here:
            return False
        if not self._is_still():
            self._lock.lend()
            try:
                self._await()
            finally:
                self._lock.take_back()
        return self._body is None

    def stop(self) -> None:
        """End the thread, now or when its body has ended."""
        self._stops = True
        if self.ident and self._body is None:
            self._given.release()

    # -- for the body -----------------------------------------------------------------------------
    @contextmanager
    def waiting(self, is_over: Callable[[], bool], *, alone: bool) -> Iterator[None]:
        """Mark that the body waits until something `is_over`; `alone`: that comes about without the program."""
        self._wait, self._missed = _Wait(is_over, alone), False
        self._give_sign()
        try:
            yield
        finally:
            self._wait = None

    def sleep(self, seconds: float, sleep: Callable[[float], None]) -> None:
        """Sleep on the body's behalf. A body that only takes some time is waited for; the rest is not."""
        end = time.monotonic() + seconds
        self._slept += seconds
        if self._slept <= NAP:
            sleep(seconds)
            return
        with self.waiting(lambda: time.monotonic() >= end, alone=True):
            sleep(seconds)

    def wait_on(self, condition: Any, timeout: float | None) -> bool:
        """Wait as threading.Condition.wait does, on the body's behalf."""
        notified = _closed()
        waiters = condition._waiters
        waiters.append(notified)
        state = condition._release_save()
        told = False
        try:
            with self.waiting(lambda: notified not in waiters, alone=timeout is not None):
                told = notified.acquire(timeout=-1 if timeout is None else min(timeout, threading.TIMEOUT_MAX))
        finally:
            condition._acquire_restore(state)
            if not told:
                with suppress(ValueError):
                    waiters.remove(notified)
        return told

    # -- the thread -------------------------------------------------------------------------------
    def _run(self) -> None:
        self._lock.guest, self._native = _thread.get_ident(), threading.get_native_id()
        while True:
            self._given.acquire()
            if self._body is not None:
                self._run_body(self._body)
            if self._stops:
                return

    def _run_body(self, body: Callable[[], None]) -> None:
        try:
            body()
        finally:
            self._body = None
            self._give_sign()

    def _give_sign(self) -> None:
        self._signs_given += 1
        with suppress(RuntimeError):  # it was said, and nobody has heard it yet
            self._sign.release()

    def _is_still(self) -> bool:
        wait = self._wait
        return self._body is None or (self._missed if wait is None else not wait.is_over())

    def _await(self) -> None:
        began = quiet = time.monotonic()
        spent = self._processor_time()
        while not self._is_still():
            if self._sign.acquire(timeout=_SLICE):
                continue
            now, total = time.monotonic(), self._processor_time()
            if total - spent > _IDLE * _SLICE or self._is_runnable():
                quiet, spent = now, total
            if now - quiet >= PATIENCE or now - began >= LONGEST:
                self._missed = True

    def _processor_time(self) -> float:
        return time.clock_gettime(time.pthread_getcpuclockid(self.ident)) if self.ident and not self._stops else 0.0

    def _is_runnable(self) -> bool:
        """Return whether the thread waits for nothing but a processor: the machine may have much to do."""
        try:
            with open(f"/proc/self/task/{self._native}/stat", encoding="ascii", errors="replace") as file:
                return file.read().rpartition(")")[2].split()[:1] == ["R"]
        except OSError:
            return False


class HostBody:
    """A body that has begun (`streamsan.sim.executor.tasks.Underway`)."""

    def __init__(self, thread: DriverThread, ended: Callable[[], None]) -> None:
        self._thread = thread
        self._ended = ended

    def settle(self) -> bool:
        """Let it go on until it ends or waits for the program; return whether it has ended."""
        return self._thread.settle()

    def end(self) -> None:
        """It has ended: say so."""
        self._ended()


def _closed() -> _thread.LockType:
    lock = _thread.allocate_lock()
    lock.acquire()
    return lock
