"""What is said of a recording as a whole: in which call it ended, and what it could not see."""

from __future__ import annotations

from collections.abc import Sequence

from streamsan.order.analysed_trace import AnalysedTrace
from streamsan.order.engine import RECORDING, Analysis
from streamsan.order.facts import Operation

MOST_CALLS = 4
"""Calls that are named as those the program was in; of further threads it only says how many there are."""
NOT_SEEN = (
    "a recording does not show uses through pointers that are stored in device memory, nor the blocks that a "
    "framework's pool hands out"
)

NO_HOST_ACCESSES = (
    "what the host itself did with pinned, registered and managed memory was not recorded: "
    "`streamsan run --host-accesses` records it"
)


def recording_limits(trace: AnalysedTrace, analysis: Analysis) -> list[str]:
    """Return what limits the result of this recording, one line each; nothing for other traces."""
    return ended_inside(trace, analysis.inside) if trace.origin == RECORDING else []


def recording_remarks(trace: AnalysedTrace, analysis: Analysis) -> list[str]:
    """Return what no recording of such a program shows, or not this one, one line each: nothing went wrong."""
    if trace.origin != RECORDING:
        return []
    remarks = [NOT_SEEN] if analysis.launches else []
    if analysis.used_host_memory and not trace.metadata.get("host_accesses"):
        remarks.append(NO_HOST_ACCESSES)
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
