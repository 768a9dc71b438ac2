"""What is exported: what happened in a run, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct

from streamsan.analysis.checked import Checked
from streamsan.findings.finding import Finding
from streamsan.timeline import Timeline


class ExportedRun(Struct, frozen=True):
    """One run of an input: a trace, or a path through a source."""

    timeline: Timeline
    findings: tuple[Finding, ...]


def exported_runs(checked: Checked) -> Iterator[ExportedRun]:
    """Yield the runs of an input that was checked with `Proofs(drawn=True)`, each with the findings of its scenes.

    A finding that is about no operation goes with the first run.
    """
    titles = {timeline.title for timeline in checked.timelines}
    for number, timeline in enumerate(checked.timelines):
        own = {timeline.title} if number else {timeline.title, ""}
        found = [each for each in checked.findings if _run_of(each, titles) in own]
        yield ExportedRun(timeline, tuple(found))


def _run_of(finding: Finding, titles: Collection[str]) -> str:
    """Return the title of the run that a finding is about; "" where none of these is."""
    title = finding.scene.run if finding.scene is not None else ""
    return title if title in titles else ""
