"""What kernels were launched with: each different launch once, in a table that slots refer to."""

from __future__ import annotations

import struct
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import accumulate
from typing import NamedTuple, Protocol, overload

from msgspec import Struct

from streamsan.trace.errors import TraceError
from streamsan.trace.table_limits import MOST_LAUNCH_SHAPES, NOT_TOLD

CODE = "code"
"""member of a trace's metadata: the name of the folder with the kernels' machine code"""
CODE_LEFT_OUT = "code_left_out"
"""member of a trace's metadata: why machine code was not kept, or not all of it"""
LENGTH = struct.Struct("<I")
HEAD = struct.Struct("<9I2H")
"""`file_layout.LAUNCH_SHAPE` for one at a time."""
ENTRY = struct.Struct("<2H")
"""`file_layout.PLACE` for one at a time."""
SHAPE_SHIFT = 32
"""The shape of a LAUNCH is in the bits of `object` from here on; below is the first reference's generation."""
GENERATION_BITS = (1 << SHAPE_SHIFT) - 1


class PointerPlace(NamedTuple):
    """Where a memory reference of a launch stands: its index (0 is the first), and its byte in the argument buffer."""

    reference: int
    offset: int


class ByteRun(NamedTuple):
    """Bytes of an argument buffer: the first, and the one behind the last."""

    begin: int
    end: int


class LaunchShape(Struct, frozen=True):
    """What a kernel was launched with, but for the addresses it was given."""

    symbol: str
    """the kernel's mangled name"""
    code: tuple[str, ...] = ()
    """names of the images of machine code, or of texts, that it may be in; none: not kept"""
    grid: tuple[int, int, int] = (0, 0, 0)
    """blocks in x, y and z; zeros: not known"""
    block: tuple[int, int, int] = (0, 0, 0)
    """threads of a block in x, y and z; zeros: not known"""
    shared: int = 0
    """bytes of dynamic shared memory"""
    places: tuple[PointerPlace, ...] = ()
    """where its references stand among the arguments; a reference may have several, or none that is known"""
    arguments: bytes = b""
    """the argument buffer, in which the words that are references are zero; empty: not kept"""
    not_told: tuple[ByteRun, ...] = ()
    """bytes of `arguments` that differ from launch to launch: zero, whatever the launch was given"""


UNKNOWN_SHAPE = LaunchShape("")


class Texts(Protocol):
    """String id -> string."""

    def __len__(self) -> int: ...
    def __getitem__(self, number: int) -> str: ...


class ShapeTable(Sequence[LaunchShape]):
    """Shape id -> LaunchShape, made when asked for. Id 0 is the unknown shape."""

    @abstractmethod
    def made(self, number: int) -> LaunchShape:
        """Return the shape of an id above 0 that the table has."""

    @overload
    def __getitem__(self, index: int) -> LaunchShape: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[LaunchShape]: ...
    def __getitem__(self, index: int | slice) -> LaunchShape | Sequence[LaunchShape]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self.made(index) if index else UNKNOWN_SHAPE


class LaunchShapes(ShapeTable):
    """The launch shapes of one file."""

    def __init__(self, path: str, strings: Texts) -> None:
        self._path = path
        self._strings = strings
        self._records: list[bytes] = [b""]
        # Thousands of shapes are of few kernels.
        self._symbol = cache(strings.__getitem__)
        self._code = cache(lambda number: tuple(strings[number].split()))

    def __len__(self) -> int:
        return len(self._records)

    def add(self, payload: bytes, cut: bool) -> None:
        """Add the records of one segment; in one that is cut off, the last may be missing. Raises TraceError."""
        at = 0
        while at < len(payload):
            size = LENGTH.unpack_from(payload, at)[0] if at + LENGTH.size <= len(payload) else 0
            begin = at + LENGTH.size
            end = begin + size
            if end > len(payload):
                if cut:
                    return
                raise TraceError(self._path, "damaged: a launch shape runs over the end of its segment")
            if size < HEAD.size or size != _size(*HEAD.unpack_from(payload, begin)[-2:]):
                raise TraceError(self._path, f"damaged: a launch shape of {size} bytes")
            if len(self._records) > MOST_LAUNCH_SHAPES:
                raise TraceError(self._path, f"damaged: more than {MOST_LAUNCH_SHAPES} launch shapes")
            self._records.append(payload[begin:end])
            at = -(-end // 4) * 4

    def check_names(self) -> None:
        """Check the string ids of all records, once all strings are known. Raises TraceError."""
        most = max((max(HEAD.unpack_from(record)[:2]) for record in self._records[1:]), default=0)
        if most >= len(self._strings):
            raise TraceError(self._path, f"damaged: string id {most} out of range ({len(self._strings)} strings)")

    def made(self, number: int) -> LaunchShape:
        record = self._records[number]
        symbol, code, gx, gy, gz, bx, by, bz, shared, places, _ = HEAD.unpack_from(record)
        arguments = HEAD.size + places * ENTRY.size
        stand, not_told = _places(record[HEAD.size : arguments])
        return LaunchShape(
            self._symbol(symbol),
            self._code(code),
            (gx, gy, gz),
            (bx, by, bz),
            shared,
            stand,
            record[arguments:],
            not_told,
        )


class JoinedShapes(ShapeTable):
    """The launch shapes of several files in a row."""

    def __init__(self, parts: Sequence[Sequence[LaunchShape]]) -> None:
        self._parts = parts
        self._ends = list(accumulate(len(part) - 1 for part in parts))

    def __len__(self) -> int:
        return self._ends[-1] + 1

    def made(self, number: int) -> LaunchShape:
        part = bisect_left(self._ends, number)
        return self._parts[part][number - (self._ends[part - 1] if part else 0)]


def packed_launch_shape(shape: LaunchShape, symbol: int, code: int) -> bytes:
    """Return one record of a LAUNCH_SHAPES segment, by the string ids of its two names. Raises ValueError."""
    entries = [*shape.places, *((NOT_TOLD, offset) for run in shape.not_told for offset in run)]
    try:
        head = HEAD.pack(symbol, code, *shape.grid, *shape.block, shape.shared, len(entries), len(shape.arguments))
        places = b"".join(ENTRY.pack(*entry) for entry in entries)
    except struct.error as error:
        raise ValueError(f"not a launch shape: {error}") from None
    record = head + places + shape.arguments
    return (LENGTH.pack(len(record)) + record).ljust(-(-(LENGTH.size + len(record)) // 4) * 4, b"\0")


@lru_cache(maxsize=1 << 12)
def _places(packed: bytes) -> tuple[tuple[PointerPlace, ...], tuple[ByteRun, ...]]:
    """Return where references stand, and which bytes are not told: all, where that is damaged."""
    entries = list(ENTRY.iter_unpack(packed))
    edges = [offset for reference, offset in entries if reference == NOT_TOLD]
    runs = tuple(map(ByteRun, edges[::2], edges[1::2]))
    if (
        len(edges) % 2
        or any(run.begin >= run.end for run in runs)
        or sum(end - begin for begin, end in runs) > NOT_TOLD
    ):
        runs = (ByteRun(0, NOT_TOLD),)
    return tuple(PointerPlace(*entry) for entry in entries if entry[0] != NOT_TOLD), runs


def _size(places: int, arguments: int) -> int:
    return HEAD.size + ENTRY.size * places + arguments
