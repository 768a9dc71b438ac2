"""Slots whose launches have the references that were seen on the device (exact mode), in place of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator

import numpy as np
from numpy.typing import NDArray

from streamsan.trace.launch_shapes import GENERATION_BITS
from streamsan.trace.layout import MOST_CONTINUATIONS, REFERENCES, ROWS, SLOT
from streamsan.trace.references import MODE_BITS, MOST_NUMBERED, USE_BITS
from streamsan.trace.store import Slots, SlotStore, uncut_parts
from streamsan.vocabulary import AccessMode, OperationKind, SeenAccesses, SlotFlag

_PAIR = ("first", "second")
"""references of a REFERENCES slot"""
_WHOLE = (SeenAccesses.ALL, SeenAccesses.LEARNED)
"""details: nothing else was touched"""


class SlotsWithSeenAccesses:
    """The slots of a store; each launch has the references of its LAUNCH_ACCESSES.

    Where not all accesses were seen, it has its own as well. What a LAUNCH_ACCESSES says of a launch that is not in
    the trace is passed over.
    """

    def __init__(self, slots: SlotStore, size: int, talkers: Container[int] = ()) -> None:
        """Read what was seen, in chunks of `size`. `talkers`: sites of launches whose kernels may poll a word."""
        self._slots = slots
        self._talkers = talkers
        self._seen: dict[int, tuple[int, bytes]] = {}
        """of a launch's sequence: how it was seen (SeenAccesses), and the continuation slots"""
        same: dict[bytes, bytes] = {}
        launched: list[NDArray[np.uint64]] = []
        self._graphs = False
        """graphs were launched"""
        for chunk in slots.chunks(size, 0):
            self._graphs |= bool((chunk["kind"] == OperationKind.GRAPH_LAUNCH).any())
            launched.append(chunk["sequence"][chunk["kind"] == OperationKind.LAUNCH])
            for at in np.flatnonzero(chunk["kind"] == OperationKind.LAUNCH_ACCESSES).tolist():
                slot = chunk[at]
                further = chunk[at + 1 : at + 1 + int(slot["more"])].tobytes()
                # A kernel does the same again and again.
                further = same.setdefault(further, further)
                self._seen[int(slot["object"])] = int(slot["detail"]), further
        self._sequences = np.array(sorted(self._seen), np.uint64)
        launches = np.concatenate(launched) if launched else np.empty(0, np.uint64)
        self._launches = len(launches)
        known = self._sequences[np.isin(self._sequences, launches)].tolist()
        self._known = Counter(self._seen[sequence][0] for sequence in known)
        """launches by how they were seen"""

    def count(self) -> int:
        """Return the number of operations."""
        return self._slots.count()

    @property
    def launches(self) -> Container[int]:
        """The sequences of the launches of which accesses were seen."""
        return self._seen.keys()

    def __len__(self) -> int:
        """Return of how many launches accesses were seen."""
        return len(self._seen)

    def remarks(self) -> list[str]:
        """Return what is to be said of them, one line each."""
        learned, some = self._known[SeenAccesses.LEARNED], self._known[SeenAccesses.SOME]
        seen = self._known.total() - learned
        text = "what kernels touch was seen on the device"
        if seen != self._launches:
            text += f" for {seen:,} of {self._launches:,} launches"
        if learned:
            text += f" and trusted to be the same for {learned:,}"
        if self._graphs:
            text += ", of those of graphs it was not"
        if some:
            text += f"; for {some:,} not all of it: copies of tensors, or more than there was room for"
        return [text]

    def chunks(self, size: int, first: int) -> Iterator[Slots]:
        """Yield the slots."""
        for chunk in self._slots.chunks(size, first):
            yield from uncut_parts(self._changed(chunk), size)

    def _changed(self, slots: Slots) -> Slots:
        launched = np.flatnonzero(slots["kind"] == OperationKind.LAUNCH)
        launched = launched[np.isin(slots["sequence"][launched], self._sequences)]
        if not len(launched):
            return slots
        parts: list[Slots] = []
        begin = 0
        for at in launched.tolist():
            end = at + 1 + int(slots[at]["more"])
            seen, further = self._seen[int(slots[at]["sequence"])]
            may_poll = int(slots[at]["site"]) in self._talkers
            parts += [slots[begin:at], _with_seen(slots[at:end], seen in _WHOLE, further, may_poll)]
            begin = end
        return np.concatenate([*parts, slots[begin:]])


def _with_seen(launch: Slots, is_all: bool, seen: bytes, may_poll: bool) -> Slots:
    """Return a launch's slots with what was seen of it; `launch` is not changed."""
    further = np.frombuffer(seen, SLOT)
    if not is_all:
        references = _references(launch[1:])
        fits = (
            len(launch) - 1 + len(further) <= MOST_CONTINUATIONS
            and 1 + references + _references(further) <= MOST_NUMBERED
        )
        if fits:
            return _joined(launch.copy(), further, 1 + references)
    further = _with_modes(further, launch, may_poll)
    own = launch[:1].copy()
    own["address"] = own["size"] = 0
    own["object"] &= ~np.uint64(GENERATION_BITS)
    own["flags"] &= ~np.uint8(USE_BITS)
    return _joined(own, further, 1)


def _with_modes(further: Slots, launch: Slots, may_poll: bool) -> Slots:
    """Return what was seen with the modes that the launch's own references have, where the device told none.

    A word that was seen, and that the kernel only reads or only writes, it surely touches.
    """
    pairs = further.view(REFERENCES)
    holds = further["kind"] == OperationKind.REFERENCES
    unknown = [
        holds & (pairs["count"] > at) & (pairs[f"{name}_mode"] & MODE_BITS == 0) for at, name in enumerate(_PAIR)
    ]
    if not (unknown[0].any() or unknown[1].any()):
        return further
    known = {int(launch["address"][0]): int(launch["flags"][0]) & USE_BITS}
    own = launch[launch["kind"] == OperationKind.REFERENCES].view(REFERENCES)
    for name in _PAIR:
        addresses, modes = own[f"{name}_address"].tolist(), own[f"{name}_mode"].tolist()
        known.update(zip(addresses, modes, strict=True))
    changed = further.copy().view(REFERENCES)
    for rows, name in zip(unknown, _PAIR, strict=True):
        for row in np.flatnonzero(rows).tolist():
            mode = known.get(int(changed[f"{name}_address"][row]), 0)
            sure = not may_poll and mode in (AccessMode.READ, AccessMode.WRITE)
            changed[f"{name}_mode"][row] = mode | SlotFlag.TOUCHES if sure else mode
    return changed.view(SLOT)


def _joined(launch: Slots, further: Slots, before: int) -> Slots:
    """Return a launch with further continuation slots, whose references follow `before` others."""
    joined = np.concatenate([launch, further])
    joined["more"][0] = len(joined) - 1
    behind = joined[len(launch) :]
    rows = np.flatnonzero(behind["kind"] == OperationKind.ROWS)
    numbers = behind.view(ROWS)["reference"]
    numbers[rows] = np.minimum(numbers[rows].astype(np.int64) + before, MOST_NUMBERED - 1)
    return joined


def _references(further: Slots) -> int:
    """Return how many references continuation slots have."""
    pairs = further[further["kind"] == OperationKind.REFERENCES].view(REFERENCES)
    count: NDArray[np.uint8] = pairs["count"]
    return int(np.minimum(count, 2).sum())
