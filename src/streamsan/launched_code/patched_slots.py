"""Slots whose kernels' references say what machine code says: a layer around the trace's store, for all who read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamsan.launched_code.reference_patches import PatchTable, Verdict
from streamsan.trace.launch_shapes import named_shapes
from streamsan.trace.layout import FIRST_CONTINUATION_KIND, REFERENCES, SLOT
from streamsan.trace.references import USE_BITS
from streamsan.trace.store import ADDRESS_WORD, LAST_WORD, SLOT_WORDS, Slots, SlotStore, as_words
from streamsan.vocabulary import OperationKind, SlotFlag

_FURTHER_BITS = USE_BITS | SlotFlag.ASSUMED | SlotFlag.CONDITIONAL
"""bits of a further reference that change: what the kernel's code follows is no leftover of the stack"""
Words = NDArray[np.uint64]


class PatchedSlots:
    """The slots of a store with each kernel's references as machine code says. Memory does not grow with the trace."""

    def __init__(
        self, slots: SlotStore, table: PatchTable, room: NDArray[np.intp], talks: NDArray[np.bool_], sites: int
    ) -> None:
        """`room`: how many continuation slots a launch of each shape may have. `talks`: whether the kernel of each
        shape may talk to the host while it runs. `sites`: how many the trace has.
        """
        self._slots = slots
        self._table = table
        self._room = room
        self._talks = talks
        self._graphs_talk = False
        self._first = _LastWord(table, SLOT, {"flags": 0}, USE_BITS)
        self._pairs = _LastWord(table, REFERENCES, {"first_mode": 0, "second_mode": 1}, _FURTHER_BITS)
        self._unused = table.verdict == Verdict.NO_USE
        self._moved = (table.size != 0) | (table.begin != 0)
        moved = self._unused | self._moved
        self._in_pair = moved | _ahead(moved, 1)
        self.launches: NDArray[np.int64] | None = None
        """how many launches and nodes each shape has, once the slots were read to their end; 0: it is not known"""
        self.sites = SiteSet(sites)
        """sites of kernels with patched references, of the slots read so far"""
        self.talkers = SiteSet(sites)
        """sites of kernels that may talk to the host while they run; once a node may, of all launches of graphs"""

    def count(self) -> int:
        """Return the number of operations."""
        return self._slots.count()

    def chunks(self, size: int, first: int) -> Iterator[Slots]:
        """Yield the slots. Arrays with nothing to say of are those of the store."""
        launches = np.zeros(max(1, len(self._table)), np.int64)
        for chunk in self._slots.chunks(size, first):
            yield self._patched(chunk, launches)
        if not first:
            self.launches = launches

    def _patched(self, slots: Slots, launches: NDArray[np.int64]) -> Slots:
        at, shapes = named_shapes(slots)
        kinds = np.ascontiguousarray(slots["kind"])
        shapes[shapes >= len(self._table)] = 0
        launched = kinds[at] == OperationKind.LAUNCH
        launches[0] += np.count_nonzero(kinds == OperationKind.LAUNCH) - np.count_nonzero(launched)
        np.add.at(launches, shapes, 1)
        talks = self._talks[shapes]
        self.talkers.add(slots["site"][at[talks]])
        self._graphs_talk |= bool((talks & ~launched).any())
        if self._graphs_talk:
            self.talkers.add(slots["site"][kinds == OperationKind.GRAPH_LAUNCH])
        known = (self._table.count[shapes] > 0) & (slots["more"][at] <= self._room[shapes])
        if not known.any():
            return slots
        at, shapes, launched = at[known], shapes[known], launched[known]
        self.sites.add(slots["site"][at])
        # As words: NumPy is slow with single bytes that lie apart.
        words = as_words(slots).reshape(-1).copy()
        self._patch_first(words, at[launched], self._table.first[shapes[launched]])
        holds = kinds == OperationKind.REFERENCES
        if holds.any():
            self._patch_further(words, kinds, holds, at, shapes, launched)
        return words.view(SLOT)

    def _patch_first(self, words: Words, at: NDArray[np.intp], patches: NDArray[np.intp]) -> None:
        """Patch the references in the launches' own slots."""
        self._first.put(words, at, patches)
        self._move(words, at * SLOT_WORDS + ADDRESS_WORD, patches)

    def _patch_further(
        self,
        words: Words,
        kinds: NDArray[np.uint8],
        holds: NDArray[np.bool_],
        at: NDArray[np.intp],
        shapes: NDArray[np.intp],
        launched: NDArray[np.bool_],
    ) -> None:
        """Patch the references in continuation slots: in each slot that `holds` some, a pair."""
        starts = np.flatnonzero(kinds < FIRST_CONTINUATION_KIND)
        lengths = np.diff(starts, append=len(kinds))
        operation = np.searchsorted(starts, at)
        # Of each operation: which patch is that of the first reference behind its own slot, and where they end.
        patch, end = np.zeros(len(starts), np.intp), np.zeros(len(starts), np.intp)
        patch[operation] = self._table.first[shapes] + launched
        end[operation] = self._table.first[shapes] + self._table.count[shapes]
        before = np.cumsum(holds)
        patch -= 2 * (before[starts] + 1)
        patches = np.repeat(patch, lengths) + 2 * before
        rows = np.flatnonzero(holds & (patches < np.repeat(end, lengths)))
        patches = patches[rows]
        self._pairs.put(words, rows, patches)
        some = self._in_pair[patches]
        if some.any():
            for half in (0, 1):
                self._move(words, rows[some] * SLOT_WORDS + 2 * half, patches[some] + half)

    def _move(self, words: Words, addresses: NDArray[np.intp], patches: NDArray[np.intp]) -> None:
        """Bring the references whose addresses are these words to where they are used, or take them away."""
        unused = addresses[self._unused[patches]]
        words[unused] = words[unused + 1] = 0
        moved = self._moved[patches]
        if moved.any():
            addresses, patches = addresses[moved], patches[moved]
            there = words[addresses] != 0
            addresses, patches = addresses[there], patches[there]
            words[addresses] += self._table.begin[patches]
            words[addresses + 1] = self._table.size[patches]


