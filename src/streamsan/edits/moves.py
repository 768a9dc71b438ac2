"""Statements that are moved behind others, or taken out: releases, records of events, waits."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from streamsan.edits.code_place import CodePlace
from streamsan.edits.language import AnyLanguage, Code, Group
from streamsan.edits.layout import NoPlaceError
from streamsan.edits.variant import Variant
from streamsan.evidence.fix.change_steps import FreeBehindUses, WaitsRemoved
from streamsan.evidence.fix.edited_trace import EditableTrace
from streamsan.evidence.fix.event_steps import EventCallBehind
from streamsan.findings.finding import Edit
from streamsan.order.facts import Operation
from streamsan.vocabulary import OperationKind

RELEASES = frozenset(
    {
        OperationKind.FREE,
        OperationKind.STREAM_SYNCHRONIZE,
        OperationKind.EVENT_SYNCHRONIZE,
        OperationKind.CONTEXT_SYNCHRONIZE,
        OperationKind.STREAM_DESTROY,
        OperationKind.EVENT_DESTROY,
        OperationKind.DEVICE_RESET,
        OperationKind.CONTEXT_DESTROY,
    }
)
"""what a helper may do whose call is moved to a later place"""
FREES = (OperationKind.FREE, OperationKind.DEVICE_RESET, OperationKind.CONTEXT_DESTROY)


class Moves:
    """Writes steps that change where statements stand."""

    def __init__(self, language: AnyLanguage, trace: EditableTrace) -> None:
        self._language = language
        self._trace = trace

    def of(self, step: FreeBehindUses | EventCallBehind | WaitsRemoved) -> Iterator[Variant]:
        """Yield the ways to write a step, the nearest first."""
        match step:
            case FreeBehindUses():
                yield from self._behind(step.free, step.last, RELEASES)
            case EventCallBehind():
                yield from self._behind(step.call, step.target, {step.call.kind})
            case WaitsRemoved():
                yield from self._removal(step.waits)

    def _behind(self, what: Operation, last: Operation, kinds: Collection[int]) -> Iterator[Variant]:
        """Yield an operation moved behind another: in its block, in one around it, or where its caller calls it."""
        language, reasons = self._language, self._language.reasons
        lasts = language.places(last.site)
        known = len(reasons)
        places = language.places(what.site)
        for place in places:
            ending = language.scope_end(place)
            if ending:
                reasons.append(ending)
            if ending or place.statement is None:
                continue
            groups = list(language.groups(place, what, kinds))
            if not groups and any(_comes_later(place, other) for other in lasts):
                line = language.layout.span(place.statement).line
                reasons.append(f"line {line} does more than that: it cannot come later as a whole")
            for group in groups:
                for other in lasts:
                    yield from self._moved(place, group, what, last, other)
        names = [self._trace.trace.site(each.site).function or "the module" for each in (what, last)]
        if len(reasons) == known and names[0] != names[1]:
            reasons.append(f"no block of the program has both the call in `{names[0]}` and that in `{names[1]}`")

    def _moved(
        self, place: CodePlace, group: Group, what: Operation, last: Operation, at_last: CodePlace
    ) -> Iterator[Variant]:
        """Yield a group of statements behind what holds the last use, in the group's block or in one around it."""
        language = self._language
        layout = language.layout
        for block in group.blocks:
            target, own = at_last.child_in(block), place.child_in(block)
            if target is None or own is None or any(target is each for each in group.statements):
                continue
            target = language.unit(block, target)[-1]
            if (target is own and block is group.blocks[0]) or layout.span(target) < layout.span(own):
                continue
            end = layout.span(target).end_line
            hidden = language.hidden_name(group, place.at(block, target)) if block is not group.blocks[0] else ""
            if hidden:
                language.reasons.append(f"`{hidden}` is not visible behind line {end}")
                continue
            reason = language.in_the_way(group, place, block, target)
            if reason:
                begin = layout.span(group.statements[0]).line
                language.reasons.append(f"line {begin} cannot come behind line {end}: {reason}")
                continue
            for code, imports in self._waits_before(what, last, at_last):
                try:
                    edits = layout.moved(group.statements, target, code.lines)
                except NoPlaceError as error:
                    language.reasons.append(str(error))
                    continue
                begin, last_line = layout.span(group.statements[0]).line, layout.span(group.statements[-1]).end_line
                lines = f"line {begin}" if begin == last_line else f"lines {begin} to {last_line}"
                words = f"; before it: {'; '.join(code.words)}" if code.words else ""
                yield Variant(f"move {lines} behind line {end}{words}", (*imports, *edits))

    def _waits_before(
        self, what: Operation, last: Operation, place: CodePlace
    ) -> Iterator[tuple[Code, Sequence[Edit]]]:
        """Yield the code before a free in its new place: none; where it waits for nothing, also a wait of the host."""
        yield Code(()), ()
        if what.kind not in FREES or what.stream:
            return
        for text in self._language.stream(last, place, last):
            phrases = self._language.phrases(place, last, what)
            yield phrases.call(phrases.calls.stream_sync, text), phrases.imports

    def _removal(self, waits: Sequence[Operation]) -> Iterator[Variant]:
        """Yield the removal of waits, each a statement of its own."""
        language = self._language
        edits: list[Edit] = []
        lines = []
        for wait in waits:
            places = language.places(wait.site)
            reason = language.keeps(places[0], len(places) > 1) if places else "the wait is not a statement of its own"
            try:
                if not reason:
                    statement = places[0].statement
                    edits += language.layout.removed(places[0], language.unit(places[0].block, statement))
            except NoPlaceError as error:
                reason = str(error)
            if reason:
                language.reasons.append(reason)
                return
            lines.append(places[0].span.line)
        yield Variant(f"remove line {' and '.join(map(str, lines))}", tuple(dict.fromkeys(edits)), len(lines))


def _comes_later(place: CodePlace, other: CodePlace) -> bool:
    """Tell whether another place is in a statement behind that of a place, in the same block."""
    target = other.child_in(place.block) if place.block is not None else None
    return target is not None and target is not place.statement and other.span > place.span
