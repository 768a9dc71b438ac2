"""Rows of memory, as copies and fills in two and three dimensions touch them, and how they lie in slots."""

from __future__ import annotations

import struct

from msgspec import Struct

from streamsan.vocabulary import OperationKind

ROWS_STRUCT = struct.Struct("<QQQQQ16xBxB5x")
"""`layout.ROWS` for packing one at a time."""
assert ROWS_STRUCT.size == 64


class Rows(Struct, frozen=True):
    """Which bytes of a reference are touched: `count` rows of `width` bytes, `pitch` bytes apart, in `slices` slices.

    The first row begins at the reference's address.
    """

    width: int
    pitch: int
    count: int
    slice_pitch: int = 0
    """bytes from slice to slice; of no meaning with one slice"""
    slices: int = 1

    @property
    def slice_extent(self) -> int:
        """Bytes from the first to the last one of a slice."""
        return (self.count - 1) * self.pitch + self.width

    @property
    def extent(self) -> int:
        """Bytes from the first to the last one."""
        return (self.slices - 1) * self.slice_pitch + self.slice_extent

    @property
    def sensible(self) -> bool:
        """Whether there are rows, and none lies over another."""
        return (
            min(self.width, self.count, self.slices) > 0
            and (self.count == 1 or self.pitch >= self.width)
            and (self.slices == 1 or self.slice_pitch >= self.slice_extent)
        )

    @property
    def simplest(self) -> Rows:
        """The same bytes in as few rows, and in as few slices, as they can be said."""
        width, pitch, count, slice_pitch, slices = self.width, self.pitch, self.count, self.slice_pitch, self.slices
        if count > 1 and pitch == width:
            width, count = width * count, 1
        if count == 1:
            pitch, count, slices = slice_pitch, slices, 1
        elif slices > 1 and slice_pitch == pitch * count:
            count, slices = count * slices, 1
        if count > 1 and pitch == width:
            width, count = width * count, 1
        return Rows(width, pitch if count > 1 else 0, count, slice_pitch if slices > 1 else 0, slices)

    @property
    def dense(self) -> bool:
        """Whether no byte between the first and the last one is left out."""
        return self.simplest.count == 1

    def packed(self, reference: int) -> bytes:
        """Return the ROWS slot for the operation's memory reference of that number (from 0)."""
        return ROWS_STRUCT.pack(
            self.width, self.pitch, self.count, self.slice_pitch, self.slices, reference, OperationKind.ROWS
        )


def unpacked_rows(slot: bytes) -> tuple[int, Rows]:
    """Return the number of the reference, and the rows, that a ROWS slot tells; they need not be sensible."""
    width, pitch, count, slice_pitch, slices, reference, _kind = ROWS_STRUCT.unpack(slot)
    return reference, Rows(width, pitch, count, slice_pitch, slices)
