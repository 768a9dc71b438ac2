"""A step that was tried on a trace, written as edits of the program's text, in all the ways that its calls allow.

An operation stands at a chain of calls: the call of the API, the helper around it, the helper's caller. An edit goes
where the names it needs are visible, as near to the operation as possible.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from streamsan.cuda_source.edits.calls import Chains, Written, api_name, check_for, named_position, stream_argument
from streamsan.cuda_source.edits.insertion import Layout, NoPlaceError
from streamsan.cuda_source.edits.spots import Spot, child_of
from streamsan.cuda_source.syntax.tree import (
    Assign,
    Block,
    Call,
    Delete,
    Expression,
    ExpressionStatement,
    InitList,
    Name,
    Statement,
    Unary,
    Variable,
)
from streamsan.evidence.fix_change_steps import FreeBehindUses, FreeOnStream, NarrowerWait, WaitsRemoved
from streamsan.evidence.fix_order_steps import (
    EdgeBetween,
    EventBetween,
    HostWaitsForAll,
    HostWaitsForEvent,
    HostWaitsForStream,
    Place,
)
from streamsan.evidence.fix_steps import Calls, Step
from streamsan.evidence.fix_trace import EditableTrace
from streamsan.evidence.source_names import StreamNames
from streamsan.findings import Edit
from streamsan.order.facts import Operation
from streamsan.rules.case import Case
from streamsan.vocabulary import OperationKind

EVENT = "streamsan_event"
MOST_VARIANTS = 12


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to write a step: what to say of it, and the edits."""

    summary: str
    edits: tuple[Edit, ...]
    removed: int = 0
    """calls that are taken out"""


