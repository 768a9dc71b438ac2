"""What else changes when a free comes later: nobody gets the address in the meantime, and what failed for it succeeds.

A device hands a freed address out again at once. With the free further down, whoever got it gets another address: that
one is made up here, and put in wherever the address was that of the new owner. Which references are the new owner's
the trace says by their generations; where it does not, the edit is not made.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamsan.evidence.fix.edited_trace import Edits
from streamsan.platforms import platform_of
from streamsan.trace.launch_shapes import GENERATION_BITS
from streamsan.trace.store import Slots
from streamsan.vocabulary import OperationKind

ELSEWHERE = 1 << 62
"""Addresses from here on are nobody's."""
LAUNCHES_AND_WAITS = (
    OperationKind.GRAPH_LAUNCH,
    OperationKind.STREAM_SYNCHRONIZE,
    OperationKind.EVENT_SYNCHRONIZE,
    OperationKind.CONTEXT_SYNCHRONIZE,
)
_FIRST, _SECOND = ("sequence", 0), ("stream", 32)
"""Of a continuation: the slot's field that is an address, and the shift of its generation in the field `address`."""


def later_freed(edits: Edits, free: int, behind: int, extent: int) -> bool:
    """Make the changes that come with a free moved from its row behind another. Returns False where they are unknown.

    A graph's launch has its old address in its body: whatever follows the new owner's allocation is the new owner's.
    """
    slots, starts = edits.trace.slots, edits.trace.starts
    status = platform_of(edits.trace.trace.platform).status
    address = int(slots["address"][free])
    if int(slots["kind"][free]) == OperationKind.FREE and address:
        end = address + max(1, extent)
        part, between = slots[free + 1 : behind + 1], starts[free + 1 : behind + 1]
        begins = part["address"]
        owners = between & (part["kind"] == OperationKind.ALLOC) & (part["status"] == 0)
        owners &= (begins < end) & (address < begins + np.maximum(part["size"], 1))
        for number, owner in enumerate((np.flatnonzero(owners) + free + 1).tolist()):
            launches = int(slots["kind"][behind]) in LAUNCHES_AND_WAITS
            if not (launches or int(slots["object"][owner]) & GENERATION_BITS):
                return False
            if int(slots["size"][owner]) >= ELSEWHERE:  # no memory is so large: the trace is damaged
                return False
            _move_away(edits, owner, ELSEWHERE + (free << 32) + (number << 28))
        refused = between & (part["status"] == status.invalid_value) & (begins >= address) & (begins < end)
        _succeed(edits, np.flatnonzero(refused) + free + 1)
    # What a wrong access leaves behind is gone with it.
    sticky = np.isin(slots["status"][free:], list(status.sticky))
    _succeed(edits, np.flatnonzero(starts[free:] & sticky) + free)
    return True


def _succeed(edits: Edits, rows: NDArray[np.intp]) -> None:
    for row in rows.tolist():
        edits.changed.setdefault(row, {})["status"] = 0


def _move_away(edits: Edits, owner: int, new: int) -> None:
    """Give an allocation another address, in all that refers to it until it is freed."""
    slots, starts = edits.trace.slots, edits.trace.starts
    generation = int(slots["object"][owner]) & GENERATION_BITS
    old, size = int(slots["address"][owner]), max(1, int(slots["size"][owner]))
    edits.changed.setdefault(owner, {})["address"] = new
    later = slots[owner + 1 :]
    inside = (later["address"] >= old) & (later["address"] < old + size) & (later["object"] == generation)
    inside &= starts[owner + 1 :]
    frees = np.flatnonzero(inside & (later["kind"] == OperationKind.FREE)) + owner + 1
    own = [row for row in frees.tolist() if row not in edits.moved]
    # Without generations, what comes after its free is not its own any more.
    end = own[0] + 1 if own and not generation else len(slots)
    for row in (np.flatnonzero(inside[: end - owner - 1]) + owner + 1).tolist():
        if row not in edits.moved:
            edits.changed.setdefault(row, {})["address"] = new + int(slots["address"][row]) - old
    further = np.flatnonzero(later["kind"][: end - owner - 1] == OperationKind.REFERENCES) + owner + 1
    for row in further.tolist():
        _continuation(edits, slots, row, generation, (old, size, new))


def _continuation(edits: Edits, slots: Slots, row: int, generation: int, move: tuple[int, int, int]) -> None:
    if int(slots["kind"][row]) != OperationKind.REFERENCES:
        return
    old, size, new = move
    generations = int(slots["address"][row])
    for name, shift in (_FIRST, _SECOND):
        address = int(slots[name][row])
        if old <= address < old + size and generations >> shift & 0xFFFFFFFF == generation:
            edits.changed.setdefault(row, {})[name] = new + address - old
