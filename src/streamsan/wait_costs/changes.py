"""Edits of a recorded run whose time is asked about: what they leave, and which calls become cheap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field

from streamsan.evidence.fix.change_steps import FreeOnStream
from streamsan.evidence.fix.edited_trace import EditableTrace, Edits
from streamsan.evidence.fix.steps import USES
from streamsan.order.consumers import HOST_WAITS
from streamsan.order.places import PlaceKey
from streamsan.rules.case import Case
from streamsan.trace.store import ADDRESS_WORD, as_words, distinct
from streamsan.vocabulary import MemoryKind, OperationKind, RelatedRole

WAITS = (*HOST_WAITS, OperationKind.STREAM_WAIT_EVENT)


class Change(Struct, frozen=True):
    """What is done to a trace, so that several can be done together. Rows are those of the trace."""

    removed: frozenset[int] = frozenset()
    changed: dict[int, dict[str, int]] = field(default_factory=dict)
    cheap: tuple[int, ...] = ()
    """calls that take no longer than one that leaves stream-ordered work behind"""

    def beside(self, other: Change) -> Change:
        """Return both changes in one."""
        return Change(self.removed | other.removed, {**self.changed, **other.changed}, (*self.cheap, *other.cheap))

    def edits(self, trace: EditableTrace) -> Edits:
        """Return the change as edits of the trace."""
        edits = Edits(trace)
        edits.removed.update(self.removed)
        edits.changed.update({row: values for row, values in self.changed.items() if row not in self.removed})
        return edits


def waits_by_place(trace: EditableTrace) -> dict[tuple[PlaceKey, int], list[int]]:
    """Return the rows of the waits at each place of the program, by the place and the API."""
    slots = trace.slots
    found: dict[tuple[PlaceKey, int], list[int]] = {}
    rows = np.flatnonzero(trace.starts & np.isin(slots["kind"], WAITS) & (slots["status"] == 0))
    places = {site: trace.place(site) for site in distinct(slots["site"][rows])}
    for row, site, api in zip(rows.tolist(), slots["site"][rows].tolist(), slots["api"][rows].tolist(), strict=True):
        found.setdefault((places[site], api), []).append(row)
    return found


def without(rows: Sequence[int]) -> Change:
    """Return the change that takes calls out."""
    return Change(removed=frozenset(rows))


def stream_ordered(trace: EditableTrace, case: Case) -> Change | None:
    """Return the change of blocking frees, and their allocations, to stream-ordered ones; None where it has no place.

    Each free goes into the stream of its memory's last use.
    """
    use, made = case.first(RelatedRole.USE) or case.first(RelatedRole.OTHER), case.allocation
    edits = Edits(trace)
    if use is None or made is None or made.kind is not MemoryKind.PLAIN:
        return None
    if not FreeOnStream(case.operation, use).apply(edits):
        return None
    changed = dict(edits.changed)
    slots = trace.slots
    streams: dict[int, list[tuple[int, int]]] = {}
    for row in sorted(changed):
        streams.setdefault(int(slots["address"][row]), []).append((row, changed[row]["stream"]))
    allocations = trace.calls_at(made.site, OperationKind.ALLOC)
    for row in allocations:
        later = [stream for free, stream in streams.get(int(slots["address"][row]), ()) if free > row]
        if not later:
            return None
        changed[row] = {"detail": MemoryKind.STREAM_ORDERED, "stream": later[0]}
    return Change(changed=changed, cheap=tuple(sorted(changed)))


def allocated_once(trace: EditableTrace, case: Case) -> Change | None:
    """Return the change of a loop that allocates and frees to one that keeps the memory; None where it has no place."""
    made, freed = case.allocation, case.first(RelatedRole.FREE)
    if made is None or freed is None:
        return None
    allocations = trace.calls_at(made.site, OperationKind.ALLOC)
    frees = trace.instances(freed)
    addresses = set(trace.slots["address"][[*allocations, *frees]].tolist())
    # With several addresses it is not known which use would be of which memory. On several streams the turns may
    # overlap: each then needs memory of its own, whatever is known of what its kernels do.
    if (
        len(addresses) != 1
        or not allocations
        or not frees
        or len(_using_streams(trace, addresses.pop(), made.size)) > 1
    ):
        return None
    return without([*allocations[1:], *frees[:-1]])


def _using_streams(trace: EditableTrace, address: int, size: int) -> set[int]:
    """Return the streams whose work refers to [address, address + size)."""
    slots = trace.slots
    owner = np.maximum.accumulate(np.where(trace.starts, np.arange(len(slots)), 0))
    words = as_words(np.ascontiguousarray(slots))
    more = slots["kind"] == OperationKind.REFERENCES
    first = np.where(more, words[:, 0], words[:, ADDRESS_WORD])
    second = np.where(more, words[:, 2], 0)
    low, high = np.uint64(address), np.uint64(address + max(1, size))
    meets = ((first >= low) & (first < high)) | ((second >= low) & (second < high))
    rows = owner[meets]
    works = np.isin(slots["kind"][rows], USES)
    return set(slots["stream"][rows[works]].tolist())
