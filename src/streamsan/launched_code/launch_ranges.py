"""How far a launch reaches through the words of its arguments: computed once for equal launches, with an end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import NamedTuple

from streamsan.kernels.uses import Use
from streamsan.launched_code.kernel_readings import Kernel, KernelReadings, either
from streamsan.machine_code import launch_extents
from streamsan.machine_code.byte_ranges import Extent
from streamsan.machine_code.kernel_code import KernelCode
from streamsan.machine_code.lane_machine import Budget
from streamsan.machine_code.lane_values import Base
from streamsan.machine_code.launch_extents import WordExtents, extents_of
from streamsan.trace.launch_shapes import LaunchShape
from streamsan.trace.reference_bounds import Bounds
from streamsan.trace.references import MODE_BITS
from streamsan.trace.rows import Rows
from streamsan.vocabulary import AccessMode, SlotFlag

MOST_UNITS = 720_000
"""steps of one instruction for all launches of a trace (half a minute): counted, so that no machine finds more"""
UNITS_OF_LAUNCH = 15
"""what each costs besides its instructions"""
FIRST_UNITS = 3 * launch_extents.UNITS
"""for one launch, until a kernel's launches have taken `MOST_IN_VAIN`"""
MOST_IN_VAIN = 8 * launch_extents.UNITS
"""for launches of a kernel for which it did not suffice, until the others are not tried"""

Extents = Mapping[Base, WordExtents]
"""by the word's offset in the argument buffer, or a variable's symbol"""


class UsedRange(NamedTuple):
    """Bytes that a launch uses, counted from the address that it was given."""

    bits: int
    """AccessMode and SlotFlag bits of the reference"""
    begin: int = 0
    size: int = 0
    """0: how far it reaches is not known"""
    rows: Rows | None = None
    bounds: Bounds | None = None
    """where its size is not known: outside of which bytes it touches nothing, from `begin` on"""

    @property
    def reaches_far(self) -> bool:
        """Whether it is not known which bytes from the address on it touches, not even the first."""
        return not self.size and not self.bits & SlotFlag.TOUCHES

    @property
    def size_word(self) -> int:
        """What stands for its size in a slot."""
        return self.size if self.bounds is None else self.bounds.word


_NOTHING = UsedRange(0)
POLLED = UsedRange(AccessMode.OPAQUE | SlotFlag.ATOMIC)
"""no use of its own: it says that the word at the address is polled"""
_LARGEST_FLAG = 8
"""bytes"""


class LaunchRanges:
    """The extents of launches. What it would take too long to compute is left out, and noted.

    A kernel has one launch, or hundreds of different ones: the first may take longer.
    """

    def __init__(self, readings: KernelReadings) -> None:
        self._readings = readings
        self._units = MOST_UNITS
        self._spent: Counter[Kernel] = Counter()
        self._in_vain: Counter[Kernel] = Counter()
        self._known: dict[tuple[object, ...], tuple[Extents, bool]] = {}

    def of(self, kernel: Kernel, shape: LaunchShape) -> tuple[Extents, bool]:
        """Return what is known of a launch, and whether it took too long to know it all.

        It is nothing where its arguments were not kept.
        """
        code = self._readings.codes.get(kernel)
        if code is None or 0 in shape.grid or 0 in shape.block:
            return {}, False
        if not shape.arguments and code.layout.parameters:
            return {}, False
        pointers = frozenset(place.offset for place in shape.places)
        key = (kernel, shape.grid, shape.block, shape.shared, shape.arguments, pointers, shape.not_told)
        if key not in self._known:
            unknown = frozenset(byte & ~3 for run in shape.not_told for byte in range(*run))
            launch = launch_extents.Invocation(
                shape.grid, shape.block, shape.shared, shape.arguments, pointers, unknown
            )
            self._known[key] = self._computed(kernel, code, launch)
        return self._known[key]

    def _computed(self, kernel: Kernel, code: KernelCode, launch: launch_extents.Invocation) -> tuple[Extents, bool]:
        if self._units <= 0 or self._in_vain[kernel] >= MOST_IN_VAIN:
            return {}, True
        units = FIRST_UNITS if self._spent[kernel] < MOST_IN_VAIN else launch_extents.UNITS
        budget = Budget(units)
        try:
            found: Extents = extents_of(code, launch, budget)
        except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError, MemoryError):
            found = {}  # code and arguments are anyone's
        took = units - max(0, budget.units)
        self._units -= UNITS_OF_LAUNCH + took
        self._spent[kernel] += took
        if budget.units < 0:
            self._in_vain[kernel] += took
        return found, budget.units < 0


