"""The words that processes share of an event."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from streamsan.sim.exchange.records import EVENT_SIZE, MOST_EVENTS, PARTICIPANTS, RING, TABLE_SIZE, Records, Table
from streamsan.sim.executor.memory_files import new_file

OWNER, OTHER = 0, 5


@pytest.fixture
def records() -> Records:
    return Records(np.zeros(EVENT_SIZE // 8, np.uint64))


def test_an_event_that_was_never_recorded(records: Records) -> None:
    assert records.latest() is None


def test_the_latest_record_is_the_last_writer_s(records: Records) -> None:
    assert records.begin(OWNER) == 1
    assert records.latest() == (OWNER, 1)
    assert records.begin(OTHER) == 1
    assert records.latest() == (OTHER, 1)
    assert records.begin(OWNER) == records.next(OWNER) - 1 == 2
    assert records.latest() == (OWNER, 2)


def test_records_are_complete_one_by_one(records: Records) -> None:
    first, second = records.begin(OTHER), records.begin(OTHER)
    assert not records.is_complete(OTHER, first)
    records.complete(OTHER, second)
    assert records.is_complete(OTHER, second)
    assert not records.is_complete(OTHER, first)
    records.complete(OTHER, first)
    assert records.is_complete(OTHER, first)


def test_what_a_later_record_has_taken_the_place_of_is_complete(records: Records) -> None:
    first = records.begin(OTHER)
    for _ in range(RING - 1):
        records.complete(OTHER, records.begin(OTHER))
    assert not records.is_complete(OTHER, first)
    records.complete(OTHER, first)
    assert records.begin(OTHER) == first + RING
    assert records.is_complete(OTHER, first)
    assert not records.is_complete(OTHER, first + RING)


def test_another_process_in_the_same_place(records: Records) -> None:
    records.enter(OTHER, b"a" * 16)
    left = records.begin(OTHER)
    records.enter(OTHER, b"b" * 16)
    assert records.token(OTHER) == b"b" * 16
    assert records.is_complete(OTHER, left)
    assert not records.is_complete(OTHER, records.begin(OTHER))


def test_beats(records: Records) -> None:
    assert records.beats(OTHER) == 0
    records.beat(OTHER)
    records.beat(OTHER)
    assert (records.beats(OTHER), records.beats(OWNER)) == (2, 0)


def test_participants_and_events_do_not_touch_each_other() -> None:
    file = new_file(TABLE_SIZE)
    table, again = Table(file), Table(file)
    for place in (0, 1, MOST_EVENTS - 1):
        mine, theirs = table.records(place), again.records(place)
        for participant in (0, 1, PARTICIPANTS - 1):
            mine.enter(participant, bytes([participant]) * 16)
            ticket = mine.begin(participant)
            assert theirs.latest() == (participant, ticket)
            mine.complete(participant, ticket)
            assert theirs.is_complete(participant, ticket)
            assert theirs.token(participant) == bytes([participant]) * 16
    for place in (-1, MOST_EVENTS):
        with pytest.raises(OSError, match="no such event"):
            table.records(place)
    os.close(file)


def test_nonsense_in_the_words_is_no_error() -> None:
    words = np.frombuffer(random.Random(3).randbytes(EVENT_SIZE), np.uint64).copy()
    records = Records(words)
    latest = records.latest()
    assert latest is None or latest[0] < PARTICIPANTS
    for participant in range(PARTICIPANTS):
        records.is_complete(participant, 1 << 40)
        records.beats(participant)


def test_files_that_are_not_as_they_say() -> None:
    file = new_file(4096)
    with pytest.raises(OSError, match="the file is not"):
        Table(file)
    os.close(file)
    unsealed = os.memfd_create("unsealed")
    os.ftruncate(unsealed, TABLE_SIZE)
    with pytest.raises(OSError, match="the file is not"):
        Table(unsealed)
    os.close(unsealed)
    read, write = os.pipe()
    for end in (read, write):
        with pytest.raises(OSError, match=r"file|argument"):
            Table(end)
        os.close(end)
