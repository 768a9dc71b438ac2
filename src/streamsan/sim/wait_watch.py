"""The device goes on while the program waits outside of CUDA: for an event, a queue, a future, some time.

A host function may be what ends such a wait. The device goes on on a thread of its own, so that locks which the waiting
thread holds are not in its way for ever.
"""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from streamsan.sim import active
from streamsan.sim.program_threads import joining

if TYPE_CHECKING:
    from streamsan.sim.driver_thread import DriverThread
    from streamsan.sim.session import Session

PATIENCE = 0.1
"""seconds that a waiting thread gives the program's other threads before it lets the device go on"""

_Lock = _thread.LockType
_originals: list[tuple[Callable[..., Any], Callable[..., Any]]] = []
_waiting: set[int] = set()
"""threads that wait here"""


def watch() -> None:
    """Follow time.sleep and threading.Condition.wait from here on. May be nested; `unwatch` ends it.

    Events, queues, barriers, semaphores and futures wait on conditions.
    """
    sleep, wait = time.sleep, threading.Condition.wait
    _originals.append((sleep, wait))
    if len(_originals) > 1:
        return

    def watched_sleep(seconds: float) -> None:
        driver = _driver()
        if driver is not None:
            driver.sleep(seconds, sleep)
            return
        session = _idle_session()
        if session is not None:
            started = time.monotonic()
            executor = session.executor
            _run(session, executor.idle).acquire(timeout=PATIENCE)
            if isinstance(seconds, int | float) and seconds > 0:
                seconds = max(0.0, seconds - (time.monotonic() - started))
        sleep(seconds)

    def watched_wait(self: threading.Condition, timeout: float | None = None) -> bool:
        session, driver = _outside_of_calls(), _driver()
        if driver is not None and (timeout is None or timeout > 0) and _may_wait(self):
            return driver.wait_on(self, timeout)
        if session is None or driver is not None or (timeout is not None and timeout <= 0) or not _may_wait(self):
            result: bool = wait(self, timeout)
            return result
        return _wait(self, timeout, session)

    time.sleep = watched_sleep  # type: ignore[assignment]
    threading.Condition.wait = watched_wait  # type: ignore[method-assign]


def unwatch() -> None:
    """End one `watch`."""
    sleep, wait = _originals.pop()
    if not _originals:
        time.sleep, threading.Condition.wait = sleep, wait  # type: ignore[method-assign]


def _driver() -> DriverThread | None:
    """Return the driver's thread if this is it: a host function waits."""
    session = active.current()
    return session.driver if session is not None and session.driver.is_here else None


def _outside_of_calls() -> Session | None:
    """Return the session; None if there is none, or this thread is inside a call: host functions may wait too."""
    session = active.current()
    return None if session is None or _owned(session.lock) else session


def _idle_session() -> Session | None:
    session = _outside_of_calls()
    return session if session is not None and session.executor.scheduler.has_ready else None


def _owned(lock: Any) -> bool:
    return bool(lock._is_owned())


def _may_wait(condition: Any) -> bool:
    """Return whether a condition is one as the standard library makes them, whose lock this thread holds."""
    parts = ("_waiters", "_release_save", "_acquire_restore")
    return all(hasattr(condition, part) for part in parts) and bool(condition._is_owned())


def _wait(condition: Any, timeout: float | None, session: Session) -> bool:
    """Wait as Condition.wait does; without the condition's lock the device goes on meanwhile."""
    notified = _thread.allocate_lock()
    notified.acquire()
    condition._waiters.append(notified)
    state = condition._release_save()
    me = threading.get_ident()
    told = False
    _waiting.add(me)
    try:
        told = _await(notified, timeout, session)
    finally:
        _waiting.discard(me)
        condition._acquire_restore(state)
        if not told and notified in condition._waiters:
            condition._waiters.remove(notified)
    return told


def _await(notified: _Lock, timeout: float | None, session: Session) -> bool:
    """Wait for a lock to be released. All that is ready on the device runs first, if no other thread can go on."""
    end = None if timeout is None else time.monotonic() + timeout
    if _is_last(session) and session.executor.scheduler.has_ready:
        _run(session, session.executor.idle_for_long).acquire(timeout=PATIENCE)
    while True:
        left = PATIENCE if end is None else min(PATIENCE, end - time.monotonic())
        if notified.acquire(timeout=max(0.0, left)):
            return True
        if session.executor.scheduler.has_ready:
            _run(session, session.executor.idle_for_long).acquire(timeout=PATIENCE)
        if end is not None and time.monotonic() >= end:
            return notified.acquire(blocking=False)


def _is_last(session: Session) -> bool:
    """Return whether all other threads of the program wait too."""
    idle = _waiting | joining | {session.driver.ident}
    return all(thread.ident in idle for thread in threading.enumerate())


def _run(session: Session, how: Callable[[], None]) -> _Lock:
    """Let the device go on, on a thread of its own; return a lock that is released when it has."""
    done = _thread.allocate_lock()
    done.acquire()

    def run() -> None:
        try:
            session.progress(how)
        finally:
            done.release()

    try:
        _thread.start_new_thread(run, ())
    except RuntimeError:
        done.release()  # the interpreter is ending, or there are too many threads: the wait goes on all the same
    return done
