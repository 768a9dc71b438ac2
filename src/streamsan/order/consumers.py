"""Waits that nothing later needs (SS504, no consumer).

A host wait has a consumer if without it some required order would no longer hold. So each wait is taken out of the
trace, all instances of its site together, and the engine lists the required orders that do not hold by contract, once
with it and once without. This takes an analysis for each wait site, so it is for traces of source, which are small.

It answers only where all later host code is visible: the process ends normally in the trace, and no code that nobody
can see was given memory (it may have put work on the device, or read what work wrote). A wait for everything (a
context, a default stream) may also be for work of unseen code that was given nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from streamsan.order.engine import Analysis, Slots, ThreadLike, TraceLike, run
from streamsan.order.facts import Fact, Operation
from streamsan.order.removal import operation_starts, without
from streamsan.vocabulary import ExitKind, FactVariant, OperationKind

MOST_SLOTS = 20_000
"""Longer traces are not asked: the question costs an analysis for each wait site."""
MOST_SITES = 64

HOST_WAITS = (
    OperationKind.STREAM_SYNCHRONIZE,
    OperationKind.EVENT_SYNCHRONIZE,
    OperationKind.CONTEXT_SYNCHRONIZE,
)
LAST_DEFAULT_STREAM = 2
"""Handles 1 and 2 are the default streams, which any code can use."""


class SourceTrace(TraceLike, Protocol):
    """What is asked of a trace here."""

    @property
    def origin(self) -> str:
        """Who made it; only "source" is looked at."""


def unconsumed_waits(trace: SourceTrace, analysis: Analysis) -> list[Fact]:
    """Return a NO_CONSUMER fact for each host wait site that nothing later in the trace needs.

    Nothing for traces that are not of source, that do not end normally, or that are too long to ask. `analysis` is the
    engine's analysis of the same trace: sites that it calls dominated are left out.
    """
    slots = _visible_slots(trace)
    if slots is None:
        return []
    known = {fact.operation.site for fact in analysis.facts if fact.code == 504}
    sites = [site for site in _wait_sites(slots) if site not in known][:MOST_SITES]
    if not sites:
        return []
    whole = run(trace.threads, [slots], requirements=True).unmet
    facts = []
    for site in sites:
        instances = slots[_instances(slots, site)]
        sequences = [int(number) for number in instances["sequence"]]
        unmet = run(trace.threads, without([slots], sequences), requirements=True).unmet
        if not unmet - whole:
            facts.append(_fact(trace, instances))
    return facts


def _visible_slots(trace: SourceTrace) -> Slots | None:
    """Return all slots as one array, or None where not all later host code is visible."""
    if trace.origin != "source":
        return None
    parts: list[Slots] = []
    total = 0
    for chunk in trace.chunks():
        total += len(chunk)
        if total > MOST_SLOTS:
            return None
        parts.append(chunk)
    if not parts:
        return None
    slots = np.concatenate(parts)
    kinds = slots["kind"]
    ends = (kinds == OperationKind.PROCESS_EXIT) & (slots["detail"] == ExitKind.NORMAL)
    given = (kinds == OperationKind.OPAQUE_CALL) & ((slots["address"] != 0) | (slots["more"] != 0))
    forks = kinds == OperationKind.FORK
    return slots if bool(ends.any()) and not bool(given.any()) and not bool(forks.any()) else None


def _wait_sites(slots: Slots) -> list[int]:
    """Return the sites of successful host waits that may be asked about, in order of appearance."""
    kinds = slots["kind"]
    starts = operation_starts(slots)
    waits = starts & np.isin(kinds, HOST_WAITS) & (slots["status"] == 0) & (slots["site"] != 0)
    opaque = np.flatnonzero(starts & (kinds == OperationKind.OPAQUE_CALL))
    asked: dict[int, bool] = {}
    for place in np.flatnonzero(waits).tolist():
        site, kind, stream = int(slots["site"][place]), int(kinds[place]), int(slots["stream"][place])
        wide = kind == OperationKind.CONTEXT_SYNCHRONIZE or (
            kind == OperationKind.STREAM_SYNCHRONIZE and stream <= LAST_DEFAULT_STREAM
        )
        unseen = wide and bool(len(opaque)) and int(opaque[0]) < place
        asked[site] = asked.get(site, True) and not unseen
    # A site that does something else as well (a function that waits through another's site) is left alone.
    others = set(slots["site"][starts & ~waits].tolist())
    return [site for site, wanted in asked.items() if wanted and site not in others]


def _instances(slots: Slots, site: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    result: np.ndarray[tuple[int], np.dtype[np.bool_]] = operation_starts(slots) & (slots["site"] == site)
    return result


def _fact(trace: SourceTrace, instances: Slots) -> Fact:
    first = instances[0]
    thread = int(first["thread"])
    operation = Operation(
        sequence=int(first["sequence"]),
        kind=OperationKind(int(first["kind"])),
        site=int(first["site"]),
        api=int(first["api"]),
        thread=thread,
        process=_process_of(trace.threads, thread),
        stream=int(first["stream"]),
        flags=int(first["flags"]),
        status=int(first["status"]),
    )
    return Fact(code=504, variant=FactVariant.NO_CONSUMER, operation=operation, count=len(instances))


def _process_of(threads: Iterable[ThreadLike], index: int) -> int:
    return next((thread.process for number, thread in enumerate(threads) if number == index), 0)
