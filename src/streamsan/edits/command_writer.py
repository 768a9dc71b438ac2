"""Steps on commands that have wait lists, as OpenCL's: an event in the list of the later one, a call that blocks."""

from __future__ import annotations

from collections.abc import Iterator

from streamsan.edits.code_place import CodePlace
from streamsan.edits.language import AnyLanguage
from streamsan.edits.layout import NoPlaceError
from streamsan.edits.variant import Variant
from streamsan.evidence.fix.event_steps import WaitForRecorded
from streamsan.evidence.fix.order_steps import Blocking, EventBetween
from streamsan.order.facts import Operation

EVENT = "streamsan_event"


class CommandWriter:
    """Writes them in the language of a program."""

    def __init__(self, language: AnyLanguage) -> None:
        self._language = language

    def of(self, step: WaitForRecorded | EventBetween | Blocking) -> Iterator[Variant]:
        """Yield the ways to write a step, the nearest first."""
        match step:
            case WaitForRecorded(on_device=True):
                yield from self._known_event(step.record, step.later)
            case EventBetween():
                yield from self._known_event(step.earlier, step.later)
                yield from self._new_event(step.earlier, step.later)
            case Blocking():
                yield from self._blocking(step.earlier)

    def _known_event(self, earlier: Operation, later: Operation) -> Iterator[Variant]:
        """Yield the event that a command returns, in the wait list of another one."""
        first, second = self._command(earlier), self._command(later)
        # An event that is not there yet, as in the first round of a loop, is no valid handle in a list.
        if first is None or second is None or not _is_surely_before(first, second):
            return
        for event in self._language.event_of_command(earlier, second):
            for edits in self._language.in_wait_list(second, event):
                yield Variant(
                    f"line {second.span.line}: wait for `{event}`, the event of line {first.span.line}", tuple(edits)
                )

    def _new_event(self, earlier: Operation, later: Operation) -> Iterator[Variant]:
        """Yield a new event of a command in the wait list of one that stands in the same block."""
        language, layout = self._language, self._language.layout
        first, second = self._command(earlier), self._command(later)
        if first is None or second is None or first.block is not second.block or not _is_surely_before(first, second):
            return
        event = language.new_name(EVENT, first)
        returns = language.returning_event(first, event)
        phrases = language.phrases(second, later, later)
        if not returns:
            return
        declared, release = language.new_event(first, event)
        behind = phrases.call(release, event).lines if release else []
        for listed in language.in_wait_list(second, event):
            try:
                edits = (
                    *layout.before(first, [declared]),
                    *returns,
                    *listed,
                    *(layout.behind(second, behind) if behind else ()),
                )
            except NoPlaceError:
                continue
            where = f"line {second.span.line}: wait for the event of line {first.span.line}"
            yield Variant(f"{where}, `{event}`", edits, declares=event)

    def _blocking(self, earlier: Operation) -> Iterator[Variant]:
        place = self._command(earlier)
        edits = () if place is None else self._language.blocking(place)
        if place is not None and edits:
            yield Variant(f"line {place.span.line}: CL_TRUE in the place of CL_FALSE", tuple(edits))

    def _command(self, operation: Operation) -> CodePlace | None:
        return next(iter(self._language.places(operation.site)), None)


def _is_surely_before(first: CodePlace, second: CodePlace) -> bool:
    """Tell whether one place is executed, each time, before another: it stands before it in a block around both."""
    return first.block is not None and second.inside(first.block) and first.span < second.span
