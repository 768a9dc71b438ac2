"""Slots in which launches have continuation slots added: what they use besides the references of their arguments."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from streamsan.launched_code.added_references import NOTHING, AddedSlots, variable_source
from streamsan.launched_code.image_references import KnownImages, place_of
from streamsan.launched_code.variable_references import KnownVariables
from streamsan.trace import Trace
from streamsan.trace.layout import REFERENCES, SLOT
from streamsan.trace.shape_numbers import named_shapes
from streamsan.trace.slot_fields import FIRST_CONTINUATION_KIND, MOST_CONTINUATIONS
from streamsan.trace.store import ADDRESS_WORD, LAST_WORD, SLOT_WORDS, Slots, SlotStore, as_words, uncut_parts
from streamsan.vocabulary import OperationKind

_MORE_BIT = np.uint64(8 * 5)
"""of the last word: where `more` begins"""
Rows = NDArray[np.intp]


class ExtendedSlots:
    """The slots of a store with those that its launches get added. Memory does not grow with the trace."""

    def __init__(
        self, slots: SlotStore, trace: Trace, added: AddedSlots, symbols: dict[str, int], stays: NDArray[np.bool_]
    ) -> None:
        """`symbols`: the variables that kernels use, and their numbers. `stays`: of each shape whether it has patches,
        of which the first leaves the reference as it is: a launch that has none in its own slot was not patched.
        """
        self._slots = slots
        self._trace = trace
        self._added = added
        self._symbols = symbols
        self._stays = stays
        self._processes = np.array([thread.process for thread in trace.threads], np.intp)

    def count(self) -> int:
        """Return the number of operations."""
        return self._slots.count()

    def chunks(self, size: int, first: int) -> Iterator[Slots]:
        """Yield the slots."""
        variables, images = KnownVariables(self._trace, self._symbols), KnownImages(self._trace)
        # Where a variable or an image lies was said once, perhaps before `first`: all is read for that.
        for chunk in self._slots.chunks(size, 0 if self._symbols or self._added.images else first):
            slots = self._extended(chunk, variables, images)
            if first and int(slots["sequence"][slots["kind"] < FIRST_CONTINUATION_KIND][-1]) < first:
                continue
            yield from uncut_parts(slots, size)

    def _extended(self, slots: Slots, variables: KnownVariables, images: KnownImages) -> Slots:
        at, shapes = named_shapes(slots)
        shapes[shapes >= len(self._added.count)] = 0
        counts = self._added.count[shapes]
        fits = (counts > 0) & (slots["more"][at] + counts <= MOST_CONTINUATIONS)
        launched = slots["kind"][at] == OperationKind.LAUNCH
        fits &= ~(self._stays[shapes] & launched & (slots["address"][at] == 0) & (slots["more"][at] > 0))
        followed: list[KnownVariables | KnownImages] = [variables] if self._symbols else []
        followed += [images] if self._added.images else []
        events = sorted((event, number) for number, each in enumerate(followed) for event in each.events(slots))
        if not fits.any():
            for event, number in events:
                followed[number].tell(slots[event])
            return slots
        order = np.argsort(at[fits], kind="stable")
        at, shapes, counts = at[fits][order], shapes[fits][order], counts[fits][order]
        owner = np.repeat(np.arange(len(at)), counts)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        template = self._added.first[shapes][owner] + within
        new = self._added.words[template]
        words = as_words(slots).copy()
        for half in (0, 1):
            self._point(new, half, words, at[owner], template)
        if followed:
            processes = self._processes[slots["thread"][at]]
            begin = 0
            for event, number in [*events, (len(slots), 0)]:
                end = int(np.searchsorted(owner, np.searchsorted(at, event)))
                part = slice(begin, end)
                self._point_to_variables(new[part], template[part], processes[owner[part]], variables)
                self._point_to_images(new[part], template[part], processes[owner[part]], images)
                if event < len(slots):
                    followed[number].tell(slots[event])
                begin = end
        words[at, LAST_WORD] += counts.astype(np.uint64) << _MORE_BIT
        behind = at + 1 + slots["more"][at]
        extended = np.insert(words, np.repeat(behind, counts), new, axis=0)
        return extended.reshape(-1).view(SLOT)

    def _point(self, new: NDArray[np.uint64], half: int, words: NDArray[np.uint64], at: Rows, template: Rows) -> None:
        """Set addresses in the slots `new` that go by references of their launches, which are at `at`."""
        source = self._added.source[template, half]
        rows = np.flatnonzero(source >= 0)
        if not len(rows):
            return
        at, source, template = at[rows], source[rows], template[rows]
        kinds = (words[:, LAST_WORD] >> np.uint64(16)).astype(np.uint8)
        launched = kinds[at] == OperationKind.LAUNCH
        in_slot = launched & (source == 0)
        slot = np.where(in_slot, at, at + 1 + (source - launched) // 2)
        slot = np.minimum(slot, len(words) - 1)
        there = in_slot | (kinds[slot] == OperationKind.REFERENCES)
        flat = slot * SLOT_WORDS + np.where(in_slot, ADDRESS_WORD, 2 * ((source - launched) % 2))
        address = words.reshape(-1)[flat]
        known = there & (address != 0)
        new[rows, 2 * half] = np.where(known, address + self._added.further[template, half], np.uint64(0))

    def _point_to_variables(
        self, new: NDArray[np.uint64], template: Rows, processes: Rows, variables: KnownVariables
    ) -> None:
        """Set addresses in slots that go by variables, as they lie now."""
        for half in (0, 1):
            source = self._added.source[template, half]
            rows = np.flatnonzero(source < NOTHING)
            if len(rows):
                address = variables.addresses(processes[rows], variable_source(0) - source[rows])
                place = address + self._added.further[template[rows], half]
                new[rows, 2 * half] = np.where(address != 0, place, np.uint64(0))

    def _point_to_images(self, new: NDArray[np.uint64], template: Rows, processes: Rows, images: KnownImages) -> None:
        """Set the references in slots that go by texture and surface objects, as they are now."""
        for half, name in enumerate(("first", "second")):
            use = self._added.image[template, half]
            rows = np.flatnonzero(use >= 0)
            if not len(rows):
                continue
            keys, which = np.unique(processes[rows] * len(self._added.images) + use[rows], return_inverse=True)
            places = []
            for process, number in (divmod(key, len(self._added.images)) for key in keys.tolist()):
                each = self._added.images[number]
                places.append(place_of(each, images.memory(process, each)))
            found = np.array(places, np.dtype("u8,u8,u8"))[which]
            slots = new[rows].reshape(-1).view(REFERENCES)
            for field, value in zip(("address", "size", "mode"), ("f0", "f1", "f2"), strict=True):
                slots[f"{name}_{field}"] = found[value]
            new[rows] = as_words(slots.view(SLOT))
