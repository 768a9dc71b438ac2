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

from streamsan.order.analysed_trace import AnalysedTrace
from streamsan.order.engine import Analysis, asking_apis, unmet_requirements
from streamsan.order.facts import Fact, Operation, operation_kind
from streamsan.order.places import PlaceKey, place_of
from streamsan.order.rearranged_operations import packed, without
from streamsan.platforms import CUDA
from streamsan.trace.packed_slots import SLOT_STRUCT, PackedOperation, Slot, operations_in
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
    named = visible_operations(trace)
    if named is None:
        return []
    places = places_of(trace, named)
    dominated = redundant_places(trace, analysis.facts)
    waits = {place: rows for place, rows in waits_by_place(named, places, trace.apis).items() if place not in dominated}
    if not waits:
        return []
    operations = numbered(named)
    whole = unmet_requirements(trace.threads, packed(operations))
    # What is dominated is gone already, and so is each wait that turns out not to be needed: one of two waits for the
    # same work stays.
    removed = dominated_waits(operations, places, dominated)
    facts = []
    for rows in list(waits.values())[:MOST_PLACES]:
        without_these = removed | {operations[row].slot.sequence for row in rows}
        if not unmet_requirements(trace.threads, packed(without(operations, without_these))) - whole:
            removed = without_these
            facts.append(_fact(trace, named, rows))
    return facts


def redundant_places(trace: AnalysedTrace, facts: Iterable[Fact]) -> set[PlaceKey]:
    """Return the places of the waits that facts call redundant."""
    return {place_of(trace, fact.operation.site) for fact in facts if fact.code is RuleCode.REDUNDANT_SYNC}


def places_of(trace: AnalysedTrace, operations: Iterable[PackedOperation]) -> dict[int, PlaceKey]:
    """Return the places of all sites."""
    return {site: place_of(trace, site) for site in {each.slot.site for each in operations}}


def numbered(operations: Iterable[PackedOperation]) -> list[PackedOperation]:
    """Return the operations numbered as they come: one that was put in has the number of another."""
    return [each.with_fields(sequence=number) for number, each in enumerate(operations, 1)]


def visible_operations(trace: AnalysedTrace) -> list[PackedOperation] | None:
    """Return all operations, or None where not all later host code is visible."""
    if trace.origin != "source":
        return None
    parts: list[bytes] = []
    total = 0
    for part in trace.packed():
        total += len(part) // SLOT_STRUCT.size
        if total > MOST_SLOTS:
            return None
        parts.append(bytes(part))
    operations = operations_in(b"".join(parts))
    ends = False
    for slot, _ in operations:
        if slot.kind == OperationKind.PROCESS_EXIT:
            ends |= slot.detail == ExitKind.NORMAL
        given = slot.kind == OperationKind.OPAQUE_CALL and (slot.address or slot.more)
        if given or slot.kind == OperationKind.FORK:
            return None
    return operations if ends else None


def waits_by_place(
    operations: Sequence[PackedOperation], places: Mapping[int, PlaceKey], apis: Sequence[str]
) -> dict[PlaceKey, list[int]]:
    """Return the numbers from 0 of successful host waits that may be asked about, by place, in order of appearance.

    Not those after which the program asks for errors at once: it waits to see whether the work has failed.
    """
    asking = frozenset(asking_apis(apis))
    rows: dict[PlaceKey, list[int]] = {}
    refused: set[PlaceKey] = set()
    opaque = False
    for row, (slot, _) in enumerate(operations):
        place = places[slot.site]
        opaque |= slot.kind == OperationKind.OPAQUE_CALL
        if slot.kind not in HOST_WAITS or slot.status or not slot.site:
            # A place that does something else as well (a function that waits through another's site) is left alone.
            refused.add(place)
            continue
        wide = slot.kind == OperationKind.CONTEXT_SYNCHRONIZE or (
            slot.kind == OperationKind.STREAM_SYNCHRONIZE and slot.stream <= LAST_DEFAULT_STREAM
        )
        if (wide and opaque) or _asks_next(operations, row, asking):
            refused.add(place)
        rows.setdefault(place, []).append(row)
    return {place: found for place, found in rows.items() if place not in refused}


def _asks_next(operations: Sequence[PackedOperation], row: int, asking: Collection[int]) -> bool:
    """Tell whether the thread's next operation asks for the error of earlier calls."""
    thread = operations[row].slot.thread
    for number in range(row + 1, len(operations)):
        slot = operations[number].slot
        if slot.thread == thread:
            return slot.kind == OperationKind.CALL and slot.api in asking
    return False


def dominated_waits(
    operations: Iterable[PackedOperation], places: Mapping[int, PlaceKey], dominated: Collection[PlaceKey]
) -> set[int]:
    """Return the sequence numbers of the dominated waits."""
    return {slot.sequence for slot, _ in operations if slot.kind in DOMINATED_WAITS and places[slot.site] in dominated}


def _fact(trace: AnalysedTrace, operations: Sequence[PackedOperation], rows: list[int]) -> Fact:
    operation = operation_among(trace, operations, rows[0])
    return Fact(code=RuleCode.REDUNDANT_SYNC, variant=FactVariant.NO_CONSUMER, operation=operation, count=len(rows))


_STREAM_KINDS = {kind.value: kind for kind in StreamKind}
"""A file may hold any number."""


def operation_among(trace: AnalysedTrace, operations: Sequence[PackedOperation], row: int) -> Operation:
    """Return one of the operations of a trace, by its number from 0, as an operation of a fact."""
    slot = operations[row].slot
    creations = (
        before
        for before, _ in reversed(operations[:row])
        if before.kind == OperationKind.STREAM_CREATE and before.object == slot.stream
    )
    return operation_of(trace, slot, next(creations, None) if slot.stream else None)


def operation_of(trace: AnalysedTrace, slot: Slot, creation: Slot | None) -> Operation:
    """Return a slot as an operation of a fact; the stream's site, kind and origin are those of its creation."""
    return Operation(
        sequence=slot.sequence,
        kind=operation_kind(slot.kind),
        site=slot.site,
        api=slot.api,
        thread=slot.thread,
        process=trace.threads[slot.thread].process if slot.thread < len(trace.threads) else 0,
        stream=slot.stream,
        flags=slot.flags,
        status=slot.status,
        stream_site=0 if creation is None else creation.site,
        stream_kind=None if creation is None else _STREAM_KINDS.get(creation.detail),
        stream_assumed=creation is not None and bool(creation.flags & SlotFlag.ASSUMED),
    )
