"""How many words of each memory are replayed, and which of them an access means.

A replay shows that words are wrong, not how many megabytes: each memory has at most 1,024 words, and every range that
the program tells from others has some of them: each row of a copy in two dimensions, too, while they are not too many.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from streamsan.replay.replayed_steps import Access, Memory
from streamsan.trace.rows import Rows

WORD = 4
"""bytes"""
MOST_WORDS = 1024
MOST_ROWS = 4096
"""Rows of one memory that are told from what lies between them: each costs a word or two."""
Numbers = npt.NDArray[np.intp]


class Layout:
    """The words of one memory. Make it when all accesses are known."""

    def __init__(self, memory: Memory) -> None:
        self._starts = sorted(memory.starts)
        whole = -(-memory.size // WORD)
        told = _rows_that_are_told(memory)
        cuts = memory.cuts.union(*(edge for begin, rows in told for edge in _edges(begin, rows)))
        exact = 0 < whole <= MOST_WORDS and all(cut % WORD == 0 for cut in cuts if cut < memory.size)
        self._cuts = sorted(cut for cut in cuts if cut == 0 or not memory.size or cut < memory.size)
        if exact:
            self._firsts = [cut // WORD for cut in self._cuts]
            self.words = whole
            """how many there are"""
        else:
            share = max(1, MOST_WORDS // len(self._cuts))
            ends = [*self._cuts[1:], memory.size]
            self._firsts = []
            self.words = 0
            for begin, end in zip(self._cuts, ends, strict=True):
                self._firsts.append(self.words)
                self.words += min(share, max(1, -(-(end - begin) // WORD))) if end > begin else share

        self._rows = {(begin, rows): self._words_of(begin, rows) for begin, rows in told}

    def _words_of(self, begin: int, rows: Rows) -> Numbers:
        edges = [(self._word(first), self._word(end)) for first, end in _edges(begin, rows)]
        return np.concatenate([np.arange(first, end) for first, end in edges])

    def rows(self, access: Access) -> Numbers | None:
        """Return the numbers of the words of an access, where it leaves out some of its range; None otherwise."""
        return None if access.rows is None else self._rows.get((access.begin, access.rows))

    def range(self, access: Access) -> tuple[int, int]:
        """Return the first word of an access and one past its last. One of unknown extent ends where another begins."""
        end = access.end
        if not end:
            following = bisect_right(self._starts, access.begin)
            end = self._starts[following] if following < len(self._starts) else 0
        return self._word(access.begin), self._word(end) if end else self.words

    def _word(self, offset: int) -> int:
        index = bisect_left(self._cuts, offset)
        return self._firsts[index] if index < len(self._cuts) else self.words


def _rows_that_are_told(memory: Memory) -> list[tuple[int, Rows]]:
    """Return what has few rows first, as far as there is room. All else is taken for the whole range."""
    chosen, count = [], 0
    for begin, rows in sorted(memory.rows, key=lambda each: (each[1].count * each[1].slices, each[0])):
        count += rows.count * rows.slices
        if count > MOST_ROWS:
            break
        chosen.append((begin, rows))
    return chosen


def _edges(begin: int, rows: Rows) -> Iterator[tuple[int, int]]:
    """Yield where each row begins and ends."""
    for part in range(rows.slices):
        for row in range(rows.count):
            first = begin + part * rows.slice_pitch + row * rows.pitch
            yield first, first + rows.width
