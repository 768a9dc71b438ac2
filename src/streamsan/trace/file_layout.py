"""The bytes of an .sst file around the slots. `docs/trace-format.md` is the specification."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

MAGIC = b"\x89SST\r\n\x1a\n"
"""Not text, and damaged by any transfer that changes line ends."""
BYTE_ORDER = 0x01020304
MAJOR = 1
MINOR = 6

ALIGNMENT = 64
MOST_METADATA = 1 << 20
MOST_SEGMENTS = 1 << 18
MOST_LANES = 1 << 16
MOST_TABLE_BYTES = 1 << 27
"""All side tables of a file together."""
MOST_STRINGS = 1 << 22
MOST_STRING_BYTES = 1 << 16
MOST_SOURCE_LINES = 1 << 16
MOST_SOURCE_LINE = 1 << 20
"""The number that a stored source line may have."""
SEGMENT_SLOTS = 1 << 18
"""Slots in a segment that this package writes: at most 16 MiB."""

FILE_HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("byte_order", "<u4"),  # 0x01020304
        ("major", "<u2"),
        ("minor", "<u2"),
        (
            "header_size",
            "<u4",
        ),  # this structure, the metadata and zeros up to a multiple of 64: the first segment's place
        ("metadata_size", "<u4"),  # bytes of JSON that follow this structure
        ("slot_size", "<u4"),  # 64
        ("spare", "V36"),
    ]
)
assert FILE_HEADER.itemsize == 64

SEGMENT_MAGIC = b"sstSEGM\n"

SEGMENT_HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("type", "<u2"),  # SegmentType
        ("flags", "<u2"),  # SegmentFlag
        ("lane", "<u4"),  # OPERATIONS: the writer's lane; else 0
        ("offset", "<u8"),  # where in the file this header is
        ("capacity", "<u8"),  # payload bytes reserved, a multiple of 64; the next header follows them
        ("first", "<u8"),  # side tables: id of the first record; OPERATIONS: sequence of the first slot, 0 not known
        ("spare", "V16"),
        ("commit", "<u8"),  # COMMIT_GUARD << 48 | payload bytes that are valid; 0: none
    ]
)
assert SEGMENT_HEADER.itemsize == 64
assert SEGMENT_HEADER.fields is not None
COMMIT_OFFSET: int = SEGMENT_HEADER.fields["commit"][1]
COMMIT_GUARD = 0x5353


class SegmentType(IntEnum):
    """What a segment's payload is. A reader skips types that it does not know."""

    OPERATIONS = 1
    """slots of one lane"""
    STRINGS = 2
    """UTF-8 strings; id 0 is the empty string and is not written"""
    SITES = 3
    """call sites; id 0 is the unknown site and is not written"""
    THREADS = 4
    """host threads, from index 0"""
    APIS = 5
    """API names after those of the header's metadata"""
    METADATA = 6
    """a JSON object whose members replace those of the header's metadata"""
    END = 7
    """the writer closed the file"""
    MODULES = 8
    """executables and libraries that native frames lie in, from id 1"""
    SYMBOLS = 9
    """what is at offsets of modules: file, line, function; added after the program has ended"""
    SPACE = 10
    """nothing: what was here counts no more"""
    SOURCE_LINES = 11
    """lines of the sources that call sites name; added after the program has ended"""
    LAUNCH_SHAPES = 12
    """what kernels were launched with; id 0 is the unknown shape and is not written"""


class SegmentFlag(IntEnum):
    """Bits of a segment's `flags`."""

    SNAPSHOT = 1
    """the slots restate what was alive when a recorder began this file"""


SITE = np.dtype(
    [
        ("file", "<u4"),  # string id
        ("function", "<u4"),  # string id
        ("text", "<u4"),  # string id
        ("label", "<u4"),  # string id
        ("line", "<u4"),
        ("column", "<u4"),
        ("end_line", "<u4"),
        ("end_column", "<u4"),
        ("caller", "<u4"),  # site id, less than this site's own
        ("module", "<u4"),  # module id of a native frame; 0: not one
        ("offset", "<u8"),  # address of its instruction as in the module's file
        ("spare", "V16"),
    ]
)
assert SITE.itemsize == 64

SYMBOL = np.dtype(
    [
        ("module", "<u4"),  # module id
        ("file", "<u4"),  # string id; 0: not known
        ("function", "<u4"),  # string id, demangled; 0: not known
        ("line", "<u4"),
        ("offset", "<u8"),
        ("column", "<u4"),
        ("spare", "<u4"),
    ]
)
assert SYMBOL.itemsize == 32

SOURCE_LINE = np.dtype(
    [
        ("file", "<u4"),  # string id: as sites and symbols name it
        ("line", "<u4"),  # from 1
        ("text", "<u4"),  # string id: without the end of the line
        ("spare", "<u4"),
    ]
)
assert SOURCE_LINE.itemsize == 16

LAUNCH_SHAPE = np.dtype(
    [
        ("symbol", "<u4"),  # string id: the kernel's mangled name
        ("code", "<u4"),  # string id: names of images of machine code, separated by one space
        ("grid_x", "<u4"),  # blocks; 0: not known
        ("grid_y", "<u4"),
        ("grid_z", "<u4"),
        ("block_x", "<u4"),  # threads; 0: not known
        ("block_y", "<u4"),
        ("block_z", "<u4"),
        ("shared", "<u4"),  # bytes of dynamic shared memory
        ("places", "<u2"),  # PLACEs that follow
        ("arguments", "<u2"),  # bytes of the argument buffer that follow them; 0: not kept
    ]
)
assert LAUNCH_SHAPE.itemsize == 40

PLACE = np.dtype(
    [
        ("reference", "<u2"),  # index of a memory reference of the operation, from 0; NOT_TOLD: of none
        ("offset", "<u2"),  # of its word in the argument buffer
    ]
)
assert PLACE.itemsize == 4

THREAD = np.dtype(
    [
        ("process", "<u4"),  # process index
        ("name", "<u4"),  # string id
        ("spare", "V8"),
    ]
)
assert THREAD.itemsize == 16

API = np.dtype([("name", "<u4")])  # string id

END = np.dtype(
    [
        ("operations", "<u8"),  # slots in the file that are not continuations
        ("slots", "<u8"),  # slots in the file
        ("spare", "V48"),
    ]
)
assert END.itemsize == 64

DENSE_FROM = "dense_from"
"""Metadata: the writer numbered all operations of all lanes without gaps from this number on."""


def aligned(size: int) -> int:
    """Return the least multiple of 64 that is not less than `size`."""
    return -(-size // ALIGNMENT) * ALIGNMENT
