"""Puts what machine code says into a trace: the way into this room."""

from __future__ import annotations

import numpy as np

from streamsan.launched_code.added_references import added_slots
from streamsan.launched_code.code_remarks import code_remarks
from streamsan.launched_code.collectives import ToldCollectives
from streamsan.launched_code.extended_slots import ExtendedSlots
from streamsan.launched_code.image_folder import image_folder
from streamsan.launched_code.kernel_readings import KernelReadings, Progress, read_kernels
from streamsan.launched_code.patched_slots import PatchedSlots
from streamsan.launched_code.reference_patches import kernel_of, patch_table, shape_patches
from streamsan.launched_code.remembered_kernels import RememberedKernels, kernels_folder
from streamsan.trace import Trace
from streamsan.trace.launch_shapes import LaunchShape
from streamsan.trace.slot_fields import MOST_CONTINUATIONS


class ResolvedKernels:
    """What became of a trace's kernels."""

    def __init__(self, trace: Trace, readings: KernelReadings, slots: PatchedSlots, left_out: frozenset[int]) -> None:
        self._trace = trace
        self._left_out = left_out
        self._readings = readings
        self._slots = slots

    def remarks(self) -> list[str]:
        """Return what is to be said of them once the slots were read, one line each."""
        launches = self._slots.launches
        return [] if launches is None else code_remarks(self._trace, self._readings, launches, self._left_out)


def resolve_kernels(trace: Trace, path: str, progress: Progress | None = None) -> ResolvedKernels:
    """Read the kernels of a trace, in the file `path`, and let its slots say what they do to their references.

    `progress` is told how many images of code were read, then of how many launch shapes it is known how far they reach.
    """
    shapes = list(trace.launch_shapes)
    folder = image_folder(path, trace.metadata)
    kernels = map(kernel_of, shapes[1:])
    readings = read_kernels(kernels, folder, RememberedKernels(kernels_folder()), progress)
    patches, variables, images, left_out = shape_patches(shapes, readings, progress)
    symbols: dict[str, int] = {}
    added = added_slots(patches, variables, symbols, images)
    room = np.full(len(shapes), MOST_CONTINUATIONS, np.intp)
    if added is not None:
        room -= added.count
    talks = np.array([_may_talk(readings, shape) for shape in shapes], np.bool_)
    table = patch_table(patches)
    slots = PatchedSlots(trace.slots, table, room, talks, len(trace.sites), ToldCollectives(trace.apis))
    trace.read_kernels, trace.talkers = slots.sites, slots.talkers
    trace.constants = {each.symbol for used in variables.values() for each in used if each.constant}
    trace.slots = slots if added is None else ExtendedSlots(slots, trace, added, symbols, table.first_stays)
    return ResolvedKernels(trace, readings, slots, left_out)


def _may_talk(readings: KernelReadings, shape: LaunchShape) -> bool:
    """Tell whether a kernel may set or poll flags that the host sees: one that was not read may do anything."""
    accesses = readings.read.get(kernel_of(shape))
    return accesses is None or accesses.talks
