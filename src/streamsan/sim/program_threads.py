"""The program's threads as host threads of the model, and the order that starting and joining them gives."""

from __future__ import annotations

import threading
from weakref import WeakKeyDictionary

from streamsan.model.device_model import DeviceModel
from streamsan.model.process_state import HostThread
from streamsan.vocabulary import EdgeClass


class Threads:
    """Knows which model thread a Python thread is. Callers hold the session's lock."""

    def __init__(self, model: DeviceModel) -> None:
        self._model = model
        self._local = threading.local()
        self._local.thread = model.main_thread
        self._known: WeakKeyDictionary[threading.Thread, HostThread] = WeakKeyDictionary()
        self._known[threading.current_thread()] = model.main_thread
        self._start_keys: WeakKeyDictionary[threading.Thread, int] = WeakKeyDictionary()
        """Python thread -> key under which its parent published what it had seen"""
        self._last: HostThread = model.main_thread
        self._ended_bodies: list[HostThread] = []
        """threads of the driver that have run a host function since the latest call"""

    def current(self, site: int = 0) -> HostThread:
        """Return the model thread of the running Python thread, made when it is first asked for."""
        thread: HostThread | None = getattr(self._local, "thread", None)
        return self._first_seen(site) if thread is None else thread

    def calling(self, site: int) -> HostThread:
        """Return the model thread of the running Python thread, ordered after the calls of all others so far.

        Calls do not overlap (they run under one lock), so something in the program may have ordered them: a queue, a
        flag, a future. Nobody sees it; the run edge keeps it silent.
        """
        thread = self.current(site)
        if thread is not self._last:
            self._order(self._last, thread, site)
            self._last = thread
        while self._ended_bodies:
            self._order(self._ended_bodies.pop(), thread, site)
        return thread

    def become(self, worker: HostThread) -> None:
        """The running Python thread, the driver's, is a thread of the model from here on: that of a host function."""
        self._local.thread = worker

    def body_ended(self, worker: HostThread) -> None:
        """A host function has run on a thread of the driver: a queue or a flag may have told the program so.

        All calls from here on are ordered after it, as they are after the calls of other threads.
        """
        self._ended_bodies.append(worker)

    def _order(self, first: HostThread, then: HostThread, site: int) -> None:
        key = self._model.sync_key()
        self._model.release(first, key, EdgeClass.RUN, site)
        self._model.acquire(then, key, EdgeClass.RUN, site)

    def starting(self, child: threading.Thread, site: int) -> None:
        """The running thread is about to start another one."""
        key = self._model.sync_key()
        self._model.release(self.current(site), key, site=site)
        self._start_keys[child] = key

    def joined(self, child: threading.Thread, site: int) -> None:
        """The running thread has waited for the end of another one."""
        known = self._known.get(child)
        if known is not None:
            self._model.join(self.current(site), known, site)

    def forked(self, thread: HostThread) -> None:
        """This is a forked child now, whose only thread is `thread`."""
        self._local = threading.local()
        self._local.thread = thread
        self._known = WeakKeyDictionary({threading.current_thread(): thread})
        self._last = thread
        self._ended_bodies.clear()

    def _first_seen(self, site: int) -> HostThread:
        python_thread = threading.current_thread()
        thread = self._model.thread(python_thread.name, self._last.process, site)
        key = self._start_keys.pop(python_thread, 0)
        if key:
            self._model.acquire(thread, key, site=site)
        self._local.thread = thread
        self._known[python_thread] = thread
        return thread


joining: set[int] = set()
"""threads that wait for the end of another one, however long it takes"""
