"""Slots that a second thread reads while what came before them is looked at."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from streamsan.trace.store import Slots, SlotStore

FIRST_CHUNKS = 2
"""that are read without a thread: a short trace has no more"""


class SlotsAhead:
    """The slots of a store, one chunk ahead of who asks for them. Most of reading and analysing needs no Python."""

    def __init__(self, slots: SlotStore) -> None:
        self._slots = slots

    def count(self) -> int:
        """Return the number of operations."""
        return self._slots.count()

    def chunks(self, size: int, first: int) -> Iterator[Slots]:
        """Yield the slots. Raises what the store raises."""
        chunks = self._slots.chunks(size, first)
        yield from islice(chunks, FIRST_CHUNKS)
        yield from _ahead(chunks)


def _ahead(chunks: Iterator[Slots]) -> Iterator[Slots]:
    # Loaded late, for the time that it takes: short traces need no thread.
    from concurrent.futures import ThreadPoolExecutor

    following = next(chunks, None)
    if following is None:
        return
    with ThreadPoolExecutor(1) as reader:
        ahead = reader.submit(next, chunks, None)
        while following is not None:
            yield following
            following = ahead.result()
            if following is not None:
                ahead = reader.submit(next, chunks, None)
