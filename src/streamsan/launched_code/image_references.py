"""What kernels use of the memory behind texture and surface objects: launches are given numbers, which the calls that
make the objects tell the memory of.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from streamsan.kernels.uses import Use
from streamsan.launched_code.launch_ranges import Extents
from streamsan.machine_code.byte_ranges import Extent
from streamsan.machine_code.cubin import WORD_BYTES
from streamsan.machine_code.kernel_accesses import KernelAccesses
from streamsan.machine_code.launch_extents import WordExtents
from streamsan.trace import Trace
from streamsan.trace.launch_shapes import LaunchShape
from streamsan.trace.reference_bounds import Bounds
from streamsan.trace.slot_fields import STATUS_UNKNOWN
from streamsan.trace.store import Slots
from streamsan.vocabulary import AccessMode, HandleKind, OperationKind, SlotFlag

_SORTS = (HandleKind.TEXTURE, HandleKind.SURFACE)
_ENDS = (OperationKind.CONTEXT_DESTROY, OperationKind.DEVICE_RESET)
"""what ends objects that no HANDLE_DESTROY names"""
_WAYS = {
    "read": int(AccessMode.READ),
    "write": int(AccessMode.WRITE),
    "update": AccessMode.READ_WRITE | SlotFlag.ATOMIC,
}
"""the bits of a reference that says it"""
_TEXEL_SHIFT = 56
"""of the `size` of a HANDLE_CREATE: the bytes of a texel are above"""
_SIZE_BITS = (1 << _TEXEL_SHIFT) - 1


class ImageUse(NamedTuple):
    """What a launch does to the memory behind one object."""

    sort: HandleKind
    """TEXTURE or SURFACE: each has numbers of its own"""
    number: int
    """of the object"""
    bits: int
    """AccessMode and SlotFlag bits of the reference"""
    first: bool = False
    """it touches the first texel for sure"""
    line: Extent | None = None
    """which texels of a line it touches, where that is known"""


class ImageMemory(NamedTuple):
    """What an object was made of."""

    address: int
    size: int
    """bytes; 0: some of the allocation at the address, nobody says where"""
    texel: int
    """bytes; 0: not known"""


class Place(NamedTuple):
    """A reference to memory: its address, what stands for its size, its bits."""

    address: int
    size_word: int
    bits: int


NOWHERE = Place(0, 0, 0)


def uses_of_images(accesses: KernelAccesses, extents: Extents, shape: LaunchShape) -> tuple[ImageUse, ...]:
    """Return what a launch uses of images, as far as their numbers were kept."""
    found: list[ImageUse] = []
    for word, use in accesses.images.items():
        number = _number(shape, word)
        if number:
            sort = HandleKind.SURFACE if word in accesses.surfaces else HandleKind.TEXTURE
            found += _uses(sort, number, use, extents.get(word), word in accesses.chosen_images)
    return tuple(dict.fromkeys(found))


def _number(shape: LaunchShape, word: int) -> int:
    end = word + WORD_BYTES
    if any(run.begin < end and word < run.end for run in shape.not_told):
        return 0
    # The buffer may be short: then it is not known.
    return int.from_bytes(shape.arguments[word:end], "little") if len(shape.arguments) >= end else 0


def _uses(sort: HandleKind, number: int, use: Use, extents: WordExtents | None, chosen: bool) -> Iterator[ImageUse]:
    if extents is None:
        # Which one of several it is nobody knows.
        if not chosen:
            yield ImageUse(sort, number, use.mode | use.flags)
        return
    for (way, bits), extent in zip(_WAYS.items(), extents.ways, strict=True):
        first = way in extents.first
        if extent is not None and extent.whole and extent.end <= extent.begin:
            continue
        sure = first or (extent is not None and extent.sure)
        if not sure and (chosen or not _has_way(use, bits)):
            continue
        yield ImageUse(sort, number, bits, first, extent if extent is not None and extent.whole else None)


def _has_way(use: Use, bits: int) -> bool:
    """Tell whether a kernel's only use is of this sort, or has it as a part."""
    if use.flags & SlotFlag.ATOMIC or bits & SlotFlag.ATOMIC:
        return use.mode | use.flags == bits
    return bool(use.mode & bits)


def place_of(use: ImageUse, memory: ImageMemory | None) -> Place:
    """Return the reference that a use of this memory is; `NOWHERE` where it is not known, or nothing is touched."""
    if memory is None or not memory.address:
        return NOWHERE
    if not memory.size:
        return Place(memory.address, 0, use.bits)
    bits = use.bits | (SlotFlag.TOUCHES if use.first else 0)
    if use.line is None or not memory.texel:
        return Place(memory.address, Bounds(0, memory.size).word, bits)
    # What lies outside is not read, and gives 0.
    begin = max(0, use.line.begin * memory.texel)
    end = min(memory.size, use.line.end * memory.texel)
    if begin >= end:
        return NOWHERE
    if use.line.sure and use.line.dense and not use.bits & SlotFlag.ATOMIC:
        return Place(memory.address + begin, end - begin, use.bits)
    inside = use.line.begin * memory.texel >= 0
    touches = SlotFlag.TOUCHES if use.line.sure and inside else 0
    return Place(memory.address + begin, Bounds(0, end - begin).word, use.bits | touches)


class KnownImages:
    """Which objects are alive, as far as the slots were read, and what memory they lead to.

    Of a number that several contexts of a process have given, it is not known which a kernel means.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._alive: dict[tuple[int, int, int], set[ImageMemory]] = {}
        """process, sort and number -> memory"""

    def memory(self, process: int, use: ImageUse) -> ImageMemory | None:
        """Return what the object of a process leads to; None: not known."""
        places = self._alive.get((process, use.sort, use.number), ())
        return next(iter(places)) if len(places) == 1 else None

    @staticmethod
    def events(slots: Slots) -> list[int]:
        """Return where in these slots objects begin or end."""
        kinds = np.ascontiguousarray(slots["kind"])
        made = (kinds == OperationKind.HANDLE_CREATE) | (kinds == OperationKind.HANDLE_DESTROY)
        found = np.flatnonzero(made)
        found = found[np.isin(slots["detail"][found], _SORTS)]
        return sorted({*found.tolist(), *np.flatnonzero(np.isin(kinds, _ENDS)).tolist()})

    def tell(self, slot: np.void) -> None:
        """Note that an object begins or ends."""
        if slot["status"] not in (0, STATUS_UNKNOWN):
            return
        process = self._trace.threads[int(slot["thread"])].process
        if slot["kind"] in _ENDS:
            for key in [key for key in self._alive if key[0] == process]:
                del self._alive[key]
            return
        key = process, int(slot["detail"]), int(slot["object"])
        if slot["kind"] == OperationKind.HANDLE_DESTROY:
            self._alive.pop(key, None)
            return
        size = int(slot["size"])
        memory = ImageMemory(int(slot["address"]), size & _SIZE_BITS, size >> _TEXEL_SHIFT)
        self._alive.setdefault(key, set()).add(memory)
