"""The side tables of an .sst file: strings, sites, threads, API names; read from segments, packed for them."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamsan.trace.errors import TraceError
from streamsan.trace.file_layout import (
    API,
    MOST_LANES,
    MOST_STRING_BYTES,
    MOST_STRINGS,
    MOST_TABLE_BYTES,
    SITE,
    SOURCE_LINE,
    SYMBOL,
    THREAD,
    SegmentType,
)
from streamsan.trace.header import metadata_of
from streamsan.trace.launch_shapes import LaunchShapes
from streamsan.trace.modules import UNKNOWN_MODULE, Module, unpacked_modules
from streamsan.trace.random_access import RandomAccessFile
from streamsan.trace.segments import Segment
from streamsan.trace.site import Site, SiteTable
from streamsan.trace.source_line_records import unpacked_source_lines
from streamsan.trace.source_lines import SourceLines
from streamsan.trace.symbol_records import Symbols
from streamsan.trace.table_limits import MOST_MODULES
from streamsan.trace.trace import Thread

LENGTH = struct.Struct("<I")
NAME_FIELDS = ("file", "function", "text", "label")
_RECORDS = {
    SegmentType.SITES: SITE,
    SegmentType.THREADS: THREAD,
    SegmentType.APIS: API,
    SegmentType.SYMBOLS: SYMBOL,
    SegmentType.SOURCE_LINES: SOURCE_LINE,
}
"""tables whose records have one size"""
_TABLES = frozenset(
    {*_RECORDS, SegmentType.STRINGS, SegmentType.MODULES, SegmentType.METADATA, SegmentType.LAUNCH_SHAPES}
)


def packed_string(text: str) -> bytes:
    """Return one record of a STRINGS segment. What is no valid Unicode is replaced; too long a text is cut."""
    raw = text.encode("utf-8", "replace")[:MOST_STRING_BYTES]
    return (LENGTH.pack(len(raw)) + raw).ljust(-(-(4 + len(raw)) // 4) * 4, b"\0")


def _words(kind: SegmentType) -> str:
    return kind.name.lower().replace("_", " ")


class Strings:
    """String id -> string, decoded when asked for. Id 0 is ""."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._raw: list[bytes] = [b""]

    def __len__(self) -> int:
        return len(self._raw)

    def __getitem__(self, number: int) -> str:
        if not 0 <= number < len(self._raw):
            raise TraceError(self._path, f"damaged: string id {number} out of range ({len(self._raw)} strings)")
        return self._raw[number].decode("utf-8", "replace")

    def ids(self) -> dict[str, int]:
        """Return the id of every string, the first of equal ones."""
        return {self[number]: number for number in range(len(self._raw) - 1, -1, -1)}

    def add(self, payload: bytes, cut: bool) -> None:
        """Add the strings of one segment; in one that is cut off, the last may be missing."""
        at = 0
        while at < len(payload):
            size = LENGTH.unpack_from(payload, at)[0] if at + 4 <= len(payload) else 0
            if size > MOST_STRING_BYTES:
                raise TraceError(self._path, f"damaged: a string of {size} bytes")
            end = at + 4 + size
            if end > len(payload):
                if cut:
                    return
                raise TraceError(self._path, "damaged: a string runs over the end of its segment")
            if len(self._raw) == MOST_STRINGS:
                raise TraceError(self._path, f"damaged: more than {MOST_STRINGS} strings")
            self._raw.append(payload[at + 4 : end])
            at = -(-end // 4) * 4


class Sites(SiteTable):
    """The sites of one file."""

    def __init__(self, records: NDArray[np.void], strings: Strings) -> None:
        self._records = records
        self.native = bool(len(records)) and bool(records["module"].any())
        """whether any is a native frame"""
        self._strings = strings
        self._made: dict[int, Site] = {}

    def __len__(self) -> int:
        return 1 + len(self._records)

    def addresses(self) -> list[tuple[int, int]]:
        """Return the (module, offset) of all native frames, each once, sorted."""
        pairs = self._records[["module", "offset"]][self._records["module"] != 0]
        return [(int(module), int(offset)) for module, offset in np.unique(pairs).tolist()]

    def lines(self) -> list[tuple[str, int]]:
        """Return (file, line) of all sites that name a line, each once."""
        pairs = np.unique(self._records[["file", "line"]][self._records["line"] != 0])
        return [(self._strings[file], line) for file, line in pairs.tolist()]

    def made(self, number: int) -> Site:
        site = self._made.get(number)
        if site is None:
            file, function, text, label, line, column, end_line, end_column, *rest = self._records[number - 1].item()
            name = self._strings
            place = (name[file], line, column, end_line, end_column)
            site = Site(*place, name[function], name[text], name[label], *rest[:-1])
            self._made[number] = site
        return site


class SideTables:
    """All side tables of one file."""

    def __init__(self, file: RandomAccessFile, segments: Iterable[Segment], metadata: dict[str, Any]) -> None:
        self._path = file.path
        self.metadata = metadata
        self.strings = Strings(file.path)
        self.launch_shapes = LaunchShapes(file.path, self.strings)
        parts: dict[int, list[bytes]] = {kind: [] for kind in _RECORDS}
        names = self._header_apis()
        self.modules: list[Module] = [UNKNOWN_MODULE]
        next_id = dict.fromkeys(_RECORDS, 0) | {SegmentType.SITES: 1, SegmentType.APIS: len(names)}
        total = 0
        for segment in segments:
            if segment.type not in _TABLES:
                continue
            total += segment.size
            if total > MOST_TABLE_BYTES:
                raise TraceError(self._path, f"damaged: more than {MOST_TABLE_BYTES} bytes of side tables")
            payload = file.read(segment.payload, segment.size)
            if segment.type == SegmentType.METADATA:
                if payload and not segment.cut:
                    self.metadata |= metadata_of(self._path, payload)
                continue
            if segment.type == SegmentType.STRINGS:
                self._expect(segment, "string", len(self.strings))
                self.strings.add(payload, segment.cut)
                continue
            if segment.type == SegmentType.MODULES:
                self._expect(segment, "module", len(self.modules))
                self.modules += unpacked_modules(self._path, payload, segment.cut)
                if len(self.modules) > MOST_MODULES:
                    raise TraceError(self._path, f"damaged: more than {MOST_MODULES} modules")
                continue
            if segment.type == SegmentType.LAUNCH_SHAPES:
                self._expect(segment, "launch shape", len(self.launch_shapes))
                self.launch_shapes.add(payload, segment.cut)
                continue
            kind = SegmentType(segment.type)
            self._expect(segment, _words(kind)[:-1], next_id[kind])
            whole, rest = divmod(len(payload), _RECORDS[kind].itemsize)
            if rest and not segment.cut:
                raise TraceError(self._path, f"damaged: half a record in the table of {_words(kind)}")
            parts[kind].append(payload[: whole * _RECORDS[kind].itemsize])
            next_id[kind] += whole
        self.launch_shapes.check_names()
        self.apis = names + self._api_names(np.frombuffer(b"".join(parts[SegmentType.APIS]), API))
        self.threads = self._threads(np.frombuffer(b"".join(parts[SegmentType.THREADS]), THREAD))
        self.sites = self._sites(np.frombuffer(b"".join(parts[SegmentType.SITES]), SITE))
        self.symbols = self._symbols(np.frombuffer(b"".join(parts[SegmentType.SYMBOLS]), SYMBOL))
        self.source_line_count = next_id[SegmentType.SOURCE_LINES]
        self.source_lines = self._source_lines(np.frombuffer(b"".join(parts[SegmentType.SOURCE_LINES]), SOURCE_LINE))

    def _expect(self, segment: Segment, what: str, next_id: int) -> None:
        if segment.size and segment.first != next_id:
            raise TraceError(self._path, f"damaged: a table goes on with {what} {segment.first} instead of {next_id}")

    def _header_apis(self) -> list[str]:
        names = self.metadata.pop("apis", [""])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or names[:1] != [""]:
            raise TraceError(self._path, "damaged: its table of API names is none")
        return names

    def _api_names(self, records: NDArray[np.void]) -> list[str]:
        if len(records) > MOST_LANES:
            raise TraceError(self._path, "damaged: more API names than an operation can refer to")
        return [self.strings[name] for name in records["name"].tolist()]

    def _threads(self, records: NDArray[np.void]) -> list[Thread]:
        if len(records) > MOST_LANES:
            raise TraceError(self._path, "damaged: more threads than an operation can refer to")
        pairs = zip(records["process"].tolist(), records["name"].tolist(), strict=True)
        return [Thread(process, self.strings[name]) for process, name in pairs]

    def _check_ids(self, records: NDArray[np.void], names: Sequence[str]) -> None:
        """Check the string ids in the fields `names`, and the ids in a field `module`."""
        modules = ("module",) if "module" in (records.dtype.names or ()) else ()
        for field in (*names, *modules) if len(records) else ():
            what, size = ("module", len(self.modules)) if field == "module" else ("string", len(self.strings))
            most = int(records[field].max())
            if most >= size:
                raise TraceError(self._path, f"damaged: {what} id {most} out of range ({size} {what}s)")

    def _symbols(self, records: NDArray[np.void]) -> Symbols:
        self._check_ids(records, ("file", "function"))
        return Symbols(records, self.strings)

    def _source_lines(self, records: NDArray[np.void]) -> SourceLines:
        self._check_ids(records, ("file", "text"))
        return unpacked_source_lines(self._path, records, self.strings)

    def _sites(self, records: NDArray[np.void]) -> Sites:
        self._check_ids(records, NAME_FIELDS)
        later = np.flatnonzero(records["caller"] > np.arange(len(records)))
        if len(later):
            # Callers that only look back make every chain of them end.
            raise TraceError(self._path, f"damaged: site {int(later[0]) + 1} names a caller that comes after it")
        return Sites(records, self.strings)
