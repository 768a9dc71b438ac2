"""Events that processes share: records of this process's are published, waits for those of others are tasks here."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from msgspec import Struct, field

from streamsan.model.statuses import INVALID_VALUE, MAP_FAILED, OUT_OF_MEMORY, SUCCESS
from streamsan.sim.exchange.link import Link
from streamsan.sim.exchange.messages import Operation, Reply, Request
from streamsan.sim.exchange.records import MOST_EVENTS, PARTICIPANTS, RING, TABLE_SIZE, Records, Table
from streamsan.sim.exchange.service import Answer, Connection
from streamsan.sim.executor.memory_files import new_file
from streamsan.sim.executor.tasks import ContextWork, Task, Timeline
from streamsan.sim.executor.timelines import Record

if TYPE_CHECKING:
    from streamsan.model.streams_and_graphs import Event
    from streamsan.sim.executor.scheduler import Scheduler

OWNER = 0
"""the participant that has exported the event"""


class _Shared(Struct, eq=False):
    """One event, by whatever handles this process knows it."""

    owner: bytes
    identity: int
    place: int
    me: int
    records: Records
    events: list[Event] = field(default_factory=list)
    pending: dict[int, Task] = field(default_factory=dict)
    """ticket -> a record of this process's that is not complete"""
    own: Record | None = None
    """this process's latest record"""
    awaited: _Awaited | None = None
    openers: dict[int, Connection] = field(default_factory=dict)
    """the owner's: participant -> who that is"""


class _Awaited(Struct, eq=False):
    """A record of another process's that something here waits for."""

    shared: _Shared
    participant: int
    ticket: int
    process: bytes
    record: Record


