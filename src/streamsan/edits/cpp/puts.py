"""Calls that are put into a program's text: events between streams, and waits of the host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from streamsan.cuda_syntax.tree import Block, Call, ExpressionStatement, Lambda, Return, Span, Statement
from streamsan.cuda_syntax.walk import nodes
from streamsan.edits.cpp.calls import ASKING, Chains, api_name
from streamsan.edits.cpp.checks import check_at
from streamsan.edits.cpp.insertion import Layout, NoPlaceError
from streamsan.edits.cpp.names import HandleNames
from streamsan.edits.cpp.spots import Spot, at_statement, child_of, loops_around
from streamsan.edits.variant import Variant
from streamsan.evidence.fix.change_steps import NarrowerWait
from streamsan.evidence.fix.event_steps import WaitForRecorded
from streamsan.evidence.fix.order_steps import (
    EventBetween,
    HostWaitsForAll,
    HostWaitsForEvent,
    HostWaitsForStream,
    Place,
)
from streamsan.evidence.fix.steps import Calls
from streamsan.findings.finding import Edit
from streamsan.order.facts import Operation
from streamsan.rules.case import Case

EVENT = "streamsan_event"
MOST_BLOCKS = 3
"""enclosing blocks that an event is declared in, the innermost first"""


class Puts:
    """Writes the calls that a step puts in."""

    def __init__(self, chains: Chains, layout: Layout, names: HandleNames) -> None:
        self._chains = chains
        self._layout = layout
        self._names = names

    # -- events -----------------------------------------------------------------------------------

    def event_between(self, step: EventBetween, case: Case) -> Iterator[Variant]:
        """Yield an event that is recorded and awaited at one place."""
        calls = Calls.of(case, step.earlier)
        there = step.place is Place.EARLIER
        spots = self._levels(step.earlier) if there else self._levels_before(step.later, step.earlier)
        for spot in spots:
            if there and spot.statement is None:
                continue
            for runs in self._names.of(step.earlier, spot):
                for waits in self._names.of(step.later, spot):
                    if runs != waits:
                        yield from self.event_at(spot, runs, waits, calls, there)

    def event_at(self, spot: Spot, runs: str, waits: str, calls: Calls, behind: bool = False) -> Iterator[Variant]:
        """Yield an event in a block of its own, recorded in one stream and awaited by another."""
        unit = self._layout.unit(spot.span.file)
        kind, create, destroy = _event_calls(calls, EVENT)
        said = [f"{calls.record}({EVENT}, {runs})", f"{calls.stream_wait}({waits}, {EVENT}, 0)"]
        lines = [f"{kind} {EVENT};", *self._checked(spot, calls, create, *said, destroy)]
        yield from self._put(spot, ["{", *(f"{unit}{line}" for line in lines), "}"], said, behind)

    def wait_for_recorded(self, step: WaitForRecorded, case: Case) -> Iterator[Variant]:
        """Yield a wait for an event that the program records itself."""
        calls = Calls.of(case, step.record)
        for spot in self._levels_before(step.later, step.record):
            for event in self._names.event_of(step.record, spot):
                for waits in self._names.of(step.later, spot) if step.on_device else [""]:
                    call = f"{calls.stream_wait}({waits}, {event}, 0)" if waits else f"{calls.event_wait}({event})"
                    yield from self._put(spot, self._checked(spot, calls, call), [call])

    def event_apart(self, step: EventBetween, case: Case) -> Iterator[Variant]:
        """Yield an event that is recorded behind the earlier operation and awaited before the later one."""
        calls = Calls.of(case, step.earlier)
        for first, second in self._both(step.earlier, step.later):
            for runs in self._names.of(step.earlier, first):
                for waits in self._names.of(step.later, second):
                    wait = f"{calls.stream_wait}({waits}, {{event}}, 0)"
                    yield from self._apart(step.earlier, step.later, first, second, runs, wait, calls)

    def event_wait(self, step: HostWaitsForEvent, case: Case) -> Iterator[Variant]:
        """Yield a wait of the host for an event, else for the stream right where the work was issued."""
        calls = Calls.of(case, step.earlier)
        for first, second in self._both(step.earlier, step.later):
            if _follows(first, second):
                continue
            for runs in self._names.of(step.earlier, first):
                wait = f"{calls.event_wait}({{event}})"
                yield from self._apart(step.earlier, step.later, first, second, runs, wait, calls)
        for spot in self._levels(step.earlier):
            if spot.statement is None:
                continue
            for text in self._names.of(step.earlier, spot):
                call = f"{calls.stream_sync}({text})"
                yield from self._put(spot, self._checked(spot, calls, call), [call], behind=True)

    def _both(self, earlier: Operation, later: Operation) -> Iterator[tuple[Spot, Spot]]:
        """Yield places of two operations that a block encloses both of."""
        for first in self._levels(earlier):
            if first.statement is None:
                continue
            for second in self._levels_before(later, earlier):
                if any(isinstance(node, Block) and second.inside(node) for node in first.path):
                    yield first, second

    def _apart(
        self, earlier: Operation, later: Operation, first: Spot, second: Spot, runs: str, wait: str, calls: Calls
    ) -> Iterator[Variant]:
        """Yield an event declared in a block around both places, with what is done at each of them."""
        if first.statement is second.statement and first.block is None:
            return
        event = self._unused(first.span.file)
        kind, create, destroy = _event_calls(calls, event)
        record, awaits = f"{calls.record}({event}, {runs})", wait.format(event=event)
        blocks = [node for node in first.path if isinstance(node, Block) and second.inside(node)]
        every = [spot for site in (earlier.site, later.site) for spot in self._chains.spots(site) if spot is not None]
        for block in blocks[::-1][:MOST_BLOCKS]:
            if not _captured(first, block) or not _captured(second, block):
                continue
            children = [child for spot in every if (child := child_of(spot, block)) is not None]
            begin = min(children, key=lambda child: child.span[1:3])
            end = max(children, key=lambda child: child.span[1:3])
            if isinstance(end, Return) or begin.span.file != first.span.file:
                continue
            opening, closing = at_statement(first, block, begin), at_statement(first, block, end)
            try:
                edits = [
                    *self._layout.before(opening, [f"{kind} {event};", *self._checked(opening, calls, create)]),
                    *self._layout.behind(_behind_question(first), self._checked(first, calls, record)),
                    *self._layout.before(second, self._checked(second, calls, awaits)),
                    *self._layout.behind(closing, self._checked(closing, calls, destroy)),
                ]
            except NoPlaceError:
                continue
            lines = f"after line {_span(first).end_line}: {record}; before line {_span(second).line}: {awaits}"
            yield Variant(lines, tuple(edits), declares=event)

    def _unused(self, file: str) -> str:
        """Return a name for an event that a file does not have."""
        names = (EVENT, *(f"{EVENT}_{number}" for number in range(2, 1000)))
        return next(name for name in names if not self._layout.has_word(file, name))

    # -- waits of the host ------------------------------------------------------------------------

    def stream_wait(self, step: HostWaitsForStream, case: Case) -> Iterator[Variant]:
        """Yield a wait for the earlier operation's stream before the later one."""
        calls = Calls.of(case, step.earlier)
        for spot in self._levels_before(step.later, step.earlier):
            for text in self._names.of(step.earlier, spot):
                call = f"{calls.stream_sync}({text})"
                yield from self._put(spot, self._checked(spot, calls, call), [call])

    def device_wait(self, step: HostWaitsForAll, case: Case) -> Iterator[Variant]:
        """Yield a wait for everything."""
        calls = Calls.of(case, step.later)
        for spot in self._levels(step.later):
            call = f"{calls.device_sync}()"
            yield from self._put(spot, self._checked(spot, calls, call), [call])

    def narrower(self, step: NarrowerWait, case: Case) -> Iterator[Variant]:
        """Yield waits for the streams that are needed in the place of a wait for more."""
        spots = self._chains.spots(step.wait.site)
        spot = spots[0] if spots else None
        if spot is None or spot.call is None or not step.exact:
            return
        calls = Calls.of(case, *step.needed)
        names: list[str] = []
        for work in step.needed:
            found = next(iter(self._names.of(work, spot)), None)
            if found is None:
                return
            if found not in names:
                names.append(found)
        try:
            edits = [self._layout.replaced(spot.call.span, f"{calls.stream_sync}({names[-1]})")]
            if len(names) > 1:
                code = self._checked(spot, calls, *(f"{calls.stream_sync}({name})" for name in names[:-1]))
                edits = [*self._layout.before(spot, code), *edits]
        except NoPlaceError:
            return
        yield Variant(f"line {spot.span.line}: {calls.stream_sync} of {', '.join(names)}", tuple(edits))

    # -- parts ------------------------------------------------------------------------------------

    def _checked(self, spot: Spot, calls: Calls, *made: str) -> list[str]:
        """Return the lines of calls, checked as those around the spot are."""
        check = check_at(spot, calls.driver, self._layout, self._names.scope(spot))
        return [line for call in made for line in check.around(call)]

    def _put(self, spot: Spot, code: Sequence[str], said: Sequence[str], behind: bool = False) -> Iterator[Variant]:
        if behind:
            spot = _behind_question(spot)
        try:
            edits: list[Edit] = self._layout.behind(spot, code) if behind else self._layout.before(spot, code)
        except NoPlaceError:
            return
        span = _span(spot)
        where = f"after line {span.end_line}" if behind else f"before line {span.line}"
        yield Variant(f"{where}: {'; '.join(said)}", tuple(edits))

    def _levels(self, operation: Operation) -> list[Spot]:
        """Return the places of an operation, the innermost first; bodies that are written on one line last."""
        spots = [spot for spot in self._chains.spots(operation.site) if spot is not None]
        return sorted(
            spots, key=lambda spot: spot.block is not None and spot.block.span.line == spot.block.span.end_line
        )

    def _levels_before(self, operation: Operation, behind: Operation) -> Iterator[Spot]:
        """Yield the places of an operation; before those in a loop that has nothing to do with `behind`, the loop's."""
        others = list(self._levels(behind))
        for spot in self._levels(operation):
            loops = [loop for loop in loops_around(spot) if not any(other.inside(loop.statement) for other in others)]
            # Only the outermost: once is enough.
            yield from loops[:1]
            yield spot


