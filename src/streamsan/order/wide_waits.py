"""Waits that cover more than what follows needs (SS503).

Which work a wait is needed for shows when it is taken out of the trace: the required orders that no longer hold name
it. If that is work of a few streams, waits for those streams alone may do; if it is of one stream, and not its latest
work, an event recorded right behind it may. The narrower wait is put in its place, and the engine asked again. As with
waits that nothing needs, all later host code must be visible, so this is for traces of source.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from msgspec import Struct

from streamsan.order.analysed_trace import AnalysedTrace
from streamsan.order.consumers import (
    LAST_DEFAULT_STREAM,
    MOST_PLACES,
    dominated_waits,
    numbered,
    operation_of,
    redundant_places,
    unconsumed_waits,
    visible_slots,
    waits_by_place,
)
from streamsan.order.engine import Analysis, Requirement, needed_waits, unmet_requirements
from streamsan.order.facts import Fact
from streamsan.order.places import place_of
from streamsan.order.rearrangement import inserted, operation_starts, without
from streamsan.trace.store import Slots, distinct, joined
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
    """One wait, and for each stream from which work is needed the row of the last such work."""

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
    slots = visible_slots(trace)
    if slots is None:
        return []
    sites = distinct(slots["site"][operation_starts(slots)])
    places = {site: place_of(trace, site) for site in sites}
    redundant = redundant_places(trace, (*analysis.facts, *unconsumed))
    counted = numbered(slots)
    parts = list(without([counted], dominated_waits(counted, places, redundant)))
    kept: Slots = parts[0] if parts else counted[:0]
    # Facts have the numbers of the trace.
    named = kept.copy()
    starts = operation_starts(kept)
    named["sequence"][starts] = slots["sequence"][operation_starts(slots)][kept["sequence"][starts].astype(int) - 1]
    facts = []
    base = unmet_requirements(trace.threads, [kept])
    for rows in list(waits_by_place(kept, places, trace.apis).values())[:MOST_PLACES]:
        if all(int(kept["kind"][row]) in WIDE and not kept["more"][row] for row in rows):
            fact = _Question(trace, kept, named, base).answer(rows)
            if fact is not None:
                facts.append(fact)
    return facts


class _Question:
    """Asks of the waits at one place whether narrower ones would do: of one stream, or of a few."""

    def __init__(self, trace: AnalysedTrace, slots: Slots, named: Slots, base: frozenset[Requirement]) -> None:
        self.trace, self.slots, self.named, self.base = trace, slots, named, base
        self.starts = operation_starts(slots)
        self.rows = {int(slots["sequence"][row]): row for row in np.flatnonzero(self.starts).tolist()}

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
        removed = {int(number) for number in self.slots["sequence"][list(rows)]}
        lost = unmet_requirements(self.trace.threads, without([self.slots], removed)) - self.base
        ordered = sorted(rows)
        needed: dict[int, set[int]] = {row: set() for row in ordered}
        for order in lost:
            earlier, later = self.rows.get(order.earlier), self.rows.get(order.later, len(self.slots))
            # The first wait behind the work is the one that covers it.
            wait = next((row for row in ordered if earlier is not None and earlier < row < later), None)
            if wait is None or earlier is None or not self.slots["stream"][earlier]:
                return []
            needed[wait].add(earlier)
        result = []
        for row, works in needed.items():
            last = {int(self.slots["stream"][work]): work for work in sorted(works)}
            if len(last) > MOST_STREAMS:
                return []
            result.append(_Instance(row, tuple(last.values())))
        return result

    def _try(self, instances: Sequence[_Instance], exact: bool) -> list[int] | None:
        """Put narrower waits in: for whole streams, or only up to the needed work. Return what need not be awaited.

        None where that is nothing, or where something needs more.
        """
        slots = self.slots
        before: dict[int, list[Slots]] = {}
        waits: dict[int, Slots] = {}
        for number, each in enumerate(instances):
            if not each.needed:
                continue
            streams = slots["stream"][list(each.needed)]
            wait = np.repeat(slots[each.row : each.row + 1], len(streams))
            if exact:
                if any(self._is_same(each.row, int(stream)) for stream in streams):
                    return None
                wait["kind"], wait["stream"], wait["object"] = OperationKind.STREAM_SYNCHRONIZE, streams, 0
            else:
                if not self._put_record(before, each.needed[0], int(streams[0]), PROBE_EVENT + number):
                    return None
                wait["kind"], wait["stream"], wait["object"] = (
                    OperationKind.EVENT_SYNCHRONIZE,
                    0,
                    PROBE_EVENT + number,
                )
            wait["site"] = PROBE_SITE
            waits[each.row] = wait
        numbers = {row: int(slots["sequence"][row]) for row in (each.row for each in instances)}
        narrow = {number: list(parts) for number, parts in before.items()}
        for row, wait in waits.items():
            narrow.setdefault(numbers[row], []).append(wait)
        # The narrow waits must not have the sequence numbers of those they replace, which are taken out.
        for parts in narrow.values():
            for part in parts:
                part["sequence"] = 0
        replaced = without(inserted([slots], _joined(narrow)), set(numbers.values()))
        if unmet_requirements(self.trace.threads, replaced) - self.base:
            return None
        return self._needless(instances, narrow, numbers, exact)

    def _is_same(self, row: int, stream: int) -> bool:
        """Whether the wait is for that stream already."""
        return (
            int(self.slots["kind"][row]) == OperationKind.STREAM_SYNCHRONIZE
            and int(self.slots["stream"][row]) == stream
            and stream > LAST_DEFAULT_STREAM
        )

    def _put_record(self, before: dict[int, list[Slots]], work: int, stream: int, event: int) -> bool:
        """Put a new event's record right behind the work."""
        later = np.flatnonzero(self.starts[work + 1 :])
        if not len(later):
            return False
        following = int(self.slots["sequence"][work + 1 + int(later[0])])
        parts = np.repeat(self.slots[work : work + 1], 2)
        for name in ("address", "size", "object", "detail", "flags", "more", "status"):
            parts[name] = 0
        parts["kind"] = [OperationKind.EVENT_CREATE, OperationKind.EVENT_RECORD]
        parts["object"], parts["stream"], parts["site"] = event, [0, stream], PROBE_SITE
        before.setdefault(following, []).append(parts)
        return True

    def _needless(
        self, instances: Sequence[_Instance], narrow: dict[int, list[Slots]], numbers: dict[int, int], exact: bool
    ) -> list[int] | None:
        """Ask which streams' work the wide wait covers beyond the narrow one: return the rows of their latest work."""
        slots = self.slots
        works = self.starts & np.isin(slots["kind"], WORK) & (slots["status"] == 0) & (slots["stream"] != 0)
        for each in instances:
            if not each.needed:
                continue
            narrower = {int(stream) for stream in slots["stream"][list(each.needed)]}
            latest: dict[int, int] = {}
            for row in np.flatnonzero(works[: each.row]).tolist():
                latest[int(slots["stream"][row])] = row
            others = [
                row for other, row in latest.items() if other not in narrower or (not exact and row > each.needed[0])
            ]
            if not others:
                continue
            probes = np.repeat(slots[each.row : each.row + 1], len(others))
            probes["kind"], probes["object"], probes["sequence"] = OperationKind.STREAM_SYNCHRONIZE, 0, 0
            probes["stream"] = slots["stream"][others]
            probes["site"] = PROBE_SITE + 1 + np.arange(len(others))
            asked = {number: list(parts) for number, parts in narrow.items()}
            asked.setdefault(numbers[each.row], []).append(probes)
            # Only what the wide wait waits for counts: put behind it, such a wait brings nothing.
            behind = self._behind(each.row, probes)
            pending = {site for site, _ in needed_waits(self.trace.threads, inserted([slots], _joined(asked)))}
            uncovered = {site for site, _ in behind}
            found = [
                row
                for number, row in enumerate(others)
                if PROBE_SITE + 1 + number in pending and PROBE_SITE + 1 + number not in uncovered
            ]
            if found:
                return found[:MOST_NEEDLESS]
        return None

    def _behind(self, row: int, probes: Slots) -> frozenset[tuple[int, int]]:
        later = np.flatnonzero(self.starts[row + 1 :])
        if not len(later):
            return frozenset()
        following = int(self.slots["sequence"][row + 1 + int(later[0])])
        return needed_waits(self.trace.threads, inserted([self.slots], {following: probes}))

    def _fact(self, rows: Sequence[int], needed: Sequence[int], needless: Sequence[int], exact: bool) -> Fact:
        related = [(RelatedRole.USE, operation_of(self.trace, self.named, row)) for row in needed]
        related += [(RelatedRole.OTHER, operation_of(self.trace, self.named, row)) for row in needless]
        return Fact(
            code=RuleCode.WAIT_TOO_WIDE,
            variant=FactVariant.TOO_WIDE,
            operation=operation_of(self.trace, self.named, rows[0]),
            related=tuple(related),
            count=len(rows),
            extra={"exact": int(exact)},
        )


def _joined(parts: dict[int, list[Slots]]) -> dict[int, Slots]:
    return {number: joined(each) for number, each in parts.items()}
