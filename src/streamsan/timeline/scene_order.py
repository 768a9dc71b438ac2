"""What orders the operations of a scene, as the order engine knows it, with reasons that a reader can follow.

The slots tell who waits for what; the engine says whether that orders the two. What else the engine knows to be in
order (the rules of the default stream, frees that wait, ...) becomes an edge where no path of others says it already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from msgspec import Struct, field

from streamsan.findings.scene import SceneEdge
from streamsan.order._engine import Engine
from streamsan.order.engine import asking_apis, begins_at
from streamsan.timeline.drawn_edges import REASON_WORDS, EdgeReason
from streamsan.timeline.lanes import LaneKind
from streamsan.timeline.scene_window import Window
from streamsan.timeline.timeline import Timeline
from streamsan.trace import Trace
from streamsan.trace.trace import RECORDING

REMEMBERED = 400_000
"""operations back to which the engine answers for sure"""

IsBefore = Callable[[int, int], bool]
"""whether the work of one operation is complete before another, by indices in the timeline"""


def orders(trace: Trace, timeline: Timeline, windows: Sequence[Window]) -> Iterator[tuple[int, list[SceneEdge]]]:
    """Yield the edges of each window, with its number. Reads the trace once. Raises TraceError."""
    engine = Engine(
        [thread.process for thread in trace.threads],
        False,
        asking_apis(trace.apis),
        [],
        trace.origin == RECORDING,
        begins_at(trace),
    )
    numbers = timeline.sequence
    watched = sorted({int(numbers[operation]) for window in windows for operation in window.operations})
    engine.watch(watched)
    waiting = sorted(range(len(windows)), key=lambda each: -windows[each].operations[-1])

    def is_before(earlier: int, later: int) -> bool:
        return engine.is_before(int(numbers[earlier]), int(numbers[later]))

    for chunk in trace.chunks():
        if not waiting:
            return
        engine.feed(np.ascontiguousarray(chunk).view(np.uint8))
        # The engine forgets what is long ago: a scene is asked for as soon as it has been seen.
        reached = int(chunk["sequence"][chunk["kind"] < 240].max())
        while waiting and int(numbers[windows[waiting[-1]].operations[-1]]) < reached:
            number = waiting.pop()
            yield number, _Edges(timeline, windows[number], is_before).found()
    engine.finish()
    for number in reversed(waiting):
        yield number, _Edges(timeline, windows[number], is_before).found()


class _Known(Struct):
    """By lane: up to which operation of the scene everything is known to be complete."""

    upto: dict[int, int] = field(default_factory=dict)

    def learn(self, other: _Known) -> None:
        for lane, operation in other.upto.items():
            self.upto[lane] = max(operation, self.upto.get(lane, -1))


class _Edges:
    """The edges of one window; operations by their place in it."""

    def __init__(self, timeline: Timeline, window: Window, is_before: IsBefore) -> None:
        self._timeline = timeline
        self._rows = window.operations
        self._is_before = is_before
        self._lane = [int(timeline.lane[row]) for row in self._rows]
        self._issuer = [int(timeline.issuer[row]) for row in self._rows]
        self._kind = [timeline.calls[int(timeline.call[row])].kind for row in self._rows]
        self._on_host = [timeline.lanes[lane].kind is LaneKind.HOST for lane in self._lane]

    def found(self) -> list[SceneEdge]:
        """Return the edges between lanes, by where they lead to."""
        written = self._written()
        edges: list[SceneEdge] = []
        known: list[_Known] = []
        latest: dict[int, int] = {}
        for number, lane in enumerate(self._lane):
            mine = _Known()
            for before in {latest.get(lane), latest.get(self._issuer[number])} - {None}:
                assert before is not None
                mine.learn(known[before])
            for source, reason in written.get(number, ()):
                if source <= mine.upto.get(self._lane[source], -1) and reason == REASON_WORDS[EdgeReason.CONTEXT_HOST]:
                    continue  # a wait for everything: what the host had waited for already makes the picture no clearer
                mine.learn(known[source])
                edges.append(SceneEdge(source, number, reason))
            for source in self._implied(number, mine):
                mine.learn(known[source])
                edges.append(SceneEdge(source, number, self._reason(source, number)))
            mine.upto[lane] = number
            known.append(mine)
            latest[lane] = number
        return edges

    def _written(self) -> dict[int, list[tuple[int, str]]]:
        """Return by target the waits of the program that do order."""
        edges, place = self._timeline.edges, {row: number for number, row in enumerate(self._rows)}
        found: dict[int, list[tuple[int, str]]] = {}
        for row, number in place.items():
            begin, end = np.searchsorted(edges.target, [row, row + 1]).tolist()
            for each in range(begin, end):
                reason = EdgeReason(int(edges.reason[each]))
                source = self._shown_source(int(edges.source[each]), place, number)
                if source is not None and (reason is EdgeReason.HANDED_ON or self._orders(source, number)):
                    found.setdefault(number, []).append((source, REASON_WORDS[reason]))
        return found

    def _shown_source(self, row: int, place: dict[int, int], target: int) -> int | None:
        """Return the operation where an edge begins; where that is not in the scene, the last before it on its lane."""
        if row in place:
            return place[row]
        lane = int(self._timeline.lane[row])
        earlier = [each for each in range(target) if self._lane[each] == lane and self._rows[each] < row]
        return earlier[-1] if earlier else None

    def _orders(self, source: int, target: int) -> bool:
        """Tell whether the engine knows the order, too. A stream's wait holds for what the stream is given next."""
        if self._rows[target] - self._rows[source] > REMEMBERED:
            return True
        asked = target
        if self._kind[target] == "stream_wait_event":
            behind = [each for each in range(target + 1, len(self._rows)) if self._lane[each] == self._lane[target]]
            works = [each for each in behind if self._kind[each] != "stream_wait_event"]
            if not works:
                return True
            asked = works[0]
        return self._is_before(self._rows[source], self._rows[asked])

    def _implied(self, target: int, known: _Known) -> Iterable[int]:
        """Return the last operation of each other lane that is before `target` by no edge so far."""
        if self._kind[target] == "stream_wait_event":
            return
        for lane in sorted(set(self._lane[:target]) - {self._lane[target]}):
            for each in range(target - 1, known.upto.get(lane, -1), -1):
                if self._lane[each] != lane or self._on_host[each]:
                    continue
                if self._is_before(self._rows[each], self._rows[target]):
                    yield each
                    break

    def _reason(self, source: int, target: int) -> str:
        kinds = self._kind[source], self._kind[target]
        lanes = self._timeline.lanes
        if kinds == ("graph_launch", "graph_launch"):
            return "launches of one graph run one after the other"
        if any("default" in lanes[self._lane[each]].name for each in (source, target)) and not self._on_host[target]:
            return "by the rules of the default stream"
        if self._on_host[target] and kinds[1] == "free":
            return "the free waits for the work"
        if kinds[0] in ("copy", "memset"):
            return "the call returned when it was done"
        if self._issuer[source] != self._issuer[target]:
            return "by the order of the host threads"
        return "by what lies between"
