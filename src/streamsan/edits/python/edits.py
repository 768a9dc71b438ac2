"""A step that was tried on a trace, written as edits of a Python program's text, in all the ways that its calls allow.

An operation stands at a chain of calls: the call of the API, the helper around it, the helper's caller. An edit goes
where the names that it needs are visible, as near to the operation as possible.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from streamsan.edits.python import layout
from streamsan.edits.python.calls import METHODS_OF_WITH
from streamsan.edits.python.checks import unit_of
from streamsan.edits.python.kernels import waiting_kernel
from streamsan.edits.python.layout import NoPlaceError
from streamsan.edits.python.moves import RELEASES, Moves
from streamsan.edits.python.names import EVENT as EVENT_KIND
from streamsan.edits.python.names import Chains, Names, Wanted
from streamsan.edits.python.nodes import dependencies
from streamsan.edits.python.speech import Speech, Speeches
from streamsan.edits.python.spots import Spot, With
from streamsan.edits.python.text import PythonText
from streamsan.edits.variant import Variant
from streamsan.evidence.fix.change_steps import FreeBehindUses, FreeOnStream, KernelWaits, WaitsRemoved
from streamsan.evidence.fix.edited_trace import EditableTrace
from streamsan.evidence.fix.event_steps import RecordBehind, WaitBehindRecord, WaitForRecorded
from streamsan.evidence.fix.order_steps import (
    EdgeBetween,
    EventBetween,
    HostWaitsForAll,
    HostWaitsForEvent,
    HostWaitsForStream,
    Place,
)
from streamsan.evidence.fix.steps import Step, pairs
from streamsan.findings.finding import Edit
from streamsan.order.facts import Operation
from streamsan.rules.case import Case
from streamsan.vocabulary import OperationKind, RelatedRole

MOST_VARIANTS = 8
MOST_STREAMS = 8
"""streams that code at one place waits for"""
ASYNCHRONOUS = {"cudaFree": "cudaFreeAsync", "cuMemFree": "cuMemFreeAsync"}


class PythonWriter:
    """Writes steps for the findings of one run."""

    def __init__(
        self, trace: EditableTrace, texts: Mapping[str, PythonText], looks: Sequence[Mapping[str, Any]]
    ) -> None:
        self.files = texts
        self._trace = trace
        self._chains = Chains(trace, texts)
        self._names = Names(self._chains, looks)
        self._speeches = Speeches(self._names)
        self._moves = Moves(self._chains, self._names, self._speeches)

    @property
    def reasons(self) -> Sequence[str]:
        """Why steps could not be written, in clauses, so far."""
        return self._moves.reasons

    def variants(self, step: Step, case: Case) -> Iterator[Variant]:
        """Yield the ways to write a step, the nearest first."""
        seen: set[tuple[Edit, ...]] = set()
        for variant in self._variants(step, case):
            if variant.edits and variant.edits not in seen:
                seen.add(variant.edits)
                yield variant
            if len(seen) >= MOST_VARIANTS:
                return

    def removal(self, waits: Sequence[Operation], case: Case) -> Iterator[Variant]:
        """Yield the removal of waits, each a statement of its own."""
        return self._moves.removal(waits)

    def _variants(self, step: Step, case: Case) -> Iterator[Variant]:
        if isinstance(step, FreeOnStream):
            yield from self._free_on_stream(step, case)
        elif isinstance(step, EventBetween):
            if step.place is Place.LATER and self._is_for_many(step):
                # Where the work is issued there is code for each of its streams already.
                yield from self._event_between(replace(step, place=Place.EARLIER))
            if step.place is not Place.APART:
                yield from self._event_between(step)
        elif isinstance(step, HostWaitsForStream):
            yield from self._stream_wait(step)
        elif isinstance(step, HostWaitsForEvent):
            yield from self._stream_wait_behind(step)
        elif isinstance(step, HostWaitsForAll):
            yield from self._device_wait(step, case)
        elif isinstance(step, WaitForRecorded):
            yield from self._wait_for_recorded(step)
        elif isinstance(step, FreeBehindUses):
            yield from self._moves.free(step)
        elif isinstance(step, RecordBehind):
            yield from self._moves.behind(step.record, step.work, {OperationKind.EVENT_RECORD})
        elif isinstance(step, WaitBehindRecord):
            yield from self._moves.behind(step.wait, step.record, {step.wait.kind})
        elif isinstance(step, WaitsRemoved):
            yield from self.removal(step.waits, case)
        elif isinstance(step, KernelWaits):
            yield from waiting_kernel(step, case, self.files)
        elif isinstance(step, EdgeBetween):
            yield from dependencies(self._chains, step)
            yield from self._captured_after(step)

    # -- the free -------------------------------------------------------------------------------

    def _free_on_stream(self, step: FreeOnStream, case: Case) -> Iterator[Variant]:
        summary = f"line {case.line(step.free)}: free in the stream of the last use"
        api = self._chains.api(step.free)
        every = pairs(self._trace, step.use, step.free)
        for written in self._chains.streams(step.free.site, api):
            # A stream that a caller hands down may be for more than the free.
            if written.node is None or not self._moves.does_only(step.free, written.spot.level, RELEASES):
                continue
            for (text,) in self._streams(every, step.free, step.free, written.spot, len_one=True):
                if text != written.text:
                    yield Variant(f"{summary}, `{text}`", (layout.replaced(written.spot, written.node, text),))
        spot = next(iter(self._chains.spots(step.free.site)), None)
        call = spot.call if spot is not None else None
        asynchronous = ASYNCHRONOUS.get(api)
        if spot is None or call is None or asynchronous is None or len(call.args) + len(call.keywords) != 1:
            return
        if any(isinstance(each, ast.Starred) for each in call.args):
            return
        for (text,) in self._streams(every, step.free, step.free, spot, len_one=True):
            speech = self._speeches.at(spot, every[0][1])
            function = spot.text.of(call.func)
            last = function.rpartition(".")[2]
            new = function.removesuffix(last) + asynchronous if "." in function else speech.function(asynchronous)
            pointer = spot.text.of((*call.args, *(each.value for each in call.keywords))[0])
            edit = layout.replaced(spot, call, f"{new}({pointer}, {text})")
            yield Variant(f"{summary}, {asynchronous}({pointer}, {text})", (*speech.imports, edit))

    # -- what is put in -------------------------------------------------------------------------

    def _is_for_many(self, step: EventBetween) -> bool:
        """Tell whether one operation waits for several streams."""
        targets = [target for _, target in pairs(self._trace, step.earlier, step.later)]
        return len(targets) > len(set(targets))

    def _event_between(self, step: EventBetween) -> Iterator[Variant]:
        there = step.place is Place.EARLIER
        near = step.earlier if there else step.later
        apis = self._chains.api(step.earlier), self._chains.api(step.later)
        every = pairs(self._trace, step.earlier, step.later)
        for spot in self._levels(near):
            sources = self._groups(every, near, step.later, spot, of_earlier=True)
            targets = self._groups(every, near, step.later, spot, of_earlier=False)
            runs = [self._names.of(each, spot, step.earlier if there else None)[:2] for each in sources]
            waits = [self._names.of(each, spot, None if there else step.later)[:2] for each in targets]
            for number in range(2):
                first, second = _choice(runs, number), _choice(waits, number)
                if not first or not second or any(a == b for a, b in zip(first, second, strict=True)):
                    continue
                row = sources[0][0][0]
                for guess in (True, False):
                    speech = self._speeches.at(spot, row)
                    code = speech.event(first, second, speech.calls(*apis), guess=guess)
                    yield from self._put(spot, code, speech, behind=there)

    def _wait_for_recorded(self, step: WaitForRecorded) -> Iterator[Variant]:
        """Yield the wait for an event that the program has recorded."""
        slots = self._trace.slots
        every = pairs(self._trace, step.earlier, step.later)
        records = self._trace.instances(step.record)
        events: dict[int, int] = {}
        for source, target in every:
            between = [
                row for row in records if source < row < target and slots["stream"][row] == slots["stream"][source]
            ]
            if between:
                events[target] = int(slots["object"][between[-1]])
        for spot in self._levels(step.later):
            groups = self._groups(every, step.later, step.later, spot, of_earlier=False)
            rows = [row for row, _ in groups[0] if row in events] if len(groups) == 1 else []
            if not rows:
                continue
            for event in self._names.of([(row, events[row]) for row in rows], spot, kind=EVENT_KIND)[:2]:
                for stream in self._names.of(groups[0], spot, step.later)[:1] if step.on_device else [""]:
                    speech = self._speeches.at(spot, rows[0])
                    calls = speech.calls(self._chains.api(step.record))
                    if stream:
                        code = speech.call(calls.stream_wait, stream, event, "0")
                    else:
                        code = speech.call(calls.event_wait, event)
                    yield from self._put(spot, code, speech)

    def _stream_wait(self, step: HostWaitsForStream) -> Iterator[Variant]:
        yield from self._waits(step.earlier, step.later, step.later)

    def _stream_wait_behind(self, step: HostWaitsForEvent) -> Iterator[Variant]:
        """Wait right where the work was issued: there its stream has a name."""
        yield from self._waits(step.earlier, step.later, step.earlier)

    def _waits(self, earlier: Operation, later: Operation, near: Operation) -> Iterator[Variant]:
        apis = self._chains.api(earlier), self._chains.api(later)
        every = pairs(self._trace, earlier, later)
        at_end = not near.site
        there = at_end or near is earlier
        near = earlier if at_end else near
        # At the end of the program the outermost place comes first.
        levels = list(self._levels(near))
        for spot in reversed(levels) if at_end else levels:
            for texts in self._streams(every, near, later, spot):
                speech = self._speeches.at(spot, every[0][0 if there else 1])
                code = [line for text in texts for line in speech.call(speech.calls(*apis).stream_sync, text)]
                yield from self._put(spot, code, speech, behind=there)

    def _device_wait(self, step: HostWaitsForAll, case: Case) -> Iterator[Variant]:
        at_end = not step.later.site
        operation = case.first(RelatedRole.USE, RelatedRole.OTHER) if at_end else step.later
        if operation is None:
            return
        row = self._trace.row(operation)
        levels = list(self._levels(operation))
        for spot in reversed(levels) if at_end else levels:
            speech = self._speeches.at(spot, row or 0)
            code = speech.call(speech.calls(self._chains.api(operation)).device_sync)
            yield from self._put(spot, code, speech, behind=at_end)

    def _put(self, spot: Spot, code: Sequence[str], speech: Speech, behind: bool = False) -> Iterator[Variant]:
        try:
            edits = layout.behind(self._whole(spot), code) if behind else layout.before(spot, code)
        except NoPlaceError:
            return
        statement = spot.statement
        assert statement is not None
        line, _, end, _ = spot.text.span(statement)
        inside = spot.at_exit and isinstance(statement, With)
        where = f"after line {end}" if behind or inside else f"before line {line}"
        # Making and destroying the event goes without saying.
        words = "; ".join(each.strip() for each in code if _says_something(each))
        yield Variant(f"{where}: {words}", (*speech.imports, *edits))

    def _whole(self, spot: Spot) -> Spot:
        """Return a spot at the last statement of what belongs to its call: the look at its status."""
        statement, block = spot.statement, spot.block
        if statement is None or block is None:
            return spot
        last = unit_of(block, statement)[-1]
        if last is statement:
            return spot
        path = spot.path[: next(number for number, each in enumerate(spot.path) if each is statement)]
        return Spot(spot.file, spot.text, (*path, last), spot.level)

    # -- names ----------------------------------------------------------------------------------

    def _streams(
        self,
        every: Sequence[tuple[int, int]],
        near: Operation,
        later: Operation,
        spot: Spot,
        *,
        len_one: bool = False,
    ) -> Iterator[tuple[str, ...]]:
        """Yield how the streams of the earlier operations are written at a spot of `near`, all that it waits for."""
        there = near is not later
        groups = self._groups(every, near, later, spot, of_earlier=True)
        if not groups or (len_one and len(groups) > 1):
            return
        names = [self._names.of(each, spot, near if there else None) for each in groups]
        for number in range(max(len(each) for each in names)):
            chosen = _choice(names, number)
            if chosen:
                yield tuple(dict.fromkeys(chosen))

    def _groups(
        self, every: Sequence[tuple[int, int]], near: Operation, later: Operation, spot: Spot, *, of_earlier: bool
    ) -> list[Wanted]:
        """Return for each stream that code at a spot needs the rows at which it runs, with what it is there."""
        there = near is not later
        chains, slots = self._chains, self._trace.slots
        own = chains.chain(near.site)[: spot.level + 1]
        sources: dict[int, list[int]] = {}
        for source, target in every:
            row = source if there else target
            if there and chains.chain(int(slots["site"][target])) != chains.chain(later.site):
                continue  # what others that call the same helper wait for
            if spot.level == 0 or chains.chain(int(slots["site"][row]))[: spot.level + 1] == own:
                sources.setdefault(row, []).append(int(slots["stream"][source if of_earlier else target]))
        width = max((len(each) for each in sources.values()), default=0)
        if width > MOST_STREAMS:
            return []
        return [
            [(row, streams[min(number, len(streams) - 1)]) for row, streams in sources.items()]
            for number in range(width)
        ]

    def _levels(self, operation: Operation) -> Iterator[Spot]:
        """Yield the places of an operation's chain of calls, at the end of a `with` block also that."""
        spots = self._chains.spots(operation.site)
        site = operation.site
        function = ""
        for spot in spots:
            entry = self._trace.trace.site(site)
            if spot is not None and spot.statement is not None:
                begins = function.rpartition(".")[2] in ("__enter__", "__aenter__")
                if isinstance(spot.statement, With) and spot.level and not spot.call and not begins:
                    yield Spot(spot.file, spot.text, spot.path, spot.level, at_exit=True)
                if not isinstance(spot.statement, With) or begins or function.rpartition(".")[2] not in METHODS_OF_WITH:
                    yield spot
            function, site = entry.function, entry.caller

    # -- graphs ---------------------------------------------------------------------------------

    def _captured_after(self, step: EdgeBetween) -> Iterator[Variant]:
        """Yield an event between two captured calls."""
        apis = self._chains.api(step.earlier), self._chains.api(step.later)
        row = self._trace.row(step.later)
        if row is None:
            return
        for first in self._chains.streams(step.earlier.site, apis[0]):
            for second in self._chains.streams(step.later.site, apis[1]):
                if first.spot.body is second.spot.body and first.text != second.text:
                    speech = self._speeches.at(second.spot, row)
                    code = speech.event([first.text], [second.text], speech.calls(*apis))
                    yield from self._put(second.spot, code, speech)


_WAITS = ("EventRecord", "WaitEvent", "Synchronize")


def _choice(names: Sequence[Sequence[str]], number: int) -> list[str]:
    """Return one name for each of several streams; nothing where one has none."""
    if not names or not all(names) or all(number >= len(each) for each in names):
        return []
    return [each[min(number, len(each) - 1)] for each in names]


def _says_something(line: str) -> bool:
    return not any(word in line for word in ("EventCreate", "EventDestroy")) and any(word in line for word in _WAITS)
