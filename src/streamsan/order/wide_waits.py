"""Waits that cover more than what follows needs (SS503).

Which work a wait is needed for shows when it is taken out of the trace: the required orders that no longer hold name
it. If that is work of a few streams, waits for those streams alone may do; if it is of one stream, and not its latest
work, an event recorded right behind it may. The narrower wait is put in its place, and the engine asked again. As with
waits that nothing needs, all later host code must be visible, so this is for traces of source.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from streamsan.order.analysed_trace import AnalysedTrace
from streamsan.order.consumers import (
    LAST_DEFAULT_STREAM,
    MOST_PLACES,
    dominated_waits,
    numbered,
    operation_among,
    places_of,
    redundant_places,
    unconsumed_waits,
    visible_operations,
    waits_by_place,
)
from streamsan.order.engine import Analysis, Requirement, needed_waits, unmet_requirements
from streamsan.order.facts import Fact
from streamsan.order.rearranged_operations import inserted, packed, without
from streamsan.trace.packed_slots import SLOT_STRUCT, PackedOperation
from streamsan.vocabulary import FactVariant, OperationKind, RelatedRole, RuleCode

MOST_NEEDLESS = 3
"""Operations that are named as covered for nothing."""
MOST_STREAMS = 3
"""More waits than these in the place of one are no improvement."""
WORK = (
    OperationKind.LAUNCH,
    OperationKind.COPY,
    OperationKind.MEMSET,
    OperationKind.HOST_FUNCTION,
    OperationKind.GRAPH_LAUNCH,
    OperationKind.PREFETCH,
)
WIDE = (OperationKind.CONTEXT_SYNCHRONIZE, OperationKind.STREAM_SYNCHRONIZE)
PROBE_SITE = 1 << 31
"""Sites of waits that are put in to ask a question; no trace has so many."""
PROBE_EVENT = (1 << 63) + 1


class _Instance(Struct, frozen=True):
    """One wait, and for each stream from which work is needed the last such work, by their numbers from 0."""

    row: int
    needed: tuple[int, ...]


def facts_on_waits(trace: AnalysedTrace, analysis: Analysis, wide: bool = True) -> list[Fact]:
    """Return the facts on waits that nothing needs (SS504) and, with `wide`, that cover too much (SS503).

    `analysis` is the engine's analysis of the same trace. Nothing for traces that are not of source.
    """
    unconsumed = unconsumed_waits(trace, analysis)
    return [*unconsumed, *(wide_waits(trace, analysis, unconsumed) if wide else [])]


def wide_waits(trace: AnalysedTrace, analysis: Analysis, unconsumed: Collection[Fact] = ()) -> list[Fact]:
    """Return a TOO_WIDE fact for each place of waits for which a narrower wait, that was tried, is enough.

    `unconsumed` are the facts of `unconsumed_waits` for the same trace: those waits, and dominated ones, are left out
    of it first.
    """
    operations = visible_operations(trace)
    if operations is None:
        return []
    places = places_of(trace, operations)
    redundant = redundant_places(trace, (*analysis.facts, *unconsumed))
    counted = numbered(operations)
    kept = without(counted, dominated_waits(counted, places, redundant))
    # Facts have the numbers of the trace.
    named = [operations[each.slot.sequence - 1] for each in kept]
    facts = []
    base = unmet_requirements(trace.threads, packed(kept))
    for rows in list(waits_by_place(kept, places, trace.apis).values())[:MOST_PLACES]:
        if all(kept[row].slot.kind in WIDE and not kept[row].slot.more for row in rows):
            fact = _Question(trace, kept, named, base).answer(rows)
            if fact is not None:
                facts.append(fact)
    return facts


class _Question:
    """Asks of the waits at one place whether narrower ones would do: of one stream, or of a few."""

    def __init__(
        self,
        trace: AnalysedTrace,
        operations: Sequence[PackedOperation],
        named: Sequence[PackedOperation],
        base: frozenset[Requirement],
    ) -> None:
        self.trace, self.operations, self.named, self.base = trace, operations, named, base
        self.rows = {each.slot.sequence: row for row, each in enumerate(operations)}

    def answer(self, rows: Sequence[int]) -> Fact | None:
        """Return the fact, None where all that the waits cover is needed, or where no single narrower wait does."""
        instances = self._instances(rows)
        needed = next((each.needed for each in instances if each.needed), ())
        if not needed:
            return None
        several = any(len(each.needed) > 1 for each in instances)
        for exact in (True,) if several else (True, False):
            needless = self._try(instances, exact)
            if needless is not None:
                return self._fact(rows, needed, needless, exact)
        return None

    def _instances(self, rows: Sequence[int]) -> list[_Instance]:
        """Say for each wait what is needed from it; empty where that is not work of a few streams."""
        removed = {self.operations[row].slot.sequence for row in rows}
        lost = self._unmet(without(self.operations, removed)) - self.base
        ordered = sorted(rows)
        needed: dict[int, set[int]] = {row: set() for row in ordered}
        for order in lost:
            earlier, later = self.rows.get(order.earlier), self.rows.get(order.later, len(self.operations))
            # The first wait behind the work is the one that covers it.
            wait = next((row for row in ordered if earlier is not None and earlier < row < later), None)
            if wait is None or earlier is None or not self._stream(earlier):
                return []
            needed[wait].add(earlier)
        result = []
        for row, works in needed.items():
            last = {self._stream(work): work for work in sorted(works)}
            if len(last) > MOST_STREAMS:
                return []
            result.append(_Instance(row, tuple(last.values())))
        return result

    def _try(self, instances: Sequence[_Instance], exact: bool) -> list[int] | None:
        """Put narrower waits in: for whole streams, or only up to the needed work. Return what need not be awaited.

        None where that is nothing, or where something needs more.
        """
        before: dict[int, list[PackedOperation]] = {}
        waits: dict[int, list[PackedOperation]] = {}
        # The narrow waits must not have the sequence numbers of those they replace, which are taken out.
        for number, each in enumerate(instances):
            if not each.needed:
                continue
            streams = [self._stream(work) for work in each.needed]
            wait = self.operations[each.row].with_fields(sequence=0, site=PROBE_SITE)
            if exact:
                if any(self._is_same(each.row, stream) for stream in streams):
                    return None
                kind = OperationKind.STREAM_SYNCHRONIZE
                waits[each.row] = [wait.with_fields(kind=kind, stream=stream, object=0) for stream in streams]
            else:
                event = PROBE_EVENT + number
                if not self._put_record(before, each.needed[0], streams[0], event):
                    return None
                kind = OperationKind.EVENT_SYNCHRONIZE
                waits[each.row] = [wait.with_fields(kind=kind, stream=0, object=event)] * len(streams)
        numbers = {each.row: self.operations[each.row].slot.sequence for each in instances}
        narrow = before
        for row, parts in waits.items():
            narrow.setdefault(numbers[row], []).extend(parts)
        if self._unmet(without(inserted(self.operations, narrow), set(numbers.values()))) - self.base:
            return None
        return self._needless(instances, narrow, numbers, exact)

    def _unmet(self, operations: Sequence[PackedOperation]) -> frozenset[Requirement]:
        return unmet_requirements(self.trace.threads, packed(operations))

    def _stream(self, row: int) -> int:
        return self.operations[row].slot.stream

    def _is_same(self, row: int, stream: int) -> bool:
        """Whether the wait is for that stream already."""
        slot = self.operations[row].slot
        return slot.kind == OperationKind.STREAM_SYNCHRONIZE and slot.stream == stream and stream > LAST_DEFAULT_STREAM

    def _put_record(self, before: dict[int, list[PackedOperation]], work: int, stream: int, event: int) -> bool:
        """Put a new event's record right behind the work."""
        if work + 1 == len(self.operations):
            return False
        following = self.operations[work + 1].slot.sequence
        slot, whole = self.operations[work]
        bare = dict.fromkeys(("address", "size", "detail", "flags", "more", "status", "sequence"), 0)
        new = PackedOperation(slot, whole[: SLOT_STRUCT.size]).with_fields(**bare, object=event, site=PROBE_SITE)
        before.setdefault(following, []).extend(
            [
                new.with_fields(kind=OperationKind.EVENT_CREATE, stream=0),
                new.with_fields(kind=OperationKind.EVENT_RECORD, stream=stream),
            ]
        )
        return True

    def _needless(
        self,
        instances: Sequence[_Instance],
        narrow: Mapping[int, Sequence[PackedOperation]],
        numbers: Mapping[int, int],
        exact: bool,
    ) -> list[int] | None:
        """Ask which streams' work the wide wait covers beyond the narrow one: return the rows of their latest work."""
        for each in instances:
            if not each.needed:
                continue
            narrower = {self._stream(work) for work in each.needed}
            latest: dict[int, int] = {}
            for row in range(each.row):
                slot = self.operations[row].slot
                if slot.kind in WORK and not slot.status and slot.stream:
                    latest[slot.stream] = row
            others = [
                row for other, row in latest.items() if other not in narrower or (not exact and row > each.needed[0])
            ]
            if not others:
                continue
            probe = self.operations[each.row].with_fields(kind=OperationKind.STREAM_SYNCHRONIZE, object=0, sequence=0)
            probes = [
                probe.with_fields(stream=self._stream(row), site=PROBE_SITE + 1 + number)
                for number, row in enumerate(others)
            ]
            asked = {**narrow, numbers[each.row]: [*narrow.get(numbers[each.row], ()), *probes]}
            # Only what the wide wait waits for counts: put behind it, such a wait brings nothing.
            behind = self._behind(each.row, probes)
            pending = self._needed_sites(asked)
            found = [
                row
                for number, row in enumerate(others)
                if PROBE_SITE + 1 + number in pending and PROBE_SITE + 1 + number not in behind
            ]
            if found:
                return found[:MOST_NEEDLESS]
        return None

    def _behind(self, row: int, probes: Sequence[PackedOperation]) -> set[int]:
        """Return the sites of waits that bring something right behind a row."""
        if row + 1 == len(self.operations):
            return set()
        return self._needed_sites({self.operations[row + 1].slot.sequence: probes})

    def _needed_sites(self, before: Mapping[int, Sequence[PackedOperation]]) -> set[int]:
        """Return the sites of the waits that bring something where operations are put in."""
        together = inserted(self.operations, before)
        return {site for site, _ in needed_waits(self.trace.threads, packed(together))}

    def _fact(self, rows: Sequence[int], needed: Sequence[int], needless: Sequence[int], exact: bool) -> Fact:
        related = [(RelatedRole.USE, operation_among(self.trace, self.named, row)) for row in needed]
        related += [(RelatedRole.OTHER, operation_among(self.trace, self.named, row)) for row in needless]
        return Fact(
            code=RuleCode.WAIT_TOO_WIDE,
            variant=FactVariant.TOO_WIDE,
            operation=operation_among(self.trace, self.named, rows[0]),
            related=tuple(related),
            count=len(rows),
            extra={"exact": int(exact)},
        )
