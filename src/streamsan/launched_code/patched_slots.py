"""Slots whose kernels' references say what machine code says: a layer around the trace's store, for all who read it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from streamsan.launched_code.collectives import ToldCollectives
from streamsan.launched_code.reference_patches import PatchTable
from streamsan.order._engine import ReferencePatches
from streamsan.trace.layout import SLOT
from streamsan.trace.references import USE_BITS
from streamsan.trace.store import Slots, SlotStore, as_words
from streamsan.vocabulary import SlotFlag

_FURTHER_BITS = USE_BITS | SlotFlag.ASSUMED | SlotFlag.CONDITIONAL
"""bits of a further reference that change: what the kernel's code follows is no leftover of the stack"""


class PatchedSlots:
    """The slots of a store with each kernel's references as machine code says. Memory does not grow with the trace."""

    def __init__(
        self,
        slots: SlotStore,
        table: PatchTable,
        room: NDArray[np.intp],
        talks: NDArray[np.bool_],
        sites: int,
        told: ToldCollectives,
    ) -> None:
        """`room`: how many continuation slots a launch of each shape may have. `talks`: whether the kernel of each
        shape may talk to the host while it runs. `sites`: how many the trace has. `told`: what counts as no launch.
        """
        self._slots = slots
        self._told = told
        self._shapes = max(1, len(table))
        self._patches = ReferencePatches(
            table.verdict,
            table.bits,
            table.begin,
            table.size,
            table.first.astype(np.uint64),
            # One that may have no slot of its own is left as it is.
            np.where(room < 0, 0, table.count).astype(np.uint64),
            room.clip(0).astype(np.uint8),
            talks.view(np.uint8),
            USE_BITS,
            _FURTHER_BITS,
        )
        self.launches: NDArray[np.int64] | None = None
        """how many launches and nodes each shape has, once the slots were read to their end; 0: it is not known"""
        self.sites = SiteSet(sites)
        """sites of kernels with patched references, of the slots read so far"""
        self.talkers = SiteSet(sites)
        """sites of kernels that may talk to the host while they run; once a node may, of launches of graphs after it"""

    def count(self) -> int:
        """Return the number of operations."""
        return self._slots.count()

    def chunks(self, size: int, first: int) -> Iterator[Slots]:
        """Yield the slots. Arrays with nothing to say of are those of the store."""
        launches = np.zeros(self._shapes, np.int64)
        for chunk in self._slots.chunks(size, first):
            words = as_words(chunk).reshape(-1).copy()
            changed = self._patches.patch(words, launches, self.sites.has, self.talkers.has)
            launches[0] -= self._told.count(chunk)
            yield words.view(SLOT) if changed else chunk
        if not first:
            self.launches = launches


class SiteSet:
    """A set of site ids."""

    def __init__(self, size: int) -> None:
        self.has = np.zeros(size, np.uint8)
        """of each id whether it is in the set"""

    def __contains__(self, site: object) -> bool:
        return isinstance(site, int) and 0 < site < len(self.has) and bool(self.has[site])
