"""What a simulated device shares with those of other processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from streamsan.model.statuses import SUCCESS
from streamsan.sim.exchange.connections import SilentError
from streamsan.sim.exchange.link import Link
from streamsan.sim.exchange.messages import TOKEN_SIZE, Operation, Reply, Request
from streamsan.sim.exchange.pool_files import pool_file
from streamsan.sim.exchange.service import Answer, Connection
from streamsan.sim.exchange.shared_events import SharedEvents
from streamsan.sim.exchange.shared_memory import SharedMemory

if TYPE_CHECKING:
    from streamsan.model.values import Value
    from streamsan.sim.executor.scheduler import Scheduler

_DEPTH = 8
"""processes through which a wish to go on is passed"""


class Exchange:
    """Idle, and without a thread, until something is exported or opened."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._link = Link(self._handle, self._ended)
        self.memory = SharedMemory(self._link)
        self.events = SharedEvents(self._link, scheduler)
        self.serve: Callable[[Callable[[], None]], bool] = _at_once
        """Calls a function when no thread of the program is inside a call, on the service's thread; False: one is."""
        self._asks = False
        """this process waits for an answer"""
        self._silent = 0
        self._beats = 0
        """how often the process was about something when another one asked"""
        self._importers: dict[Connection, bytes] = {}
        """those that have opened something -> their tokens"""

    @property
    def number(self) -> int:
        """What this process is called in its handles, 0 as long as it has given none."""
        return int.from_bytes(self._link.token)

    @property
    def is_used(self) -> bool:
        """Whether other processes may have to do with what this one waits for."""
        return bool(self._link.token)

    def pool_file(self, identity: int) -> int | None:
        """Return a file that stands for a pool in other processes; None: that is not possible."""
        try:
            return pool_file(self._link.token, identity) if self._link.start() else None
        except OSError:
            return None

    # -- waiting for others -----------------------------------------------------------------------
    def go_on_elsewhere(self) -> int | None:
        """Ask other processes to go on where this one cannot; None: none of them can end what it waits for.

        The number changes when they do something.
        """
        if not self.is_used:
            return None
        awaited = self.events.outstanding()
        done = self.events.ask_for(_DEPTH) if awaited else None
        if not self._waits_for_a_value(awaited):
            return done
        self._asks = True
        try:
            for process in self._others():
                beats = self._asked(process)
                done = done if beats is None else (done or 0) + beats
        finally:
            self._asks = False
        return done

    def _asked(self, process: bytes) -> int | None:
        """Ask one process to go on; return how often it was about something, None if it has ended."""
        try:
            answered = self._link.peers.ask(process, self._wish(Operation.GO_ON_AND_SAY, _DEPTH))
        except SilentError:
            self._silent += 1  # it is there, and so busy that it cannot even answer
            return self._silent
        return None if answered is None else answered[0].offset

    def _pass_on(self, depth: int) -> None:
        """Pass a wish on that could not be granted. Nobody waits for an answer: wishes may go round in circles."""
        awaited = self.events.outstanding()
        if awaited:
            self.events.ask_for(depth)
        if self._waits_for_a_value(awaited):
            for process in self._others():
                self._link.peers.tell(process, self._wish(Operation.GO_ON, depth))

    def _waits_for_a_value(self, awaited: int) -> bool:
        # What is blocked by no record of others waits for a value, which one of them may be to write.
        return self.memory.is_shared and self._scheduler.blocked > awaited

    def _wish(self, operation: Operation, depth: int) -> Request:
        return Request(operation, self._link.token, number=depth)

    def some_time_passes(self) -> None:
        """The host has looked at memory that others may write: their devices go on meanwhile, as real ones do."""
        for process in self._others():
            self._link.peers.tell(process, Request(Operation.SOME_TIME_PASSES, self._link.token))

    def _others(self) -> set[bytes]:
        return self.memory.exporters() | set(self._importers.values())

    # -- the end ----------------------------------------------------------------------------------
    def close(self) -> None:
        """End: to others this process has ended."""
        self._link.close()
        self.memory.close()
        self.events.close()

    def forget(self) -> None:
        """Be a forked child, which shares nothing."""
        self._link.forget()
        self.memory.close()
        self.events.close()
        self._importers.clear()

    # -- the service's thread ---------------------------------------------------------------------
    def _handle(self, connection: Connection, request: Request) -> Answer | None:
        match request.operation:
            case Operation.OPEN_MEMORY:
                self._importers[connection] = request.sender
                return self.memory.answer_open(connection, request)
            case Operation.OPEN_EVENT:
                self._importers[connection] = request.sender
                return self.events.answer_open(connection, request)
            case Operation.CLOSE_MEMORY:
                return self.memory.answer_close(connection, request)
            case Operation.CLOSE_EVENT:
                self.events.answer_close(connection, request)
            case Operation.GO_ON | Operation.GO_ON_TO:
                self._go_on(request)
            case Operation.GO_ON_AND_SAY:
                self._go_on(request)
                return Reply(SUCCESS, offset=self._beats), -1
            case Operation.SOME_TIME_PASSES:
                self.serve(self._scheduler.idle)
        return None

    def _go_on(self, request: Request) -> None:
        before, asks = self._scheduler.now, self._asks

        def run() -> None:
            if request.operation is Operation.GO_ON_TO:
                self.events.go_on_to(request.identity, request.ticket)
            else:
                self._scheduler.idle_for_long()
            if self._scheduler.now == before and 0 < request.number <= _DEPTH:
                self._pass_on(request.number - 1)

        ran = self.serve(run)
        # A call that itself waits for others is no work.
        is_busy = not ran and not asks and not self._asks
        if is_busy or self._scheduler.now != before:
            self._beats += 1
            self.events.beat()

    def _ended(self, connection: Connection) -> None:
        self._importers.pop(connection, None)
        self.memory.answer_ended(connection)
        self.events.answer_ended(connection)


def token_of(fields: Mapping[str, Value]) -> bytes | None:
    """Return which process a handle names; None where it names none."""
    number = fields.get("exporter")
    return number.to_bytes(TOKEN_SIZE) if isinstance(number, int) and 0 < number < 1 << 8 * TOKEN_SIZE else None


def _at_once(run: Callable[[], None]) -> bool:
    run()
    return True
