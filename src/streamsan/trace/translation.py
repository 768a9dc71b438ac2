"""Gives the ids of one file's slots the numbers that they have in a trace of several files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from streamsan.trace.shape_numbers import name_shapes, named_shapes
from streamsan.trace.store import PLACE_WORD, Slots, as_words
from streamsan.vocabulary import OperationKind

SITE_BITS = np.uint64(0xFFFFFFFF)
WORD = NDArray[np.uint64]


class Translation:
    """The new numbers of threads, API names, sites and launch shapes, and of the processes that FORKs made."""

    def __init__(
        self,
        threads: Sequence[int],
        apis: Sequence[int],
        first_site: int,
        shapes: range,
        child: Callable[[int, int], int],
    ) -> None:
        """`threads` and `apis`: old number to new. Site n becomes `first_site` + n - 1; 0 stays.

        `shapes`: the new numbers of the file's launch shapes; one that it does not have becomes 0.

        `child` is asked for the index of the process that a fork made, by its process id and the fork's sequence.
        """
        self._threads: WORD = np.array(threads, np.uint64) << np.uint64(48)
        self._apis: WORD = np.array(apis, np.uint64) << np.uint64(32)
        self._sites_shift = np.uint64(first_site - 1)
        self._shapes = shapes
        self._child = child

    def apply(self, slots: Slots, starts: NDArray[np.intp] | None) -> None:
        """Renumber checked slots in place. `starts`: where operations begin; None: each slot is one."""
        words = as_words(slots)
        place = words[:, PLACE_WORD] if starts is None else words[:, PLACE_WORD].take(starts)
        sites = place & SITE_BITS
        sites += self._sites_shift * (sites != 0)
        threads = self._threads.take((place >> np.uint64(48)).astype(np.intp))
        apis = self._apis.take((place >> np.uint64(32) & np.uint64(0xFFFF)).astype(np.intp))
        words[slice(None) if starts is None else starts, PLACE_WORD] = sites | apis | threads
        at, shapes = named_shapes(slots)
        if len(at):
            name_shapes(slots, at, np.where(shapes <= len(self._shapes), shapes + (self._shapes.start - 1), 0))
        for index in np.flatnonzero(slots["kind"] == OperationKind.FORK).tolist():
            slots["object"][index] = self._child(int(slots["object"][index]), int(slots["sequence"][index]))
