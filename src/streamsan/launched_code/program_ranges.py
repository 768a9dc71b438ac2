"""Which bytes launches of OpenCL kernels touch: by text or SPIR-V, the numbers that they hold, and their work-items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streamsan.kernels.uses import Use
from streamsan.launched_code.kernel_readings import Kernel, KernelReadings
from streamsan.launched_code.launch_ranges import UsedRange
from streamsan.launched_code.program_kernels import given_numbers, work_items_of
from streamsan.machine_code.kernel_accesses import KernelAccesses
from streamsan.model.opencl.work_items import ByteRange
from streamsan.trace.launch_shapes import LaunchShape
from streamsan.trace.reference_bounds import Bounds
from streamsan.vocabulary import AccessMode, SlotFlag

MOST_LAUNCHES = 2000
"""different ones, that are computed for a trace: each takes a millisecond, or some"""

Ranges = Mapping[int, tuple[UsedRange, ...]]
"""by number of the argument; of others it is not known"""


class ProgramRanges:
    """The ranges of launches. What is more than can be computed is left out, and noted."""

    def __init__(self, readings: KernelReadings) -> None:
        self._readings = readings
        self._known: dict[tuple[object, ...], Ranges] = {}

    def of(self, kernel: Kernel, shape: LaunchShape, accesses: KernelAccesses) -> tuple[Ranges, bool]:
        """Return what is known of a launch with these accesses, and whether there are too many to compute it."""
        program, items = self._readings.reaches.get(kernel), work_items_of(shape)
        if program is None or items is None:
            return {}, False
        key = (kernel, items, shape.arguments)
        if key not in self._known:
            if len(self._known) >= MOST_LAUNCHES:
                return {}, True
            given = given_numbers(shape)
            reach = program.reach(kernel[0], items, program.numbers(kernel[0], given))
            # A part is used as it is: commands that run at once must not use parts that overlap, whichever bytes they
            # touch (5.2.1).
            parts = {at for at, (size, _) in given.items() if not size}
            uses = {at: use for at in reach.keys() - parts if (use := accesses.use(at)) is not None}
            self._known[key] = {at: _used(use, reach[at]) for at, use in uses.items()}
        return self._known[key], False


def _used(whole: Use, pieces: Sequence[ByteRange]) -> tuple[UsedRange, ...]:
    """Return the ranges of what is known to be touched through one argument."""
    found: list[UsedRange] = []
    for mode, begin, end, sure in pieces:
        if sure and end is not None:
            found.append(UsedRange(mode, begin, end - begin))
            continue
        # That the first element is touched is known of what the kernel does at most.
        tells_first = not begin and (mode & AccessMode.WRITE or whole.mode is AccessMode.READ)
        bits = mode | (whole.flags & SlotFlag.TOUCHES if tells_first else 0)
        bounds = None if end is None else Bounds(0, end - begin)
        if bounds is None or not bounds.fits:
            found.append(UsedRange(bits))
        else:
            found.append(UsedRange(bits, begin, bounds=bounds))
    return tuple(found)
