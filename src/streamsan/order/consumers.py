"""Waits that nothing later needs (SS504, no consumer).

A host wait has a consumer if without it some required order would no longer hold. So each wait is taken out of the
trace, all instances at its place together, and the engine lists the required orders that do not hold by contract, once
with it and once without. This takes an analysis for each wait, so it is for traces of source, which are small.

It answers only where all later host code is visible: the process ends normally in the trace, and no code that nobody
can see was given memory (it may have put work on the device, or read what work wrote). A wait for everything (a
context, a default stream) may also be for work of unseen code that was given nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from streamsan.order.analysed_trace import AnalysedTrace
from streamsan.order.engine import Analysis, asking_apis, unmet_requirements
from streamsan.order.facts import Fact, Operation, operation_kind
from streamsan.order.places import PlaceKey, place_of
from streamsan.order.rearrangement import operation_starts, without
from streamsan.platforms import CUDA
from streamsan.trace.store import Slots, distinct, joined
from streamsan.vocabulary import ExitKind, FactVariant, OperationKind, RuleCode, SlotFlag, StreamKind

MOST_SLOTS = 20_000
"""Longer traces are not asked: the question costs an analysis for each wait."""
MOST_PLACES = 64

HOST_WAITS = (
    OperationKind.STREAM_SYNCHRONIZE,
    OperationKind.EVENT_SYNCHRONIZE,
    OperationKind.CONTEXT_SYNCHRONIZE,
)
DOMINATED_WAITS = (*HOST_WAITS, OperationKind.STREAM_WAIT_EVENT)
LAST_DEFAULT_STREAM = CUDA.per_thread_stream
"""The greatest handle of a default stream, which any code can use."""


def unconsumed_waits(trace: AnalysedTrace, analysis: Analysis) -> list[Fact]:
    """Return a NO_CONSUMER fact for each place of host waits that nothing later in the trace needs.

    Nothing for traces that are not of source, that do not end normally, or that are too long to ask. `analysis` is the
    engine's analysis of the same trace: places that it calls dominated are left out. All the waits that the two call
    redundant can be removed together.
    """
    slots = visible_slots(trace)
    if slots is None:
        return []
    starts = operation_starts(slots)
    sites = distinct(slots["site"][starts])
    places = {site: place_of(trace, site) for site in sites}
    dominated = redundant_places(trace, analysis.facts)
    waits = {place: rows for place, rows in waits_by_place(slots, places, trace.apis).items() if place not in dominated}
    if not waits:
        return []
    named, slots = slots, numbered(slots)
    whole = unmet_requirements(trace.threads, [slots])
    # What is dominated is gone already, and so is each wait that turns out not to be needed: one of two waits for the
    # same work stays.
    removed = dominated_waits(slots, places, dominated)
    facts = []
    for rows in list(waits.values())[:MOST_PLACES]:
        without_these = removed | {int(number) for number in slots["sequence"][rows]}
        if not unmet_requirements(trace.threads, without([slots], without_these)) - whole:
            removed = without_these
            facts.append(_fact(trace, named, rows))
    return facts


def redundant_places(trace: AnalysedTrace, facts: Iterable[Fact]) -> set[PlaceKey]:
    """Return the places of the waits that facts call redundant."""
    return {place_of(trace, fact.operation.site) for fact in facts if fact.code is RuleCode.REDUNDANT_SYNC}


def numbered(slots: Slots) -> Slots:
    """Return a copy whose operations are numbered as they come: one that was put in has the number of another."""
    result: Slots = slots.copy()
    starts = operation_starts(slots)
    # Continuations have other fields there.
    result["sequence"][starts] = np.arange(1, np.count_nonzero(starts) + 1)
    return result


def visible_slots(trace: AnalysedTrace) -> Slots | None:
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
    slots = joined(parts)
    kinds = slots["kind"]
    ends = (kinds == OperationKind.PROCESS_EXIT) & (slots["detail"] == ExitKind.NORMAL)
    given = (kinds == OperationKind.OPAQUE_CALL) & ((slots["address"] != 0) | (slots["more"] != 0))
    forks = kinds == OperationKind.FORK
    return slots if bool(ends.any()) and not bool(given.any()) and not bool(forks.any()) else None


def waits_by_place(slots: Slots, places: Mapping[int, PlaceKey], apis: Sequence[str]) -> dict[PlaceKey, list[int]]:
    """Return the rows of successful host waits that may be asked about, by place, in order of appearance.

    Not those after which the program asks for errors at once: it waits to see whether the work has failed.
    """
    kinds = slots["kind"]
    starts = operation_starts(slots)
    waits = starts & np.isin(kinds, HOST_WAITS) & (slots["status"] == 0) & (slots["site"] != 0)
    opaque = np.flatnonzero(starts & (kinds == OperationKind.OPAQUE_CALL))
    asking = frozenset(asking_apis(apis))
    rows: dict[PlaceKey, list[int]] = {}
    # A place that does something else as well (a function that waits through another's site) is left alone.
    refused = {places[site] for site in distinct(slots["site"][starts & ~waits])}
    for row in np.flatnonzero(waits).tolist():
        place, kind, stream = places[int(slots["site"][row])], int(kinds[row]), int(slots["stream"][row])
        wide = kind == OperationKind.CONTEXT_SYNCHRONIZE or (
            kind == OperationKind.STREAM_SYNCHRONIZE and stream <= LAST_DEFAULT_STREAM
        )
        if wide and len(opaque) and int(opaque[0]) < row:
            refused.add(place)
        if _asks_next(slots, starts, row, asking):
            refused.add(place)
        rows.setdefault(place, []).append(row)
    return {place: found for place, found in rows.items() if place not in refused}


def _asks_next(slots: Slots, starts: NDArray[np.bool_], row: int, asking: Collection[int]) -> bool:
    """Tell whether the thread's next operation asks for the error of earlier calls."""
    following = np.flatnonzero(starts[row + 1 :] & (slots["thread"][row + 1 :] == slots["thread"][row]))
    if not len(following):
        return False
    later = slots[row + 1 + int(following[0])]
    return int(later["kind"]) == OperationKind.CALL and int(later["api"]) in asking


