"""Waits that nothing later needs (SS504, no consumer).

A host wait has a consumer if without it some required order would no longer hold. So each wait is taken out of the
trace, all instances at its place together, and the engine lists the required orders that do not hold by contract, once
with it and once without. This takes an analysis for each wait, so it is for traces of source, which are small.

It answers only where all later host code is visible: the process ends normally in the trace, and no code that nobody
can see was given memory (it may have put work on the device, or read what work wrote). A wait for everything (a
context, a default stream) may also be for work of unseen code that was given nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

import numpy as np

from streamsan.order.engine import Analysis, Slots, ThreadLike, TraceLike, run
from streamsan.order.facts import Fact, Operation
from streamsan.order.places import REDUNDANT_WAIT, PlaceKey, Sited, place_of
from streamsan.order.removal import operation_starts, without
from streamsan.vocabulary import ExitKind, FactVariant, OperationKind

MOST_SLOTS = 20_000
"""Longer traces are not asked: the question costs an analysis for each wait."""
MOST_PLACES = 64

HOST_WAITS = (
    OperationKind.STREAM_SYNCHRONIZE,
    OperationKind.EVENT_SYNCHRONIZE,
    OperationKind.CONTEXT_SYNCHRONIZE,
)
DOMINATED_WAITS = (*HOST_WAITS, OperationKind.STREAM_WAIT_EVENT)
LAST_DEFAULT_STREAM = 2
"""Handles 1 and 2 are the default streams, which any code can use."""


class SourceTrace(TraceLike, Sited, Protocol):
    """What is asked of a trace here."""

    @property
    def origin(self) -> str:
        """Who made it; only "source" is looked at."""


def unconsumed_waits(trace: SourceTrace, analysis: Analysis) -> list[Fact]:
    """Return a NO_CONSUMER fact for each place of host waits that nothing later in the trace needs.

    Nothing for traces that are not of source, that do not end normally, or that are too long to ask. `analysis` is the
    engine's analysis of the same trace: places that it calls dominated are left out. All the waits that the two call
    redundant can be removed together.
    """
    slots = _visible_slots(trace)
    if slots is None:
        return []
    starts = operation_starts(slots)
    sites = np.unique(slots["site"][starts]).tolist()
    places = {site: place_of(trace, site) for site in sites}
    dominated = {place_of(trace, fact.operation.site) for fact in analysis.facts if fact.code == REDUNDANT_WAIT}
    waits = {place: rows for place, rows in _waits(slots, places).items() if place not in dominated}
    if not waits:
        return []
    whole = run(trace.threads, [slots], requirements=True).unmet
    # What is dominated is gone already, and so is each wait that turns out not to be needed: one of two waits for the
    # same work stays.
    removed = _dominated(slots, places, dominated)
    facts = []
    for rows in list(waits.values())[:MOST_PLACES]:
        without_these = removed | {int(number) for number in slots["sequence"][rows]}
        if not run(trace.threads, without([slots], without_these), requirements=True).unmet - whole:
            removed = without_these
            facts.append(_fact(trace, slots[rows]))
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


def _waits(slots: Slots, places: Mapping[int, PlaceKey]) -> dict[PlaceKey, list[int]]:
    """Return the rows of successful host waits that may be asked about, by place, in order of appearance."""
    kinds = slots["kind"]
    starts = operation_starts(slots)
    waits = starts & np.isin(kinds, HOST_WAITS) & (slots["status"] == 0) & (slots["site"] != 0)
    opaque = np.flatnonzero(starts & (kinds == OperationKind.OPAQUE_CALL))
    rows: dict[PlaceKey, list[int]] = {}
    # A place that does something else as well (a function that waits through another's site) is left alone.
    refused = {places[site] for site in np.unique(slots["site"][starts & ~waits]).tolist()}
    for row in np.flatnonzero(waits).tolist():
        place, kind, stream = places[int(slots["site"][row])], int(kinds[row]), int(slots["stream"][row])
        wide = kind == OperationKind.CONTEXT_SYNCHRONIZE or (
            kind == OperationKind.STREAM_SYNCHRONIZE and stream <= LAST_DEFAULT_STREAM
        )
        if wide and len(opaque) and int(opaque[0]) < row:
            refused.add(place)
        rows.setdefault(place, []).append(row)
    return {place: found for place, found in rows.items() if place not in refused}


def _dominated(slots: Slots, places: Mapping[int, PlaceKey], dominated: Collection[PlaceKey]) -> set[int]:
    """Return the sequence numbers of the dominated waits."""
    sites = [site for site, place in places.items() if place in dominated]
    rows = operation_starts(slots) & np.isin(slots["site"], sites) & np.isin(slots["kind"], DOMINATED_WAITS)
    return {int(number) for number in slots["sequence"][rows]}


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
    return Fact(code=REDUNDANT_WAIT, variant=FactVariant.NO_CONSUMER, operation=operation, count=len(instances))


def _process_of(threads: Iterable[ThreadLike], index: int) -> int:
    return next((thread.process for number, thread in enumerate(threads) if number == index), 0)