class SharedEvents:
    """Called under the session's lock, but for the `answer_` methods, which the service's thread calls."""

    def __init__(self, link: Link, scheduler: Scheduler) -> None:
        self._link = link
        self._scheduler = scheduler
        self._guard = threading.Lock()
        self._table: Table | None = None
        self._file = -1
        self._tables: dict[bytes, Table] = {}
        self._offers: dict[int, _Shared] = {}
        self._shared: dict[tuple[bytes, int], _Shared] = {}
        self._by_event: dict[Event, _Shared] = {}
        self._awaited: list[_Awaited] = []
        self._timeline = Timeline(-1, ContextWork(None), blocking=False, is_legacy=False)
        """of the tasks that stand for records of others"""
        done = Task(0, self._timeline, "another process's event", None)
        done.done = True
        self._complete = Record(done, -1, 0, {})

    # -- sharing ----------------------------------------------------------------------------------
    def offer(self, event: Event, identity: int, record: Record | None) -> bool:
        """Let others open an event, with its latest record here; return whether that is possible."""
        if event in self._by_event:
            return True
        self._forget_dead()
        if not self._link.start():
            return False
        try:
            if self._table is None:
                self._file = new_file(TABLE_SIZE)
                self._table = Table(self._file)
            taken = {shared.place for shared in self._offers.values()}
            place = next(number for number in range(MOST_EVENTS) if number not in taken)
            records = self._table.records(place)
        except (OSError, StopIteration):
            return False
        records.clear()
        records.enter(OWNER, self._link.token)
        shared = self._known(event, _Shared(self._link.token, identity, place, OWNER, records))
        if record is not None:
            self.recorded(event, record)
        with self._guard:
            self._offers[identity] = shared
        return True

    def open(self, event: Event, exporter: bytes, identity: int) -> int:
        """Let an event be the one that another process has exported; return the status.

        One whose process has ended opens, and nothing of it is pending (W-23).
        """
        self._forget_dead()
        known = self._shared.get((exporter, identity))
        if known is not None:
            self._known(event, known)
            return SUCCESS

        def take(reply: Reply, files: list[int]) -> int:
            if not 0 < reply.number < PARTICIPANTS:
                return MAP_FAILED
            table = self._tables.get(exporter)
            if table is None and files:
                table = self._tables[exporter] = Table(files[0])
            if table is None:
                return MAP_FAILED
            records = table.records(reply.offset)
            self._known(event, _Shared(exporter, identity, reply.offset, reply.number, records))
            return SUCCESS

        return self._link.take(exporter, Operation.OPEN_EVENT, identity, take, if_ended=SUCCESS)

    def _known(self, event: Event, shared: _Shared) -> _Shared:
        shared.events.append(event)
        self._by_event[event] = self._shared[shared.owner, shared.identity] = shared
        return shared

    def _forget_dead(self) -> None:
        """Forget events that were destroyed, once nothing here and nobody else has to do with them."""
        for event in [event for event in self._by_event if not event.alive]:
            shared = self._by_event[event]
            if shared.openers or any(not task.done for task in shared.pending.values()):
                continue
            del self._by_event[event]
            shared.events.remove(event)
            if shared.events:
                continue
            del self._shared[shared.owner, shared.identity]
            if shared.me == OWNER:
                with self._guard:
                    self._offers.pop(shared.identity, None)
            else:
                closing = Request(Operation.CLOSE_EVENT, self._link.token, shared.identity)
                self._link.peers.tell(shared.owner, closing)

    # -- records ----------------------------------------------------------------------------------
    def recorded(self, event: Event, record: Record) -> None:
        """This process records an event: others see when that is complete."""
        shared = self._by_event.get(event)
        if shared is None:
            return
        shared.pending = {ticket: task for ticket, task in shared.pending.items() if not task.done}
        older = shared.pending.get(shared.records.next(shared.me) - RING)
        if older is not None:
            self._scheduler.wait([older])  # as a driver's queue is full
        ticket, task = shared.records.begin(shared.me), record.task
        shared.own = record
        if task.done:
            shared.records.complete(shared.me, ticket)
            return
        shared.pending[ticket] = task
        task.body = lambda: shared.records.complete(shared.me, ticket)
        task.essential = True  # also when its context ends: nothing is under way then

    def latest(self, event: Event) -> Record | None:
        """Return the latest record of a shared event, whoever made it; None where this process alone knows."""
        shared = self._by_event.get(event)
        latest = None if shared is None else shared.records.latest()
        if shared is None or latest is None:
            return None
        participant, ticket = latest
        if participant == shared.me:
            return shared.own
        known = shared.awaited
        if known is not None and (known.participant, known.ticket) == latest and not known.record.task.done:
            return known.record
        if self._is_complete(shared, participant, ticket, process := shared.records.token(participant)):
            return self._complete
        task = self._scheduler.issue(
            self._timeline,
            "another process's record of an event",
            None,
            (),
            lambda: self._is_complete(shared, participant, ticket, process),
        )
        shared.awaited = _Awaited(shared, participant, ticket, process, Record(task, -1, 0, {}))
        self._awaited.append(shared.awaited)
        return shared.awaited.record

    def _is_complete(self, shared: _Shared, participant: int, ticket: int, process: bytes) -> bool:
        # What a process that has ended left behind is under way no more.
        return shared.records.is_complete(participant, ticket) or self._link.peers.has_ended(process)

    # -- going on ---------------------------------------------------------------------------------
    def outstanding(self) -> int:
        """Return how many records of others something here waits for."""
        self._awaited = [awaited for awaited in self._awaited if not awaited.record.task.done]
        return len(self._awaited)

    def ask_for(self, depth: int) -> int:
        """Ask the processes whose records are awaited to go on; return a number that changes when they do something."""
        found = 0
        for awaited in self._awaited:
            shared = awaited.shared
            wish = Request(Operation.GO_ON_TO, self._link.token, shared.identity, awaited.ticket, depth)
            self._link.peers.tell(awaited.process, wish)
            found += shared.records.beats(awaited.participant) + self._link.peers.has_ended(awaited.process)
        return found

    def go_on_to(self, identity: int, ticket: int) -> None:
        """Run a part of what a record needs that another process waits for."""
        for shared in self._shared.values():
            task = shared.pending.get(ticket) if shared.identity == identity else None
            if task is not None and not task.done:
                self._scheduler.query([task])

    def beat(self) -> None:
        """Say to all that this process is about something. Any thread may do so."""
        for shared in list(self._shared.values()):
            shared.records.beat(shared.me)

    # -- answering --------------------------------------------------------------------------------
    def answer_open(self, connection: Connection, request: Request) -> Answer:
        """Another process opens an event."""
        with self._guard:
            shared = self._offers.get(request.identity)
            if shared is None or not shared.events or not shared.events[0].alive:
                return Reply(INVALID_VALUE), -1
            mine = [number for number, opener in shared.openers.items() if opener is connection]
            free = (number for number in range(1, PARTICIPANTS) if number not in shared.openers)
            number = mine[0] if mine else next(free, 0)
            if not number:
                return Reply(OUT_OF_MEMORY), -1
            if not mine:
                shared.records.enter(number, request.sender)
                shared.openers[number] = connection
            return Reply(SUCCESS, number, shared.place, 0), self._file

    def answer_close(self, connection: Connection, request: Request) -> None:
        """Another process has no use for an event any more."""
        with self._guard:
            shared = self._offers.get(request.identity)
            if shared is not None:
                _leave(shared, connection)

    def answer_ended(self, connection: Connection) -> None:
        """Another process has ended."""
        with self._guard:
            for shared in self._offers.values():
                _leave(shared, connection)

    # -- the end ----------------------------------------------------------------------------------
    def close(self) -> None:
        """Let go of all files, as a process that ends, or a forked child, does."""
        self._guard = threading.Lock()
        if self._file >= 0:
            os.close(self._file)
        self._file, self._table = -1, None
        self._tables.clear()
        self._offers.clear()
        self._shared.clear()
        self._by_event.clear()
        self._awaited.clear()


def _leave(shared: _Shared, connection: Connection) -> None:
    for number in [number for number, opener in shared.openers.items() if opener is connection]:
        del shared.openers[number]
