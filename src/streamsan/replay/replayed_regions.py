"""Mapped regions of OpenCL: words go to where the host's pointer leads, and what the host has changed comes back."""

from __future__ import annotations

import numpy as np

from streamsan.replay.replayed_steps import Memory, Step
from streamsan.replay.replayed_work import ReplayedWork
from streamsan.replay.words import Words, pattern
from streamsan.sim.executor.tasks import Body


class Regions:
    """The regions that are mapped."""

    def __init__(self, runner: ReplayedWork) -> None:
        self._runner = runner
        self._brought: dict[int, Words] = {}
        """number of a pointer's memory -> its words when the host got them"""

    def map(self, step: Step) -> Body | None:
        """Make what the pointer leads to, and return what the command of the map does; None: it brings nothing."""
        pointer, places = step.maps, self._runner.places
        if pointer is None:
            return None
        if pointer.number not in self._brought:
            places.allocate(pointer, step.context)
            self._brought[pointer.number] = places.held(pointer).copy()
        if not step.accesses:
            return None

        def run() -> None:
            (region,) = self._runner.views(step.sequence, step.accesses[1:], 1)
            self._runner.seen.reads[step.sequence, 1] = region.copy()
            held = places.held(pointer)
            held[:] = _stretched(region, len(held))
            self._brought[pointer.number] = held.copy()

        return run

    def unmap(self, step: Step) -> Body | None:
        """Return what the command of an unmap does: it writes what the host has changed; None: the host only read.

        Where the trace shows no change, the host has made some that the trace does not have.
        """
        pointer = step.unmaps
        if pointer is None or not step.accesses or not step.accesses[0].writes:
            return None
        access = step.accesses[0]

        def run() -> None:
            (region,) = self._runner.views(step.sequence, (access,))
            held, before = self._runner.places.held(pointer), self._before(pointer)
            if (held == before).all():
                region[:] = pattern(step.sequence, len(region))
            else:
                changed = _stretched(held != before, len(region))
                region[changed] = _stretched(held, len(region))[changed]
            self._runner.store((access,), (region,))

        return run

    def _before(self, pointer: Memory) -> Words:
        known = self._brought.get(pointer.number)
        return self._runner.places.held(pointer) if known is None else known


def _stretched(words: Words, count: int) -> Words:
    """Return as many words as another memory has for the same bytes: large memory has a share of its words here."""
    if len(words) == count or not len(words):
        return words[:count]
    return words[np.arange(count) * len(words) // count]
