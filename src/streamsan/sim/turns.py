"""Other threads go on while one waits inside a call for what only they can bring about."""

from __future__ import annotations

import threading
import time

from streamsan.sim.threads import joining

MOMENT = 0.002
"""seconds for which the lock is given away each time"""
PATIENCE = 30.0
"""seconds without a call of any thread after which nobody is expected to end a wait"""


class Turns:
    """Gives the session's lock to other threads. Callers hold it."""

    def __init__(self, lock: threading.RLock) -> None:
        self._turn = threading.Condition(lock)
        self._calls = 0
        self._stuck: dict[int, tuple[int, float]] = {}
        """thread -> the number of calls when it last saw one being made, and when that was"""

    def give(self) -> bool:
        """Let other threads have the lock for a moment; False when all wait themselves, or none has called for long."""
        me = threading.get_ident()
        others = {thread.ident for thread in threading.enumerate()} - self._stuck.keys() - joining - {me, None}
        if not others:
            return False
        now = time.monotonic()
        calls, since = self._stuck.get(me, (-1, now))
        if calls != self._calls:
            since = now
        elif now - since > PATIENCE:
            return False
        self._stuck[me] = (self._calls, since)
        self._turn.wait(MOMENT)
        return True

    def made_call(self) -> None:
        """The running thread is through with a call."""
        self._calls += 1
        self._stuck.pop(threading.get_ident(), None)
