"""Variables in constant memory (`__constant__`): where they lie, and which of them an instruction reads.

They lie in constant bank 3, and the code has their places as numbers: no relocation names them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from streamsan.machine_code import opcodes

BANK = 3
SIZE = 1 << 16
"""bytes"""
MOST_VARIABLES = 4096
_LOADED = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "96": 12, "128": 16, "256": 32}
_DOUBLE = frozenset({"DADD", "DFMA", "DMNMX", "DMUL", "DSETP"})
_PAIRS = frozenset({"64", "S64", "U64"})
_FLOATS = {"F16": 2, "F32": 4, "F64": 8}


class ConstantVariable(NamedTuple):
    """Where a variable lies in the bank, and how long it is, in bytes."""

    begin: int
    size: int
    symbol: str

    @property
    def end(self) -> int:
        """Behind its last byte."""
        return self.begin + self.size


class ConstantBank:
    """The variables of a module, in order."""

    def __init__(self, variables: Sequence[ConstantVariable]) -> None:
        self.variables = variables
        self._begins = [each.begin for each in variables]

    def among(self, begin: int, end: int) -> Sequence[ConstantVariable]:
        """Return the variables of which bytes lie between two places."""
        first = max(0, bisect_right(self._begins, begin) - 1)
        return [each for each in self.variables[first : bisect_right(self._begins, end - 1)] if each.end > begin]

    def named(self, place: int) -> ConstantVariable | None:
        """Return the variable that an instruction means that adds a register to a place.

        None where nobody can say: what begins at 0 may be all that the register says.
        """
        if place == 0 and len(self.variables) != 1:
            return None
        return next(iter(self.among(place, place + 1)), None)


def sound_variables(found: Iterable[ConstantVariable]) -> tuple[ConstantVariable, ...]:
    """Return variables in order, without those that cannot be: behind the bank's end, or over another one."""
    kept: list[ConstantVariable] = []
    for each in sorted(found):
        if each.size > 0 and each.end <= SIZE and (not kept or kept[-1].end <= each.begin):
            kept.append(each)
    return tuple(kept) if len(kept) <= MOST_VARIABLES else ()


def bytes_read(name: str, suffixes: Iterable[str], last: bool) -> int:
    """Return how many bytes an instruction reads at a place of constant memory, its `last` operand or another.

    >>> bytes_read("LDC", ("U8",), True), bytes_read("IMAD", ("WIDE",), True), bytes_read("FFMA", (), False)
    (1, 8, 4)
    >>> bytes_read("I2F", ("F64",), True), bytes_read("F2I", ("F64",), True), bytes_read("DFMA", (), False)
    (4, 8, 8)
    """
    suffixes = tuple(suffixes)
    if name in opcodes.CONSTANT_LOADS:
        return next((_LOADED[each] for each in suffixes if each in _LOADED), 4)
    if name in _DOUBLE:
        return 8
    if name in ("F2F", "F2I", "FRND"):
        return next((_FLOATS[each] for each in reversed(suffixes) if each in _FLOATS), 4)
    if name in ("IMAD", "UIMAD") and ("WIDE" in suffixes or "HI" in suffixes):
        return 8 if last else 4
    return 8 if name not in ("SHF", "USHF") and not _PAIRS.isdisjoint(suffixes) else 4
