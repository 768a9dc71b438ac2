"""Host clocks: whoever reads one after a wait is timing what was awaited, so the wait has a consumer."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.interpreter.library import function
from streamsan.cuda_source.interpreter.library.face import CallSite, Machine
from streamsan.cuda_source.interpreter.values import Operand

CLOCKS = ("steady_clock", "system_clock", "high_resolution_clock", "utc_clock")
SCOPES = ("std::chrono::", "chrono::", "")


@function(
    *(f"{scope}{clock}::now" for scope in SCOPES for clock in CLOCKS),
    "now",
    "clock",
    "std::clock",
    "time",
    "std::time",
    "gettimeofday",
    "clock_gettime",
    "ftime",
    "omp_get_wtime",
    "MPI_Wtime",
    "sdkStartTimer",
    "sdkStopTimer",
    "sdkResetTimer",
    "sdkGetTimerValue",
    "sdkGetAverageTimerValue",
)
def read_clock(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The time is unknown; the reading is on record."""
    device = machine.device
    device.model.host_clock(device.thread, device.site(call.span))
    return machine.fresh("time", "input")
