"""References that launches have besides those of their arguments, as slots to add: further ranges, variables, images,
rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from streamsan.launched_code.image_references import ImageUse
from streamsan.launched_code.launch_ranges import UsedRange
from streamsan.launched_code.reference_patches import Patches
from streamsan.launched_code.variable_references import VariableRange
from streamsan.trace.layout import REFERENCES
from streamsan.trace.reference_bounds import Bounds
from streamsan.trace.references import MODE_BITS, MOST_NUMBERED, Reference, packed
from streamsan.trace.store import SLOT_WORDS
from streamsan.vocabulary import AccessMode

NOTHING = -1
"""a source: the address is 0"""
Range = tuple[int, int, UsedRange]
"""a source, how many bytes further, and the range"""


class AddedSlots(Struct, frozen=True):
    """Continuation slots to add to launches: those of shape `s` are `first[s]` to `first[s] + count[s]`.

    Each slot has two addresses: that of `source`, a reference of the launch or (from `-2` on downwards) a variable, and
    `further` bytes.
    """

    first: NDArray[np.intp]
    count: NDArray[np.intp]
    words: NDArray[np.uint64]
    """of each slot eight, addresses 0"""
    source: NDArray[np.intp]
    further: NDArray[np.uint64]
    """modulo 2^64"""
    image: NDArray[np.intp]
    """of each half the use in `images` that it is; `NOTHING`: of none"""
    images: Sequence[ImageUse] = ()


def variable_source(number: int) -> int:
    """Return the source that stands for a variable."""
    return -2 - number


def added_slots(
    patches: Sequence[Patches],
    variables: Mapping[int, tuple[VariableRange, ...]],
    symbols: dict[str, int],
    images: Mapping[int, tuple[ImageUse, ...]] = MappingProxyType({}),
) -> AddedSlots | None:
    """Return the slots to add for each shape, by its patches and what it uses of variables and images; None: for no
    shape any.

    Variables are numbered by their symbols: `symbols` gets those that are new.
    """
    first, count = np.zeros(len(patches), np.intp), np.zeros(len(patches), np.intp)
    slots: list[bytes] = []
    sources: list[tuple[int, int]] = []
    further: list[tuple[int, int]] = []
    image: list[tuple[int, int]] = []
    seen_images: dict[ImageUse, int] = {}
    known: dict[tuple[int, tuple[VariableRange, ...], tuple[ImageUse, ...]], tuple[int, int]] = {}
    for number, each in enumerate(patches):
        used, of_images = variables.get(number, ()), images.get(number, ())
        key = (id(each), used, of_images)
        if key not in known:
            begin = len(slots)
            seen, unseen = list(_further_ranges(each)), list[Range]()
            for one in used:
                source = variable_source(symbols.setdefault(one.symbol, len(symbols)))
                how = _without_rows(one.used)
                (unseen if one.constant else seen).append((source, how.begin, how))
            for ranges in (seen, unseen):
                slots += _packed(ranges, ranges is unseen)
                padded = [*ranges, (NOTHING, 0, UsedRange(0))] if len(ranges) % 2 else ranges
                for left, right in zip(padded[::2], padded[1::2], strict=True):
                    sources.append((left[0], right[0]))
                    further.append((left[1], right[1]))
            image += [(NOTHING, NOTHING)] * (len(sources) - len(image))
            numbers = [seen_images.setdefault(use, len(seen_images)) for use in of_images]
            slots += _packed([(NOTHING, 0, UsedRange(0))] * len(numbers), unseen=True)
            image += zip(numbers[::2], [*numbers[1::2], NOTHING], strict=False)
            rows = list(_rows(each))
            slots += rows
            more = len(slots) - len(sources)
            sources += [(NOTHING, NOTHING)] * more
            further += [(0, 0)] * more
            image += [(NOTHING, NOTHING)] * len(rows)
            known[key] = (begin, len(slots) - begin)
        first[number], count[number] = known[key]
    if not count.any():
        return None
    return AddedSlots(
        first,
        count,
        np.frombuffer(b"".join(slots), np.uint64).reshape(-1, SLOT_WORDS),
        np.array(sources, np.intp).reshape(-1, 2),
        np.array(further, np.int64).reshape(-1, 2).view(np.uint64),
        np.array(image, np.intp).reshape(-1, 2),
        list(seen_images),
    )


def _packed(ranges: Sequence[Range], unseen: bool) -> Iterator[bytes]:
    """Yield the slots with ranges. `unseen`: a device that is asked what launches touch does not tell of these."""
    references = [
        Reference(0, how.size, 0, AccessMode(how.bits & MODE_BITS), how.bits & ~MODE_BITS, bounds=how.bounds)
        for _, _, how in ranges
    ]
    for slot in packed(references):
        if not unseen:
            yield slot
            continue
        marked = np.frombuffer(slot, REFERENCES).copy()
        marked["unseen"] = True
        yield marked.tobytes()


def _without_rows(used: UsedRange) -> UsedRange:
    """Return a range as it is said of a reference whose rows cannot be said: bounds."""
    if used.rows is None:
        return used
    return UsedRange(used.bits, bounds=Bounds(used.begin, used.begin + used.size))


def _further_ranges(patches: Patches) -> Iterator[Range]:
    """Yield the ranges behind each first one: of which reference, how far from where that is brought, and the range."""
    for number, patch in enumerate(patches):
        for used in patch.ranges[1:]:
            # Rows are said of references that have a number before these are added.
            how = _without_rows(used)
            yield number, how.begin - patch.ranges[0].begin, how


def _rows(patches: Patches) -> Iterator[bytes]:
    """Yield the slots with the rows of the references in their places."""
    for number, patch in enumerate(patches[:MOST_NUMBERED]):
        if patch.ranges and patch.ranges[0].rows is not None:
            yield patch.ranges[0].rows.packed(number)
