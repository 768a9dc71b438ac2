"""What a kernel's machine code makes of the references of its launches, for all launch shapes of a trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from streamsan.launched_code.image_references import ImageUse, uses_of_images
from streamsan.launched_code.kernel_readings import Kernel, KernelReadings, Progress
from streamsan.launched_code.launch_ranges import (
    POLLED,
    Extents,
    LaunchRanges,
    UsedRange,
    may_be_untouched,
    used_ranges,
    waits_for_others,
)
from streamsan.launched_code.program_kernels import at_offset, of_program
from streamsan.launched_code.program_ranges import ProgramRanges, Ranges
from streamsan.launched_code.variable_references import VariableRange, ranges_of_variables
from streamsan.machine_code.kernel_accesses import KernelAccesses
from streamsan.trace.launch_shapes import LaunchShape, PointerPlace
from streamsan.trace.references import MOST_FURTHER_REFERENCES

MOST_SIZED = 63
"""References of launches whose extents are asked for: there is room for what they add to a launch's slots."""
MOST_PATCHES = 1 << 22
"""of all shapes; more are in no trace that a recorder wrote"""
_SHOWN_EVERY = 64
"""shapes"""


class Verdict(IntEnum):
    """What becomes of a reference."""

    STAYS = 0
    """where it stands among the arguments, or what the kernel does with it, is not known"""
    NO_USE = 1
    """nothing is reached through it"""
    KNOWN = 2
    """it is used as its ranges say"""


class Patch(NamedTuple):
    """What becomes of one reference. `ranges`: those that it is used in, the first one in its place."""

    verdict: Verdict
    ranges: tuple[UsedRange, ...] = ()


STAYS = Patch(Verdict.STAYS)
_NONE: Ranges = {}
Patches = tuple[Patch, ...]
"""of each reference of a launch, up to the last one whose place is known"""


class PatchTable(Struct, frozen=True):
    """What the first ranges of all shapes' patches say; those of shape `s` are `first[s]` to `first[s] + count[s]`.

    Behind the last one of a shape is one that stays, so that a pair may begin with it.
    """

    first: NDArray[np.intp]
    count: NDArray[np.intp]
    verdict: NDArray[np.uint8]
    bits: NDArray[np.uint8]
    begin: NDArray[np.uint64]
    """bytes from the address that was recorded, modulo 2^64"""
    size: NDArray[np.uint64]
    """0: not known; or bounds, see `trace.reference_bounds`"""

    def __len__(self) -> int:
        """How many shapes there are, the unknown one included."""
        return len(self.first)

    @property
    def first_stays(self) -> NDArray[np.bool_]:
        """Of each shape whether it has patches, the first of which leaves the reference as it is."""
        stays: NDArray[np.bool_] = (self.count > 0) & (self.verdict[self.first] == Verdict.STAYS)
        return stays


def kernel_of(shape: LaunchShape) -> Kernel:
    """Return which kernel a shape is of."""
    return shape.symbol, shape.code


class ShapePatches(NamedTuple):
    """The patches of all shapes of a trace."""

    patches: list[Patches]
    """none for kernels that were not read; equal ones are one object"""
    variables: Mapping[int, tuple[VariableRange, ...]]
    """shape -> the variables of the device that its kernel uses, and how"""
    images: Mapping[int, tuple[ImageUse, ...]]
    """shape -> what its kernel uses through texture and surface objects"""
    left_out: frozenset[int]
    """shapes for which it would have taken too long to compute how far their launches reach"""