def dominated_waits(slots: Slots, places: Mapping[int, PlaceKey], dominated: Collection[PlaceKey]) -> set[int]:
    """Return the sequence numbers of the dominated waits."""
    sites = [site for site, place in places.items() if place in dominated]
    rows = operation_starts(slots) & np.isin(slots["site"], sites) & np.isin(slots["kind"], DOMINATED_WAITS)
    return {int(number) for number in slots["sequence"][rows]}


def _fact(trace: AnalysedTrace, slots: Slots, rows: list[int]) -> Fact:
    operation = operation_of(trace, slots, rows[0])
    return Fact(code=RuleCode.REDUNDANT_SYNC, variant=FactVariant.NO_CONSUMER, operation=operation, count=len(rows))


_STREAM_KINDS = {kind.value: kind for kind in StreamKind}
"""A file may hold any number."""


def operation_of(trace: AnalysedTrace, slots: Slots, row: int) -> Operation:
    """Return a row's slot as an operation of a fact; the stream's site, kind and origin are those of its creation."""
    slot = slots[row]
    thread, stream = int(slot["thread"]), int(slot["stream"])
    before = slots[:row]
    made = np.flatnonzero((before["kind"] == OperationKind.STREAM_CREATE) & (before["object"] == stream))
    creation = before[int(made[-1])] if stream and len(made) else None
    return Operation(
        sequence=int(slot["sequence"]),
        kind=operation_kind(int(slot["kind"])),
        site=int(slot["site"]),
        api=int(slot["api"]),
        thread=thread,
        process=trace.threads[thread].process if thread < len(trace.threads) else 0,
        stream=stream,
        flags=int(slot["flags"]),
        status=int(slot["status"]),
        stream_site=0 if creation is None else int(creation["site"]),
        stream_kind=None if creation is None else _STREAM_KINDS.get(int(creation["detail"])),
        stream_assumed=creation is not None and bool(int(creation["flags"]) & SlotFlag.ASSUMED),
    )
