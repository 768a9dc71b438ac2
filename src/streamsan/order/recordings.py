"""What is said of a recording as a whole: in which call it ended, and what it could not see."""

from __future__ import annotations

from collections.abc import Sequence

from streamsan.order.analysed_trace import AnalysedTrace
from streamsan.order.engine import Analysis
from streamsan.order.facts import Operation
from streamsan.order.poison_remark import poison_remark
from streamsan.trace.trace import RECORDING

MOST_CALLS = 4
"""Calls that are named as those the program was in; of further threads it only says how many there are."""
_NOT_SEEN = "a recording does not show uses through pointers that are stored in device memory, nor the blocks that"
NOT_SEEN = f"{_NOT_SEEN} a framework's pool hands out"
NOT_SEEN_BESIDE_BLOCKS = f"{_NOT_SEEN} other pools hand out than those that told of theirs"

NO_HOST_ACCESSES = (
    "what the host itself did with pinned, registered and managed memory was not recorded: "
    "`streamsan run --host-accesses` records it"
)

DRIVER_POOLS = (
    "frameworks took the driver's pools (--pools driver), which use memory again at other moments than their own do"
)

NO_HOST_USES = "what the host itself did with memory that it shares with the device is not recorded"


def recording_limits(trace: AnalysedTrace, analysis: Analysis) -> list[str]:
    """Return what limits the result of this recording, one line each; nothing for other traces.

    Where part of it is judged its process goes on: it is in calls of other threads, say.
    """
    ended = trace.origin == RECORDING and not trace.judged_from
    return ended_inside(trace, analysis.inside) if ended else []


def recording_remarks(trace: AnalysedTrace, analysis: Analysis) -> list[str]:
    """Return what no recording of such a program shows, or not this one, one line each: nothing went wrong."""
    if trace.origin != RECORDING:
        return []
    not_seen = NOT_SEEN_BESIDE_BLOCKS if analysis.blocks else NOT_SEEN
    remarks = [not_seen] if analysis.launches else []
    if trace.metadata.get("driver_pools"):
        remarks.append(DRIVER_POOLS)
    if poisoned := poison_remark(trace.metadata):
        remarks.append(poisoned)
    if analysis.used_host_memory and not trace.metadata.get("host_accesses"):
        remarks.append(NO_HOST_USES if trace.platform == "opencl" else NO_HOST_ACCESSES)
    return remarks


def ended_inside(trace: AnalysedTrace, calls: Sequence[Operation]) -> list[str]:
    """Say in which calls the program was when it ended: a hang, a kill, a crash. At most one line."""
    if not calls:
        return []
    named = list(dict.fromkeys(_named(trace, call) for call in calls))
    more = f", and in {len(named) - MOST_CALLS} other calls" if len(named) > MOST_CALLS else ""
    return [f"the program ended inside {', '.join(named[:MOST_CALLS])}{more}: the call did not return"]


def _named(trace: AnalysedTrace, call: Operation) -> str:
    name = f"`{trace.apis[call.api]}`" if 0 < call.api < len(trace.apis) else "a call"
    site = trace.site(call.site)
    if not site.file:
        return name
    return f"{name} at {site.file}:{site.line}" if site.line else f"{name} at {site.file}"