class SiteSet:
    """A set of site ids."""

    def __init__(self, size: int) -> None:
        self._has = np.zeros(size, np.bool_)

    def add(self, sites: NDArray[np.uint32]) -> None:
        """Add ids that the table has."""
        self._has[sites] = True

    def __contains__(self, site: object) -> bool:
        return isinstance(site, int) and 0 < site < len(self._has) and bool(self._has[site])


def _ahead(array: NDArray[Any], by: int) -> NDArray[Any]:
    """Return what stands so far ahead of each place; zeros behind the end."""
    return np.concatenate((array[by:], np.zeros(by, array.dtype)))


class _LastWord:
    """What the last words of slots become: the modes of references are bytes in them."""

    def __init__(self, table: PatchTable, layout: np.dtype[np.void], bytes_: dict[str, int], changed: int) -> None:
        """`bytes_`: the fields that are modes, and the patch of which reference each has, counted from the given."""
        known = table.verdict == Verdict.KNOWN
        self._kept = np.full(len(known), ~np.uint64(0))
        self._new = np.zeros(len(known), np.uint64)
        assert layout.fields is not None
        for name, further in bytes_.items():
            shift = np.uint64(8 * (layout.fields[name][1] - 8 * LAST_WORD))
            own, bits = _ahead(known, further), _ahead(table.bits, further).astype(np.uint64)
            self._kept[own] &= ~(np.uint64(changed) << shift)
            self._new[own] |= bits[own] << shift

    def put(self, words: Words, rows: NDArray[np.intp], patches: NDArray[np.intp]) -> None:
        """Patch the last words of these slots by the patches with these numbers."""
        at = rows * SLOT_WORDS + LAST_WORD
        words[at] = words.take(at) & self._kept.take(patches) | self._new.take(patches)
