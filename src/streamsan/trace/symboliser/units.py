"""Finds the functions of a DWARF unit without reading more of its entries than it must.

pyelftools makes an object of every entry, of which a unit may have a million. Here an entry is a few sums: what lies in
a class, a type or another function is passed over, and only what was found is read by pyelftools.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

_SIZES = {
    0: "flag_present implicit_const",
    1: "data1 ref1 flag strx1 addrx1",
    2: "data2 ref2 strx2 addrx2",
    3: "strx3 addrx3",
    4: "data4 ref4 strx4 addrx4 ref_sup4",
    8: "data8 ref8 ref_sig8 ref_sup8",
    16: "data16",
}
_FIXED = {f"DW_FORM_{name}": size for size, names in _SIZES.items() for name in names.split()}
_OFFSETS = frozenset(
    f"DW_FORM_{name}"
    for name in ("strp", "line_strp", "sec_offset", "strp_sup", "GNU_strp_alt", "GNU_ref_alt", "ref_addr")
)
_LEB128 = ("udata", "sdata", "ref_udata", "strx", "addrx", "loclistx", "rnglistx", "GNU_addr_index", "GNU_str_index")
_NUMBERS = frozenset(f"DW_FORM_{name}" for name in _LEB128)
_BLOCKS = {"DW_FORM_block1": 1, "DW_FORM_block2": 2, "DW_FORM_block4": 4, "DW_FORM_block": 0, "DW_FORM_exprloc": 0}
_SIBLING_SIZES = {"DW_FORM_ref1": 1, "DW_FORM_ref2": 2, "DW_FORM_ref4": 4, "DW_FORM_ref8": 8}

NUMBER, TEXT, BLOCK = -1, -2, -3
"""steps over what has no fixed size; a block's step is BLOCK less the size of its length"""


class UnusualUnitError(Exception):
    """A unit uses a form that is not known here."""


class Function(Struct, frozen=True):
    """A function with code. `end` is 0 where its addresses are a list, or not given in place."""

    offset: int
    """of its entry in .debug_info"""
    start: int
    end: int


class _Shape(Struct):
    """How an entry with one abbreviation code is passed over."""

    steps: list[int]
    children: bool
    namespace: bool
    sibling: tuple[int, int] | None
    """steps before the reference to the next sibling, and its size"""
    code: tuple[int, int, int] | None
    """of a function with code: steps before low_pc, steps from there to high_pc, high_pc's size; (-1, ...) elsewhere"""


class UnitScan:
    """The entries of one unit."""

    def __init__(self, dwarf: Any, unit: Any) -> None:
        self._data = dwarf.debug_info_sec.stream.getbuffer()
        self._begin = unit.cu_offset
        self._first = unit.cu_die_offset
        self._end = unit.cu_offset + unit["unit_length"] + unit.structs.initial_length_field_size()
        self._address = unit["address_size"]
        self._offset = 4 if unit.structs.dwarf_format == 32 else 8
        self._table = unit.get_abbrev_table()
        self._version = unit["version"]
        self._shapes: dict[int, _Shape] = {}

    def functions(self, *, nested: bool = False) -> Iterator[Function]:
        """Yield the functions with code of the unit and its namespaces, or with `nested` those inside others too."""
        data, at, end = self._data, self._first, self._end
        first = True
        while at < end:
            offset = at
            code, at = _number(data, at)
            if code == 0:
                continue
            shape = self._shapes.get(code) or self._shape(code)
            if shape.code is not None:
                yield self._function(shape, offset, at)
            if shape.children and shape.sibling and not (shape.namespace or first or nested):
                steps, size = shape.sibling
                place = self._skip(shape.steps, at, steps)
                target = self._begin + int.from_bytes(data[place : place + size], "little")
                if not at < target <= end:
                    raise UnusualUnitError
                at = target
            else:
                # Without a reference to the sibling the children are passed over one by one.
                at = self._skip(shape.steps, at, len(shape.steps))
            first = False

    def _function(self, shape: _Shape, offset: int, at: int) -> Function:
        assert shape.code is not None
        before, between, size = shape.code
        if before < 0:
            return Function(offset, 0, 0)
        at = self._skip(shape.steps, at, before)
        start = int.from_bytes(self._data[at : at + self._address], "little")
        for step in shape.steps[before : before + between]:
            at = self._step(step, at)
        high = int.from_bytes(self._data[at : at + size], "little")
        return Function(offset, start, start + high)

    def _skip(self, steps: list[int], at: int, count: int) -> int:
        for index in range(count):
            step = steps[index]
            at = at + step if step >= 0 else self._step(step, at)
        return at

    def _step(self, step: int, at: int) -> int:
        if step >= 0:
            return at + step
        data = self._data
        if step == NUMBER:
            while data[at] & 128:
                at += 1
            return at + 1
        if step == TEXT:
            while data[at]:
                at += 1
            return at + 1
        size = BLOCK - step
        if size == 0:
            length, at = _number(data, at)
            return at + length
        return at + size + int.from_bytes(data[at : at + size], "little")

    def _shape(self, code: int) -> _Shape:
        declaration = self._table.get_abbrev(code)
        steps: list[int] = []
        places: dict[str, tuple[int, str]] = {}
        for attribute in declaration["attr_spec"]:
            places[attribute.name] = (len(steps), attribute.form)
            steps.append(self._step_of(attribute.form))
        tag = declaration["tag"]
        sibling = None
        if "DW_AT_sibling" in places:
            index, form = places["DW_AT_sibling"]
            if form in _SIBLING_SIZES:
                sibling = index, _SIBLING_SIZES[form]
        shape = _Shape(
            steps=steps,
            children=declaration.has_children(),
            namespace=tag == "DW_TAG_namespace",
            sibling=sibling,
            code=self._code(places) if tag == "DW_TAG_subprogram" else None,
        )
        self._shapes[code] = shape
        return shape

    def _code(self, places: dict[str, tuple[int, str]]) -> tuple[int, int, int] | None:
        low, high = places.get("DW_AT_low_pc"), places.get("DW_AT_high_pc")
        if "DW_AT_ranges" in places:
            return -1, 0, 0
        if low is None or high is None:
            return None
        size = _FIXED.get(high[1], 0) if high[1].startswith("DW_FORM_data") else 0
        if low[1] != "DW_FORM_addr" or not size or high[0] < low[0]:
            return -1, 0, 0
        return low[0], high[0] - low[0], size

    def _step_of(self, form: str) -> int:
        if form in _FIXED:
            return _FIXED[form]
        if form == "DW_FORM_addr" or (form == "DW_FORM_ref_addr" and self._version < 3):
            return int(self._address)
        if form in _OFFSETS:
            return self._offset
        if form in _NUMBERS:
            return NUMBER
        if form == "DW_FORM_string":
            return TEXT
        if form in _BLOCKS:
            return BLOCK - _BLOCKS[form]
        raise UnusualUnitError


def _number(data: memoryview, at: int) -> tuple[int, int]:
    """Return the unsigned LEB128 number at a place, and the place behind it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
