"""How far a launch reaches through the words of its arguments: computed once for equal launches, with an end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from streamsan.kernels.uses import Use
from streamsan.launched_code.kernel_readings import Kernel, KernelReadings, either
from streamsan.machine_code import launch_extents
from streamsan.machine_code.byte_ranges import Extent
from streamsan.machine_code.kernel_code import KernelCode
from streamsan.machine_code.lane_machine import Budget
from streamsan.machine_code.launch_extents import WordExtents, extents_of
from streamsan.trace.launch_shapes import LaunchShape
from streamsan.trace.rows import Rows
from streamsan.vocabulary import AccessMode, SlotFlag

MOST_UNITS = 720_000
"""steps of one instruction for all launches of a trace (half a minute): counted, so that no machine finds more"""
UNITS_OF_LAUNCH = 15
"""what each costs besides its instructions"""
MOST_IN_VAIN = 8
"""launches of a kernel for which `UNITS` do not suffice, until the others are not tried"""

Extents = Mapping[int, WordExtents]
"""by the word's offset in the argument buffer"""


class UsedRange(NamedTuple):
    """Bytes that a launch uses, counted from the address that it was given."""

    bits: int
    """AccessMode and SlotFlag bits of the reference"""
    begin: int = 0
    size: int = 0
    """0: how far it reaches is not known"""
    rows: Rows | None = None


_NOTHING = UsedRange(0)


class LaunchRanges:
    """The extents of launches. What it would take too long to compute is left out, and noted."""

    def __init__(self, readings: KernelReadings) -> None:
        self._readings = readings
        self._units = MOST_UNITS
        self._in_vain: Counter[Kernel] = Counter()
        self._known: dict[tuple[object, ...], Extents | None] = {}

    def of(self, kernel: Kernel, shape: LaunchShape) -> Extents | None:
        """Return what is known of a launch: nothing where its arguments were not kept. None: it was left out."""
        code = self._readings.codes.get(kernel)
        if code is None or not shape.arguments or 0 in shape.grid or 0 in shape.block:
            return {}
        pointers = frozenset(place.offset for place in shape.places)
        key = (kernel, shape.grid, shape.block, shape.shared, shape.arguments, pointers, shape.not_told)
        if key not in self._known:
            unknown = frozenset(byte & ~3 for run in shape.not_told for byte in range(*run))
            launch = launch_extents.LaunchShape(
                shape.grid, shape.block, shape.shared, shape.arguments, pointers, unknown
            )
            self._known[key] = self._computed(kernel, code, launch)
        return self._known[key]

    def _computed(self, kernel: Kernel, code: KernelCode, launch: launch_extents.LaunchShape) -> Extents | None:
        if self._units <= 0 or self._in_vain[kernel] >= MOST_IN_VAIN:
            return None
        budget = Budget(launch_extents.UNITS)
        try:
            found: Extents | None = extents_of(code, launch, budget)
        except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError, MemoryError):
            found = {}  # code and arguments are anyone's
        self._units -= UNITS_OF_LAUNCH + launch_extents.UNITS - max(0, budget.units)
        if budget.units < 0:
            self._in_vain[kernel] += 1
            return None
        return found


def used_ranges(words: Sequence[tuple[Use, WordExtents | None]]) -> list[UsedRange] | None:
    """Return what a launch uses through words that hold one address; None: that is not known.

    What has rows comes first: of those behind the first one rows cannot be said.
    """
    if any(use.mode is AccessMode.OPAQUE for use, _ in words):
        return None
    far: list[Use] = []
    ranges: dict[tuple[int, int, Rows | None, bool], int] = {}
    for use, extents in words:
        for part, extent in _parts(use, extents):
            known = None if extent is None else _range(part, extent)
            if known is None:
                far.append(part)
            elif known is not _NOTHING:
                key = (known.begin, known.size, known.rows, bool(part.flags))
                ranges[key] = ranges.get(key, 0) | known.bits
    use_far = either(far)
    if use_far is not None and use_far.mode is AccessMode.OPAQUE:
        return None
    found = [UsedRange(bits, begin, size, rows) for (begin, size, rows, _), bits in ranges.items()]
    found.sort(key=lambda each: each.rows is None)
    return [*found, UsedRange(use_far.mode | use_far.flags)] if use_far is not None else found


def _parts(use: Use, extents: WordExtents | None) -> list[tuple[Use, Extent | None]]:
    """Return the ways in which a word is used, each with its extent."""
    if extents is None:
        return [(use, None)]
    if use.flags & SlotFlag.ATOMIC:
        return [(use, extents.updates)]
    ways = ((AccessMode.READ, extents.reads), (AccessMode.WRITE, extents.writes))
    return [(Use(mode), extent) for mode, extent in ways if use.mode & mode]


def _range(use: Use, extent: Extent) -> UsedRange | None:
    """Return the range of a use, `_NOTHING` where nothing is touched; None where it is not sure what is."""
    size = extent.end - extent.begin
    if size <= 0:
        return _NOTHING
    if not extent.sure:
        return None
    rows = None
    if not extent.dense and extent.rows:
        rows = Rows(extent.width, extent.pitch, extent.rows, extent.slice_pitch, max(1, extent.slices))
        if not rows.sensible or rows.dense or rows.extent != size:
            rows = None
    bits = use.mode | use.flags
    if rows is not None or (extent.dense and not use.flags):
        return UsedRange(bits, extent.begin, size, rows)
    # There are gaps that nobody can name; or a size, with which the bit of ATOMIC would mean gaps. That it begins there
    # is what can be said.
    return UsedRange(bits | SlotFlag.TOUCHES, extent.begin)
