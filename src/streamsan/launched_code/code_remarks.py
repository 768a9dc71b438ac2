"""What is said of a recording whose kernels were read: of how many it is known what they touch, and why not of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from streamsan.launched_code.image_folder import why_left_out
from streamsan.launched_code.kernel_readings import NOT_KEPT, Kernel, KernelReadings
from streamsan.launched_code.program_kernels import sorts_of_code
from streamsan.launched_code.reference_patches import kernel_of
from streamsan.trace import Trace


def code_remarks(
    trace: Trace, readings: KernelReadings, launches: NDArray[np.int64], left_out: Collection[int]
) -> list[str]:
    """Return the line that says it. `launches`: how many each launch shape has; `left_out`: shapes without extents."""
    times: Counter[Kernel] = Counter()
    for number in np.flatnonzero(launches[1:]).tolist():
        times[kernel_of(trace.launch_shapes[number + 1])] += int(launches[number + 1])
    total = int(launches.sum())
    if not total:
        return []
    read = sum(count for kernel, count in times.items() if kernel in readings.read)
    code = _sorts_of_code(trace)
    if read == total:
        said = f"what kernels read and write was read from the {code} of {_kernels(len(readings.read))}"
    else:
        said = f"what kernels read and write was read from {code} for {read:,} of {total:,} launches"
        said += f", not for the others: {_reasons(trace, readings, times, int(launches[0]))}"
    finding = sum(kernel in times and accesses.follows_found for kernel, accesses in readings.read.items())
    if finding:
        verb = "follows" if finding == 1 else "follow"
        said += f"; {_kernels(finding)} also {verb} pointers found in memory, and what is behind these is not seen"
    without = {kernel_of(trace.launch_shapes[number]) for number in left_out if launches[number]}
    if without:
        many = int(sum(launches[number] for number in left_out))
        said += f"; how far {_launches(many)} of {_kernels(len(without))} reach takes too long to compute"
    return [said]


def _sorts_of_code(trace: Trace) -> str:
    """Return what the trace's kernels are read from."""
    sorts = sorted({sort for shape in trace.launch_shapes[1:] for sort in sorts_of_code(shape)})
    if not sorts:
        return "programs' text" if trace.platform == "opencl" else "machine code"
    return ", ".join(sorts[:-1]) + " and " * (len(sorts) > 1) + sorts[-1]


def _reasons(trace: Trace, readings: KernelReadings, times: Counter[Kernel], unnamed: int) -> str:
    """Return why kernels were not read, the reason of the most launches first."""
    counts: Counter[str] = Counter()
    for kernel, reason in readings.unread.items():
        counts[reason] += times[kernel]
    if unnamed:
        counts["the trace does not name their kernels"] += unnamed
    kept = why_left_out(trace.metadata)
    return ", ".join(
        f"{reason} ({kept})" if reason == NOT_KEPT and kept else reason
        for reason, count in counts.most_common()
        if count
    )


def _launches(count: int) -> str:
    return "1 launch" if count == 1 else f"{count:,} launches"


def _kernels(count: int) -> str:
    return "1 kernel" if count == 1 else f"{count:,} kernels"
