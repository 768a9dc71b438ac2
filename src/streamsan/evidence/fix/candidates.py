"""Which edits may make a finding go away, the smallest first.

The order is: the right stream for the free, an event between the two streams (the program's own first), a narrower wait
of the host, a wait for everything; for memory that is used after its free, the free behind the last use. Whether an
edit does what it should is not decided here: the edited trace is analysed again.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from streamsan.evidence.fix.change_steps import FreeBehindUses, FreeOnStream, KernelWaits, NarrowerWait, WaitsRemoved
from streamsan.evidence.fix.edited_trace import EditableTrace, operation_at
from streamsan.evidence.fix.event_steps import EventCallBehind, WaitForRecorded, with_known_events
from streamsan.evidence.fix.host_order import threads_decide
from streamsan.evidence.fix.order_steps import (
    Blocking,
    EdgeBetween,
    EventBetween,
    HostWaitsForAll,
    HostWaitsForEvent,
    HostWaitsForStream,
    Place,
    holds_graphs,
)
from streamsan.evidence.fix.pool_steps import StreamTold
from streamsan.evidence.fix.steps import USES, Step, touches
from streamsan.evidence.fix.wait_lists import can_block
from streamsan.order.facts import Operation
from streamsan.rules.case import Case
from streamsan.rules.every_rule import rule_of
from streamsan.rules.fix_steps import FixStep, Remedy
from streamsan.vocabulary import MemoryKind, NodeKind, OperationKind

RELEASES = (OperationKind.FREE, OperationKind.DEVICE_RESET, OperationKind.CONTEXT_DESTROY)
STREAM_ORDERED = (MemoryKind.STREAM_ORDERED, MemoryKind.GRAPH)
WAITS = (OperationKind.STREAM_SYNCHRONIZE, OperationKind.EVENT_SYNCHRONIZE, OperationKind.CONTEXT_SYNCHRONIZE)


def rank(step: Step) -> int:
    """Return a step's place in the order of preference: what changes in place, events, waits of the host, of all."""
    if isinstance(step, HostWaitsForAll):
        return 3
    if isinstance(step, Blocking | HostWaitsForStream | HostWaitsForEvent):
        return 2
    if isinstance(step, WaitForRecorded):
        return 1 if step.on_device else 2
    return 1 if isinstance(step, EventBetween | EventCallBehind) else 0


def candidates(case: Case, trace: EditableTrace) -> Iterator[Step]:
    """Yield what may be done about a finding, the smallest edit first."""
    rule = rule_of(case.fact)
    if not rule.no_fix(case.fact) and not threads_decide(case):
        for step in rule.fix_steps(case):
            yield from _steps(step, case, trace)


def _steps(step: FixStep, case: Case, trace: EditableTrace) -> Iterator[Step]:
    """Yield the edits that a rule's step stands for."""
    operation, other = step.operation, step.other
    if operation is None:
        return
    match step.remedy:
        case Remedy.ORDER:
            yield from _ordered(case, trace, other, operation)
        case Remedy.WAIT_BEFORE_END:
            yield from _before_end(trace, other, operation)
        case Remedy.FREE_LATER:
            yield from _free_later(case, trace, operation)
        case Remedy.EDGE_FROM_ALLOCATION:
            made = _allocation_node(case, trace)
            if made is not None:
                yield EdgeBetween(made, operation)
        case Remedy.FREE_ON_STREAM if other is not None:
            yield FreeOnStream(operation, other)
        case Remedy.EDGE if other is not None:
            yield EdgeBetween(other, operation, holds_graphs(trace, operation))
        case Remedy.KERNEL_WAIT:
            yield KernelWaits(operation)
        case Remedy.WAIT_FOR_STREAMS | Remedy.WAIT_FOR_WORK if step.others:
            yield NarrowerWait(operation, step.others, step.remedy is Remedy.WAIT_FOR_STREAMS)
        case Remedy.TELL_POOL if other is not None:
            yield StreamTold(operation, other)
        case Remedy.NO_WAIT:
            yield WaitsRemoved((operation,))