def used_ranges(words: Sequence[tuple[Use, WordExtents | None]]) -> list[UsedRange] | None:
    """Return what a launch uses through words that hold one address, or of a variable; None: that is not known.

    What has rows comes first: of those behind the first one rows cannot be said.
    """
    if any(use.mode is AccessMode.OPAQUE and not _tells_ways_apart(extents) for use, extents in words):
        return None
    far: list[UsedRange] = []
    ranges: dict[tuple[int, int, Rows | None, bool], UsedRange] = {}
    for use, extents in words:
        for part, extent in _parts(use, extents):
            known = UsedRange(part.mode | part.flags) if extent is None else _range(part, extent)
            if known is _NOTHING:
                continue
            if known.reaches_far:
                far.append(known)
            else:
                key = (known.begin, known.size, known.rows, bool(part.flags))
                ranges[key] = _joined(known, ranges.get(key, known))
    found = sorted(ranges.values(), key=lambda each: each.rows is None)
    if not far:
        return found
    use_far = either(Use(AccessMode(each.bits & MODE_BITS), each.bits & ~MODE_BITS) for each in far)
    if use_far is None or use_far.mode is AccessMode.OPAQUE:
        return None
    return [*found, reduce(_joined, far)._replace(bits=use_far.mode | use_far.flags)]


def _joined(one: UsedRange, other: UsedRange) -> UsedRange:
    """Return two uses of the same range as one, with bounds that hold for both."""
    bounds = None if one.bounds is None or other.bounds is None else one.bounds.joined(other.bounds)
    return one._replace(bits=one.bits | other.bits, bounds=bounds)


def waits_for_others(use: Use, extents: WordExtents | None) -> bool:
    """Tell whether a word that a kernel polls is one that others write: it writes elsewhere itself, or only a flag.

    A kernel whose blocks hand on what they computed (a scan) polls the places that it writes.
    """
    if use.mode is AccessMode.READ or use.flags & SlotFlag.ATOMIC:
        return True
    if extents is None or any(each is not None and not each.whole for each in extents.ways):
        return False
    reads, others = extents.reads, (extents.writes, extents.updates)
    every = [each for each in (reads, *others) if each is not None and each.end > each.begin]
    if not every or not all(each.sure for each in every):
        return False
    if max(each.end for each in every) - min(each.begin for each in every) <= _LARGEST_FLAG:
        return True
    return reads is not None and all(
        each is None or each.end <= each.begin or each.end <= reads.begin or reads.end <= each.begin for each in others
    )


def surely_touched(extents: WordExtents) -> list[UsedRange]:
    """Return what a launch touches for sure, where that is not all that it may touch."""
    return [_range(use, extent) for use, extent in _ways(extents) if extent is not None and extent.sure]


def may_be_untouched(extents: WordExtents | None) -> bool:
    """Tell whether a launch may touch nothing through a word, and nobody knows whether it does."""
    if extents is None:
        return True
    known = [each for each in extents.ways if each is None or each.end > each.begin]
    return bool(known) and not any(each is not None and each.sure for each in known)


def _tells_ways_apart(extents: WordExtents | None) -> bool:
    """Tell whether each way of use is known by itself: code that does both plain and atomic ones has no one mode."""
    return extents is not None and all(each is not None and each.whole for each in extents.ways)


def _ways(extents: WordExtents) -> list[tuple[Use, Extent | None]]:
    uses = (Use(AccessMode.READ), Use(AccessMode.WRITE), Use(AccessMode.READ_WRITE, int(SlotFlag.ATOMIC)))
    return list(zip(uses, extents.ways, strict=True))


def _parts(use: Use, extents: WordExtents | None) -> list[tuple[Use, Extent | None]]:
    """Return the ways in which a word is used, each with its extent."""
    if extents is None:
        return [(use, None)]
    if use.flags & SlotFlag.ATOMIC:
        return [(use, extents.updates)]
    ways = _ways(extents)
    if use.mode is AccessMode.OPAQUE:
        return ways
    return [(way, extent) for way, extent in ways[:2] if use.mode & way.mode]


def _range(use: Use, extent: Extent) -> UsedRange:
    """Return the range of a use, `_NOTHING` where nothing is touched."""
    size = extent.end - extent.begin
    if size <= 0:
        return _NOTHING
    bits = use.mode | use.flags
    if not extent.whole:
        return UsedRange(bits | SlotFlag.TOUCHES, extent.begin)
    if not extent.sure:
        return UsedRange(bits, bounds=Bounds(extent.begin, extent.end))
    rows = None
    if not extent.dense and extent.rows:
        rows = Rows(extent.width, extent.pitch, extent.rows, extent.slice_pitch, max(1, extent.slices))
        if not rows.sensible or rows.dense or rows.extent != size:
            rows = None
    if rows is not None or (extent.dense and not use.flags):
        return UsedRange(bits, extent.begin, size, rows)
    # There are gaps that nobody can name; or a size, with which the bit of ATOMIC would mean gaps. That it begins there
    # is what can be said, and where it ends at the latest.
    return UsedRange(bits | SlotFlag.TOUCHES, extent.begin, bounds=Bounds(0, size))
