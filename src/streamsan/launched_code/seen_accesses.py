"""Slots whose launches have the references that were seen on the device (exact mode), in place of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence, Set

import numpy as np
from numpy.typing import NDArray

from streamsan.trace.launch_shapes import GENERATION_BITS
from streamsan.trace.layout import REFERENCES, ROWS, SLOT
from streamsan.trace.references import MODE_BITS, MOST_NUMBERED, USE_BITS, Reference, packed
from streamsan.trace.slot_fields import FIRST_CONTINUATION_KIND, MOST_CONTINUATIONS
from streamsan.trace.store import Slots, SlotStore, as_words, uncut_parts
from streamsan.vocabulary import AccessMode, OperationKind, SeenAccesses, SlotFlag

_PAIR = ("first", "second")
"""references of a REFERENCES slot"""
_WHOLE = (SeenAccesses.ALL, SeenAccesses.LEARNED)
"""details: nothing else was touched"""


class SlotsWithSeenAccesses:
    """The slots of a store; each launch has the references of its LAUNCH_ACCESSES.

    Where not all accesses were seen, it has its own as well. What a LAUNCH_ACCESSES says of a launch that is not in
    the trace is passed over. A few bytes are remembered of each launch, and each kind of accesses once.
    """

    def __init__(self, slots: SlotStore, size: int, talkers: Container[int] = ()) -> None:
        """Read what was seen, in chunks of `size`. `talkers`: sites of launches whose kernels may poll a word."""
        self._slots = slots
        self._talkers = talkers
        numbers: dict[bytes, int] = {}
        """of continuation slots: a kernel does the same again and again"""
        seen = [np.empty(0, np.uint64)]
        how = [np.empty(0, np.uint8)]
        further = [np.empty(0, np.int64)]
        launched = [np.empty(0, np.uint64)]
        for chunk in slots.chunks(size, 0):
            kinds = chunk["kind"]
            launched.append(chunk["sequence"][kinds == OperationKind.LAUNCH])
            places = np.flatnonzero(kinds == OperationKind.LAUNCH_ACCESSES)
            if not len(places):
                continue
            seen.append(chunk["object"][places])
            how.append(chunk["detail"][places])
            further.append(_numbered(chunk, places, numbers))
        self._told = [_Told(np.frombuffer(text, SLOT)) for text in numbers]
        """the continuation slots, by their numbers"""
        sequences = np.concatenate(seen)
        order = np.argsort(sequences, kind="stable")
        sequences = sequences[order]
        last = np.append(sequences[1:] != sequences[:-1], True)[: len(sequences)]
        self._sequences = sequences[last]
        self._how = np.concatenate(how)[order][last]
        """of each sequence how it was seen (SeenAccesses)"""
        self._further = np.concatenate(further)[order][last]
        """of each sequence the number of its continuation slots"""
        launches = np.concatenate(launched)
        self._launches = len(launches)
        known = np.isin(self._sequences, launches)
        self._known = Counter(self._how[known].tolist())
        """launches by how they were seen"""

    def count(self) -> int:
        """Return the number of operations."""
        return self._slots.count()

    @property
    def launches(self) -> Set[int]:
        """The sequences of the launches of which accesses were seen."""
        return frozenset(self._sequences.tolist())

    def __len__(self) -> int:
        """Return of how many launches accesses were seen."""
        return len(self._sequences)

    def remarks(self) -> list[str]:
        """Return what is to be said of them, one line each."""
        if not self._launches:
            return []
        learned, some = self._known[SeenAccesses.LEARNED], self._known[SeenAccesses.SOME]
        seen = self._known.total() - learned
        text = "what kernels touch was seen on the device"
        if seen != self._launches:
            text += f" for {seen:,} of {self._launches:,} launches"
        if learned:
            text += f" and trusted to be the same for {learned:,}"
        if some:
            text += f"; for {some:,} not all of it: copies of tensors, or more than there was room for"
        return [text]

    def chunks(self, size: int, first: int) -> Iterator[Slots]:
        """Yield the slots."""
        for chunk in self._slots.chunks(size, first):
            yield from uncut_parts(self._changed(chunk), size)

    def _changed(self, slots: Slots) -> Slots:
        launched = np.flatnonzero(slots["kind"] == OperationKind.LAUNCH)
        at, found = _found(self._sequences, slots["sequence"][launched])
        at, launched = at[found], launched[found]
        if not len(launched):
            return slots
        own = _continuations(slots, launched)
        whole = np.isin(self._how[at], _WHOLE)
        further = self._further[at]
        # One in place of another, of the same kind: these need not be looked at.
        alike = whole & np.array([told.modes for told in self._told], np.bool_)[further]
        alike &= ~_keeps(slots, launched, own)
        parts = [told.slots for told in self._told]
        emptied = whole.copy()
        made: dict[tuple[object, ...], tuple[int, bool]] = {}
        for one in np.flatnonzero(~alike).tolist():
            place = int(launched[one])
            launch = slots[place : place + 1 + int(own[one])]
            may_poll = int(launch["site"][0]) in self._talkers
            key = (
                int(launch["address"][0]),
                int(launch["flags"][0]),
                launch[1:].tobytes(),
                int(further[one]),
                bool(whole[one]),
                may_poll,
            )
            if key not in made:
                continuation, is_emptied = _with_seen(launch, key[4], self._told[key[3]].read, may_poll)
                made[key] = len(parts), is_emptied
                parts.append(continuation)
            further[one], emptied[one] = made[key]
        return _with_continuations(slots, launched, own, emptied, further, parts)


class _Told:
    """What a LAUNCH_ACCESSES tells of a launch."""

    def __init__(self, read: Slots) -> None:
        self.read = read
        """its continuation slots"""
        self.slots = _behind(read, 1)
        """those of a launch that touches nothing else"""
        pairs = read.view(REFERENCES)
        holds = read["kind"] == OperationKind.REFERENCES
        self.modes = not any(
            (holds & (pairs["count"] > at) & (pairs[f"{name}_mode"] & MODE_BITS == 0)).any()
            for at, name in enumerate(_PAIR)
        )
        """whether it tells the modes of all references"""


def _found(numbers: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return where in a sorted array each number is, and whether it is there at all."""
    if not len(numbers):
        return np.zeros(len(wanted), np.intp), np.zeros(len(wanted), np.bool_)
    at = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
    return at, numbers[at] == wanted


