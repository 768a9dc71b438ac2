"""Sections, symbols and relocations of a 64-bit ELF file that anyone may have made: bounded in time and memory.

pyelftools makes objects of entries, whatever their number, and looks for the end of each name from anew: a file of 3 MB
can take it minutes.
"""

from __future__ import annotations

import struct
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

NOTHING, SYMBOL_TABLE, RELOCATIONS_WITH_ADDENDS, NO_BITS, RELOCATIONS = 0, 2, 4, 8, 9
"""types of sections"""
FUNCTION, OBJECT = 2, 1
"""types of symbols"""
LONGEST_NAME = 1 << 16
MOST_SYMBOLS = 1 << 20
_FILE = struct.Struct("<16sHHIQQQIHHHHHH")
_MAGIC = b"\x7fELF\x02\x01"
"""64 bits, little-endian"""
_SECTION = np.dtype(
    [
        *(("name", "<u4"), ("type", "<u4"), ("flags", "<u8"), ("address", "<u8"), ("offset", "<u8")),
        *(("size", "<u8"), ("link", "<u4"), ("info", "<u4"), ("alignment", "<u8"), ("entry", "<u8")),
    ]
)
_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_WITH_ADDEND = np.dtype([("offset", "<u8"), ("kind", "<u4"), ("symbol", "<u4"), ("addend", "<i8")])
_WITHOUT = np.dtype([("offset", "<u8"), ("kind", "<u4"), ("symbol", "<u4")])


class ElfError(ValueError):
    """The bytes are no such file, or a damaged one."""


class Section(Struct, frozen=True):
    """One section; `data` is empty where the file has nothing of it."""

    name: str
    type: int
    link: int
    info: int
    data: memoryview


class Symbol(Struct, frozen=True):
    """One symbol: its number in its table, its type, in which section it lies, and where in that."""

    number: int
    name: str
    type: int
    section: int
    value: int
    size: int


class ElfTables:
    """The tables of one file. All methods raise `ElfError`."""

    def __init__(self, content: bytes) -> None:
        if len(content) < _FILE.size or not content.startswith(_MAGIC):
            raise ElfError("no 64-bit ELF file")
        head = _FILE.unpack_from(content)
        self.machine = int(head[2])
        begin, entry, count, names = head[6], head[11], head[12], head[13]
        if begin and not count and begin + _SECTION.itemsize <= len(content):
            # More sections than the header has room for: the first one says how many, and which has the names.
            first = np.frombuffer(content, _SECTION, 1, begin)[0]
            count, names = int(first["size"]), int(first["link"])
        if count and (entry != _SECTION.itemsize or begin + count * entry > len(content)):
            raise ElfError("its section headers are not in the file")
        self._content = content
        self._headers = np.frombuffer(content, _SECTION, count, begin) if count else np.zeros(0, _SECTION)
        self._names = self._place(names)
        self._left = 4 * len(content) + LONGEST_NAME

    @cached_property
    def sections(self) -> list[Section]:
        """All sections, by their index."""
        return [
            Section(self._text(self._names, int(each["name"])), int(each["type"]), int(each["link"]),
                    int(each["info"]), memoryview(self._content)[slice(*self._place(index))])
            for index, each in enumerate(self._headers)
        ]  # fmt: skip

    def symbols(self, table: int) -> list[Symbol]:
        """The functions and objects of a symbol table, by its index among the sections."""
        entries = self._entries(table, _SYMBOL)
        kinds = entries["info"] & 15
        texts = self._texts(table)
        return [
            Symbol(number, self._text(texts, int(each["name"])), int(each["info"]) & 15, int(each["section"]),
                   int(each["value"]), int(each["size"]))
            for number in np.flatnonzero((kinds == FUNCTION) | (kinds == OBJECT)).tolist()
            for each in [entries[number]]
        ]  # fmt: skip

    def relocations(self, index: int) -> list[tuple[int, str]]:
        """Of a section of relocations: where each is, and the name of its symbol."""
        layout = _WITH_ADDEND if self.sections[index].type == RELOCATIONS_WITH_ADDENDS else _WITHOUT
        entries = self._entries(index, layout)
        table = self.sections[index].link
        if not (table < len(self.sections) and self.sections[table].type == SYMBOL_TABLE):
            return []
        symbols, texts = self._entries(table, _SYMBOL), self._texts(table)
        if len(entries) and int(entries["symbol"].max()) >= len(symbols):
            raise ElfError("a relocation names a symbol that is not there")
        names = symbols["name"][entries["symbol"]].tolist()
        return [(place, self._text(texts, name)) for place, name in zip(entries["offset"].tolist(), names, strict=True)]

    def _place(self, index: int) -> tuple[int, int]:
        """Return where in the file a section begins and ends."""
        if index >= len(self._headers):
            raise ElfError("it names a section that it does not have")
        header = self._headers[index]
        begin, size = int(header["offset"]), int(header["size"])
        if header["type"] in (NOTHING, NO_BITS):
            return 0, 0
        if begin + size > len(self._content):
            raise ElfError("a section is not in the file")
        return begin, begin + size

    def _entries(self, index: int, layout: np.dtype[np.void]) -> NDArray[np.void]:
        data = self.sections[index].data
        count = len(data) // layout.itemsize
        if count > MOST_SYMBOLS:
            raise ElfError(f"a table has more than {MOST_SYMBOLS} entries")
        return np.frombuffer(data, layout, count)

    def _texts(self, table: int) -> tuple[int, int]:
        return self._place(self.sections[table].link)

    def _text(self, texts: tuple[int, int], offset: int) -> str:
        """Return the name at an offset of a section of names. All together are as long as a sound file's can be."""
        begin = texts[0] + offset
        end = self._content.find(b"\0", begin, min(texts[1], begin + LONGEST_NAME))
        if end < 0:
            raise ElfError("a name has no end")
        self._left -= end - begin
        if self._left < 0:
            raise ElfError("its names overlap")
        return self._content[begin:end].decode("utf-8", "replace")
