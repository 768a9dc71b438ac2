"""An order between streams, or a wait of the host, as the program's framework writes it; and `finish` of a queue."""

from __future__ import annotations

from collections.abc import Iterator

from streamsan.edits.language import Code
from streamsan.edits.layout import NoPlaceError
from streamsan.edits.python.layout import PythonLayout
from streamsan.edits.recorded.binding_waits import BindingWaits, Put
from streamsan.edits.recorded.frameworks import BINDINGS, Framework, framework_of
from streamsan.edits.recorded.recorded_text import Frame, RecordedTexts, is_simple
from streamsan.edits.recorded.rows_of_text import CodePut, EventAwaited, HostWaits, StreamWaits
from streamsan.edits.recorded.stream_names import StreamNames
from streamsan.edits.recorded.written import Written
from streamsan.evidence.fix.edited_trace import EditableTrace
from streamsan.evidence.fix.event_steps import WaitForRecorded
from streamsan.evidence.fix.order_steps import EventBetween, HostWaitsForAll, HostWaitsForStream, Place
from streamsan.order.facts import Operation

OrderStep = WaitForRecorded | EventBetween | HostWaitsForStream | HostWaitsForAll
Change = StreamWaits | HostWaits | EventAwaited


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
                for frame, framework in self._frames(step.earlier if behind else step.later):
                    yield from self._between(step, frame, framework, behind)
            case WaitForRecorded():
                for frame, framework in self._frames(step.later):
                    yield from self._recorded(step, frame, framework)
            case HostWaitsForStream() | HostWaitsForAll():
                for frame, framework in self._frames(step.later):
                    yield from self._host(step, frame, framework)

    def _frames(self, operation: Operation) -> Iterator[tuple[Frame, Framework]]:
        why = self._texts.why_not(operation.site)
        if why:
            self._reasons.append(why)
        for frame in self._texts.frames(operation.site):
            framework = framework_of(frame.place)
            if framework is None:
                self._reasons.append("the module imports no framework whose waits are known")
            elif is_simple(frame.place.statement):
                yield frame, framework

    def _between(self, step: EventBetween, frame: Frame, framework: Framework, behind: bool) -> Iterator[Written]:
        runs, waits = self._handle(step.earlier), self._handle(step.later)
        first, second = (self._named(handle, frame, framework) for handle in (runs, waits))
        if not first or not second or first == second:
            return
        put = CodePut(frame, behind)
        change = StreamWaits(put, runs, waits)
        if framework is BINDINGS:
            yield from self._put(BindingWaits(frame.place).stream_waits(first, second), put, change)
        elif framework.stream_waits:
            yield from self._put(_plain(framework.stream_waits.format(runs=first, waits=second)), put, change)

    def _recorded(self, step: WaitForRecorded, frame: Frame, framework: Framework) -> Iterator[Written]:
        """Yield a wait for an event that the program records, where it has one name and is one event."""
        row = self._trace.row(step.record)
        event = int(self._trace.slots["object"][row]) if row is not None else 0
        waits = self._handle(step.later) if step.on_device else 0
        name = next(iter(self._names.of(event, frame.place, framework)), "") if event else ""
        stream = self._named(waits, frame, framework) if waits else ""
        if not name or bool(stream) != bool(waits):
            return
        put = CodePut(frame)
        change = EventAwaited(put, event, waits)
        if framework is BINDINGS:
            yield from self._put(BindingWaits(frame.place).event_awaited(name, stream), put, change)
        else:
            code = f"{stream}.wait_event({name})" if stream else f"{name}.synchronize()"
            yield from self._put(_plain(code), put, change)

    def _host(
        self, step: HostWaitsForStream | HostWaitsForAll, frame: Frame, framework: Framework
    ) -> Iterator[Written]:
        put = CodePut(frame)
        handle = self._handle(step.earlier) if isinstance(step, HostWaitsForStream) else 0
        name = self._named(handle, frame, framework) if handle else ""
        if bool(name) != isinstance(step, HostWaitsForStream):
            return
        if framework is BINDINGS:
            yield from self._put(BindingWaits(frame.place).host_waits(name), put, HostWaits(put, handle))
        elif name:
            yield from self._put(_plain(framework.host_waits.format(runs=name)), put, HostWaits(put, handle))
        elif framework.device_waits:
            code = f"{framework.name(frame.place)}.{framework.device_waits}"
            yield from self._put(_plain(code), put, HostWaits(put, 0))

    def _handle(self, operation: Operation) -> int:
        row = self._trace.row(operation)
        return int(self._trace.slots["stream"][row]) if row is not None else 0

    def _named(self, handle: int, frame: Frame, framework: Framework) -> str:
        found = self._names.of(handle, frame.place, framework) if handle else []
        if not found:
            self._reasons.append(f"a stream of the two has no name that is sure at line {frame.place.span.line}")
        return found[0] if found else ""

    def _put(self, code: Put, put: CodePut, change: Change) -> Iterator[Written]:
        layout, place = PythonLayout(self._texts.texts), put.frame.place
        written, imports = code
        try:
            edits = layout.behind(place, written.lines) if put.behind else layout.before(place, written.lines)
        except NoPlaceError:
            self._reasons.append(f"line {place.span.line} has no room for a statement")
            return
        assert place.statement is not None
        span = layout.span(place.statement)
        where = f"after line {span.end_line}" if put.behind else f"before line {span.line}"
        yield Written(f"{where}: {'; '.join(written.words)}", (*imports, *edits), change)


def _plain(line: str) -> Put:
    return Code((line,), (line,)), []
