"""A trace file that is being written: each look takes what was committed since the last one, and no more."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from msgspec import Struct

from streamsan.trace import reader
from streamsan.trace.errors import TraceError
from streamsan.trace.family import LateSymboliser
from streamsan.trace.file_layout import SegmentFlag, SegmentType
from streamsan.trace.header import read_header
from streamsan.trace.layout import SLOT
from streamsan.trace.merge import FileSlots
from streamsan.trace.random_access import RandomAccessFile
from streamsan.trace.segments import HEADER_SIZE, Segment, segment_at
from streamsan.trace.site import UNKNOWN_SITE, Site
from streamsan.trace.slot_fields import FIRST_CONTINUATION_KIND
from streamsan.trace.store import Slots
from streamsan.trace.trace import Trace
from streamsan.vocabulary import SlotFlag

MOST_AT_ONCE = 1 << 20
"""slots that one look takes: 64 MiB"""
SMALL_TABLES = 1 << 22
"""bytes of side tables that are read anew whenever they have grown; larger ones when they have grown by a tenth"""


class _OpenSegment(Struct):
    """A segment of operations that may get more."""

    offset: int
    lane: int
    taken: int = 0
    """slots of it that were given out"""


class GrowingTrace:
    """One file. Its operations come in the order of their sequences within a look."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.ended = False
        """the writer has closed the file, or is no more"""
        self.behind = False
        """there is more than one look takes"""
        self.waiting: list[tuple[int, int]] = []
        """calls that were entered and have not returned: API index and site id"""
        self._next = 0
        """where the chain of segments goes on"""
        self._open: list[_OpenSegment] = []
        self._tables: dict[int, int] = {}
        """place of a segment of side tables -> its committed bytes"""
        self._writer = self._inode = 0
        """process id of who records, and the file's own number; 0: not known"""
        self._closed = self._gone = False
        """whether there is an end mark, or nobody who could write one"""
        self._newest = self._after = 0
        """the highest sequence that was given out, now, and when the file was last replaced"""
        self._names: Trace | None = None
        self._names_bytes = -1

    def look(self) -> Slots:
        """Return the operations (without their continuation slots) that are new. Raises TraceError where damaged."""
        if self.ended:
            return np.empty(0, SLOT)  # what comes to a closed file are names
        file = RandomAccessFile(self.path)
        try:
            self._begin_anew_where_replaced()
            if not self._next:
                self._next, metadata = read_header(file)
                writer = metadata.get("process")
                self._writer = writer if isinstance(writer, int) else 0
            # Before what it wrote is read: it writes no more then.
            self._gone = self._writer > 0 and not os.path.exists(f"/proc/{self._writer}")
            self._find_segments(file)
            slots = self._new_operations(file)
        finally:
            file.close()
        # Not before all of it was given out.
        self.ended = (self._closed or self._gone) and not self.behind
        slots = slots[slots["sequence"] > self._after]
        if len(slots):
            self._newest = max(self._newest, int(slots["sequence"][-1]))
        return slots

    def _begin_anew_where_replaced(self) -> None:
        """A recorder that bounds its trace begins a new file under the same name: what is older was seen."""
        try:
            number = os.stat(self.path).st_ino
        except OSError:
            return
        if self._inode not in (0, number):
            self._next, self._after = 0, self._newest
            self._open, self._tables = [], {}
            self._names, self._names_bytes = None, -1
        self._inode = number

    def _find_segments(self, file: RandomAccessFile) -> None:
        for place in self._tables:
            self._tables[place] = _segment(file, place)[0].size
        while not self._closed and file.size - self._next >= HEADER_SIZE and any(file.read(self._next, HEADER_SIZE)):
            segment, capacity = _segment(file, self._next)
            if segment.cut:
                return  # its space is still being made
            if segment.type == SegmentType.END:
                if not segment.size:
                    return
                self._closed = True
            elif segment.type != SegmentType.OPERATIONS:
                self._tables[self._next] = segment.size
            elif not segment.flags & SegmentFlag.SNAPSHOT:
                self._open.append(_OpenSegment(self._next, segment.lane))
            self._next += HEADER_SIZE + capacity

    def _new_operations(self, file: RandomAccessFile) -> Slots:
        # The later ones first: when one has something, the one before it in its lane has all that it will ever have.
        sizes = [_segment(file, each.offset)[0].size // SLOT.itemsize for each in reversed(self._open)][::-1]
        followed = {each.lane: number for number, each in enumerate(self._open) if sizes[number]}
        parts: list[Slots] = []
        held: set[int] = set()
        still_open: list[_OpenSegment] = []
        left = MOST_AT_ONCE
        self.waiting, self.behind = [], False
        for number, (each, size) in enumerate(zip(self._open, sizes, strict=True)):
            if each.lane not in held and left:
                count = min(size - each.taken, left)
                slots = np.empty(count, SLOT)
                if count:
                    file.read_into(each.offset + HEADER_SIZE + each.taken * SLOT.itemsize, slots)
                taken = self._returned(slots)
                parts.append(slots[:taken][slots["kind"][:taken] < FIRST_CONTINUATION_KIND])
                each.taken += taken
                left -= count
                if taken < count:
                    held.add(each.lane)
            self.behind = self.behind or (each.taken < size and each.lane not in held)
            if each.taken < size or followed.get(each.lane, number) <= number:
                still_open.append(each)
        self._open = still_open
        slots = np.concatenate(parts) if parts else np.empty(0, SLOT)
        return slots[np.argsort(slots["sequence"], kind="stable")]

    def _returned(self, slots: Slots) -> int:
        """Return how many slots there are before the first call that has not returned: what it is comes later."""
        if self._closed or self._gone:
            return len(slots)
        inside = (slots["kind"] < FIRST_CONTINUATION_KIND) & (slots["flags"] & int(SlotFlag.ENTER) != 0)
        found = np.flatnonzero(inside)
        if not len(found):
            return len(slots)
        first = slots[int(found[0])]
        self.waiting.append((int(first["api"]), int(first["site"])))
        return int(found[0])

    # -- names ------------------------------------------------------------------------------------

    def site(self, number: int) -> Site:
        """Return the place of a site id, the unknown one as long as it was not read."""
        names = self._names_with(lambda trace: number < len(trace.sites))
        try:
            return names.site(number) if names is not None else UNKNOWN_SITE
        except TraceError:
            return UNKNOWN_SITE

    def api(self, number: int) -> str:
        """Return an API's name, "" as long as it was not read."""
        names = self._names_with(lambda trace: number < len(trace.apis))
        return names.apis[number] if names is not None and number < len(names.apis) else ""

    @property
    def platform(self) -> str:
        """Return "cuda" or "opencl", "" as long as it is not known."""
        names = self._names_with(lambda trace: True)
        return names.platform if names is not None else ""

    def _names_with(self, has: Callable[[Trace], bool]) -> Trace | None:
        """Return the side tables; they are read again where they lack something, and have grown enough."""
        if self._names is not None and has(self._names):
            return self._names
        size = sum(self._tables.values())
        if size == self._names_bytes or (size > SMALL_TABLES and size < 1.1 * self._names_bytes):
            return self._names
        self._names_bytes = size
        try:
            self._names = _names_of(self.path)
        except TraceError:
            return self._names  # half of it was written when it was read
        return self._names


def _segment(file: RandomAccessFile, offset: int) -> tuple[Segment, int]:
    return segment_at(file, file.read(offset, HEADER_SIZE), offset)


def _names_of(path: str) -> Trace:
    """Return a trace of the side tables that a file has by now, without its operations."""
    opened = reader.open_file(path)
    tables = opened.tables
    names = Trace(
        path,
        FileSlots(path, (), opened.sizes, 0),
        threads=tables.threads,
        apis=tables.apis,
        sites=tables.sites,
        platform=opened.platform,
        origin=opened.origin,
        modules=tables.modules,
        symbols=tables.symbols,
    )
    names.symbolise_with(LateSymboliser(None))
    return names
