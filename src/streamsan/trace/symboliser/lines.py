"""Runs DWARF line number programs: address to file, line and column. pyelftools reads their headers."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import Any

COPY, ADVANCE_PC, ADVANCE_LINE, SET_FILE, SET_COLUMN = 1, 2, 3, 4, 5
CONST_ADD_PC, FIXED_ADVANCE_PC = 8, 9
END_SEQUENCE, SET_ADDRESS = 1, 2
"""opcodes, standard and extended"""


class LineTable:
    """The rows of one line program, by address."""

    def __init__(self, program: Any) -> None:
        """`program` is a pyelftools LineProgram; its own interpreter would take 30 times as long."""
        start, end = program.program_start_offset, program.program_end_offset
        program.stream.seek(start)
        rows = _Rows()
        _run(program.stream.read(end - start), program.header, rows)
        order = sorted(range(len(rows.starts)), key=rows.starts.__getitem__)
        self._starts = array("Q", (rows.starts[index] for index in order))
        self._rows = rows
        self._order = order

    def find(self, address: int) -> tuple[int, int, int] | None:
        """Return the file's number, the line and the column of the row that covers an address."""
        at = bisect_right(self._starts, address) - 1
        if at < 0:
            return None
        index = self._order[at]
        if address >= self._rows.ends[index]:
            return None
        return self._rows.files[index], self._rows.lines[index], self._rows.columns[index]


class _Rows:
    """Rows as columns: [start, end) -> file, line, column."""

    def __init__(self) -> None:
        self.starts, self.ends = array("Q"), array("Q")
        self.files, self.lines, self.columns = array("Q"), array("Q"), array("Q")

    def cut(self, count: int) -> None:
        """Forget the rows from number `count` on."""
        for column in (self.starts, self.ends, self.files, self.lines, self.columns):
            del column[count:]


def _run(code: bytes, header: Any, rows: _Rows) -> None:
    """Run a program. A row ends where the next one of its sequence begins."""
    unit, base, opcode_base = header["minimum_instruction_length"], header["line_base"], header["opcode_base"]
    span, lengths = header["line_range"], header["standard_opcode_lengths"]
    add_pc = (255 - opcode_base) // span * unit
    starts, ends = rows.starts.append, rows.ends.append
    files, lines, columns = rows.files.append, rows.lines.append, rows.columns.append
    at, size = 0, len(code)
    address, file, line, column = 0, 1, 1, 0
    begin = -1  # of the row that is open
    open_file = open_line = open_column = 0
    first = 0  # row of the sequence
    while at < size:
        opcode = code[at]
        at += 1
        if opcode >= opcode_base:
            adjusted = opcode - opcode_base
            address += adjusted // span * unit
            line += base + adjusted % span
        elif opcode == COPY:
            pass
        elif opcode == 0:
            length, at = _unsigned(code, at)
            extended, operand = code[at], at + 1
            at += length
            if extended == SET_ADDRESS:
                address = int.from_bytes(code[operand:at], "little")
                continue
            if extended != END_SEQUENCE:
                continue
        elif opcode == CONST_ADD_PC:
            address += add_pc
            continue
        elif opcode == FIXED_ADVANCE_PC:
            address += int.from_bytes(code[at : at + 2], "little")
            at += 2
            continue
        else:
            if opcode == ADVANCE_LINE:
                change, at = _signed(code, at)
                line += change
                continue
            count = lengths[opcode - 1] if opcode > SET_COLUMN else 1
            value = 0
            for _ in range(count):
                value, at = _unsigned(code, at)
            if opcode == ADVANCE_PC:
                address += value * unit
            elif opcode == SET_FILE:
                file = value
            elif opcode == SET_COLUMN:
                column = value
            continue
        # A row: it ends the one before it where it lies behind it.
        if address > begin >= 0:
            starts(begin)
            ends(address)
            files(open_file)
            lines(open_line)
            columns(open_column)
        begin, open_file, open_line, open_column = address, file, max(0, line), column
        if opcode == 0:
            if first < len(rows.starts) and rows.starts[first] == 0:
                rows.cut(first)  # what begins at 0 was discarded by the linker
            first = len(rows.starts)
            address, file, line, column, begin = 0, 1, 1, 0, -1
    rows.cut(first)  # a sequence without an end


def _unsigned(code: bytes, at: int) -> tuple[int, int]:
    """Return the LEB128 number at a place, and the place behind it."""
    value = shift = 0
    while True:
        byte = code[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & (1 << 64) - 1, at
        shift += 7


def _signed(code: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = code[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value - (1 << shift) if byte & 64 else value, at
