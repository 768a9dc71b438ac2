"""What the two sides of a race do to memory: which bytes, in which way, and from where that is known. Data only."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Deed(StrEnum):
    """What a piece of work does to memory."""

    READ = "read"
    WRITE = "write"
    READ_WRITE = "read-write"
    UPDATE = "update"
    """by atomic operations only"""
    UNKNOWN = "unknown"
    """it may read or write"""


class KnownFrom(StrEnum):
    """From where it is known what a piece of work does."""

    MACHINE_CODE = "machine-code"
    DEVICE = "device"
    """seen on the device, by instrumentation"""
    HOST = "host"
    """seen when the host did it"""
    SIGNATURE = "signature"
    """a pointer to `const`"""
    SOURCE = "source"
    DOCUMENTATION = "documentation"
    """a function of a library"""
    ARGUMENTS = "arguments"
    """of the call: a copy, a fill"""
    NOWHERE = ""


class Bytes(Struct, frozen=True):
    """Bytes of an allocation, counted from its first: all, or `count` rows of `width` bytes, `pitch` bytes apart."""

    first: int
    last: int | None
    """None: how far they reach is not known"""
    width: int = 0
    """0: they are all of the bytes from the first to the last one"""
    pitch: int = 0
    count: int = 0
    slice_pitch: int = 0
    slices: int = 1
    within: tuple[int, int] | None = None
    """where `last` is not known: the first and the last byte that may be touched; None: that is not known either"""


class Access(Struct, frozen=True):
    """One side of a race."""

    file: str
    line: int
    work: str
    """"kernel `scale`" """
    deed: Deed
    certain: bool
    """it touches all of `bytes`; where their end is not known, the first one"""
    bytes: Bytes | None
    known_from: KnownFrom


class Overlap(Struct, frozen=True):
    """What both sides of a race touch."""

    bytes: Bytes
    words: str
    """"both touch bytes 0 to 1,023 of `d_x`" """
