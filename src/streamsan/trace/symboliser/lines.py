"""Runs DWARF line number programs: address to file, line and column. pyelftools reads their headers."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

EXTENDED, COPY, ADVANCE_PC, ADVANCE_LINE, SET_FILE, SET_COLUMN = 0, 1, 2, 3, 4, 5
CONST_ADD_PC, FIXED_ADVANCE_PC = 8, 9
END_SEQUENCE, SET_ADDRESS = 1, 2
"""opcodes: standard ones, and those behind EXTENDED"""


class LineTable:
    """The rows of one line program, by address: [start, end) -> file, line, column."""

    def __init__(self, program: Any) -> None:
        """`program` is a pyelftools LineProgram; its own interpreter would take 30 times as long."""
        start, end = program.program_start_offset, program.program_end_offset
        program.stream.seek(start)
        columns = tuple(array("Q") for _ in range(5))
        for sequence in _sequences(program.stream.read(end - start), program.header):
            if sequence[0][0]:  # what begins at 0 was discarded by the linker
                for column, values in zip(columns, zip(*sequence, strict=True), strict=True):
                    column.extend(values)
        starts, self._ends, self._files, self._lines, self._columns = columns
        self._order = sorted(range(len(starts)), key=starts.__getitem__)
        self._starts = array("Q", (starts[index] for index in self._order))

    def find(self, address: int) -> tuple[int, int, int] | None:
        """Return the file's number, the line and the column of the row that covers an address."""
        at = bisect_right(self._starts, address) - 1
        if at < 0:
            return None
        index = self._order[at]
        if address >= self._ends[index]:
            return None
        return self._files[index], self._lines[index], self._columns[index]


def _sequences(code: bytes, header: Any) -> Iterator[list[tuple[int, int, int, int, int]]]:
    """Run a program; yield the rows of each sequence that has any and comes to its end.

    A row is the state when it was made, and ends at the address of the next one.
    """
    unit, opcode_base = header["minimum_instruction_length"], header["opcode_base"]
    base, span, lengths = header["line_base"], header["line_range"], header["standard_opcode_lengths"]
    add_pc = (255 - opcode_base) // span * unit
    at, size = 0, len(code)
    address, file, line, column = 0, 1, 1, 0
    begin, place = -1, (1, 0, 0)  # of the row that is open
    rows: list[tuple[int, int, int, int, int]] = []
    while at < size:
        opcode = code[at]
        at += 1
        if opcode >= opcode_base:
            adjusted = opcode - opcode_base
            address += adjusted // span * unit
            line += base + adjusted % span
        elif opcode == EXTENDED:
            length, at = _unsigned(code, at)
            extended, operand = code[at], at + 1
            at += length
            if extended == SET_ADDRESS:
                address = int.from_bytes(code[operand:at], "little")
            if extended != END_SEQUENCE:
                continue
        elif opcode != COPY:
            value, at = _operand(opcode, code, at, lengths)
            if opcode == ADVANCE_LINE:
                line += value
            elif opcode == SET_COLUMN:
                column = value
            elif opcode == SET_FILE:
                file = value
            elif opcode == CONST_ADD_PC:
                address += add_pc
            elif opcode in (ADVANCE_PC, FIXED_ADVANCE_PC):
                address += value * (unit if opcode == ADVANCE_PC else 1)
            continue
        if address > begin >= 0:
            rows.append((begin, address, *place))
        begin, place = address, (file, max(0, line), column)
        if opcode == EXTENDED:
            if rows:
                yield rows
            rows, begin = [], -1
            address, file, line, column = 0, 1, 1, 0


def _operand(opcode: int, code: bytes, at: int, lengths: Sequence[int]) -> tuple[int, int]:
    """Return what stands behind a standard opcode (the last value, of several), and the place behind it."""
    if opcode == ADVANCE_LINE:
        return _signed(code, at)
    if opcode == FIXED_ADVANCE_PC:
        return int.from_bytes(code[at : at + 2], "little"), at + 2
    value = 0
    for _ in range(lengths[opcode - 1]):
        value, at = _unsigned(code, at) if code[at] > 127 else (code[at], at + 1)
    return value, at


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
