"""What a kernel's machine code makes of the references of its launches, as arrays for all launch shapes of a trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from streamsan.kernels.uses import Use
from streamsan.launched_code.kernel_readings import Kernel, KernelReadings, either
from streamsan.machine_code.kernel_accesses import KernelAccesses
from streamsan.trace.launch_shapes import LaunchShape
from streamsan.trace.references import MOST_FURTHER_REFERENCES
from streamsan.vocabulary import AccessMode


class Verdict(IntEnum):
    """What becomes of a reference."""

    STAYS = 0
    """where it stands among the arguments, or what the kernel does with it, is not known"""
    NO_USE = 1
    """nothing is reached through it"""
    KNOWN = 2
    """it is used as `bits` says"""


@dataclass(frozen=True, slots=True)
class Patch:
    """What becomes of one reference. `bits`: its AccessMode and SlotFlag bits."""

    verdict: Verdict
    bits: int = 0


STAYS = Patch(Verdict.STAYS)
MOST_PATCHES = 1 << 22
"""of all shapes; more are in no trace that a recorder wrote"""


@dataclass(frozen=True, slots=True)
class PatchTable:
    """The patches of all shapes, one for each reference: those of shape `s` are `first[s]` to `first[s] + count[s]`.

    Behind the last one of a shape is one that stays, so that a pair may begin with it.
    """

    first: NDArray[np.intp]
    count: NDArray[np.intp]
    verdict: NDArray[np.uint8]
    bits: NDArray[np.uint8]

    def __len__(self) -> int:
        """How many shapes there are, the unknown one included."""
        return len(self.first)


def kernel_of(shape: LaunchShape) -> Kernel:
    """Return which kernel a shape is of."""
    return shape.symbol, shape.code


def patch_table(shapes: Sequence[LaunchShape], readings: KernelReadings) -> PatchTable:
    """Return what becomes of the references of launches of these shapes; of a kernel that was not read, all stay."""
    first, count = np.zeros(len(shapes), np.intp), np.zeros(len(shapes), np.intp)
    patches = [STAYS]
    made: dict[tuple[object, ...], tuple[int, int]] = {}
    for number, shape in enumerate(shapes):
        accesses = readings.read.get(kernel_of(shape))
        if accesses is None or not shape.places:
            continue
        # Many shapes differ in what the patches do not depend on.
        key = (kernel_of(shape), shape.places)
        if key not in made:
            if len(patches) > MOST_PATCHES:
                continue
            new = patches_of(shape, accesses)
            made[key] = (len(patches), len(new))
            patches += [*new, STAYS]
        first[number], count[number] = made[key]
    return PatchTable(
        first,
        count,
        np.array([patch.verdict for patch in patches], np.uint8),
        np.array([patch.bits for patch in patches], np.uint8),
    )


def patches_of(shape: LaunchShape, accesses: KernelAccesses) -> list[Patch]:
    """Return what becomes of each reference of a launch, up to the last one whose place is known."""
    offsets: dict[int, list[int]] = {}
    for place in shape.places:
        if place.reference <= MOST_FURTHER_REFERENCES:
            offsets.setdefault(place.reference, []).append(place.offset)
    return [
        _patch([accesses.use(offset) for offset in offsets[number]]) if number in offsets else STAYS
        for number in range(max(offsets, default=-1) + 1)
    ]


def _patch(uses: Sequence[Use | None]) -> Patch:
    """Return the patch of a reference whose words are used so."""
    use = either(uses)
    if use is None:
        return Patch(Verdict.NO_USE)
    if use.mode is AccessMode.OPAQUE:
        return STAYS  # the signature may know more
    return Patch(Verdict.KNOWN, use.mode | use.flags)