def _numbered(slots: Slots, places: NDArray[np.intp], numbers: dict[bytes, int]) -> NDArray[np.int64]:
    """Return the number of each place's continuation slots; new ones are added to `numbers`."""
    text = slots.tobytes()
    begins = (places + 1) * SLOT.itemsize
    ends = begins + _continuations(slots, places) * SLOT.itemsize
    pairs = zip(begins.tolist(), ends.tolist(), strict=True)
    return np.array([numbers.setdefault(text[begin:end], len(numbers)) for begin, end in pairs], np.int64)


def _continuations(slots: Slots, places: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return how many continuation slots each place has: no more than there are, whatever a damaged trace says."""
    operations = np.append(np.flatnonzero(slots["kind"] < FIRST_CONTINUATION_KIND), len(slots))
    behind = operations[np.searchsorted(operations, places, side="right")] - places - 1
    counts: NDArray[np.intp] = np.minimum(slots["more"][places], behind).astype(np.intp)
    return counts


def _keeps(slots: Slots, launched: NDArray[np.intp], own: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return whether each launch's continuation slots, `own` many, say what the device does not tell."""
    pairs = slots.view(REFERENCES)
    polls = np.logical_or.reduce([pairs[f"{name}_mode"] & USE_BITS == SlotFlag.ATOMIC for name in _PAIR])
    says = (slots["kind"] == OperationKind.REFERENCES) & (polls | (pairs["unseen"] != 0))
    before = np.concatenate([[0], np.cumsum(says)])
    keeps: NDArray[np.bool_] = before[launched + 1 + own] > before[launched + 1]
    return keeps


def _with_continuations(
    slots: Slots,
    launched: NDArray[np.intp],
    own: NDArray[np.intp],
    emptied: NDArray[np.bool_],
    further: NDArray[np.int64],
    parts: Sequence[Slots],
) -> Slots:
    """Return slots in which each launch has the continuation slots `parts[further]` in place of its `own` ones.

    Those that are `emptied` have no first reference, either.
    """
    words = as_words(np.ascontiguousarray(slots))
    lengths = np.array([len(part) for part in parts], np.intp)
    starts = np.cumsum(lengths) - lengths
    table = np.concatenate([as_words(np.ascontiguousarray(part)) for part in parts])
    count = lengths[further]

    stays = np.ones(len(slots), np.bool_)
    stays[_ranges(launched + 1, own)] = False
    room = np.zeros(len(slots), np.intp)
    room[launched] = count
    room = room[stays]
    places = np.arange(len(room)) + np.cumsum(room) - room

    made = np.empty((len(room) + int(count.sum()), words.shape[1]), np.uint64)
    made[places] = words[stays]
    behind = np.ones(len(made), np.bool_)
    behind[places] = False
    made[behind] = table[_ranges(starts[further], count)]

    changed = made.reshape(-1).view(SLOT)
    launches = places[np.cumsum(stays)[launched] - 1]
    changed["more"][launches] = count
    launches = launches[emptied]
    for name in ("address", "size"):
        changed[name][launches] = 0
    changed["object"][launches] &= ~np.uint64(GENERATION_BITS)
    changed["flags"][launches] &= ~np.uint8(USE_BITS)
    return changed


def _ranges(starts: NDArray[np.intp], counts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the numbers of all ranges, one behind another."""
    ranges: NDArray[np.intp] = np.arange(int(counts.sum()), dtype=np.intp)
    ranges += np.repeat(starts - (np.cumsum(counts) - counts), counts)
    return ranges


def _with_seen(launch: Slots, is_all: bool, seen: Slots, may_poll: bool) -> tuple[Slots, bool]:
    """Return a launch's continuation slots with what was seen of it, and whether its own reference is not of them."""
    if not is_all:
        references = _references(launch[1:])
        fits = len(launch) - 1 + len(seen) <= MOST_CONTINUATIONS and 1 + references + _references(seen) <= MOST_NUMBERED
        if fits:
            return np.concatenate([launch[1:], _behind(seen, 1 + references)]), False
    told = _behind(with_modes(seen, launch, may_poll), 1)
    return with_unseen(told, launch), True


def with_unseen(told: Slots, launch: Slots) -> Slots:
    """Return what was seen with those of the launch's own references of which nobody learns from the device."""
    unseen = launch[launch["kind"] == OperationKind.REFERENCES]
    unseen = unseen[unseen.view(REFERENCES)["unseen"] != 0]
    # Numbers of rows count the references before these.
    found = np.concatenate([told, np.frombuffer(b"".join(_polled(launch)), SLOT), unseen])
    return found if len(found) <= MOST_CONTINUATIONS else told


def _polled(launch: Slots) -> list[bytes]:
    """Return slots with the references that say which words the kernel polls."""
    own = launch[launch["kind"] == OperationKind.REFERENCES].view(REFERENCES)
    own = own[own["unseen"] == 0]
    found: list[Reference] = []
    for name in _PAIR:
        rows = np.flatnonzero(own[f"{name}_mode"] & USE_BITS == SlotFlag.ATOMIC)
        found += [Reference(int(own[f"{name}_address"][row]), 0, 0, AccessMode.OPAQUE, SlotFlag.ATOMIC) for row in rows]
    return list(packed([each for each in found if each.address]))


def with_modes(further: Slots, launch: Slots, may_poll: bool) -> Slots:
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


def _behind(further: Slots, before: int) -> Slots:
    """Return continuation slots whose references follow `before` others."""
    moved = further.copy()
    rows = np.flatnonzero(moved["kind"] == OperationKind.ROWS)
    numbers = moved.view(ROWS)["reference"]
    numbers[rows] = np.minimum(numbers[rows].astype(np.int64) + before, MOST_NUMBERED - 1)
    return moved


def _references(further: Slots) -> int:
    """Return how many references continuation slots have."""
    pairs = further[further["kind"] == OperationKind.REFERENCES].view(REFERENCES)
    count: NDArray[np.uint8] = pairs["count"]
    return int(np.minimum(count, 2).sum())
