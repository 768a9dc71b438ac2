"""The body of a host function on a thread of the driver, with the order around it."""

from __future__ import annotations

from collections.abc import Callable

from streamsan.model.core import ModelCore
from streamsan.model.process_state import HostThread
from streamsan.vocabulary import EdgeClass, OperationKind


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
        worker = self._core.start_thread(self._process, "host function", self._site)
        worker.conditional = self._conditional
        self._say(OperationKind.HOST_ACQUIRE, worker)
        return worker

    def end(self, worker: HostThread) -> None:
        """Say that the body has ended."""
        self._say(OperationKind.HOST_RELEASE, worker)

    def _say(self, kind: OperationKind, worker: HostThread) -> None:
        self._core.emit(kind, worker, self._site, object=self._key, detail=EdgeClass.CONTRACT)

    def __call__(self) -> None:
        """Run all of it here."""
        worker = self.begin()
        self._core.on_host_call(worker, self.body)
        self.end(worker)
