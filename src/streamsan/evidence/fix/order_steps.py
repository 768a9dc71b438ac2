"""Steps that order two operations: an event between their streams, a wait of the host, an edge of a graph."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from enum import StrEnum

import numpy as np
from msgspec import Struct

from streamsan.evidence.fix.edited_trace import EditableTrace, Edits
from streamsan.evidence.fix.named_lines import before, behind, line_beside
from streamsan.evidence.fix.steps import Calls, Step, pairs
from streamsan.evidence.fix.wait_lists import blocking, command_of, has_wait_lists, in_wait_list
from streamsan.order.facts import Operation
from streamsan.rules.case import Case
from streamsan.rules.catalogue.lifetime import short
from streamsan.rules.torch_words import (
    SYNCHRONIZE,
    host_waits,
    is_awaited_by_its_work,
    is_written_with_torch,
    stream_waits,
    torch_stream,
    waiting_stream,
)
from streamsan.trace.store import distinct
from streamsan.vocabulary import NodeKind, OperationKind, SlotFlag, WaitClass

BODIES = (OperationKind.GRAPH_INSTANTIATE, OperationKind.GRAPH_UPDATE)


class Place(StrEnum):
    """Where the two calls of an event go."""

    LATER = "later"
    """both just before the later operation"""
    APART = "apart"
    """the record right behind the earlier operation, the wait just before the later one"""
    EARLIER = "earlier"
    """both right behind the earlier operation"""


_ENDS = (OperationKind.PROCESS_EXIT, OperationKind.MAIN_END)


class EventBetween(Struct, frozen=True):
    """The stream of `later` waits for an event that is recorded on the stream of `earlier`."""

    earlier: Operation
    later: Operation
    place: Place = Place.LATER

    def apply(self, edits: Edits) -> bool:
        """Put an event in for each pair of operations."""
        record_site, wait_site = edits.site(), edits.site()
        slots = edits.trace.slots
        done = False
        if not self._has_its_device(edits.trace):
            return False
        for source, target in pairs(edits.trace, self.earlier, self.later):
            runs, waits = int(slots["stream"][source]), int(slots["stream"][target])
            if not runs or not waits:
                return False
            event = edits.event()
            near = target if self.place is Place.LATER else source
            begin = [
                edits.call(near, OperationKind.EVENT_CREATE, record_site, object=event),
                edits.call(near, OperationKind.EVENT_RECORD, record_site, object=event, stream=runs),
            ]
            near = source if self.place is Place.EARLIER else target
            end = [
                edits.call(near, OperationKind.STREAM_WAIT_EVENT, wait_site, object=event, stream=waits),
                edits.call(near, OperationKind.EVENT_DESTROY, wait_site, object=event),
            ]
            if self.place is Place.LATER:
                edits.put_before(target, [*begin, *end])
            elif self.place is Place.EARLIER:
                edits.put_behind(source, [*begin, *end])
            else:
                edits.put_behind(source, begin)
                edits.put_before(target, end)
            done = True
        return done

    def _has_its_device(self, trace: EditableTrace) -> bool:
        """Tell whether the event is made with the device current on whose stream it is recorded: else that fails."""
        source, target = trace.row(self.earlier), trace.row(self.later)
        if source is None or target is None:
            return True
        current = trace.context(target if self.place is Place.LATER else source)
        own = trace.context_of_stream(source)
        return not current or not own or current == own

    def words(self, case: Case) -> str:
        if has_wait_lists(case):
            return in_wait_list(case, self.earlier, self.later)
        if is_written_with_torch(case):
            return self._of_torch(case)
        calls = Calls.of(case, self.earlier)
        runs, waits = case.stream_argument(self.earlier), case.stream_argument(self.later)
        record, wait = f"{calls.record}(event, {runs});", f"{calls.stream_wait}({waits}, event, 0);"
        where = before(case, self.later, self.earlier, case.call(self.later))
        if self.place is Place.LATER:
            return f"{where}: {record} {wait}"
        after = behind(case, self.earlier, self.later)
        return f"{after}: {record} {wait}" if self.place is Place.EARLIER else f"{after}: {record} {where}: {wait}"

    def _of_torch(self, case: Case) -> str:
        where = before(case, self.later, self.earlier, case.call(self.later))
        after = behind(case, self.earlier, self.later)
        by_work = is_awaited_by_its_work(case, self.earlier)
        if self.place is Place.APART and not by_work:
            record = f"event = {torch_stream(case, self.earlier)}.record_event()"
            return f"{after}: {record}; {where}: {waiting_stream(case, self.later)}.wait_event(event)"
        place = after if self.place is Place.EARLIER else where
        return f"{place}: {stream_waits(case, self.earlier, self.later)}"


class Blocking(Struct, frozen=True):
    """The call of `earlier` returns when that is done: the host waits for it there."""

    earlier: Operation
    later: Operation

    def apply(self, edits: Edits) -> bool:
        """Let each call wait for its command."""
        slots = edits.trace.slots
        rows = edits.trace.instances(self.earlier)
        if self.earlier.kind is OperationKind.ALLOC:
            # The pointer of a map: its command stands before it.
            commands = np.flatnonzero(edits.trace.starts & (slots["kind"] == OperationKind.COPY)).tolist()
            rows = [commands[place - 1] for row in rows if (place := bisect_left(commands, row))]
        waiting = [row for row in rows if int(slots["detail"][row]) == WaitClass.NONE]
        edits.changed.update((row, {"detail": WaitClass.COMPLETE}) for row in waiting)
        return bool(waiting)

    def words(self, case: Case) -> str:
        return blocking(case, self.earlier, self.later)


class HostWaitsForStream(Struct, frozen=True):
    """The host waits for the stream of `earlier`, just before `later`."""

    earlier: Operation
    later: Operation

    def apply(self, edits: Edits) -> bool:
        """Put the wait in before each later operation."""
        site, slots = edits.site(), edits.trace.slots
        done = False
        for source, target in pairs(edits.trace, self.earlier, self.later):
            stream = int(slots["stream"][source])
            if not stream:
                return False
            edits.put_before(target, [edits.call(target, OperationKind.STREAM_SYNCHRONIZE, site, stream=stream)])
            done = True
        return done

    def words(self, case: Case) -> str:
        call = Calls.of(case, self.earlier).stream_sync
        where = before(case, self.later, self.earlier, case.call(self.later))
        if is_written_with_torch(case):
            where = "before the program ends" if self.later.kind in _ENDS else where
            return f"{where}: {host_waits(case, self.earlier)}"
        return f"{where}: {call}({case.stream_argument(self.earlier)});"


class HostWaitsForEvent(Struct, frozen=True):
    """The host waits, just before `later`, for an event recorded right behind `earlier`."""

    earlier: Operation
    later: Operation

    def apply(self, edits: Edits) -> bool:
        """Put the record in behind each earlier operation, and the wait before the later one."""
        record_site, wait_site, slots = edits.site(), edits.site(), edits.trace.slots
        done = False
        for source, target in pairs(edits.trace, self.earlier, self.later):
            stream = int(slots["stream"][source])
            if not stream:
                return False
            wait_by_event(edits, source, target, record_site, wait_site)
            done = True
        return done

    def words(self, case: Case) -> str:
        if has_wait_lists(case):
            where = before(case, self.later, self.earlier, case.call(self.later))
            return f"{where}: {case.phrase('wait_for_event', earlier=command_of(case, self.earlier, self.later))}"
        calls = Calls.of(case, self.earlier)
        runs = case.stream_argument(self.earlier)
        where = before(case, self.later, self.earlier, case.call(self.later))
        if is_written_with_torch(case):
            record = f"event = {torch_stream(case, self.earlier)}.record_event()"
            return f"{behind(case, self.earlier, self.later)}: {record}; {where}: event.synchronize()"
        record = f"{behind(case, self.earlier, self.later)}: {calls.record}(event, {runs});"
        return f"{record} {where}: {calls.event_wait}(event);"


class HostWaitsForAll(Struct, frozen=True):
    """The host waits for all work of the current context, just before `later`."""

    later: Operation

    def apply(self, edits: Edits) -> bool:
        """Put the wait in before each later operation."""
        site = edits.site()
        for target in edits.trace.instances(self.later):
            context = edits.trace.context(target)
            if not context:
                return False
            edits.put_before(target, [edits.call(target, OperationKind.CONTEXT_SYNCHRONIZE, site, object=context)])
        return bool(edits.before)

    def words(self, case: Case) -> str:
        at_end = self.later.kind in _ENDS
        of_torch = is_written_with_torch(case)
        end = "before the program ends" if of_torch else "before the end of main"
        where = end if at_end else case.before(self.later, case.call(self.later))
        return f"{where}: {SYNCHRONIZE if of_torch else f'{Calls.of(case, self.later).device_sync}();'}"


class EdgeBetween(Struct, frozen=True):
    """In a graph, the node of `later` depends on that of `earlier`."""

    earlier: Operation
    later: Operation
    nested: bool = False
    """the graph has child graphs or conditional nodes: no edge leads into them or out of them"""

    def apply(self, edits: Edits) -> bool:
        """Add the edge to each body that has both nodes."""
        trace, slots = edits.trace, edits.trace.slots
        firsts, seconds = trace.instances(self.earlier), trace.instances(self.later)
        site = edits.site()
        bodies = np.flatnonzero(trace.starts & np.isin(slots["kind"], BODIES)).tolist()
        done = False
        for second in seconds:
            place = bisect_left(bodies, second) - 1
            if place < 0:
                continue
            begin = bodies[place]
            before = [row for row in firsts if begin < row < second]
            if not before or int(slots["stream"][before[-1]]) != int(slots["stream"][second]):
                continue
            edge = edits.call(
                second,
                OperationKind.GRAPH_EDGE,
                site,
                stream=int(slots["stream"][second]),
                object=int(slots["object"][before[-1]]),
                address=int(slots["object"][second]),
            )
            edits.put_behind(second, [edge])
            size = edits.changed.get(begin, {}).get("size", int(slots["size"][begin]))
            edits.changed[begin] = {"size": size + 1}
            done = True
        return done

    def words(self, case: Case) -> str:
        line, other = line_beside(case, self.later, self.earlier), line_beside(case, self.earlier, self.later)
        if not line or not other:
            return "add an edge between the two nodes"
        before, after = short(case, self.earlier), short(case, self.later)
        apis = [case.api(node) for node in (self.earlier, self.later)]
        if all(apis) and not any("Graph" in api for api in apis):
            calls = Calls.of(case, self.earlier)
            record = f"after line {other}: {calls.record}(event, <the stream of {before}>);"
            wait = f"{calls.stream_wait}(<the stream of {after}>, event, 0);"
            return f"in the capture, {record} before line {line}: {wait}"
        return f"make {after} (line {line}) depend on {before} (line {other}): {self._how(case)}"

    def _how(self, case: Case) -> str:
        """Return how the edge of a graph that is built by hand can be written."""
        call = Calls.of(case, self.later).add_edge
        holder = "; of what lies in a child graph or a conditional body, the node that holds it" if self.nested else ""
        return f"by its list of dependencies, or {call}{holder}"


def holds_graphs(trace: EditableTrace, node: Operation) -> bool:
    """Tell whether the graph of a node has child graphs or conditional nodes: a trace has their nodes among its own."""
    row, slots = trace.row(node), trace.slots
    if row is None:
        return False
    nodes = trace.starts & (slots["kind"] == OperationKind.GRAPH_NODE) & (slots["stream"] == slots["stream"][row])
    if (slots["flags"][nodes] & SlotFlag.CONDITIONAL).any():
        return True
    apis = distinct(slots["api"][nodes & (slots["detail"] == NodeKind.EMPTY)])
    return any("ChildGraph" in trace.trace.apis[api] for api in apis if api < len(trace.trace.apis))


def wait_by_event(edits: Edits, source: int, target: int, record_site: int, wait_site: int) -> None:
    """Record an event right behind the row `source`, in its stream, and let the host wait for it before `target`."""
    stream = int(edits.trace.slots["stream"][source])
    event = edits.event()
    begin = [
        edits.call(source, OperationKind.EVENT_CREATE, record_site, object=event),
        edits.call(source, OperationKind.EVENT_RECORD, record_site, object=event, stream=stream),
    ]
    edits.put_behind(source, begin)
    end = [
        edits.call(target, OperationKind.EVENT_SYNCHRONIZE, wait_site, object=event),
        edits.call(target, OperationKind.EVENT_DESTROY, wait_site, object=event),
    ]
    edits.put_before(target, end)


def streams_awaited(trace: EditableTrace, step: Step) -> int:
    """Return for how many streams a step waits at one place of the program: its words name one of them."""
    if not isinstance(step, EventBetween | HostWaitsForStream | HostWaitsForEvent):
        return 1
    counts = Counter(target for _, target in pairs(trace, step.earlier, step.later))
    return max(counts.values(), default=1)
