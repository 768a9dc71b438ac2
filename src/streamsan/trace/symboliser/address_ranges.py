"""Which compilation unit covers an address, from `.debug_aranges`: libraries have thousands of ranges."""

from __future__ import annotations

import struct
from bisect import bisect_right

_LONG = 0xFFFFFFFF
"""in the place of a length: it has 64 bits, and so has the unit's place"""
_VERSION = 2
_WORDS = {4: "I", 8: "Q"}


class AddressRanges:
    """The ranges of addresses of a file's units."""

    def __init__(self, content: bytes, little_endian: bool) -> None:
        """Read a section. Raises ValueError or struct.error where it is damaged."""
        order = "<" if little_endian else ">"
        found: list[tuple[int, int, int]] = []
        at = 0
        while at < len(content):
            begin = at
            (length,) = struct.unpack_from(f"{order}I", content, at)
            at += 4
            if long := length == _LONG:
                (length,) = struct.unpack_from(f"{order}Q", content, at)
                at += 8
            end = at + length
            head = struct.Struct(f"{order}H{'Q' if long else 'I'}BB")
            version, unit, size, segment = head.unpack_from(content, at)
            if version != _VERSION or segment or size not in _WORDS or end > len(content):
                raise ValueError("ranges of addresses that are not read")
            pair = struct.Struct(f"{order}2{_WORDS[size]}")
            # Pairs lie at multiples of their size, counted from where the set begins.
            at += head.size
            at += -(at - begin) % pair.size
            whole = max(0, end - at) // pair.size * pair.size
            pairs = pair.iter_unpack(content[at : at + whole])
            found += [(first, first + count, unit) for first, count in pairs if count]
            at = end
        self._ranges = sorted(found)
        self._begins = [first for first, _, _ in self._ranges]

    def unit_at(self, address: int) -> int | None:
        """Return the place of the unit that covers an address; None: there is none."""
        index = bisect_right(self._begins, address) - 1
        if index < 0:
            return None
        _, end, unit = self._ranges[index]
        return unit if address < end else None
