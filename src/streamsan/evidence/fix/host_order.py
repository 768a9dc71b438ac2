"""Whether one host thread's call comes before another's, in a trace that was read off a source.

Where nothing between the two threads says so, no event and no wait puts their work in order: it may be recorded, or
waited for, before the other thread has issued anything.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from operator import itemgetter

import numpy as np

from streamsan.order.facts import Operation
from streamsan.order.rearrangement import operation_starts
from streamsan.rules.case import Case
from streamsan.trace import Trace
from streamsan.vocabulary import OperationKind, RelatedRole

THREADS_DECIDE = "which of the two host threads comes first is the program's decision: no event orders their calls"
_ROLES = (RelatedRole.USE, RelatedRole.FREE)
_KEPT = (OperationKind.HOST_RELEASE, OperationKind.HOST_ACQUIRE, OperationKind.HOST_FUNCTION)

Clock = dict[int, int]
"""by host thread, the number of its latest operation that is known to be over"""


def threads_decide(case: Case) -> bool:
    """Tell whether a finding is about calls of two host threads that may come in either order."""
    trace, operation = case.names, case.operation
    others = [each for each in case.all_of(*_ROLES) if each.thread != operation.thread]
    if not others or not isinstance(trace, Trace) or trace.origin != "source":
        return False
    order = _order(trace)
    return any(not order.is_known(each, operation) for each in others)


class HostOrder:
    """The order between the host threads of one trace: what one published, and another one joined."""

    def __init__(self, trace: Trace) -> None:
        self._snapshots: dict[int, list[tuple[int, Clock]]] = {}
        self._drivers: set[int] = set()
        functions: set[int] = set()
        published: dict[int, Clock] = {}
        for slots in trace.chunks():
            for slot in slots[operation_starts(slots) & np.isin(slots["kind"], _KEPT)]:
                kind = OperationKind(int(slot["kind"]))
                thread, key, number = int(slot["thread"]), int(slot["object"]), int(slot["sequence"])
                if kind is OperationKind.HOST_FUNCTION:
                    functions.add(key)
                elif kind is OperationKind.HOST_RELEASE:
                    _join(published.setdefault(key, {}), {**self._known(thread, number), thread: number})
                else:
                    if key in functions:
                        self._drivers.add(thread)
                    known = dict(self._known(thread, number))
                    _join(known, published.get(key, {}))
                    self._snapshots.setdefault(thread, []).append((number, known))

    def _known(self, thread: int, number: int) -> Clock:
        """Return what a thread knows of the others at one of its operations."""
        snapshots = self._snapshots.get(thread, [])
        place = bisect_right(snapshots, number, key=itemgetter(0))
        return snapshots[place - 1][1] if place else {}

    def is_known(self, first: Operation, second: Operation) -> bool:
        """Tell whether one of two operations is before the other; a driver's own thread waits for its stream."""
        if first.thread in self._drivers or second.thread in self._drivers:
            return True
        early, late = sorted((first, second), key=lambda each: each.sequence)
        return self._known(late.thread, late.sequence).get(early.thread, -1) >= early.sequence


def _join(clock: Clock, other: Clock) -> None:
    for thread, number in other.items():
        clock[thread] = max(clock.get(thread, -1), number)


@lru_cache(maxsize=4)
def _order(trace: Trace) -> HostOrder:
    return HostOrder(trace)
