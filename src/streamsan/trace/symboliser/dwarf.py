"""Source lines and inlined functions of addresses, from DWARF. Only the units that cover asked addresses are read."""

from __future__ import annotations

import posixpath
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE
from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.dwarf.ranges import BaseAddressEntry
from elftools.elf.elffile import ELFFile
from msgspec import Struct, field

from streamsan.trace.symboliser.address_ranges import AddressRanges
from streamsan.trace.symboliser.demangled import demangled
from streamsan.trace.symboliser.lines import LineTable
from streamsan.trace.symboliser.units import UnitScan, UnusualUnitError
from streamsan.trace.symbols import Frame

MOST_DEBUG_BYTES = 1 << 31
"""Sections of a file together that are read: they are held in memory while the file's addresses are looked up."""
DEEPEST_INLINING = 64

Range = tuple[int, int]


class _Unit(Struct):
    """A compilation unit, and what was read of it."""

    unit: Any
    lines: LineTable | None = None
    files: list[str] = field(default_factory=list)
    functions: list[tuple[int, int, int]] = field(default_factory=list)
    """start, end and place of the entry of each"""


def _address_ranges(dwarf: DWARFInfo) -> AddressRanges | None:
    section = dwarf.debug_aranges_sec
    if section is None:
        return None
    section.stream.seek(0)
    return AddressRanges(section.stream.read(), dwarf.config.little_endian)


class DebugLines:
    """Looks up addresses, in the file's own terms. Raises whatever pyelftools raises for damaged DWARF."""

    def __init__(self, elf: ELFFile) -> None:
        # What was linked has nothing to relocate; to look for it takes longer than to read the sections.
        self._dwarf: DWARFInfo = elf.get_dwarf_info(relocate_dwarf_sections=False, follow_links=False)
        self._aranges = _address_ranges(self._dwarf)
        self._units: dict[int, _Unit] = {}
        self._ranges: list[tuple[int, int, int]] | None = None

    @staticmethod
    def present(elf: ELFFile) -> bool:
        """Tell whether a file has lines; costs nothing for one without."""
        names = [section for section in elf.iter_sections() if section.name.startswith((".debug_", ".zdebug_"))]
        lines = any(section.name.endswith("debug_line") and section["sh_type"] != "SHT_NOBITS" for section in names)
        return lines and sum(section["sh_size"] for section in names) <= MOST_DEBUG_BYTES

    def frames(self, address: int, outermost: str) -> list[Frame]:
        """Return the frames at an address, innermost first; none when no unit covers it.

        `outermost` is the function's mangled name as the symbol table has it, "" when not known.
        """
        unit = self._unit_at(address)
        if unit is None:
            return []
        place = self._row(unit, address)
        chain = self._chain(unit, address)
        frames: list[Frame] = []
        file, line, column = place
        for die in reversed(chain[1:]):
            frames.append(Frame(file, line, column, self._name(die)))
            file = self._file(unit, _number(die, "DW_AT_call_file"))
            line, column = _number(die, "DW_AT_call_line"), _number(die, "DW_AT_call_column")
        name = demangled(outermost) if outermost else self._name(chain[0]) if chain else ""
        if line or name:
            frames.append(Frame(file if line else "", line, column, name))
        return frames

    # -- units ----------------------------------------------------------------------------------

    def _unit_at(self, address: int) -> _Unit | None:
        offset = self._aranges.unit_at(address) if self._aranges is not None else None
        if offset is None:
            offset = self._by_ranges(address)
        if offset is None:
            return None
        if offset not in self._units:
            self._units[offset] = self._read_unit(self._dwarf.get_CU_at(offset))
        return self._units[offset]

    def _by_ranges(self, address: int) -> int | None:
        """Find the unit by what its top entry covers: not every compiler writes .debug_aranges."""
        if self._ranges is None:
            found = [
                (start, end, unit.cu_offset)
                for unit in self._dwarf.iter_CUs()
                for start, end in self._covered(unit.get_top_DIE())
            ]
            self._ranges = sorted(found)
        index = bisect_right(self._ranges, (address, 1 << 64, 0)) - 1
        # Units may interleave; the nearest few beginnings before the address are enough in practice.
        for start, end, offset in reversed(self._ranges[max(0, index - 8) : index + 1]):
            if start <= address < end:
                return offset
        return None

    def _read_unit(self, unit: Any) -> _Unit:
        result = _Unit(unit)
        program = self._dwarf.line_program_for_CU(unit)
        if program is not None:
            result.files = _files(unit, program.header)
            result.lines = LineTable(program)
        with suppress(UnusualUnitError):  # the symbol table's names remain, without what is inlined
            result.functions = list(self._functions(unit, nested=False))
        return result

    def _functions(self, unit: Any, *, nested: bool) -> Iterator[tuple[int, int, int]]:
        """Yield start, end and entry of the functions of a unit, or with `nested` of those inside others too."""
        for function in UnitScan(self._dwarf, unit).functions(nested=nested):
            if function.end:
                yield function.start, function.end, function.offset
            else:
                for start, end in self._covered(self._entry(unit, function.offset)):
                    yield start, end, function.offset

    @staticmethod
    def _entry(unit: Any, offset: int) -> DIE:
        entry: DIE = unit.get_DIE_from_refaddr(offset)
        return entry

    def _row(self, unit: _Unit, address: int) -> tuple[str, int, int]:
        row = None if unit.lines is None else unit.lines.find(address)
        if row is None or not row[1]:
            return "", 0, 0
        file, line, column = row
        return self._file(unit, file), line, column

    @staticmethod
    def _file(unit: _Unit, number: int) -> str:
        return unit.files[number] if 0 <= number < len(unit.files) else ""

    # -- functions ------------------------------------------------------------------------------

    def _chain(self, unit: _Unit, address: int) -> list[DIE]:
        """Return the function that covers an address, and what is inlined there, outermost first."""
        found = next((entry for start, end, entry in unit.functions if 0 < start <= address < end), None)
        if found is None:
            # A function of a class that is local to a function lies inside it.
            with suppress(UnusualUnitError):
                functions = self._functions(unit.unit, nested=True)
                found = next((entry for start, end, entry in functions if 0 < start <= address < end), None)
        if found is None:
            return []
        die = self._entry(unit.unit, found)
        chain = [die]
        pending = [die]
        while pending and len(chain) < DEEPEST_INLINING:
            for child in pending.pop().iter_children():
                if child.tag not in ("DW_TAG_inlined_subroutine", "DW_TAG_lexical_block"):
                    continue
                ranges = self._covered(child)
                if child.tag == "DW_TAG_lexical_block" and not ranges:
                    pending.append(child)  # an abstract scope: what is in it says for itself where it is
                elif any(start <= address < end for start, end in ranges):
                    if child.tag == "DW_TAG_inlined_subroutine":
                        chain.append(child)
                    pending = [child]
                    break
        return chain

    def _covered(self, die: DIE) -> list[Range]:
        """Return the addresses of an entry. Code at 0 was discarded by the linker."""
        attributes = die.attributes
        if "DW_AT_ranges" in attributes:
            return [(start, end) for start, end in self._range_list(die) if 0 < start < end]
        if "DW_AT_low_pc" not in attributes or "DW_AT_high_pc" not in attributes:
            return []
        start, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
        end = high.value if high.form.startswith("DW_FORM_addr") else start + high.value
        return [(start, end)] if 0 < start < end else []

    def _range_list(self, die: DIE) -> Iterator[Range]:
        lists, unit = self._dwarf.range_lists(), die.cu
        if lists is None or not isinstance(unit, CompileUnit):
            return
        top = unit.get_top_DIE().attributes
        base = top["DW_AT_low_pc"].value if "DW_AT_low_pc" in top else 0
        for entry in lists.get_range_list_at_offset(die.attributes["DW_AT_ranges"].value, unit):
            if isinstance(entry, BaseAddressEntry):
                base = entry.base_address
            elif entry.is_absolute:
                yield entry.begin_offset, entry.end_offset
            else:
                yield base + entry.begin_offset, base + entry.end_offset

    def _name(self, die: DIE) -> str:
        """Return a function's demangled name: its own, or that of what it is an instance of."""
        plain = ""
        for _ in range(8):
            for attribute in ("DW_AT_linkage_name", "DW_AT_MIPS_linkage_name"):
                if attribute in die.attributes:
                    return demangled(_text(die.attributes[attribute].value))
            if not plain and "DW_AT_name" in die.attributes:
                plain = _qualified(die)
            origin = next((a for a in ("DW_AT_abstract_origin", "DW_AT_specification") if a in die.attributes), None)
            if origin is None:
                break
            die = die.get_DIE_from_attribute(origin)
        return plain


