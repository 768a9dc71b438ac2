"""How many words of each memory are replayed, and which of them an access means.

A replay shows that words are wrong, not how many megabytes: each memory has at most 1,024 words, and every range that
the program tells from others has some of them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from streamsan.replay.replayed_steps import Access, Memory

WORD = 4
"""bytes"""
MOST_WORDS = 1024


class Layout:
    """The words of one memory. Make it when all accesses are known."""

    def __init__(self, memory: Memory) -> None:
        self._starts = sorted(memory.starts)
        whole = -(-memory.size // WORD)
        exact = 0 < whole <= MOST_WORDS and all(cut % WORD == 0 for cut in memory.cuts if cut < memory.size)
        self._cuts = sorted(cut for cut in memory.cuts if cut == 0 or not memory.size or cut < memory.size)
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
