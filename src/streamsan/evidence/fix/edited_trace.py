"""A trace that is edited in memory: operations put in, taken out, moved or changed, for the engine to analyse again."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from streamsan.order.analysed_trace import AnalysedTrace
from streamsan.order.consumers import HOST_WAITS, LAST_DEFAULT_STREAM, operation_of
from streamsan.order.facts import Operation
from streamsan.order.places import PlaceKey, place_of
from streamsan.order.rearrangement import operation_starts, rearranged
from streamsan.rules.case import Names
from streamsan.trace.current_devices import CurrentDevices
from streamsan.trace.layout import SLOT
from streamsan.trace.packed_slots import Slot
from streamsan.trace.site import Site
from streamsan.trace.source_lines import SourceLines
from streamsan.trace.store import Slots, distinct, joined, packed_of
from streamsan.trace.trace import Thread
from streamsan.vocabulary import OperationKind, SlotFlag

if TYPE_CHECKING:
    from streamsan.trace.packed_slots import Packed

FIRST_INSERTED_SITE = 1 << 31
"""Sites of operations that are put in; no trace has so many of its own."""
FIRST_INSERTED_EVENT = (1 << 63) + (1 << 32)
"""Handles of events that are put in."""
INSERTED = "<put in>"
"""the file of operations that are put in"""
FIELDS_OF_A_CALL = ("object", "address", "size", "stream", "api", "status", "detail", "flags", "more", "duration")


class Analysed(AnalysedTrace, Names, Protocol):
    """What is asked of a trace to find what is wrong in it."""


class EditableTrace:
    """All slots of a trace as one array, and where its operations are."""

    def __init__(self, trace: Analysed) -> None:
        self.trace = trace
        parts = list(trace.chunks())
        self.slots: Slots = np.concatenate(parts) if parts else np.empty(0, SLOT)
        self.starts = operation_starts(self.slots)
        self._places: dict[int, PlaceKey] = {}
        self._rows: dict[tuple[PlaceKey, int], list[int]] = {}

    def row(self, operation: Operation) -> int | None:
        """Return the row of an operation, None where the trace does not have it."""
        rows = np.flatnonzero(self.starts & (self.slots["sequence"] == operation.sequence))
        return int(rows[0]) if len(rows) else None

    def place(self, site: int) -> PlaceKey:
        """Return the place of a site."""
        place = self._places.get(site)
        if place is None:
            place = self._places[site] = place_of(self.trace, site)
        return place

    def process(self, row: int) -> int:
        """Return the number of the process that a row is of."""
        threads, thread = self.trace.threads, int(self.slots["thread"][row])
        return threads[thread].process if thread < len(threads) else -1

    def instances(self, operation: Operation) -> list[int]:
        """Return the rows of all successful operations of this kind at this operation's place, in order."""
        return self.calls_at(operation.site, operation.kind)

    def calls_at(self, site: int, kind: OperationKind) -> list[int]:
        """Return the rows of all operations of this kind at the place of a site, in order."""
        key = (self.place(site), int(kind))
        found = self._rows.get(key)
        if found is None:
            rows = np.flatnonzero(self.starts & (self.slots["kind"] == kind))
            sites = self.slots["site"][rows]
            same = [each for each in distinct(sites) if self.place(each) == key[0]]
            found = self._rows[key] = rows[np.isin(sites, same)].tolist()
        return found

    def context(self, row: int) -> int:
        """Return the context that is current to the thread of a row, 0 where that is not known."""
        before = self.slots[: row + 1]
        current = before[
            (before["kind"] == OperationKind.CONTEXT_CURRENT) & (before["thread"] == self.slots["thread"][row])
        ]
        return int(current["object"][-1]) if len(current) else 0

    def context_of_stream(self, row: int) -> int:
        """Return the context of the stream that an operation runs on, 0 where that is not known."""
        stream = int(self.slots["stream"][row])
        if stream <= LAST_DEFAULT_STREAM:
            return self.context(row)
        before = self.slots[:row]
        made = np.flatnonzero(
            self.starts[:row] & (before["kind"] == OperationKind.STREAM_CREATE) & (before["object"] == stream)
        )
        if not len(made) or int(before["flags"][made[-1]]) & SlotFlag.ASSUMED:
            return 0
        return self.context(int(made[-1]))


def operation_at(trace: EditableTrace, row: int) -> Operation:
    """Return the operation that begins at a row as one of a fact."""
    slots = trace.slots
    before, stream = slots[:row], slots["stream"][row]
    made = np.flatnonzero((before["kind"] == OperationKind.STREAM_CREATE) & (before["object"] == stream))
    creation = Slot._make(before[int(made[-1])].item()) if stream and len(made) else None
    return operation_of(trace.trace, Slot._make(slots[row].item()), creation)


def is_longer(trace: Analysed, slots: int) -> bool:
    """Tell whether a trace has more than so many slots, reading no further than it has to."""
    total = 0
    for chunk in trace.chunks():
        total += len(chunk)
        if total > slots:
            return True
    return False


