"""The lock around every call: reentrant, and its holder can lend it to the driver's thread while it waits for that."""

from __future__ import annotations

import _thread
from time import monotonic, sleep
from types import TracebackType

_MOMENT = 0.002
"""seconds"""


class CallLock:
    """A lock as threading.RLock makes them, for one guest at most: the thread of the driver that runs host functions.

    While the holder waits for a host function's body it lends the lock: the body's calls go on, nobody else's do.
    """

    def __init__(self) -> None:
        self.guest = 0
        """the thread that may be lent to"""
        self._lock = _thread.allocate_lock()
        self._change = _thread.allocate_lock()
        self._owner = 0
        self._count = 0
        self._lent_at = 0
        """how deep the holder was in when it lent the lock"""

    # -- as locks are -----------------------------------------------------------------------------
    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Get the lock, as threading.RLock.acquire does."""
        me = _thread.get_ident()
        if self._again(me):
            return True
        if me == self.guest and blocking:
            return self._acquire_as_guest(me, timeout)
        if not self._lock.acquire(blocking, timeout):
            return False
        self._owner, self._count = me, 1
        return True

    def release(self) -> None:
        """Give the lock back. Raises RuntimeError."""
        if self._owner != _thread.get_ident():
            raise RuntimeError("cannot release a lock that this thread does not hold")
        self._count -= 1
        if not self._count:
            self._owner = 0
            self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    # What threading.Condition asks of its lock.
    def _is_owned(self) -> bool:
        return self._owner == _thread.get_ident()

    def _release_save(self) -> int:
        count, self._count, self._owner = self._count, 0, 0
        self._lock.release()
        return count

    def _acquire_restore(self, count: int) -> None:
        self._lock.acquire()
        self._owner, self._count = _thread.get_ident(), count

    # -- lending ----------------------------------------------------------------------------------
    def lend(self) -> None:
        """Let the guest have the lock until `take_back`."""
        self._lent_at = self._count
        self._owner = self.guest

    def take_back(self) -> None:
        """Have the lock again, as soon as the guest is through with the call that it is making."""
        me = _thread.get_ident()
        while True:
            with self._change:
                if self._count == self._lent_at:
                    self._owner = me
                    return
            sleep(0)  # a call of the guest is short: it is refused

    def _again(self, me: int) -> bool:
        if self._owner != me:
            return False
        with self._change:
            if self._owner != me:
                return False  # taken back meanwhile
            self._count += 1
            return True

    def _acquire_as_guest(self, me: int, timeout: float) -> bool:
        """Wait for the lock, or for its being lent."""
        end = None if timeout < 0 else monotonic() + timeout
        while not self._again(me):
            if self._lock.acquire(timeout=_MOMENT):
                self._owner, self._count = me, 1
                return True
            if end is not None and monotonic() >= end:
                return False
        return True
