"""Between which bytes a kernel touches memory, where it is not known which it touches; and how a slot says it."""

from __future__ import annotations

from typing import NamedTuple

BOUNDED = 1 << 63
"""A size with this bit is none: bits 32 to 62 say where the bounds begin (signed), bits 0 to 31 how many bytes they
have (0: no bounds are known, but the kernel follows the address). native/trace/slot.hpp reads it."""
_BEGIN_BITS = 31
_SIZE_BITS = 32


class Bounds(NamedTuple):
    """Bytes outside of which a reference touches nothing: from `begin` to `end` (exclusive), from its address on."""

    begin: int
    end: int

    @property
    def fits(self) -> bool:
        """Whether a slot can say it."""
        sign = 1 << _BEGIN_BITS - 1
        return -sign <= self.begin < sign and 0 < self.end - self.begin < 1 << _SIZE_BITS

    @property
    def word(self) -> int:
        """What stands in place of a size; 0 (not known) where it does not fit."""
        if not self.fits:
            return 0
        return BOUNDED | (self.begin & (1 << _BEGIN_BITS) - 1) << _SIZE_BITS | self.end - self.begin

    def joined(self, other: Bounds) -> Bounds:
        """Return bounds that hold for both."""
        return Bounds(min(self.begin, other.begin), max(self.end, other.end))


def bounds_of(word: int) -> Bounds | None:
    """Return the bounds that stand in place of a kernel's size; None where a size does, or nothing."""
    size = word & (1 << _SIZE_BITS) - 1
    if not word & BOUNDED or not size:
        return None
    begin = word >> _SIZE_BITS & (1 << _BEGIN_BITS) - 1
    begin -= (begin & 1 << _BEGIN_BITS - 1) << 1
    return Bounds(begin, begin + size)
