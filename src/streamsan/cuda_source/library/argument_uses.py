"""How calls of a library use the memory of each argument, as a row of the tables says it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from streamsan.cuda_source.values.cells import Value
from streamsan.kernels.uses import Use
from streamsan.patterns.late_pattern import late_pattern
from streamsan.vocabulary import AccessMode, SlotFlag

Used = list[tuple[Value, Use]]
"""memory, and how a call uses it"""

_WRITES = (AccessMode.WRITE, AccessMode.READ_WRITE)
_ANYHOW = Use(AccessMode.OPAQUE)
_USES = {
    "reads": Use(AccessMode.READ, SlotFlag.TOUCHES),
    "writes": Use(AccessMode.WRITE, SlotFlag.TOUCHES),
    "updates": Use(AccessMode.READ_WRITE, SlotFlag.TOUCHES),
    "may_read": Use(AccessMode.READ),
    "may_write": Use(AccessMode.WRITE),
}


class ArgumentUses(Struct):
    """How some calls use the memory of their arguments."""

    names: re.Pattern[str]
    places: dict[int, Use | None]
    """by the argument's position; None: not at all"""
    arguments: int
    """how many a call has; 0: any number"""

    @classmethod
    def of_row(cls, row: dict[str, Any]) -> ArgumentUses:
        """Return what a row says."""
        found: dict[int, Use | None] = dict.fromkeys(row.get("ends", ()))
        for key, use in _USES.items():
            found.update(dict.fromkeys(row.get(key, ()), use))
        return cls(late_pattern(row["names"]), found, row.get("arguments", 0))

    def serve(self, memory: Sequence[list[Value]]) -> bool:
        """Tell whether a call with such memory, by position, is one of these: there is memory wherever it writes.

        What it reads may be no memory: an iterator that counts.
        """
        if self.arguments not in (0, len(memory)) or max(self.places) >= len(memory):
            return False
        return all(memory[place] for place, use in self.places.items() if use is not None and use.mode in _WRITES)


def used_anyhow(memory: Sequence[list[Value]]) -> Used:
    """Return the memory of a call of which nothing is known."""
    return [(value, _ANYHOW) for values in memory for value in values]


def used_by(rows: Sequence[ArgumentUses], memory: Sequence[list[Value]]) -> Used:
    """Return how a call uses its memory, which is given by position, by the first row that serves it."""
    places = next((row.places for row in rows if row.serve(memory)), {})
    found: Used = []
    for place, values in enumerate(memory):
        use = places.get(place, _ANYHOW)
        if use is not None:
            # An object with several parts may leave one of them alone.
            exact = use if len(values) == 1 else Use(use.mode, use.flags & ~SlotFlag.TOUCHES)
            found += [(value, exact) for value in values]
    return found
