"""pyopencl: the event of one command in `wait_for` of another, a call that blocks, `event.wait()`, a later release."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from streamsan.edits.layout import NoPlaceError, inserted
from streamsan.edits.python.calls import may_be_repeated
from streamsan.edits.python.layout import PythonLayout
from streamsan.edits.python.places import PythonPlace
from streamsan.edits.recorded.name_scopes import root_of
from streamsan.edits.recorded.recorded_text import RecordedTexts, is_alone, is_simple
from streamsan.edits.recorded.written import Written
from streamsan.evidence.fix.change_steps import FreeBehindUses
from streamsan.evidence.fix.event_steps import WaitForRecorded
from streamsan.evidence.fix.order_steps import Blocking, EventBetween, HostWaitsForEvent, Place
from streamsan.findings.finding import Edit
from streamsan.order.facts import Operation
from streamsan.vocabulary import OperationKind

CommandStep = WaitForRecorded | EventBetween | Blocking | HostWaitsForEvent | FreeBehindUses
NEW_EVENT = "done"
NO_EVENT = "the event of the earlier command has no name where the later one is enqueued"


class WaitListWriter:
    """Writes steps on commands of pyopencl."""

    def __init__(self, texts: RecordedTexts, reasons: list[str]) -> None:
        self._texts = texts
        self._reasons = reasons

    def of(self, step: CommandStep) -> Iterator[Written]:
        """Yield the ways to write a step."""
        match step:
            case WaitForRecorded():
                yield from self._awaited(step, step.record, step.later, on_device=step.on_device)
            case EventBetween(place=Place.APART):
                yield from self._awaited(step, step.earlier, step.later, on_device=True)
            case HostWaitsForEvent():
                yield from self._awaited(step, step.earlier, step.later, on_device=False)
            case Blocking():
                yield from self._blocking(step)
            case FreeBehindUses():
                yield from self._moved(step)

    # -- events -----------------------------------------------------------------------------------

    def _awaited(
        self, step: CommandStep, earlier: Operation, later: Operation, *, on_device: bool
    ) -> Iterator[Written]:
        first, second = self._place(earlier), self._place(later)
        if first is None or second is None or not _is_surely_before(first, second):
            self._reasons.append(NO_EVENT)
            return
        event, bound = self._event(first, second, earlier)
        if not event:
            self._reasons.append(NO_EVENT)
            return
        layout = PythonLayout(self._texts.texts)
        edits = [*bound]
        words = f"line {first.span.line}: `{event}` is its event; " if bound else ""
        try:
            if not on_device:
                edits += layout.before(second, [f"{event}.wait()"])
                words += f"before line {second.span.line}: {event}.wait()"
            else:
                listed = _in_wait_list(second, event, later)
                if not listed:
                    self._reasons.append(f"the call of line {second.span.line} takes no wait_for")
                    return
                edits += listed
                words += f"line {second.span.line}: wait_for=[{event}]"
                # What another queue waits for has to be on its way to the device.
                queue = _queue(first)
                if earlier.stream != later.stream and queue and not _is_flushed(first, second, queue):
                    edits += layout.behind(first, [f"{queue}.flush()"])
                    words += f"; after line {first.span.end_line}: {queue}.flush()"
        except NoPlaceError:
            self._reasons.append(f"line {first.span.line} has no room for a statement")
            return
        yield Written(words, tuple(edits), step)

    def _event(self, first: PythonPlace, second: PythonPlace, earlier: Operation) -> tuple[str, Sequence[Edit]]:
        """Return the variable that has the event of a command, and the edits that it needs for that."""
        statement = first.statement
        if not _is_command(first, earlier) or statement is None:
            return "", ()
        if isinstance(statement, ast.Assign) and statement.value is first.node and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Tuple):
                # What is mapped, and the event of the command.
                target = target.elts[-1]
            name = ast.unparse(target)
            usable = root_of(target) or (isinstance(target, ast.Subscript) and may_be_repeated(target))
            return (name, ()) if usable and not _is_changed(target, first, second) else ("", ())
        if isinstance(statement, ast.Expr) and statement.value is first.node and not _maps(first):
            name = _new_name(first)
            span = first.text.span(statement)
            return name, [inserted(span.file, span.line, span.column, f"{name} = ")]
        return "", ()

    # -- others -----------------------------------------------------------------------------------

    def _blocking(self, step: Blocking) -> Iterator[Written]:
        place = self._place(step.earlier)
        call = place.call if place is not None else None
        if place is None or call is None:
            return
        for keyword in call.keywords:
            if (
                keyword.arg == "is_blocking"
                and isinstance(keyword.value, ast.Constant)
                and keyword.value.value is False
            ):
                span = place.text.span(keyword.value)
                yield Written(f"line {span.line}: is_blocking=True", (Edit(*span, "True"),), step)

    def _moved(self, step: FreeBehindUses) -> Iterator[Written]:
        free, last = self._place(step.free), self._place(step.last)
        if free is None or last is None or free.block is None or free.statement is None or not is_alone(free):
            self._reasons.append("the release is not a statement of its own")
            return
        target = last.child_in(free.block)
        if target is None or target is free.statement:
            self._reasons.append("no block of the program has both the release and the last use")
            return
        layout = PythonLayout(self._texts.texts)
        if layout.span(target) < layout.span(free.statement):
            return
        try:
            edits = layout.moved([free.statement], target)
        except NoPlaceError as error:
            self._reasons.append(str(error) or "the release cannot be moved")
            return
        line, end = layout.span(free.statement).line, layout.span(target).end_line
        yield Written(f"move line {line} behind line {end}", tuple(edits), step)

    def _place(self, operation: Operation) -> PythonPlace | None:
        frames = self._texts.frames(operation.site)
        if not frames:
            self._reasons.append(self._texts.why_not(operation.site))
            return None
        place = frames[0].place
        return place if is_simple(place.statement) and place.call is not None else None


def _is_surely_before(first: PythonPlace, second: PythonPlace) -> bool:
    """Tell whether one place is executed, each time, before another: it stands before it in a block around both."""
    return first.block is not None and second.child_in(first.block) is not None and first.span < second.span


def _is_command(place: PythonPlace, operation: Operation) -> bool:
    """Tell whether a call is of a command that returns its event."""
    call = place.call
    if call is None:
        return False
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name.startswith("enqueue_") or (operation.kind is OperationKind.LAUNCH and bool(call.args))


def _maps(place: PythonPlace) -> bool:
    call = place.call
    return call is not None and isinstance(call.func, ast.Attribute) and "map" in call.func.attr


def _in_wait_list(place: PythonPlace, event: str, operation: Operation) -> Sequence[Edit]:
    call = place.call
    if call is None or not _is_command(place, operation):
        return ()
    given = next((each.value for each in call.keywords if each.arg == "wait_for"), None)
    if given is None and any(each.arg is None for each in call.keywords):
        return ()  # it may be among those
    if given is None:
        written = [*call.args, *(each.value for each in call.keywords)]
        if not written:
            return ()
        span = max(place.text.span(each) for each in written)
        last = max(written, key=lambda each: place.text.span(each))
        end = place.text.span(last)
        return [inserted(span.file, end.end_line, end.end_column, f", wait_for=[{event}]")]
    span = place.text.span(given)
    if isinstance(given, ast.List):
        if not given.elts:
            return [Edit(*span, f"[{event}]")]
        end = place.text.span(given.elts[-1])
        return [inserted(span.file, end.end_line, end.end_column, f", {event}")]
    if isinstance(given, ast.Constant) and given.value is None:
        return [Edit(*span, f"[{event}]")]
    if isinstance(given, ast.Name | ast.Attribute):
        return [Edit(*span, f"[*({place.text.of(given)} or ()), {event}]")]
    return ()


def _queue(place: PythonPlace) -> str:
    call = place.call
    if call is None or not call.args or not may_be_repeated(call.args[0]):
        return ""
    return place.text.of(call.args[0])


def _is_flushed(first: PythonPlace, second: PythonPlace, queue: str) -> bool:
    block = first.block or []
    begin = next((number for number, each in enumerate(block) if each is first.statement), len(block))
    for each in block[begin + 1 :]:
        if second.inside(each):
            return False
        if isinstance(each, ast.Expr) and ast.unparse(each.value) in (f"{queue}.flush()", f"{queue}.finish()"):
            return True
    return False


def _is_changed(target: ast.expr, first: PythonPlace, second: PythonPlace) -> bool:
    """Tell whether a variable that an expression names gets another value between two places."""
    names = {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
    begin, end = first.span, second.span
    return any(
        isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and node.id in names
        and begin < first.text.span(node) < end
        and not first.inside(node)
        and not any(node is each for each in ast.walk(first.statement or target))
        for node in ast.walk(first.body)
    )


def _new_name(place: PythonPlace) -> str:
    """Return a name that means nothing else in a module."""
    known = {node.id for node in ast.walk(place.text.tree) if isinstance(node, ast.Name)}
    known |= {node.arg for node in ast.walk(place.text.tree) if isinstance(node, ast.arg)}
    number = 1
    name = NEW_EVENT
    while name in known:
        number += 1
        name = f"{NEW_EVENT}{number}"
    return name
