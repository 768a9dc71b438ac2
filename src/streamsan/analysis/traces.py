"""A trace and its findings: one from a file, or one at hand."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from streamsan.analysis.checked import Checked, UnreadableError, reason_of
from streamsan.analysis.source_roots import SourceRoots
from streamsan.evidence.proofs import ALL, Proofs
from streamsan.findings.finding import Finding
from streamsan.findings.reading_gaps import Unread
from streamsan.order import engine
from streamsan.order.recordings import recording_limits, recording_remarks
from streamsan.rules.catalogue.written_calls import once_per_reason
from streamsan.rules.pipeline import findings_of
from streamsan.trace import Trace, TraceError, family
from streamsan.trace.slot_fields import CHUNK
from streamsan.trace.slots_ahead import SlotsAhead
from streamsan.trace.store import Slots, SlotStore, owners
from streamsan.trace.trace import PARTIAL

if TYPE_CHECKING:
    from streamsan.launched_code.resolution import ResolvedKernels

Progress = Callable[[int, int], None]
"""called with the operations analysed so far and their total"""


def analyse_trace(
    path: str,
    progress: Progress | None = None,
    name: str = "",
    roots: SourceRoots | None = None,
    proofs: Proofs = ALL,
) -> Checked:
    """Check one trace file, with the other files of its run; reports call it `name`. Raises UnreadableError.

    One that was cut off is checked as far as it goes, and says so. `roots`: where the sources that it names are here.
    """
    try:
        if os.path.getsize(path) == 0:
            raise UnreadableError(path, "empty file, not a trace")
        trace = family.read(path)
        if roots:
            trace.relocate(roots.local)
        return _analysed(trace, path, progress, name or path, proofs)
    except TraceError as error:
        raise UnreadableError(path, error.reason) from error
    except OSError as error:
        raise UnreadableError(path, reason_of(error)) from error


def analyse_section(path: str, judged_from: int, code_of: str, name: str, proofs: Proofs = ALL) -> Checked:
    """Check what a process that goes on did from an operation on, in a copy of its trace. Raises UnreadableError.

    `judged_from`: the operation's number, from 1. `code_of`: the file that the copy is of, beside which the machine
    code lies.
    """
    try:
        trace = family.read(path)
        trace.judge_from(judged_from)
        return _analysed(trace, code_of, None, name, proofs)
    except TraceError as error:
        raise UnreadableError(path, error.reason) from error
    except OSError as error:
        raise UnreadableError(path, reason_of(error)) from error


def _analysed(trace: Trace, path: str, progress: Progress | None, name: str, proofs: Proofs) -> Checked:
    """Check a trace from a file; beside `path` lies the machine code that was recorded."""
    kernels = _resolved_kernels(trace, path, progress)
    seen = _seen_accesses(trace)
    trace.slots = SlotsAhead(trace.slots)
    if progress is not None:
        trace.slots = _WatchedSlots(trace.slots, trace.operations, progress)
    trace.path = name
    checked = check_trace(trace, name, proofs=proofs)
    remarks = [*([] if kernels is None else kernels.remarks()), *seen(), *_remarks_on_collectives(trace)]
    return replace(checked, remarks=(*checked.remarks, *remarks)) if remarks else checked


def _resolved_kernels(trace: Trace, path: str, progress: Progress | None) -> ResolvedKernels | None:
    """Let the trace say what machine code says of its kernels; None where it does not name what was launched."""
    if len(trace.launch_shapes) < 2:
        return None
    # Loaded late, for the time that it takes: most inputs have no machine code.
    from streamsan.launched_code.resolution import resolve_kernels

    return resolve_kernels(trace, path, progress)


def _remarks_on_collectives(trace: Trace) -> list[str]:
    """Return what is to be said of a trace with kernels of NCCL."""
    if len(trace.launch_shapes) < 2:
        return []
    from streamsan.launched_code.collectives import remarks_on_collectives

    told = trace.metadata.get("collectives") is True
    return remarks_on_collectives((shape.symbol for shape in trace.launch_shapes), told)


def _seen_accesses(trace: Trace) -> Callable[[], list[str]]:
    """Give kernels the references that were seen on the device (`streamsan run --accesses`).

    Returns what gives the lines that are to be said of them once the trace was checked.
    """
    if trace.metadata.get("accesses") is not True:
        return list
    from streamsan.launched_code.seen_accesses import SlotsWithSeenAccesses
    from streamsan.launched_code.seen_nodes import SlotsWithSeenNodes

    trace.slots = launches = SlotsWithSeenAccesses(trace.slots, CHUNK, trace.talkers)
    trace.slots = nodes = SlotsWithSeenNodes(trace.slots, CHUNK, trace.threads, trace.talkers)
    trace.seen_launches = launches.launches | nodes.nodes
    return lambda: [*launches.remarks(), *nodes.remarks()]


def check_trace(trace: Trace, path: str, sources: Mapping[str, str] | None = None, proofs: Proofs = ALL) -> Checked:
    """Check a trace that is at hand; `sources` are texts that its findings may quote from. Raises TraceError."""
    checked, found, needed = _checked_trace(trace, path, sources)
    if checked.findings:
        # Loaded late, for the time that it takes.
        from streamsan.evidence.second_pass import prove

        checked = replace(checked, findings=tuple(prove(checked.findings, {trace: found}, proofs)))
    if trace.metadata.get("times") is True:
        # Loaded late, for the time that it takes: few traces have times of the device.
        from streamsan.wait_costs.priced_waits import with_costs

        findings, costs = with_costs(trace, checked.findings, found, needed)
        checked = replace(checked, findings=findings, wait_costs=() if costs is None else (costs,))
    if proofs.drawn:
        from streamsan.analysis.drawn_runs import Run, drawn

        checked = drawn(checked, [Run(trace, path, needed)])
    return checked


def unproven_trace(trace: Trace, path: str) -> Checked:
    """Check a trace that is at hand, without witnesses and fixes. Raises TraceError."""
    return _checked_trace(trace, path, None)[0]


def _checked_trace(
    trace: Trace, path: str, sources: Mapping[str, str] | None
) -> tuple[Checked, tuple[Finding, ...], frozenset[tuple[int, int]]]:
    """Check a trace, and return beside its findings all of them, also those that say the same, and what waits did."""
    analysis = engine.analyse(trace)
    found = tuple(findings_of(trace, analysis.facts))
    problems = list(trace.problems)
    if analysis.problems:
        problems.append(f"{analysis.problems} operations cannot be what they say, and were left out")
    if not trace.complete and not any(PARTIAL in problem for problem in problems):
        problems.append(f"{PARTIAL}: the trace was cut off, and only what it holds was checked")
    problems += recording_limits(trace, analysis)
    remarks = tuple(recording_remarks(trace, analysis))
    findings = tuple(once_per_reason(found))
    unread = Unread(recordings=frozenset([path] if problems else ()))
    lines = trace.source_lines
    checked = Checked(path, findings, analysis.operations, sources or {}, lines, tuple(problems), remarks, unread)
    return checked, found, analysis.needed_waits


class _WatchedSlots:
    """Slots that tell how many of them were read."""

    def __init__(self, slots: SlotStore, total: int, progress: Progress) -> None:
        self._slots = slots
        self._total = total
        self._progress = progress

    def chunks(self, size: int, first: int) -> Iterator[Slots]:
        """Yield the slots, and tell after each chunk."""
        done = 0
        for chunk in self._slots.chunks(size, first):
            yield chunk
            done += int(np.count_nonzero(owners(chunk)))
            self._progress(done, self._total)

    def count(self) -> int:
        """Return the number of operations."""
        return self._slots.count()
