"""Slots whose kernels' references say what machine code says: a layer around the trace's store, for all who read it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from streamsan.launched_code.reference_patches import PatchTable, Verdict
from streamsan.trace.launch_shapes import named_shapes
from streamsan.trace.layout import FIRST_CONTINUATION_KIND, REFERENCES, SLOT
from streamsan.trace.references import MODE_BITS
from streamsan.trace.store import Slots, SlotStore, as_words
from streamsan.vocabulary import OperationKind, SlotFlag

_IN_SLOT = 0xFF & ~(MODE_BITS | SlotFlag.TOUCHES | SlotFlag.ATOMIC)
"""bits of a slot's `flags` that are about the operation"""
_FURTHER = _IN_SLOT & ~(SlotFlag.ASSUMED | SlotFlag.CONDITIONAL)
"""bits of a further reference that stay: what the kernel's code follows is no leftover of the stack"""
_ADDRESS, _SIZE = 4, 5
"""words of a slot"""
_HALVES = ((0, 1, "first_mode"), (2, 3, "second_mode"))
"""words and byte of the two references of a REFERENCES slot"""


class PatchedSlots:
    """The slots of a store with each kernel's references as machine code says. Memory does not grow with the trace."""

    def __init__(self, slots: SlotStore, table: PatchTable) -> None:
        self._slots = slots
        self._table = table
        self.launches: NDArray[np.int64] | None = None
        """how many launches each shape has, once the slots were read to their end; shape 0: it is not known"""

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
        shapes = np.where(shapes < len(self._table), shapes, 0)
        launched = slots["kind"] == OperationKind.LAUNCH
        launches[0] += np.count_nonzero(launched) - np.count_nonzero(launched[at])
        np.add.at(launches, shapes[launched[at]], 1)
        known = self._table.count[shapes] > 0
        if not known.any():
            return slots
        at, shapes = at[known], shapes[known]
        slots = as_words(slots).copy().reshape(-1).view(SLOT)
        in_slot = launched[at]
        self._patch_first(slots, at[in_slot], shapes[in_slot])
        self._patch_further(slots, at, shapes)
        return slots

    def _patch_first(self, slots: Slots, at: NDArray[np.intp], shapes: NDArray[np.intp]) -> None:
        """Patch the references in the launches' own slots."""
        patches = self._table.first[shapes]
        words = as_words(slots)
        words[at[self._table.verdict[patches] == Verdict.NO_USE], _ADDRESS : _SIZE + 1] = 0
        known = self._table.verdict[patches] == Verdict.KNOWN
        at, patches = at[known], patches[known]
        slots["flags"][at] = slots["flags"][at] & np.uint8(_IN_SLOT) | self._table.bits[patches]

    def _patch_further(self, slots: Slots, at: NDArray[np.intp], shapes: NDArray[np.intp]) -> None:
        """Patch the references in continuation slots of these kernels."""
        kinds = slots["kind"]
        holds = kinds == OperationKind.REFERENCES
        rows = np.flatnonzero(holds)
        if not len(rows):
            return
        shape_at = np.zeros(len(slots), np.intp)
        shape_at[at] = shapes
        starts = np.flatnonzero(kinds < FIRST_CONTINUATION_KIND)
        owners = starts[np.searchsorted(starts, rows, "right") - 1]
        named = shape_at[owners] != 0
        rows, owners = rows[named], owners[named]
        if not len(rows):
            return
        shape = shape_at[owners]
        before = np.cumsum(holds)
        index = 2 * (before[rows] - 1 - before[owners]) + (kinds[owners] == OperationKind.LAUNCH)
        words, references = as_words(slots), slots.view(REFERENCES)
        for half, (address, size, mode) in enumerate(_HALVES):
            there = (index + half < self._table.count[shape]) & (words[rows, address] != 0)
            place, patches = rows[there], self._table.first[shape[there]] + index[there] + half
            verdicts = self._table.verdict[patches]
            unused = place[verdicts == Verdict.NO_USE]
            words[unused, address] = words[unused, size] = 0
            known = verdicts == Verdict.KNOWN
            place = place[known]
            references[mode][place] = references[mode][place] & np.uint8(_FURTHER) | self._table.bits[patches[known]]
