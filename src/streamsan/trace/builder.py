"""Builds a trace in memory, one operation at a time."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from streamsan.trace.launch_shapes import SHAPE_SHIFT, UNKNOWN_SHAPE, LaunchShape
from streamsan.trace.packed_slots import KIND_AT, SITE_AT, SLOT_STRUCT, PackedSlots
from streamsan.trace.references import Reference, continuations
from streamsan.trace.site import UNKNOWN_SITE, Site
from streamsan.trace.slot_fields import MOST_CONTINUATIONS, REFERENCE_KINDS, encode_duration
from streamsan.trace.trace import Thread, Trace
from streamsan.vocabulary import OperationKind

if TYPE_CHECKING:
    from streamsan.trace.store import Slots

SITE_STRUCT = struct.Struct("<I")
MOST_APIS = MOST_THREADS = 1 << 16
"""`api` and `thread` are two bytes."""


class TableLengths(NamedTuple):
    """How much a builder has so far."""

    threads: int = 0
    apis: int = 1
    sites: int = 1
    slots: int = 0


class TraceBuilder:
    """Appends operations in the order of their issue; sequences count from 1 without gaps."""

    def __init__(
        self,
        path: str,
        platform: str = "cuda",
        origin: str = "source",
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = path
        self.platform = platform
        self.origin = origin
        self.metadata: dict[str, Any] = dict(metadata or {})
        self._buffer = bytearray()
        self._sequence = 0
        self._threads: list[Thread] = []
        self._apis: dict[str, int] = {"": 0}
        self._sites: dict[Site, int] = {}
        self._site_list: list[Site] = [UNKNOWN_SITE]
        self._shapes: dict[LaunchShape, int] = {UNKNOWN_SHAPE: 0}

    @property
    def operations(self) -> int:
        """How many operations there are so far; also the sequence of the latest."""
        return self._sequence

    def site(self, site: Site) -> int:
        """Return the id of a site, the same for equal sites. Id 0 is the unknown site. `site.caller` must be known."""
        number = self._sites.get(site)
        if number is None:
            number = len(self._site_list)
            if not 0 <= site.caller < number:
                raise ValueError(f"the caller of a site must be an id given before: {site.caller}")
            self._sites[site] = number
            self._site_list.append(site)
        return number

    def site_at(self, number: int) -> Site:
        """Return the site of an id; the unknown site for ids nobody gave."""
        return self._site_list[number] if 0 <= number < len(self._site_list) else UNKNOWN_SITE

    def rename(self, slots: tuple[int, int], kinds: Collection[OperationKind], site: int, label: str) -> int:
        """Give operations at a site another label, those of some kinds in a range of slots; return their new site."""
        renamed = self.site(replace(self._site_list[site], label=label))
        for number in range(*slots):
            at = number * SLOT_STRUCT.size
            if self._buffer[at + KIND_AT] in kinds and SITE_STRUCT.unpack_from(self._buffer, at + SITE_AT)[0] == site:
                SITE_STRUCT.pack_into(self._buffer, at + SITE_AT, renamed)
        return renamed

    def thread(self, process: int, name: str) -> int:
        """Add a host thread and return its index. Threads with equal names are different threads."""
        if len(self._threads) == MOST_THREADS:
            raise ValueError("a trace has at most 65536 threads")
        if not 0 <= process < 1 << 32:
            raise ValueError(f"not a process index: {process}")
        self._threads.append(Thread(process, name))
        return len(self._threads) - 1

    def api(self, name: str) -> int:
        """Return the index of an API name; "" is 0."""
        index = self._apis.get(name)
        if index is None:
            index = len(self._apis)
            if index == MOST_APIS:
                raise ValueError("a trace has at most 65536 API names")
            self._apis[name] = index
        return index

    def launch_shape(self, shape: LaunchShape) -> int:
        """Return the id of what a kernel is launched with, the same for equal ones. Id 0 is the unknown shape."""
        return self._shapes.setdefault(shape, len(self._shapes))

    def append(
        self,
        kind: OperationKind,
        *,
        thread: int,
        api: str | int = 0,
        site: int = 0,
        stream: int = 0,
        object: int = 0,
        references: Sequence[Reference] = (),
        address: int = 0,
        size: int = 0,
        detail: int = 0,
        flags: int = 0,
        status: int = 0,
        time: int = 0,
        duration: int = 0,
        shape: int = 0,
    ) -> int:
        """Append one operation and return its sequence.

        The first reference takes `address`, `size`, `object` (its generation) and the access bits of `flags` where the
        kind means memory by these (REFERENCE_KINDS); with other kinds every reference goes into continuation slots.
        `shape` is the launch shape of a LAUNCH or of a kernel's node. `time` and `duration` are in nanoseconds.
        More references than one operation can hold (511, less two for each that has rows) become further operations of
        the same kind; the first one's sequence is returned. Raises ValueError when a number does not fit.
        """
        if isinstance(api, str):
            api = self.api(api)
        known = 0 <= thread < len(self._threads) and 0 <= site < len(self._site_list) and 0 <= api < len(self._apis)
        if not known:
            raise ValueError(f"no thread {thread}, no site {site} or no API {api}: the builder gives these numbers")
        sequence = self._sequence + 1
        start = len(self._buffer)
        encoded = encode_duration(duration) if duration else 0
        own_flags = flags
        try:
            in_slot = int(kind in REFERENCE_KINDS)
            for share in _shares(references, in_slot):
                if in_slot and share:
                    first = share[0]
                    address, size, object = first.address, first.size_word, first.generation
                    own_flags = flags & ~3 | first.mode | first.flags
                if kind is OperationKind.LAUNCH:
                    object |= shape << SHAPE_SHIFT
                elif shape:
                    size = shape
                shape = 0  # of what comes further, the places are not known
                what = (stream, object, address, size, site, api, thread, status, kind, detail, own_flags)
                more = list(continuations(share, in_slot))
                self._buffer += SLOT_STRUCT.pack(self._sequence + 1, time, *what, len(more), encoded)
                for slot in more:
                    self._buffer += slot
                self._sequence += 1
        except struct.error as error:
            del self._buffer[start:]
            self._sequence = sequence - 1
            raise ValueError(f"operation {kind.name} does not fit a slot: {error}") from None
        return sequence

    @property
    def lengths(self) -> TableLengths:
        """How many threads, API names, sites and slots there are so far."""
        slots = len(self._buffer) // SLOT_STRUCT.size
        return TableLengths(len(self._threads), len(self._apis), len(self._site_list), slots)

    def since(self, lengths: TableLengths) -> tuple[list[Thread], list[str], list[Site], Slots]:
        """Return the threads, API names, sites and slots added since `lengths` was read (for a file that grows)."""
        threads, apis, sites, slots = lengths
        names = list(islice(self._apis, apis, None))
        # Imported late: it needs NumPy.
        from streamsan.trace.store import slots_of

        added = slots_of(bytes(memoryview(self._buffer)[slots * SLOT_STRUCT.size :]))
        return self._threads[threads:], names, self._site_list[sites:], added

    def finish(self) -> Trace:
        """Return the trace so far. The builder may go on; the trace does not change."""
        return Trace(
            self.path,
            PackedSlots(bytes(self._buffer)),
            threads=self._threads,
            apis=list(self._apis),
            sites=tuple(self._site_list),
            platform=self.platform,
            origin=self.origin,
            metadata=self.metadata,
            launch_shapes=tuple(self._shapes),
        )


def _shares(references: Sequence[Reference], in_slot: int) -> Iterator[Sequence[Reference]]:
    """Yield for each operation that references need those that it holds, at least one operation.

    `in_slot` is 1 where the first of them takes no continuation slot, else 0.
    """
    while True:
        taken = _fitting(references, in_slot)
        yield references[:taken]
        references = references[taken:]
        if not references:
            return


def _fitting(references: Sequence[Reference], in_slot: int) -> int:
    """Return how many references one operation can hold: a slot for two of them, and one for the rows of each."""
    most = in_slot + 2 * MOST_CONTINUATIONS
    if not any(each.rows for each in references[:most]):
        return min(len(references), most)
    with_rows = 0
    for taken, reference in enumerate(references[:most]):
        with_rows += reference.rows is not None
        if (taken + 1 - in_slot + 1) // 2 + with_rows > MOST_CONTINUATIONS:
            return taken
    return min(len(references), most)
