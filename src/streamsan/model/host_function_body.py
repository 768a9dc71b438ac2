"""The body of a host function on a thread of the driver, with the order around it."""

from __future__ import annotations

from collections.abc import Callable

from streamsan.model.core import ModelCore
from streamsan.model.process_state import HostThread
from streamsan.model.processes import acquire, release, start_thread
from streamsan.vocabulary import EdgeClass


class HostCall:
    """What runs when a stream reaches a host function; a graph that is launched again runs it again.

    Called, it runs the whole. An executor whose driver has a thread of its own runs `body` there between `begin` and
    `end`, and other work meanwhile.
    """

    def __init__(self, core: ModelCore, caller: HostThread, body: Callable[[], None], key: int, site: int) -> None:
        """Know a body; `caller` issued it at `site`, and `key` is the sync key of its order on both sides."""
        self.body = body
        self._core = core
        self._process = caller.process
        self._conditional = caller.conditional
        self._key = key
        self._site = site

    def begin(self) -> HostThread:
        """Say that the body begins; return the thread of the driver that it is on."""
        worker = start_thread(self._core, self._process, "host function", self._site)
        worker.conditional = self._conditional
        acquire(self._core, worker, self._key, EdgeClass.CONTRACT, self._site)
        return worker

    def end(self, worker: HostThread) -> None:
        """Say that the body has ended."""
        release(self._core, worker, self._key, EdgeClass.CONTRACT, self._site)

    def __call__(self) -> None:
        """Run all of it here."""
        worker = self.begin()
        self._core.on_host_call(worker, self.body)
        self.end(worker)