class Writer:
    """Writes steps for the findings of one trace."""

    def __init__(self, chains: Chains, layout: Layout, trace: EditableTrace) -> None:
        self._chains = chains
        self._layout = layout
        self._trace = trace
        self._names = StreamNames(chains, layout, trace)

    def variants(self, step: Step, case: Case) -> Iterator[Variant]:
        """Yield the ways to write a step, the nearest first."""
        seen: set[tuple[Edit, ...]] = set()
        for variant in self._variants(step, case):
            if variant.edits and variant.edits not in seen:
                seen.add(variant.edits)
                yield variant
            if len(seen) >= MOST_VARIANTS:
                return

    def _variants(self, step: Step, case: Case) -> Iterator[Variant]:
        if isinstance(step, FreeOnStream):
            yield from self._free_on_stream(step, case)
        elif isinstance(step, EventBetween):
            if step.place is not Place.APART:
                yield from self._event_between(step, case)
        elif isinstance(step, HostWaitsForStream):
            yield from self._stream_wait(step, case)
        elif isinstance(step, HostWaitsForEvent):
            yield from self._stream_wait_behind(step, case)
        elif isinstance(step, HostWaitsForAll):
            yield from self._device_wait(step, case)
        elif isinstance(step, FreeBehindUses):
            yield from self._moved(step, case)
        elif isinstance(step, WaitsRemoved):
            yield from self.removal(step.waits, case)
        elif isinstance(step, NarrowerWait):
            yield from self._narrower(step, case)
        elif isinstance(step, EdgeBetween):
            yield from self._dependency(step)

    # -- the free -------------------------------------------------------------------------------

    def _free_on_stream(self, step: FreeOnStream, case: Case) -> Iterator[Variant]:
        summary = f"line {case.line(step.free)}: free in the stream of the last use"
        for written in self._chains.streams(step.free.site):
            for text in self._names.of(step.use, written.spot):
                edit = self._try_replace(written, text)
                if edit is not None:
                    yield Variant(f"{summary}, `{text}`", (edit,))
        spots = self._chains.spots(step.free.site)
        innermost = spots[0] if spots else None
        call = innermost.call if innermost is not None else None
        if innermost is None or not isinstance(call, Call) or stream_argument(call)[0] or len(call.arguments) != 1:
            return
        asynchronous = _ASYNCHRONOUS.get(api_name(call) or "")
        if asynchronous is None:
            return
        for text in self._names.of(step.use, innermost):
            try:
                pointer = self._layout.text(call.arguments[0].span)
                edit = self._layout.replaced(call.span, f"{asynchronous}({pointer}, {text})")
            except NoPlaceError:
                continue
            yield Variant(f"{summary}, {asynchronous}({pointer}, {text})", (edit,))

    def _try_replace(self, written: Written, text: str) -> Edit | None:
        if written.expression is None:
            return None
        try:
            if self._layout.text(written.expression.span) == text:
                return None
            return self._layout.replaced(written.expression.span, text)
        except NoPlaceError:
            return None

    # -- what is put in -------------------------------------------------------------------------

    def _event_between(self, step: EventBetween, case: Case) -> Iterator[Variant]:
        there, operation = step.place is Place.EARLIER, step.earlier if step.place is Place.EARLIER else step.later
        for spot in self._levels(operation):
            if there and spot.statement is None:
                continue
            for runs in self._names.of(step.earlier, spot):
                for waits in self._names.of(step.later, spot):
                    if runs == waits:
                        continue
                    code = self._event_code(spot, runs, waits, Calls.of(case, step.earlier))
                    yield from self._put(spot, code, behind=there)

    def _event_code(self, spot: Spot, runs: str, waits: str, calls: Calls) -> list[str]:
        check = check_for(spot, calls.driver)
        unit = self._layout.unit(spot.span.file)
        if calls.driver:
            kind, create, destroy = "CUevent", "cuEventCreate", "cuEventDestroy"
            flags = "CU_EVENT_DISABLE_TIMING"
        else:
            kind, create, destroy = "cudaEvent_t", "cudaEventCreateWithFlags", "cudaEventDestroy"
            flags = "cudaEventDisableTiming"
        wanted = [
            f"{create}(&{EVENT}, {flags})",
            f"{calls.record}({EVENT}, {runs})",
            f"{calls.stream_wait}({waits}, {EVENT}, 0)",
            f"{destroy}({EVENT})",
        ]
        return ["{", f"{unit}{kind} {EVENT};", *(f"{unit}{_checked(check, call)}" for call in wanted), "}"]

    def _stream_wait(self, step: HostWaitsForStream, case: Case) -> Iterator[Variant]:
        calls = Calls.of(case, step.earlier)
        for spot in self._levels(step.later):
            for text in self._names.of(step.earlier, spot):
                code = [_checked(check_for(spot, calls.driver), f"{calls.stream_sync}({text})")]
                yield from self._put(spot, code)

    def _stream_wait_behind(self, step: HostWaitsForEvent, case: Case) -> Iterator[Variant]:
        """Wait right where the work was issued: there its stream has a name."""
        calls = Calls.of(case, step.earlier)
        for spot in self._levels(step.earlier):
            if spot.statement is None:
                continue
            for text in self._names.of(step.earlier, spot):
                code = [_checked(check_for(spot, calls.driver), f"{calls.stream_sync}({text})")]
                yield from self._put(spot, code, behind=True)

    def _device_wait(self, step: HostWaitsForAll, case: Case) -> Iterator[Variant]:
        calls = Calls.of(case, step.later)
        for spot in self._levels(step.later):
            code = [_checked(check_for(spot, calls.driver), f"{calls.device_sync}()")]
            yield from self._put(spot, code)

    def _put(self, spot: Spot, code: Sequence[str], behind: bool = False) -> Iterator[Variant]:
        try:
            edits = self._layout.behind(spot, code) if behind else self._layout.before(spot, code)
        except NoPlaceError:
            return
        span = spot.statement.span if spot.statement is not None else spot.span
        where = f"after line {span.end_line}" if behind else f"before line {span.line}"
        # Making and destroying the event goes without saying.
        words = " ".join(line.strip() for line in code if line not in "{}" and not _AROUND.search(line))
        yield Variant(f"{where}: {words.removesuffix(';')}", tuple(edits))

    def _levels(self, operation: Operation) -> Iterator[Spot]:
        for spot in self._chains.spots(operation.site):
            if spot is not None:
                yield spot

    # -- what is moved, taken out, replaced --------------------------------------------------------

    def _moved(self, step: FreeBehindUses, case: Case) -> Iterator[Variant]:
        lasts = self._chains.spots(step.last.site)
        for spot in self._levels(step.free):
            if spot.statement is None or not isinstance(spot.parent, Block) or not _is_call(spot.statement):
                continue
            for last in lasts:
                target = child_of(last, spot.parent) if last is not None else None
                if target is None or target is spot.statement:
                    continue
                if (target.span.line, target.span.column) < (spot.statement.span.line, spot.statement.span.column):
                    continue
                try:
                    edits = self._layout.moved(spot, target)
                except NoPlaceError:
                    continue
                yield Variant(f"move line {spot.statement.span.line} behind line {target.span.end_line}", tuple(edits))

    def removal(self, waits: Sequence[Operation], case: Case) -> Iterator[Variant]:
        """Yield the removal of waits, each a statement of its own."""
        edits: list[Edit] = []
        lines = []
        for wait in waits:
            spots = self._chains.spots(wait.site)
            spot = spots[0] if spots else None
            if spot is None or spot.call is None or not _is_alone(spot):
                return
            try:
                edits += self._layout.removed(spot)
            except NoPlaceError:
                return
            lines.append(spot.span.line)
        yield Variant(f"remove line {' and '.join(map(str, lines))}", tuple(dict.fromkeys(edits)), len(lines))

    def _narrower(self, step: NarrowerWait, case: Case) -> Iterator[Variant]:
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
                check = check_for(spot, calls.driver)
                code = [_checked(check, f"{calls.stream_sync}({name})") for name in names[:-1]]
                edits = [*self._layout.before(spot, code), *edits]
        except NoPlaceError:
            return
        yield Variant(f"line {spot.span.line}: {calls.stream_sync} of {', '.join(names)}", tuple(edits))

    def _dependency(self, step: EdgeBetween) -> Iterator[Variant]:
        """Yield the later node's dependencies replaced by the earlier node, where it has none; or an event."""
        free = not self._has_dependencies(step.later)
        for second in self._levels(step.later):
            for first in self._levels(step.earlier):
                if first.body is not second.body or first.span[1:3] >= second.span[1:3]:
                    continue
                if free:
                    yield from self._node_after(first, second)
                yield from self._captured_after(first, second)

    def _node_after(self, first: Spot, second: Spot) -> Iterator[Variant]:
        """Yield the node that `first` gives as the only dependency of that which `second` makes."""
        name, call = self._node_of(first), second.call
        if name is None or not isinstance(call, Call) or not self._names.scope(second).has(name):
            return
        place = named_position(call, "pDependencies", "dependencies")
        count = named_position(call, "numDependencies")
        try:
            if place is not None and count is not None and count < len(call.arguments):
                edits = [
                    self._layout.replaced(call.arguments[place].span, f"&{name}"),
                    self._layout.replaced(call.arguments[count].span, "1"),
                ]
            else:
                # A helper that takes a list of nodes.
                lists = [each for each in call.arguments if isinstance(each, InitList) and not each.items]
                edits = [self._layout.replaced(each.span, f"{{{name}}}") for each in lists if each.type is None]
                if len(edits) != 1:
                    return
        except NoPlaceError:
            return
        yield Variant(f"line {second.span.line}: the node depends on `{name}`", tuple(edits))

    @staticmethod
    def _node_of(spot: Spot) -> str | None:
        """Return the variable that holds the node which a call makes."""
        statement, call = spot.statement, spot.call
        if isinstance(statement, Variable) and statement.initializer is call:
            return statement.name
        if isinstance(statement, ExpressionStatement):
            made = statement.expression
            if isinstance(made, Assign) and made.value is call and isinstance(made.target, Name):
                return made.target.name
        if api_name(call) is not None and isinstance(call, Call) and call.arguments:
            out = call.arguments[0]
            if isinstance(out, Unary) and out.operator == "&" and isinstance(out.operand, Name):
                return out.operand.name
        return None

    def _has_dependencies(self, node: Operation) -> bool:
        row = self._trace.row(node)
        if row is None:
            return True
        slots = self._trace.slots
        edges = (slots["kind"] == OperationKind.GRAPH_EDGE) & (slots["stream"] == slots["stream"][row])
        return bool(np.any(edges & self._trace.starts & (slots["address"] == slots["object"][row])))

    def _captured_after(self, first: Spot, second: Spot) -> Iterator[Variant]:
        """Yield an event between two captured calls."""
        if first.call is None or second.call is None:
            return
        runs, waits = stream_argument(first.call), stream_argument(second.call)
        if not runs[0] or not waits[0]:
            return
        names = [self._names.written(expression, second) for _, expression in (runs, waits)]
        if names[0] is None or names[1] is None or names[0] == names[1]:
            return
        yield from self._put(second, self._event_code(second, names[0], names[1], Calls(driver=False)))


_AROUND = re.compile(rf"\b(cudaEvent_t|CUevent) {EVENT}|\bcu(da)?Event(Create|Destroy)\w*\(")
_ASYNCHRONOUS = {"cudaFree": "cudaFreeAsync", "cuMemFree": "cuMemFreeAsync", "cuMemFree_v2": "cuMemFreeAsync"}


def _is_alone(spot: Spot) -> bool:
    """Tell whether a call, or a check around it, is all of its statement."""
    statement = spot.statement
    if not isinstance(statement, ExpressionStatement):
        return False
    expression: Expression = statement.expression
    while expression is not spot.call:
        if not isinstance(expression, Call) or len(expression.arguments) != 1:
            return False
        expression = expression.arguments[0]
    return True


def _is_call(statement: Statement) -> bool:
    """Tell whether a statement does no more than call: it assigns nothing that is looked at before its new place."""
    return isinstance(statement, ExpressionStatement) and isinstance(statement.expression, Call | Delete)


def _checked(check: str, call: str) -> str:
    return f"{check}({call});" if check else f"{call};"
