"""ELF files that say more than they have: refused at once, whatever they say."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from streamsan.machine_code import cubin
from streamsan.machine_code.cubin import CubinError, read_cubin
from streamsan.machine_code.elf_tables import FUNCTION, SYMBOL_TABLE, ElfError, ElfTables

CONTENT = (Path(__file__).parent / "kernels.sm_90.cubin").read_bytes()
BEGIN, COUNT, NAMES = (struct.unpack_from(form, CONTENT, at)[0] for form, at in (("<Q", 40), ("<H", 60), ("<H", 62)))
HEADER = 64
SYMBOLS = next(index for index, each in enumerate(ElfTables(CONTENT).sections) if each.type == SYMBOL_TABLE)
TYPE, PLACE, SIZE, LINK, INFO = (4, "<I"), (24, "<Q"), (32, "<Q"), (40, "<I"), (44, "<I")


def changed(section: int, *changes: tuple[tuple[int, str], int], tail: bytes = b"") -> bytes:
    """The file with numbers in the header of a section replaced, and more bytes at its end."""
    data = bytearray(CONTENT + tail)
    for (at, form), number in changes:
        struct.pack_into(form, data, BEGIN + HEADER * section + at, number)
    return bytes(data)


def test_what_is_there() -> None:
    tables = ElfTables(CONTENT)
    assert len(tables.sections) == COUNT
    assert tables.sections[NAMES].name == ".shstrtab"
    functions = {each.name for each in tables.symbols(SYMBOLS) if each.type == FUNCTION}
    assert {"axpy", "counts", "switches"} <= functions


def test_more_sections_than_the_header_has_room_for() -> None:
    data = bytearray(changed(0, (SIZE, COUNT), (LINK, NAMES)))
    struct.pack_into("<HH", data, 60, 0, 0xFFFF)
    assert [each.name for each in ElfTables(bytes(data)).sections] == [
        each.name for each in ElfTables(CONTENT).sections
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no 64-bit ELF file"),
        (CONTENT[: BEGIN + 100], "its section headers are not in the file"),
        (changed(0, (SIZE, 1 << 60))[:60] + bytes(4) + changed(0, (SIZE, 1 << 60))[64:], "not in the file"),
        (changed(5, (PLACE, 1 << 63)), "a section is not in the file"),
        (changed(5, (SIZE, (1 << 64) - 1)), "a section is not in the file"),
        (changed(SYMBOLS, (LINK, 1 << 31)), "a section that it does not have"),
        (changed(SYMBOLS, (LINK, 0)), "a name has no end"),
        (changed(NAMES, (SIZE, 5)), "a name has no end"),
        (changed(SYMBOLS, (PLACE, len(CONTENT)), (SIZE, 24 << 20), tail=bytes(24 << 20) + bytes(24)), ""),
        (changed(SYMBOLS, (PLACE, len(CONTENT)), (SIZE, 25 << 20), tail=bytes(25 << 20)), "more than 1048576 entries"),
    ],
    ids=range(10),
)
def test_what_is_not_there_is_refused(content: bytes, said: str) -> None:
    if not said:
        read_cubin(content)
        return
    with pytest.raises(CubinError, match=said):
        read_cubin(content)


def test_names_over_each_other_are_refused() -> None:
    count, length = 5000, 60_000
    text = b"a" * length + b"\0"
    symbols = b"".join(struct.pack("<IBBHQQ", number, FUNCTION, 0, 1, 0, 0) for number in range(count))
    begin = len(CONTENT)
    data = bytearray(changed(SYMBOLS, (PLACE, begin), (SIZE, len(symbols)), tail=symbols + text))
    names = struct.unpack_from("<I", data, BEGIN + HEADER * SYMBOLS + 40)[0]
    struct.pack_into("<QQ", data, BEGIN + HEADER * names + 24, begin + len(symbols), len(text))
    with pytest.raises(ElfError, match="its names overlap"):
        ElfTables(bytes(data)).symbols(SYMBOLS)


@pytest.mark.parametrize("limit", ["_MOST_ATTRIBUTES", "_MOST_INITIAL"])
def test_sections_may_not_each_be_the_whole_file(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each may lie over the others: it counts what they have together."""
    monkeypatch.setattr(cubin, limit, 3)
    with pytest.raises(CubinError, match="more than 0 MiB"):
        read_cubin(CONTENT)
