"""Steps that use an event which the program has: a wait for it, or its record or wait at another place."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from streamsan.evidence.fix.edited_trace import EditableTrace, Edits, operation_at
from streamsan.evidence.fix.named_lines import before, behind, line_beside
from streamsan.evidence.fix.steps import Calls, Step, pairs
from streamsan.evidence.fix.wait_lists import command_of, has_wait_lists, in_wait_list
from streamsan.order.facts import Operation
from streamsan.rules.case import Case
from streamsan.rules.torch_words import has_event, is_written_with_torch, waiting_stream
from streamsan.trace.store import distinct
from streamsan.vocabulary import OperationKind

MOST_RECORDS = 2
"""records behind the earlier operation that are tried, the nearest first"""


class WaitForRecorded(Struct, frozen=True):
    """The stream of `later`, or the host, waits for an event that the program records behind `earlier`."""

    earlier: Operation
    later: Operation
    record: Operation
    on_device: bool

    def apply(self, edits: Edits) -> bool:
        """Put the wait in before each later operation."""
        trace, slots, site = edits.trace, edits.trace.slots, edits.site()
        records = trace.instances(self.record)
        done = False
        for source, target in pairs(trace, self.earlier, self.later):
            end = bisect_left(records, target)
            found = [row for row in records[:end] if slots["stream"][row] == slots["stream"][source] and row > source]
            if not found:
                continue
            event = int(slots["object"][found[-1]])
            if self.on_device:
                stream = int(slots["stream"][target])
                call = edits.call(target, OperationKind.STREAM_WAIT_EVENT, site, object=event, stream=stream)
            else:
                call = edits.call(target, OperationKind.EVENT_SYNCHRONIZE, site, object=event)
            edits.put_before(target, [call])
            done = True
        return done

    def words(self, case: Case) -> str:
        if has_wait_lists(case):
            if self.on_device:
                return in_wait_list(case, self.record, self.later)
            place = before(case, self.later, self.record, case.call(self.later))
            return f"{place}: {case.phrase('wait_for_event', earlier=command_of(case, self.record, self.later))}"
        calls = Calls.of(case, self.record)
        where = before(case, self.later, self.record, case.call(self.later))
        line = line_beside(case, self.record, self.later)
        event = f"<the event of line {line}>" if line else "<the event that is recorded>"
        if is_written_with_torch(case):
            waits = f"{waiting_stream(case, self.later)}.wait_event({event})"
            return f"{where}: {waits if self.on_device else f'{event}.synchronize()'}"
        if self.on_device:
            return f"{where}: {calls.stream_wait}({case.stream_argument(self.later)}, {event}, 0);"
        return f"{where}: {calls.event_wait}({event});"


class EventCallBehind(Struct, frozen=True):
    """An event's record goes behind the work that it should be behind; or a wait behind the record, if too early."""

    call: Operation
    target: Operation

    def apply(self, edits: Edits) -> bool:
        """Move each call behind the target that follows it."""
        moved = dict(pairs(edits.trace, self.call, self.target))
        edits.moved.update(sorted(moved.items()))
        return bool(moved)

    def words(self, case: Case) -> str:
        line = line_beside(case, self.call, self.target)
        named = f"line {line} ({case.call(self.call)})" if line else case.call(self.call)
        return f"move {named} {behind(case, self.target, self.call).replace('after', 'behind', 1)}"


def with_known_events(case: Case, trace: EditableTrace, earlier: Operation, later: Operation) -> Iterator[Step]:
    """Yield what may be done with the program's own events to order `later` behind `earlier`."""
    first, last = trace.row(earlier), trace.row(later)
    if first is None or last is None or not earlier.stream:
        return
    slots = trace.slots
    on_device = bool(later.stream) and later.kind is not OperationKind.GRAPH_NODE
    records = trace.starts & (slots["kind"] == OperationKind.EVENT_RECORD) & (slots["status"] == 0)
    rows = np.flatnonzero(records & (slots["stream"] == slots["stream"][first])).tolist()
    own = {site: has_event(case, site) for site in distinct(slots["site"][rows])}
    rows = [row for row in rows if own[int(slots["site"][row])]]
    between = [row for row in rows if first < row < last]
    seen: set[int] = set()
    for row in between:
        if int(slots["site"][row]) not in seen and len(seen) < MOST_RECORDS:
            seen.add(int(slots["site"][row]))
            yield WaitForRecorded(earlier, later, operation_at(trace, row), on_device)
    waits = _waits(trace, later, on_device, last)
    for wait in waits:
        # The wait asks for the latest record before it: it stands before the work, or there is none yet.
        same = [row for row in rows if slots["object"][row] == slots["object"][wait]]
        early = [row for row in same if row < first]
        if early and first < wait and not any(first < row < wait for row in same):
            yield EventCallBehind(operation_at(trace, early[-1]), earlier)
        late = [row for row in same if first < row < last and row > wait]
        if late and not any(first < row < wait for row in same):
            yield EventCallBehind(operation_at(trace, wait), operation_at(trace, late[0]))


def _waits(trace: EditableTrace, later: Operation, on_device: bool, last: int) -> list[int]:
    """Return the rows of the waits for events that order something before the later operation, the nearest first."""
    slots = trace.slots
    waits = trace.starts & (slots["status"] == 0)
    if on_device:
        waits &= (slots["kind"] == OperationKind.STREAM_WAIT_EVENT) & (slots["stream"] == slots["stream"][last])
    else:
        waits &= (slots["kind"] == OperationKind.EVENT_SYNCHRONIZE) & (slots["thread"] == later.thread)
    return np.flatnonzero(waits[:last]).tolist()[::-1][:4]