def beginning(trace: Analysed, last: int, beyond: int, most: int) -> EditedTrace | None:
    """Return a trace up to the operation numbered `last` and some slots beyond, None where that is more than `most`.

    Reads no further than it has to.
    """
    parts: list[Slots] = []
    total, end = 0, -1
    for chunk in trace.chunks():
        parts.append(chunk)
        if end < 0:
            rows = np.flatnonzero(operation_starts(chunk) & (chunk["sequence"] == last))
            end = total + int(rows[0]) + 1 + beyond if len(rows) else -1
        total += len(chunk)
        if 0 <= end <= total or total > most + beyond:
            break
    if not 0 <= end <= most:
        return None
    slots = joined(parts)
    # An operation is not cut from its continuations.
    starts = np.flatnonzero(operation_starts(slots[: end + 1]))
    return EditedTrace(trace, slots[: int(starts[-1])] if end < len(slots) else slots, 0)


class Edits:
    """What to change in a trace. Rows are those of the trace before any change."""

    def __init__(self, trace: EditableTrace) -> None:
        self.trace = trace
        self.before: dict[int, list[Slots]] = {}
        self.behind: dict[int, list[Slots]] = {}
        self.removed: set[int] = set()
        self.changed: dict[int, dict[str, int]] = {}
        self.moved: dict[int, int] = {}
        """row -> row behind which it goes"""
        self._sites = trace.trace.inserted if isinstance(trace.trace, EditedTrace) else 0

    def site(self) -> int:
        """Return the site of a call that is put in at one place of the program."""
        self._sites += 1
        return FIRST_INSERTED_SITE + self._sites

    def event(self) -> int:
        """Return the handle of a new event."""
        self._sites += 1
        return FIRST_INSERTED_EVENT + self._sites

    def call(self, like: int, kind: OperationKind, site: int, **values: int) -> Slots:
        """Return an operation of the same thread and time as that of a row."""
        slot = self.trace.slots[like : like + 1].copy()
        for name in FIELDS_OF_A_CALL:
            slot[name] = 0
        slot["kind"], slot["site"] = kind, site
        for name, value in values.items():
            slot[name] = value
        return slot

    def put_before(self, row: int, slots: Sequence[Slots]) -> None:
        """Put operations in just before that of a row."""
        self.before.setdefault(row, []).extend(slots)

    def put_behind(self, row: int, slots: Sequence[Slots]) -> None:
        """Put operations in just behind that of a row."""
        self.behind.setdefault(row, []).extend(slots)

    def applied(self) -> EditedTrace:
        """Return the trace with all changes made."""
        slots = self.trace.slots
        if self.changed:
            slots = slots.copy()
            for row, values in self.changed.items():
                for name, value in values.items():
                    slots[name][row] = value
        return EditedTrace(
            self.trace.trace, rearranged(slots, self.before, self.behind, self.removed, self.moved), self._sites
        )


class EditedTrace:
    """The edited slots under the names of the trace that they come from."""

    def __init__(self, trace: Analysed, slots: Slots, inserted: int) -> None:
        self._trace = trace
        self.slots = slots
        self.inserted = inserted
        """how many sites and events were put in"""

    @property
    def waits(self) -> bool:
        """Whether a wait of the host was put in."""
        return bool(np.any((self.slots["site"] > FIRST_INSERTED_SITE) & np.isin(self.slots["kind"], HOST_WAITS)))

    @property
    def path(self) -> str:
        """The original's."""
        return self._trace.path

    @property
    def platform(self) -> str:
        """The original's."""
        return self._trace.platform

    @property
    def origin(self) -> str:
        """The original's."""
        return self._trace.origin

    @property
    def apis(self) -> Sequence[str]:
        """The original's."""
        return self._trace.apis

    @property
    def threads(self) -> Sequence[Thread]:
        """The original's."""
        return self._trace.threads

    @property
    def ranks(self) -> Mapping[int, int]:
        """The original's."""
        return self._trace.ranks

    @property
    def judged_from(self) -> int:
        """As in the trace."""
        return self._trace.judged_from

    @property
    def read_kernels(self) -> Container[int]:
        """As in the trace."""
        return self._trace.read_kernels

    @property
    def talkers(self) -> Container[int]:
        """As in the trace."""
        return self._trace.talkers

    @property
    def seen_launches(self) -> Container[int]:
        """As in the trace."""
        return self._trace.seen_launches

    @property
    def constants(self) -> Container[str]:
        """As in the trace."""
        return self._trace.constants

    @property
    def source_lines(self) -> SourceLines:
        """The original's."""
        return self._trace.source_lines

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The original's."""
        return self._trace.metadata

    def library_of(self, number: int) -> str:
        """As in the trace."""
        return self._trace.library_of(number) if number <= FIRST_INSERTED_SITE else ""

    def library_call(self, number: int) -> Site:
        """As in the trace."""
        return self._trace.library_call(number if number <= FIRST_INSERTED_SITE else 0)

    def current_device(self, thread: int, sequence: int) -> int | None:
        """Return the device that is current to a thread at an operation, None where that is not known."""
        return CurrentDevices(self.chunks()).of(thread, sequence)

    def site(self, number: int) -> Site:
        """Return a site of the original, or one that stands for a place where something was put in."""
        if number > FIRST_INSERTED_SITE:
            return Site(INSERTED, number - FIRST_INSERTED_SITE)
        return self._trace.site(number)

    def chunks(self) -> Iterator[Slots]:
        """Yield all slots at once."""
        yield self.slots

    def packed(self) -> Iterator[Packed]:
        """Yield them as bytes."""
        yield packed_of(self.slots)