def shape_patches(
    shapes: Sequence[LaunchShape], readings: KernelReadings, progress: Progress | None = None
) -> ShapePatches:
    """Return the patches of each shape, and what it uses of variables and images.

    `progress` is told now and then how many shapes were looked at.
    """
    launches, programs = LaunchRanges(readings), ProgramRanges(readings)
    known: dict[tuple[object, ...], tuple[Patches, tuple[VariableRange, ...]]] = {}
    found: list[Patches] = []
    variables: dict[int, tuple[VariableRange, ...]] = {}
    images: dict[int, tuple[ImageUse, ...]] = {}
    left_out: set[int] = set()
    total = 0
    for number, shape in enumerate(shapes):
        if progress is not None and number % _SHOWN_EVERY == 0:
            progress(number, len(shapes))
        kernel = kernel_of(shape)
        accesses = readings.read.get(kernel)
        named = accesses is not None and (shape.places or accesses.variables or accesses.images)
        if accesses is None or not named or total > MOST_PATCHES:
            found.append(())
            continue
        many = max((place.reference for place in shape.places), default=0) > MOST_SIZED
        extents: Extents = {}
        reach: Ranges = {}
        too_long = False
        if of_program(shape):
            accesses = at_offset(accesses, shape)
            if not many:
                reach, too_long = programs.of(kernel, shape, accesses)
        elif not many:
            extents, too_long = launches.of(kernel, shape)
        if too_long:
            left_out.add(number)
        # Many shapes differ in what the patches do not depend on.
        own = (tuple(accesses.words.items()), tuple(reach.items())) if of_program(shape) else ()
        key = (kernel, shape.places, tuple(extents.items()), own)
        if key not in known:
            known[key] = patches_of(shape.places, accesses, extents, reach), ranges_of_variables(accesses, extents)
            total += sum(map(len, known[key]))
        found.append(known[key][0])
        if known[key][1]:
            variables[number] = known[key][1]
        if accesses.images:
            images[number] = uses_of_images(accesses, extents, shape)
    return ShapePatches(found, variables, images, frozenset(left_out))


def patches_of(
    places: Sequence[PointerPlace], accesses: KernelAccesses, extents: Extents, reach: Ranges = _NONE
) -> Patches:
    """Return the patches of a launch whose references stand at these places; `reach`: what is known of them already."""
    offsets: dict[int, list[int]] = {}
    for place in places:
        if place.reference <= MOST_FURTHER_REFERENCES:
            offsets.setdefault(place.reference, []).append(place.offset)
    return tuple(
        _known(offsets[number], reach) or _patch(offsets[number], accesses, extents) if number in offsets else STAYS
        for number in range(max(offsets, default=-1) + 1)
    )


def _known(offsets: Sequence[int], reach: Ranges) -> Patch | None:
    ranges = reach.get(offsets[0]) if len(offsets) == 1 else None
    return Patch(Verdict.KNOWN, ranges) if ranges else None


def _patch(offsets: Sequence[int], accesses: KernelAccesses, extents: Extents) -> Patch:
    """Return the patch of a reference that stands at these offsets."""
    found = [(offset, accesses.use(offset), extents.get(offset)) for offset in offsets]
    uses = [(offset, use, extent) for offset, use, extent in found if use is not None]
    if uses and all(offset in accesses.chosen and may_be_untouched(extent) for offset, _, extent in uses):
        # An array of pointers has room for more than it holds: what is behind these are leftovers of the stack.
        return STAYS
    ranges = used_ranges([(use, extent) for _, use, extent in uses])
    polls = any(offset in accesses.polls and waits_for_others(use, extent) for offset, use, extent in uses)
    if ranges is None:
        # The signature may know more.
        return Patch(Verdict.STAYS, (UsedRange(0), POLLED)) if polls else STAYS
    if polls and ranges:
        return Patch(Verdict.KNOWN, (*ranges, POLLED))
    return Patch(Verdict.KNOWN, tuple(ranges)) if ranges else Patch(Verdict.NO_USE)


def patch_table(patches: Sequence[Patches]) -> PatchTable:
    """Return the patches of all shapes as arrays."""
    first, count = np.zeros(len(patches), np.intp), np.zeros(len(patches), np.intp)
    flat = [STAYS]
    begins: dict[int, int] = {}
    for number, each in enumerate(patches):
        if not each:
            continue
        if id(each) not in begins:
            begins[id(each)] = len(flat)
            flat += [*each, STAYS]
        first[number], count[number] = begins[id(each)], len(each)
    ranges = [patch.ranges[0] if patch.ranges else UsedRange(0) for patch in flat]
    return PatchTable(
        first,
        count,
        np.array([patch.verdict for patch in flat], np.uint8),
        np.array([each.bits for each in ranges], np.uint8),
        np.array([each.begin for each in ranges], np.int64).view(np.uint64),
        np.array([each.size_word for each in ranges], np.uint64),
    )
