"""Memory references of an operation, and how they lie in slots."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from msgspec import Struct

from streamsan.trace.reference_bounds import Bounds
from streamsan.trace.rows import Rows
from streamsan.trace.slot_fields import MOST_CONTINUATIONS
from streamsan.vocabulary import AccessMode, OperationKind, SlotFlag

REFERENCES_STRUCT = struct.Struct("<QQQQII18xBBBBxx")
"""`layout.REFERENCES` for packing one at a time."""
assert REFERENCES_STRUCT.size == 64

MODE_BITS = 3
USE_BITS = MODE_BITS | SlotFlag.TOUCHES | SlotFlag.ATOMIC
"""of a reference's mode byte, and of `flags` for the first one: those that say what is done with the memory"""
MOST_FURTHER_REFERENCES = 2 * MOST_CONTINUATIONS
"""Each continuation slot holds two."""
MOST_NUMBERED = 256
"""A ROWS slot names its reference by a byte."""


class Reference(Struct, frozen=True):
    """Memory that an operation uses: [address, address + size); size 0 is not known."""

    address: int
    size: int = 0
    generation: int = 0
    """the generation of the allocation it was derived from, 0 when not known"""
    mode: AccessMode = AccessMode.OPAQUE
    flags: int = 0
    """SlotFlag bits of this reference alone (ASSUMED: the access may not happen)"""
    rows: Rows | None = None
    """which bytes of it are touched; None: all of them, or (STRIDED) not known"""
    bounds: Bounds | None = None
    """of a kernel's, whose size is not known: outside of which bytes it touches nothing"""

    @property
    def size_word(self) -> int:
        """What stands for its size in a slot."""
        return self.size if self.bounds is None else self.bounds.word

    @property
    def polls(self) -> bool:
        """Whether it is no use of its own, but says that a kernel polls the word there."""
        return self.mode is AccessMode.OPAQUE and bool(self.flags & SlotFlag.ATOMIC) and not self.size


def packed(references: Sequence[Reference]) -> Iterator[bytes]:
    """Yield the REFERENCES slots that hold these references, two in each."""
    for index in range(0, len(references), 2):
        first = references[index]
        if index + 1 < len(references):
            second, count = references[index + 1], 2
        else:
            second, count = Reference(0), 1
        yield REFERENCES_STRUCT.pack(
            first.address,
            first.size_word,
            second.address,
            second.size_word,
            first.generation,
            second.generation,
            OperationKind.REFERENCES,
            first.mode | first.flags,
            second.mode | second.flags,
            count,
        )


def continuations(references: Sequence[Reference], first: int) -> Iterator[bytes]:
    """Yield the slots of further references, then those of the rows of all references that have some.

    `first` is 1 where the first of `references` lies in the operation's own slot, else 0.
    """
    yield from packed(references[first:])
    for number, reference in enumerate(references[:MOST_NUMBERED]):
        if reference.rows is not None:
            yield reference.rows.packed(number)


def unpacked(slot: bytes) -> Iterator[Reference]:
    """Yield the one or two references of a REFERENCES slot."""
    (a, a_size, b, b_size, a_generation, b_generation, _kind, a_mode, b_mode, count) = REFERENCES_STRUCT.unpack(slot)
    if count > 0:
        yield Reference(a, a_size, a_generation, AccessMode(a_mode & MODE_BITS), a_mode & ~MODE_BITS)
    if count > 1:
        yield Reference(b, b_size, b_generation, AccessMode(b_mode & MODE_BITS), b_mode & ~MODE_BITS)
