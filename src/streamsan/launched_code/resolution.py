"""Puts what machine code says into a trace: the way into this room."""

from __future__ import annotations

from streamsan.launched_code.code_remarks import code_remarks
from streamsan.launched_code.image_folder import image_folder
from streamsan.launched_code.kernel_readings import KernelReadings, Progress, read_kernels
from streamsan.launched_code.patched_slots import PatchedSlots
from streamsan.launched_code.reference_patches import kernel_of, patch_table
from streamsan.launched_code.remembered_kernels import RememberedKernels, users_folder
from streamsan.launched_code.variable_references import SlotsWithVariables, variables_of
from streamsan.trace import Trace


class ResolvedKernels:
    """What became of a trace's kernels."""

    def __init__(self, trace: Trace, readings: KernelReadings, slots: PatchedSlots) -> None:
        self._trace = trace
        self._readings = readings
        self._slots = slots

    def remarks(self) -> list[str]:
        """Return what is to be said of them once the slots were read, one line each."""
        launches = self._slots.launches
        return [] if launches is None else code_remarks(self._trace, self._readings, launches)


def resolve_kernels(trace: Trace, path: str, progress: Progress | None = None) -> ResolvedKernels:
    """Read the kernels of a trace, in the file `path`, and let its slots say what they do to their references.

    `progress` is told how many images of code were read.
    """
    shapes = list(trace.launch_shapes)
    kernels = [kernel_of(shape) for shape in shapes[1:]]
    folder = image_folder(path, trace.metadata)
    readings = read_kernels(kernels, folder, RememberedKernels(users_folder()), progress)
    slots = PatchedSlots(trace.slots, patch_table(shapes, readings), len(trace.sites))
    trace.read_kernels = slots.sites
    used = variables_of(shapes, readings)
    trace.slots = SlotsWithVariables(slots, trace, used) if used else slots
    return ResolvedKernels(trace, readings, slots)
