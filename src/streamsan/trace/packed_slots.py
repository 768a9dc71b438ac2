"""Slots as bytes, for traces of source: these are short, and NumPy takes longer to load than they to be read."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from streamsan.trace.slot_fields import FIRST_CONTINUATION_KIND

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from streamsan.trace.store import Slots

    Packed = bytes | NDArray[np.uint8]
    """whole operations, for the engine"""

SLOT_STRUCT = struct.Struct("<QQQQQQIHHhBBBBH")
"""`layout.SLOT` for one at a time."""
SITE_AT, KIND_AT = 48, 58
"""where these fields lie in a slot"""

_CONTINUATION_KINDS = bytes(range(FIRST_CONTINUATION_KIND, 256))
_SITE_AND_KIND = struct.Struct("<48xI6xB5x")


class Slot(NamedTuple):
    """The fields of an operation's slot, as `layout.SLOT` has them."""

    sequence: int
    time: int
    stream: int
    object: int
    address: int
    size: int
    site: int
    api: int
    thread: int
    status: int
    kind: int
    detail: int
    flags: int
    more: int
    duration: int


class PackedOperation(NamedTuple):
    """One operation."""

    slot: Slot
    packed: bytes
    """all of it, with its continuation slots"""

    def with_fields(self, **fields: int) -> PackedOperation:
        """Return the operation with other fields in its slot."""
        slot = self.slot._replace(**fields)
        return PackedOperation(slot, SLOT_STRUCT.pack(*slot) + self.packed[SLOT_STRUCT.size :])


def operations_in(packed: bytes) -> list[PackedOperation]:
    """Return the operations of bytes that begin with one."""
    size = SLOT_STRUCT.size
    kinds = packed[KIND_AT::size]
    starts = [row for row, kind in enumerate(kinds) if kind < FIRST_CONTINUATION_KIND]
    return [
        PackedOperation(Slot._make(SLOT_STRUCT.unpack_from(packed, size * row)), packed[size * row : size * end])
        for row, end in zip(starts, [*starts[1:], len(kinds)], strict=True)
    ]


def sites_in(packed: bytes) -> Counter[int]:
    """Return how many operations are at each site."""
    return Counter(site for site, kind in _SITE_AND_KIND.iter_unpack(packed) if kind < FIRST_CONTINUATION_KIND)


class PackedSlots:
    """A store over bytes that are in sequence order already."""

    def __init__(self, packed: bytes) -> None:
        self.packed = packed

    def chunks(self, size: int, first: int) -> Iterator[Slots]:
        """Yield views of an array over the bytes."""
        if self.packed:
            # Imported late: it needs NumPy.
            from streamsan.trace.store import slots_of, uncut_parts

            yield from uncut_parts(slots_of(self.packed), size)

    def count(self) -> int:
        """Return the number of operations."""
        return len(self.packed[KIND_AT :: SLOT_STRUCT.size].translate(None, _CONTINUATION_KINDS))
