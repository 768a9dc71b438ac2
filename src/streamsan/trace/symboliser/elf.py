"""What an ELF file says without debug information: its build id, and its functions' names."""

from __future__ import annotations

import numpy as np
from elftools.elf.elffile import ELFFile
from numpy.typing import NDArray

FUNCTION, INDIRECT_FUNCTION = 2, 10
"""types of symbols (STT_FUNC, STT_GNU_IFUNC)"""
MOST_SYMBOL_BYTES = 1 << 28
LONGEST_NAME = 8192

SYMBOL_ENTRY = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
"""Elf64_Sym"""
assert SYMBOL_ENTRY.itemsize == 24


def build_id(elf: ELFFile) -> str:
    """Return the build id as hexadecimal text, "" when there is none."""
    section = elf.get_section_by_name(".note.gnu.build-id")
    if section is None:
        return ""
    data = section.data()
    if len(data) < 12:
        return ""
    name_size, size = int.from_bytes(data[:4], "little"), int.from_bytes(data[4:8], "little")
    start = 12 + -(-name_size // 4) * 4
    return data[start : start + size].hex() if size <= 64 else ""


class FunctionTable:
    """The functions of .symtab, or of .dynsym in a stripped file, by address. Read once, as arrays."""

    def __init__(self, elf: ELFFile) -> None:
        self._names: memoryview = memoryview(b"")
        self._entries: NDArray[np.void] = np.empty(0, SYMBOL_ENTRY)
        for table in (".symtab", ".dynsym"):
            section = elf.get_section_by_name(table)
            if section is None or section["sh_entsize"] != SYMBOL_ENTRY.itemsize:
                continue
            names = elf.get_section(section["sh_link"])
            if section["sh_size"] > MOST_SYMBOL_BYTES or names["sh_size"] > MOST_SYMBOL_BYTES:
                continue
            data = section.data()
            entries = np.frombuffer(data, SYMBOL_ENTRY, len(data) // SYMBOL_ENTRY.itemsize)
            kinds = entries["info"] & 15
            wanted = ((kinds == FUNCTION) | (kinds == INDIRECT_FUNCTION)) & (entries["section"] != 0)
            entries = entries[wanted & (entries["value"] != 0)]
            if len(entries):
                # Of several names at one address the global one comes last, and is the one found.
                self._entries = entries[np.lexsort((entries["info"] >> 4, entries["value"]))]
                self._names = memoryview(names.data())
                return

    def name_at(self, address: int) -> str:
        """Return the mangled name of the function that covers an address, "" when none does."""
        at = int(np.searchsorted(self._entries["value"], np.uint64(address), side="right")) - 1
        # Aliases may say other sizes: the few entries before are asked too.
        for index in range(at, max(-1, at - 4), -1):
            entry = self._entries[index]
            start, size = int(entry["value"]), int(entry["size"])
            if start <= address < start + size or (size == 0 and index == at):
                return self._name(int(entry["name"]))
        return ""

    def _name(self, start: int) -> str:
        raw = bytes(self._names[start : start + LONGEST_NAME])
        end = raw.find(b"\0")
        return raw[:end].decode("utf-8", "replace") if end >= 0 else ""
