"""What processes know of an event that they share: its latest record, and which records are complete.

Each process that has the event is a participant and writes its own part only; the word for the latest record is the
last writer's, as the event is. Words are 64 bits and aligned, so none is ever half written.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streamsan.sim.exchange.messages import TOKEN_SIZE
from streamsan.sim.exchange.shared_pages import Window
from streamsan.sim.executor.memory_files import check_file

Words = npt.NDArray[np.uint64]

PARTICIPANTS = 64
MOST_EVENTS = 1024
"""that a process exports at a time"""
_WORDS = 128
"""of a participant"""
EVENT_SIZE = PARTICIPANTS * _WORDS * 8
TABLE_SIZE = MOST_EVENTS * EVENT_SIZE
_TOKEN, _BEATS, _NEXT, _FLOOR, _LATEST, _RING = 0, 2, 3, 4, 5, 8
RING = _WORDS - _RING
"""records of one participant that may be under way at a time"""
_TICKET = 48
"""bits: the number of a record among its participant's"""
_MASK = (1 << _TICKET) - 1


class Records:
    """One event's words. A record is (participant, ticket); tickets begin at 1."""

    def __init__(self, words: Words) -> None:
        self._words = words.reshape(PARTICIPANTS, _WORDS)

    def clear(self) -> None:
        """Begin as an event that nobody has recorded."""
        self._words[:] = 0

    def enter(self, participant: int, token: bytes) -> None:
        """Let a process be a participant; what an earlier one in its place has recorded is complete."""
        words = self._words[participant]
        words[_FLOOR] = words[_NEXT]
        words[_TOKEN : _TOKEN + 2] = np.frombuffer(token, dtype=np.uint64)

    def token(self, participant: int) -> bytes:
        """Return which process a participant is."""
        content = self._words[participant, _TOKEN : _TOKEN + 2].tobytes()
        assert len(content) == TOKEN_SIZE
        return content

    def latest(self) -> tuple[int, int] | None:
        """Return the latest record; None: the event was never recorded."""
        word = int(self._words[0, _LATEST])
        participant, ticket = word >> _TICKET, word & _MASK
        return (participant, ticket) if ticket and participant < PARTICIPANTS else None

    def begin(self, participant: int) -> int:
        """Record the event; return the ticket. The record RING tickets before it must be complete."""
        words = self._words[participant]
        ticket = int(words[_NEXT]) + 1
        words[_RING + ticket % RING] = ticket << 1
        words[_NEXT] = ticket
        self._words[0, _LATEST] = participant << _TICKET | ticket
        return ticket

    def next(self, participant: int) -> int:
        """Return the ticket that `begin` will give."""
        return int(self._words[participant, _NEXT]) + 1

    def complete(self, participant: int, ticket: int) -> None:
        """Say that a record of one's own is complete."""
        self._words[participant, _RING + ticket % RING] = ticket << 1 | 1

    def is_complete(self, participant: int, ticket: int) -> bool:
        """Return whether a record is complete."""
        words = self._words[participant]
        if ticket <= int(words[_FLOOR]):
            return True
        found = int(words[_RING + ticket % RING])
        return found >> 1 > ticket or found == ticket << 1 | 1

    def beat(self, participant: int) -> None:
        """Say that the process does something: it computes, or has run work for others."""
        words = self._words[participant]
        words[_BEATS] = (int(words[_BEATS]) + 1) & (1 << 63) - 1

    def beats(self, participant: int) -> int:
        """Return how often a participant has said so."""
        return int(self._words[participant, _BEATS])


class Table:
    """The events that one process exports. Raises OSError."""

    def __init__(self, file: int) -> None:
        """Map a table's file, which this process has made or was given."""
        check_file(file, TABLE_SIZE)
        self._window = Window(file, 0, TABLE_SIZE, [])
        self._words: Words = self._window.region.bytes.view(np.uint64)

    def records(self, place: int) -> Records:
        """Return the words of an event. Raises OSError for a place outside."""
        if not 0 <= place < MOST_EVENTS:
            raise OSError("no such event")
        size = EVENT_SIZE // 8
        return Records(self._words[place * size : (place + 1) * size])
