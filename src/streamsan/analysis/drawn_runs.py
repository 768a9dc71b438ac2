"""For a report that draws what happened: findings get their scenes, an input its timelines."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from streamsan.analysis.checked import Checked
from streamsan.timeline import Timeline, timeline_of
from streamsan.timeline.scenes import with_scenes
from streamsan.trace import Trace

MOST_RUNS = 8
"""paths through one source that are drawn"""


class Run(Struct, frozen=True):
    """One trace of an input."""

    trace: Trace
    title: str
    needed_waits: frozenset[tuple[int, int]]


def drawn(checked: Checked, runs: Sequence[Run]) -> Checked:
    """Return the result of an input with scenes and timelines: of all runs with findings, or the longest one."""
    by_trace = {run.trace: run for run in runs}
    made: dict[Trace, Timeline] = {}

    def timeline_for(trace: Trace) -> Timeline:
        if trace not in made:
            run = by_trace[trace]
            made[trace] = replace(timeline_of(trace, run.needed_waits), title=run.title)
        return made[trace]

    findings = tuple(with_scenes(checked.findings, timeline_for))
    if not made and by_trace:
        timeline_for(max(by_trace, key=lambda trace: trace.operations))
    used = {finding.scene.run for finding in findings if finding.scene is not None}
    kept = sorted(made.values(), key=lambda timeline: timeline.title not in used)
    return replace(checked, findings=findings, timelines=tuple(kept[:MOST_RUNS]))
