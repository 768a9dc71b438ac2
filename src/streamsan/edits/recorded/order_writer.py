"""An order between streams, or a wait of the host, as PyTorch and CuPy write it; and `finish` of a queue."""

from __future__ import annotations

from collections.abc import Iterator

from streamsan.edits.layout import NoPlaceError
from streamsan.edits.python.layout import PythonLayout
from streamsan.edits.recorded.frameworks import framework_of
from streamsan.edits.recorded.recorded_text import Frame, RecordedTexts, is_simple
from streamsan.edits.recorded.rows_of_text import CodePut, HostWaits, StreamWaits
from streamsan.edits.recorded.stream_names import StreamNames
from streamsan.edits.recorded.written import Written
from streamsan.evidence.fix.edited_trace import EditableTrace
from streamsan.evidence.fix.order_steps import EventBetween, HostWaitsForAll, HostWaitsForStream, Place
from streamsan.order.facts import Operation

OrderStep = EventBetween | HostWaitsForStream | HostWaitsForAll


class OrderWriter:
    """Writes steps that put a wait in."""

    def __init__(self, trace: EditableTrace, texts: RecordedTexts, names: StreamNames, reasons: list[str]) -> None:
        self._trace = trace
        self._texts = texts
        self._names = names
        self._reasons = reasons

    def of(self, step: OrderStep) -> Iterator[Written]:
        """Yield the ways to write a step, the innermost place first."""
        match step:
            case EventBetween(place=Place.APART):
                return
            case EventBetween():
                behind = step.place is Place.EARLIER
                near = step.earlier if behind else step.later
                for frame in self._frames(near):
                    yield from self._between(step, frame, behind)
            case HostWaitsForStream() | HostWaitsForAll():
                for frame in self._frames(step.later):
                    yield from self._host(step, frame)

    def _frames(self, operation: Operation) -> Iterator[Frame]:
        why = self._texts.why_not(operation.site)
        if why:
            self._reasons.append(why)
        for frame in self._texts.frames(operation.site):
            if is_simple(frame.place.statement):
                yield frame

    def _between(self, step: EventBetween, frame: Frame, behind: bool) -> Iterator[Written]:
        runs, waits = self._handle(step.earlier), self._handle(step.later)
        framework = framework_of(frame.place)
        if framework is None or not framework.stream_waits or not runs or not waits or runs == waits:
            return
        first, second = (self._named(handle, frame) for handle in (runs, waits))
        if first and second:
            code = framework.stream_waits.format(runs=first, waits=second)
            put = CodePut(frame, behind)
            yield from self._put(code, put, StreamWaits(put, runs, waits))

    def _host(self, step: HostWaitsForStream | HostWaitsForAll, frame: Frame) -> Iterator[Written]:
        framework, put = framework_of(frame.place), CodePut(frame)
        if framework is None:
            self._reasons.append("the module imports no framework whose waits are known")
        elif isinstance(step, HostWaitsForStream):
            handle = self._handle(step.earlier)
            name = self._named(handle, frame)
            if name:
                yield from self._put(framework.host_waits.format(runs=name), put, HostWaits(put, handle))
        elif framework.device_waits:
            yield from self._put(f"{framework.name(frame.place)}.{framework.device_waits}", put, HostWaits(put, 0))

    def _handle(self, operation: Operation) -> int:
        row = self._trace.row(operation)
        return int(self._trace.slots["stream"][row]) if row is not None else 0

    def _named(self, handle: int, frame: Frame) -> str:
        framework = framework_of(frame.place)
        found = self._names.of(handle, frame.place, framework) if framework is not None and handle else []
        if not found:
            self._reasons.append(f"a stream of the two has no name that is sure at line {frame.place.span.line}")
        return found[0] if found else ""

    def _put(self, code: str, put: CodePut, change: StreamWaits | HostWaits) -> Iterator[Written]:
        layout, place = PythonLayout(self._texts.texts), put.frame.place
        try:
            edits = layout.behind(place, [code]) if put.behind else layout.before(place, [code])
        except NoPlaceError:
            self._reasons.append(f"line {place.span.line} has no room for a statement")
            return
        assert place.statement is not None
        span = layout.span(place.statement)
        where = f"after line {span.end_line}" if put.behind else f"before line {span.line}"
        yield Written(f"{where}: {code}", tuple(edits), change)
