"""Other threads go on while one waits inside a call for what only they can bring about."""

from __future__ import annotations

import threading
import time

from streamsan.sim.call_lock import CallLock
from streamsan.sim.driver_thread import DriverThread, Going
from streamsan.sim.program_threads import joining

MOMENT = 0.002
"""seconds for which the lock is given away each time"""
PATIENCE = 30.0
"""seconds without a call of any thread after which nobody is expected to end a wait"""


class Turns:
    """Gives the session's lock to other threads. Callers hold it."""

    def __init__(self, lock: CallLock, driver: DriverThread) -> None:
        self._turn = threading.Condition(lock)  # type: ignore[arg-type]
        self._driver = driver
        self._calls = 0
        self._elsewhere = 0
        """how often other processes were seen to do something"""
        self._seen_elsewhere: int | None = None
        self._stuck: dict[int, tuple[int, float]] = {}
        """thread -> the number of calls when it last saw one being made, and when that was"""

    def give(self, elsewhere: int | None = None) -> bool:
        """Let other threads have the lock for a moment; False when all wait themselves, or none has called for long.

        `elsewhere`: a number that changes when other processes do something; None: none can be what ends the wait.
        """
        me, driver = threading.get_ident(), self._driver
        others = {thread.ident for thread in threading.enumerate()} - self._stuck.keys() - joining
        going = driver.going
        if not others - {me, driver.ident, None} and elsewhere is None and going is Going.NO:
            return False
        if elsewhere != self._seen_elsewhere:
            self._elsewhere, self._seen_elsewhere = self._elsewhere + 1, elsewhere
        if not self._is_lively() and going is not Going.SURELY:
            return False
        self._turn.wait(MOMENT)
        return True

    def give_to_host_function(self) -> bool:
        """Let a host function that has begun go on for a moment; False if it cannot, or does nothing for long."""
        going = self._driver.going
        if going is Going.NO or (not self._is_lively() and going is Going.MAYBE):
            return False
        self._turn.wait(MOMENT)
        return True

    def _is_lively(self) -> bool:
        """Return whether anything was seen since the running thread waits, and not long ago."""
        me, now = threading.get_ident(), time.monotonic()
        done = self._calls + self._elsewhere + self._driver.signs
        last, since = self._stuck.get(me, (-1, now))
        if last != done:
            since = now
        self._stuck[me] = (done, since)
        return now - since <= PATIENCE

    def made_call(self) -> None:
        """The running thread is through with a call."""
        self._calls += 1
        self._stuck.pop(threading.get_ident(), None)