def _qualified(die: DIE) -> str:
    """Return an entry's name behind those of the scopes it lies in."""
    names = [_text(die.attributes["DW_AT_name"].value)]
    parent = die.get_parent()
    while parent is not None and parent.tag in ("DW_TAG_namespace", "DW_TAG_class_type", "DW_TAG_structure_type"):
        name = parent.attributes.get("DW_AT_name")
        names.append(_text(name.value) if name is not None else "(anonymous namespace)")
        parent = parent.get_parent()
    return "::".join(reversed(names))


def _files(unit: Any, header: Any) -> list[str]:
    """Return the paths of a line table's files, by the number that rows and calls give them."""
    top = unit.get_top_DIE().attributes
    folder = _text(top["DW_AT_comp_dir"].value) if "DW_AT_comp_dir" in top else ""
    folders = [_text(name) for name in header["include_directory"]]
    # Version 5 counts both from 0, and the first of each is the unit's own; earlier ones count from 1.
    older = header["version"] < 5
    if older:
        folders = ["", *folders]
    files = [""] if older else []
    for entry in header["file_entry"]:
        number = entry.dir_index
        within = folders[number] if number < len(folders) else ""
        files.append(posixpath.normpath(posixpath.join(folder, within, _text(entry.name))))
    return files


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _number(die: DIE, name: str) -> int:
    attribute = die.attributes.get(name)
    return attribute.value if attribute is not None and isinstance(attribute.value, int) else 0
