"""Slots that are read ahead are those of the store, in their order; what goes wrong there goes wrong here."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
from trace_samples import sample

from streamsan.trace import TraceError
from streamsan.trace.slots_ahead import FIRST_CHUNKS, SlotsAhead
from streamsan.trace.store import MemorySlots, Slots

LIMIT_S = 20
"""how long a thread is waited for that does not come"""


class _Watched:
    """A store that says which chunk it was asked for, and by which thread; it may be damaged at one."""

    def __init__(self, slots: Slots, damaged: int = -1) -> None:
        self._slots = MemorySlots(slots)
        self._damaged = damaged
        self.threads: list[threading.Thread] = []
        self.asked = threading.Semaphore(0)

    def count(self) -> int:
        return self._slots.count()

    def chunks(self, size: int, first: int) -> Iterator[Slots]:
        for number, chunk in enumerate(self._slots.chunks(size, first)):
            if number == self._damaged:
                raise TraceError("run.sst", "damaged")
            self.threads.append(threading.current_thread())
            self.asked.release()
            yield chunk


def _slots() -> Slots:
    return np.concatenate(list(sample(3000).chunks()))


@pytest.mark.parametrize("count", [0, 1, 100, 3000])
def test_the_slots_are_those_of_the_store(count: int) -> None:
    slots = np.concatenate([_slots()[:0], *sample(count).chunks()])
    store = MemorySlots(slots)
    ahead = SlotsAhead(store)
    assert ahead.count() == store.count()
    expected = [chunk.tobytes() for chunk in store.chunks(256, 0)]
    assert [chunk.tobytes() for chunk in ahead.chunks(256, 0)] == expected


def test_the_next_chunk_is_read_while_one_is_looked_at() -> None:
    store = _Watched(_slots())
    chunks = SlotsAhead(store).chunks(256, 0)
    for number in range(FIRST_CHUNKS + 3):
        next(chunks)
        assert store.asked.acquire(timeout=LIMIT_S)
        if number >= FIRST_CHUNKS:
            assert store.asked.acquire(timeout=LIMIT_S)  # the one behind it
            store.asked.release()
    assert {thread is threading.main_thread() for thread in store.threads[FIRST_CHUNKS + 1 :]} == {False}
    chunks.close()  # type: ignore[attr-defined]


def test_a_short_trace_needs_no_thread() -> None:
    store = _Watched(_slots()[:400])
    assert len(list(SlotsAhead(store).chunks(256, 0))) <= FIRST_CHUNKS
    assert set(store.threads) == {threading.main_thread()}


def test_who_stops_early_leaves_no_thread() -> None:
    before = threading.active_count()
    chunks = SlotsAhead(_Watched(_slots())).chunks(256, 0)
    for _ in range(FIRST_CHUNKS + 2):
        next(chunks)
    chunks.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before


@pytest.mark.parametrize("damaged", [0, FIRST_CHUNKS, FIRST_CHUNKS + 1, FIRST_CHUNKS + 3])
def test_damage_is_told_where_it_is(damaged: int) -> None:
    seen: list[Slots] = []
    with pytest.raises(TraceError, match="damaged"):
        seen.extend(SlotsAhead(_Watched(_slots(), damaged)).chunks(256, 0))
    assert len(seen) == damaged
