"""References to the variables of the device that kernels name: nothing among a launch's arguments leads to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from streamsan.launched_code.kernel_readings import KernelReadings
from streamsan.launched_code.reference_patches import kernel_of
from streamsan.trace import Reference, Trace
from streamsan.trace.launch_shapes import LaunchShape, named_shapes
from streamsan.trace.layout import FIRST_CONTINUATION_KIND, SLOT
from streamsan.trace.references import packed
from streamsan.trace.store import MOST_CONTINUATIONS, Slots, SlotStore, as_words, uncut_end
from streamsan.vocabulary import AccessMode, MemoryKind, OperationKind

_KINDS = (MemoryKind.DEVICE_SYMBOL, MemoryKind.MANAGED)
_ENDS = (OperationKind.CONTEXT_DESTROY, OperationKind.DEVICE_RESET)
"""what ends variables that no FREE names"""
_MORE_BIT = np.uint64(8 * 5)
"""of the last word of a slot: where `more` begins"""
_LAST = 7

Variables = tuple[tuple[str, AccessMode, int], ...]
"""symbol, mode and SlotFlag bits of each variable that a kernel uses"""


def variables_of(shapes: Sequence[LaunchShape], readings: KernelReadings) -> dict[int, Variables]:
    """Return for each shape whose kernel uses variables which these are, and how, as far as that is known."""
    found: dict[int, Variables] = {}
    for number, shape in enumerate(shapes):
        accesses = readings.read.get(kernel_of(shape))
        if accesses is not None and accesses.variables:
            uses = accesses.variables.items()
            known = tuple((name, use.mode, use.flags) for name, use in uses if use.mode is not AccessMode.OPAQUE)
            if known:
                found[number] = known
    return found


class SlotsWithVariables:
    """The slots of a store; launches of kernels that use variables have references to these, too.

    A variable is an allocation whose site has its symbol as label. Of one that several modules or devices have, it is
    not known which is meant.
    """

    def __init__(self, slots: SlotStore, trace: Trace, used: dict[int, Variables]) -> None:
        self._slots = slots
        self._trace = trace
        self._used = used
        self._shapes = np.array(sorted(used), np.intp)
        self._processes = np.array([thread.process for thread in trace.threads], np.int64)
        self._symbols = {name for variables in used.values() for name, _, _ in variables}

    def count(self) -> int:
        """Return the number of operations."""
        return self._slots.count()

    def chunks(self, size: int, first: int) -> Iterator[Slots]:
        """Yield the slots."""
        # What is alive at `first` was made before it: the reader may pass over that, this may not.
        size = max(size, MOST_CONTINUATIONS + 1)
        known = _KnownVariables(self._trace, self._symbols)
        for chunk in self._slots.chunks(size, 0):
            slots = self._added_to(chunk, known)
            if first and not (slots["sequence"][slots["kind"] < FIRST_CONTINUATION_KIND] >= first).any():
                continue
            start = 0
            while start < len(slots):
                end = uncut_end(slots, start + size)
                yield slots[start:end]
                start = end

    def _added_to(self, slots: Slots, known: _KnownVariables) -> Slots:
        at, shapes = named_shapes(slots)
        using = np.isin(shapes, self._shapes)
        at, shapes = at[using], shapes[using]
        order = np.argsort(at, kind="stable")
        at, shapes = at[order], shapes[order]
        begin = 0
        places: list[NDArray[np.intp]] = []
        further: list[list[bytes]] = []
        # Between two events the same variables are alive, so that all launches of a shape have the same references.
        for event, tell in [*known.events(slots), (len(slots), None)]:
            end = int(np.searchsorted(at, event))
            for shape in np.unique(shapes[begin:end]).tolist():
                rows = at[begin:end][shapes[begin:end] == shape]
                processes = self._processes[slots["thread"][rows]]
                for process in np.unique(processes).tolist():
                    added = list(packed(list(known.references(process, self._used[shape]))))
                    if added:
                        places.append(rows[processes == process])
                        further.append(added)
            if tell is not None:
                tell()
            begin = end
        return _inserted(slots, places, further) if places else slots


class _KnownVariables:
    """Which variables are alive, and where."""

    def __init__(self, trace: Trace, symbols: set[str]) -> None:
        self._trace = trace
        self._symbols = symbols
        self._sites: dict[int, str] = {}
        self._alive: dict[tuple[int, str], dict[int, int]] = {}
        """process and symbol -> address -> generation"""

    def references(self, process: int, variables: Variables) -> Iterator[Reference]:
        """Return the references of a kernel that uses these."""
        for symbol, mode, flags in variables:
            places = self._alive.get((process, symbol), {})
            if len(places) == 1:
                ((address, generation),) = places.items()
                yield Reference(address, 0, generation, mode, flags)

    def events(self, slots: Slots) -> Iterable[tuple[int, Callable[[], None]]]:
        """Return where in these slots variables begin or end, and what then is to be done, in order."""
        kinds = np.ascontiguousarray(slots["kind"])
        made = np.flatnonzero(kinds == OperationKind.ALLOC)
        made = made[np.isin(slots["detail"][made], _KINDS)]
        named = [row for row in made.tolist() if self._symbol(int(slots["site"][row])) in self._symbols]
        ends = np.flatnonzero(np.isin(kinds, _ENDS)).tolist()
        addresses = {address for places in self._alive.values() for address in places}
        addresses.update(int(slots["address"][row]) for row in named)
        frees: list[int] = []
        if addresses:
            rows = np.flatnonzero(kinds == OperationKind.FREE)
            frees = rows[np.isin(slots["address"][rows], np.array(sorted(addresses), np.uint64))].tolist()
        found = [(row, self._begin) for row in named] + [(row, self._free) for row in frees]
        found += [(row, self._end) for row in ends]
        return [(row, _bound(tell, slots[row])) for row, tell in sorted(found, key=lambda pair: pair[0])]

    def _symbol(self, site: int) -> str:
        if site not in self._sites:
            self._sites[site] = self._trace.sites[site].label if 0 < site < len(self._trace.sites) else ""
        return self._sites[site]

    def _process(self, slot: np.void) -> int:
        return self._trace.threads[int(slot["thread"])].process

    def _begin(self, slot: np.void) -> None:
        key = (self._process(slot), self._symbol(int(slot["site"])))
        self._alive.setdefault(key, {})[int(slot["address"])] = int(slot["object"]) & 0xFFFFFFFF

    def _free(self, slot: np.void) -> None:
        for (process, _), places in self._alive.items():
            if process == self._process(slot):
                places.pop(int(slot["address"]), None)

    def _end(self, slot: np.void) -> None:
        for (process, _), places in self._alive.items():
            if process == self._process(slot):
                places.clear()


def _bound(tell: Callable[[np.void], None], slot: np.void) -> Callable[[], None]:
    return lambda: tell(slot)


def _inserted(slots: Slots, places: list[NDArray[np.intp]], further: list[list[bytes]]) -> Slots:
    """Return the slots with further continuation slots behind those of the operations at `places`."""
    words = as_words(slots).copy()
    starts = np.append(np.flatnonzero(slots["kind"] < FIRST_CONTINUATION_KIND), len(slots))
    behind: list[NDArray[np.intp]] = []
    rows: list[NDArray[np.uint64]] = []
    for at, added in zip(places, further, strict=True):
        at = at[slots["more"][at].astype(np.intp) + len(added) <= MOST_CONTINUATIONS]
        words[at, _LAST] += np.uint64(len(added)) << _MORE_BIT
        behind.append(np.repeat(starts[np.searchsorted(starts, at, "right")], len(added)))
        rows.append(np.tile(np.frombuffer(b"".join(added), np.uint64).reshape(-1, 8), (len(at), 1)))
    inserted = np.insert(words, np.concatenate(behind), np.concatenate(rows), axis=0)
    return inserted.reshape(-1).view(SLOT)