def _span(spot: Spot) -> Span:
    return spot.statement.span if spot.statement is not None else spot.span


def _behind_question(spot: Spot) -> Spot:
    """Return the place of the statement that asks whether a launch has failed, where it follows: it stays with it."""
    block, statement = spot.block, spot.statement
    if block is None or statement is None:
        return spot
    index = next((number for number, each in enumerate(block.body) if each is statement), len(block.body))
    if index + 1 >= len(block.body):
        return spot
    following = block.body[index + 1]
    asks = isinstance(following, ExpressionStatement) and any(
        isinstance(node, Call) and api_name(node) in ASKING for node in nodes(following)
    )
    return at_statement(spot, block, following) if asks else spot


def _event_calls(calls: Calls, event: str) -> tuple[str, str, str]:
    """Return the type of an event, and the calls that make it and destroy it."""
    if calls.driver:
        return "CUevent", f"cuEventCreate(&{event}, CU_EVENT_DISABLE_TIMING)", f"cuEventDestroy({event})"
    return "cudaEvent_t", f"cudaEventCreateWithFlags(&{event}, cudaEventDisableTiming)", f"cudaEventDestroy({event})"


def _follows(first: Spot, second: Spot) -> bool:
    """Tell whether a place comes right behind another: an event between them would be of no use."""
    block = first.block
    if block is None or first.statement is None:
        return False
    index = next((number for number, each in enumerate(block.body) if each is first.statement), len(block.body))
    following: Statement | None = block.body[index + 1] if index + 1 < len(block.body) else None
    return following is second.statement or (second.statement is None and second.block is block and following is None)


def _captured(spot: Spot, block: Block) -> bool:
    """Tell whether the lambdas between a block and a place inside it capture what the block declares."""
    begin = next(index for index, node in enumerate(spot.path) if node is block)
    return all(node.default for node in spot.path[begin:] if isinstance(node, Lambda))