def _ordered(case: Case, trace: EditableTrace, earlier: Operation | None, later: Operation) -> Iterator[Step]:
    """Yield what orders `later` behind work that was issued before it."""
    if earlier is not None and earlier.stream and earlier.kind is not OperationKind.GRAPH_NODE:
        pool = case.allocation is not None and case.allocation.kind in STREAM_ORDERED
        if later.kind is OperationKind.FREE and (later.stream or pool):
            yield FreeOnStream(later, earlier)
        yield from with_known_events(case, trace, earlier, later)
        if later.stream and later.kind is not OperationKind.GRAPH_NODE:
            for place in Place:
                yield EventBetween(earlier, later, place)
        if not later.stream and later.kind not in RELEASES and can_block(case, earlier):
            yield Blocking(earlier, later)
        yield HostWaitsForStream(earlier, later)
        yield HostWaitsForEvent(earlier, later)
    yield HostWaitsForAll(later)


def _before_end(trace: EditableTrace, pending: Operation | None, end: Operation) -> Iterator[Step]:
    """Yield what completes pending work before a reset or an exit."""
    if end.kind is OperationKind.PROCESS_EXIT:
        # A wait has its place before the end of main: behind it, handlers run.
        ends = np.flatnonzero(trace.starts & (trace.slots["kind"] == OperationKind.MAIN_END))
        if len(ends):
            end = operation_at(trace, int(ends[-1]))
    if pending is not None and pending.stream:
        yield HostWaitsForStream(pending, end)
    yield HostWaitsForAll(end)


def _free_later(case: Case, trace: EditableTrace, free: Operation) -> Iterator[Step]:
    """Yield the free behind the last use of what it frees, which may be further down than the reported one.

    A free that waits for nothing by contract goes behind the next wait of the host as well, if there is one.
    """
    if free.kind not in RELEASES or free.kind is OperationKind.GRAPH_NODE:
        return
    extent = case.allocation.size if case.allocation is not None else 1
    for last in _last_uses(case, trace, free):
        if not free.stream:
            row = trace.row(last)
            waits = np.flatnonzero(
                trace.starts & np.isin(trace.slots["kind"], WAITS) & (trace.slots["thread"] == free.thread)
            )
            later = waits[waits > row] if row is not None else waits[:0]
            if len(later) and row is not None and int(trace.slots["stream"][row]):
                yield FreeBehindUses(free, operation_at(trace, int(later[0])), extent)
        yield FreeBehindUses(free, last, extent)


def _last_uses(case: Case, trace: EditableTrace, free: Operation) -> Iterator[Operation]:
    reported = case.operation
    free_row, row = trace.row(free), trace.row(reported)
    if free_row is None or row is None:
        return
    slots = trace.slots
    later = trace.starts & (slots["thread"] == reported.thread)
    later[: row + 1] = False
    if reported.kind is OperationKind.GRAPH_LAUNCH:
        later &= (slots["kind"] == reported.kind) & (slots["object"] == slots["object"][row])
        rows = np.flatnonzero(later).tolist()
    elif free.kind is OperationKind.FREE and case.allocation is not None:
        address, size = case.allocation.address, case.allocation.size
        rows = [
            each
            for each in np.flatnonzero(later & np.isin(slots["kind"], USES)).tolist()
            if touches(slots, each, address, size)
        ]
        again = later & (slots["kind"] == OperationKind.ALLOC) & (slots["address"] == slots["address"][free_row])
        end = np.flatnonzero(again)
        rows = [each for each in rows if not len(end) or each < int(end[0])]
    else:
        rows = []
    if rows:
        yield operation_at(trace, rows[-1])
    yield reported


def _allocation_node(case: Case, trace: EditableTrace) -> Operation | None:
    """Return the node that allocates the memory, in the body of the node that uses it."""
    row = trace.row(case.operation)
    if row is None or case.allocation is None:
        return None
    slots = trace.slots
    nodes = trace.starts & (slots["kind"] == OperationKind.GRAPH_NODE) & (slots["detail"] == NodeKind.ALLOC)
    nodes &= slots["stream"] == slots["stream"][row]
    for node in np.flatnonzero(nodes).tolist()[::-1]:
        if touches(slots, node, case.allocation.address, case.allocation.size):
            return operation_at(trace, node)
    return None
