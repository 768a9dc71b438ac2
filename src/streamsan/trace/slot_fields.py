"""What stands in the fields of a slot, for who writes one at a time: without NumPy."""

from __future__ import annotations

from streamsan.vocabulary import OperationKind

STATUS_UNKNOWN = -32768
"""`status` of a call whose result nobody saw."""
FIRST_CONTINUATION_KIND = 240
"""Kinds from here on are continuation slots, in every version of the format."""
MOST_CONTINUATIONS = 255
"""of one operation: `more` is a byte"""

REFERENCE_KINDS = frozenset(
    {
        OperationKind.ALLOC,
        OperationKind.FREE,
        OperationKind.LAUNCH,
        OperationKind.COPY,
        OperationKind.MEMSET,
        OperationKind.PREFETCH,
        OperationKind.HOST_ACCESS,
        OperationKind.POINTER_LOST,
        OperationKind.ALLOC_ATTRIBUTE,
        OperationKind.BLOCK_STREAM,
        OperationKind.OPAQUE_CALL,
        OperationKind.STREAM_MEMORY_OP,
    }
)
"""Kinds whose `address`, `size`, `object` and access bits are their first memory reference. Operations of other kinds
mean something else by these fields, so all of their references are in continuation slots."""


def encode_duration(nanoseconds: int) -> int:
    """Return a duration as the slot's 16-bit mini-float: 11 bits of mantissa, 5 of exponent; rounds up, saturates."""
    exponent = max(0, nanoseconds.bit_length() - 11)
    mantissa = -(-nanoseconds >> exponent) if exponent == 0 else -(-nanoseconds // (1 << exponent))
    if mantissa > 2047:
        mantissa, exponent = 1024, exponent + 1
    return 0xFFFF if exponent > 31 else exponent << 11 | mantissa


def decode_duration(encoded: int) -> int:
    """Return the nanoseconds of an encoded duration (at most one part in a thousand too long)."""
    return (encoded & 2047) << (encoded >> 11)


CHUNK = 16384
"""Slots in a chunk when nobody asks for another size: 1 MiB, which stays in a core's second-level cache while it is
checked, sorted and analysed."""
