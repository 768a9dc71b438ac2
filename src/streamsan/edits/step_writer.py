"""A step that was tried on a trace, written as edits of the program's text, in all the ways that its calls allow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product

from msgspec.structs import replace

from streamsan.cuda_syntax.tree import Span
from streamsan.edits.code_place import CodePlace
from streamsan.edits.command_writer import EVENT, CommandWriter
from streamsan.edits.kernels import waiting_kernel
from streamsan.edits.language import AnyLanguage, Code, Phrases
from streamsan.edits.layout import NoPlaceError
from streamsan.edits.moves import RELEASES, Moves
from streamsan.edits.source_text import SourceText
from streamsan.edits.variant import Variant
from streamsan.evidence.fix.change_steps import FreeBehindUses, FreeOnStream, KernelWaits, NarrowerWait, WaitsRemoved
from streamsan.evidence.fix.edited_trace import EditableTrace
from streamsan.evidence.fix.event_steps import EventCallBehind, WaitForRecorded
from streamsan.evidence.fix.order_steps import (
    Blocking,
    EdgeBetween,
    EventBetween,
    HostWaitsForAll,
    HostWaitsForEvent,
    HostWaitsForStream,
    Place,
    streams_awaited,
)
from streamsan.evidence.fix.steps import Step
from streamsan.evidence.fix.wait_lists import has_wait_lists
from streamsan.findings.finding import Edit
from streamsan.platforms import CUDA
from streamsan.rules.case import Case
from streamsan.vocabulary import RelatedRole

MOST_VARIANTS = 12
MOST_NAMES = 3
"""of one stream that are tried at one place"""
MOST_BLOCKS = 3
"""enclosing blocks that an event is declared in, the innermost first"""
ASYNCHRONOUS = {"cudaFree": "cudaFreeAsync", "cuMemFree": "cuMemFreeAsync", "cuMemFree_v2": "cuMemFreeAsync"}
NO_NODES = "the two nodes have no names that are visible where a dependency could be added"


class Writer:
    """Writes steps for the findings of one trace, in the language of its program."""

    def __init__(self, language: AnyLanguage, trace: EditableTrace) -> None:
        self._language = language
        self._trace = trace
        self._moves = Moves(language, trace)
        self._commands = CommandWriter(language)

    @property
    def files(self) -> Mapping[str, SourceText]:
        """The texts, by the names that the edits have."""
        return self._language.files

    @property
    def reasons(self) -> Sequence[str]:
        """Why steps could not be written, in clauses, so far."""
        return self._language.reasons

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
        if has_wait_lists(case) and isinstance(step, EventBetween | WaitForRecorded | Blocking):
            yield from self._commands.of(step)
            return
        if case.platform is not CUDA and not isinstance(step, HostWaitsForStream | FreeBehindUses):
            return  # other steps are not written for other platforms yet
        match step:
            case FreeOnStream():
                yield from self._free_on_stream(step, case.line(step.free))
            case EventBetween(place=Place.APART):
                yield from self._event_apart(step)
            case EventBetween():
                names_all = self._language.NAMES_ALL_STREAMS
                if names_all and step.place is Place.LATER and streams_awaited(self._trace, step) > 1:
                    # Where the work is issued there is code for each of its streams already.
                    yield from self._event_between(replace(step, place=Place.EARLIER))
                yield from self._event_between(step)
            case WaitForRecorded():
                yield from self._wait_for_recorded(step)
            case HostWaitsForStream():
                for place, behind in self._language.places_before(step.later, step.earlier):
                    yield from self._stream_wait(step, place, behind)
            case HostWaitsForEvent():
                yield from self._event_wait(step)
            case HostWaitsForAll():
                yield from self._device_wait(step, case)
            case NarrowerWait():
                yield from self._narrower(step)
            case FreeBehindUses() | EventCallBehind() | WaitsRemoved():
                yield from self._moves.of(step)
            case KernelWaits():
                yield from waiting_kernel(step, case, self._language)
            case EdgeBetween():
                yield from self._dependency(step)

    # -- the free -------------------------------------------------------------------------------

    def _free_on_stream(self, step: FreeOnStream, line: int) -> Iterator[Variant]:
        language = self._language
        summary = f"line {line}: free in the stream of the last use"
        for argument in language.stream_arguments(step.free):
            # A stream that a caller hands down may be for more than the free.
            if argument.node is None or not language.does_only(step.free, argument.place, RELEASES):
                continue
            for text in self._one_stream(step, argument.place):
                if text != argument.text:
                    span = argument.place.span_of(argument.node)
                    yield from self._replaced(f"{summary}, `{text}`", span, text)
        place = next(iter(language.places(step.free.site)), None)
        asynchronous = ASYNCHRONOUS.get(language.api(step.free))
        pointer = language.sole_argument(place) if place is not None and asynchronous else ""
        if place is None or asynchronous is None or not pointer:
            return
        for text in self._one_stream(step, place):
            phrases = language.phrases(place, step.free, step.free)
            call = f"{phrases.function(asynchronous)}({pointer}, {text})"
            yield from self._replaced(
                f"{summary}, {asynchronous}({pointer}, {text})", place.span, call, phrases.imports
            )

    def _one_stream(self, step: FreeOnStream, place: CodePlace) -> Sequence[str]:
        found = self._language.streams(step.use, step.free, place, step.free, step.use)
        return found[0] if len(found) == 1 else ()

    def _replaced(self, summary: str, span: Span, text: str, imports: Sequence[Edit] = ()) -> Iterator[Variant]:
        try:
            yield Variant(summary, (*imports, self._language.layout.replaced(span, text)))
        except NoPlaceError:
            return

    # -- events ---------------------------------------------------------------------------------

    def _event_between(self, step: EventBetween) -> Iterator[Variant]:
        """Yield an event that is recorded and awaited at one place."""
        language = self._language
        places = language.places_before(step.later, step.earlier)
        if step.place is Place.EARLIER:
            places = ((place, True) for place in language.places_behind(step.earlier))
        for place, behind in places:
            near = step.earlier if behind else step.later
            runs = language.streams(step.earlier, step.later, place, near, step.earlier)
            waits = language.streams(step.earlier, step.later, place, near, step.later)
            for first, second in zip(_choices(runs), _choices(waits), strict=False):
                phrases = language.phrases(place, near, step.earlier)
                yield from self._events(place, list(zip(first, second, strict=True)), phrases, behind)

    def _events(
        self, place: CodePlace, streams: Sequence[tuple[str, str]], phrases: Phrases, behind: bool = False
    ) -> Iterator[Variant]:
        """Yield events, each recorded in one stream and awaited by another."""
        if not streams or any(first == second for first, second in streams):
            return
        calls, event = phrases.calls, self._language.name_in_block(EVENT)
        for made in phrases.new_event(event):
            code = Code(())
            for runs, waits in streams:
                code += made + phrases.call(calls.record, event, runs)
                code += phrases.call(calls.stream_wait, waits, event, "0") + _destroyed(phrases, event)
            yield from self._put(place, phrases.enclosed(code), phrases, behind)

    def _event_apart(self, step: EventBetween) -> Iterator[Variant]:
        """Yield an event that is recorded behind the earlier operation and awaited before the later one."""
        language = self._language
        for first, second in self._both(step):
            for waits in language.stream(step.later, second, step.later):
                yield from self._apart(step, first, second, waits)

    def _event_wait(self, step: HostWaitsForEvent) -> Iterator[Variant]:
        """Yield a wait of the host for an event, else for the stream right where the work was issued."""
        for first, second in self._both(step):
            if not _follows(first, second):
                yield from self._apart(step, first, second, "")
        for place in self._language.places_behind(step.earlier):
            yield from self._stream_wait(step, place, behind=True)

    def _both(self, step: EventBetween | HostWaitsForEvent) -> Iterator[tuple[CodePlace, CodePlace]]:
        for first in self._language.places_behind(step.earlier):
            for second, behind in self._language.places_before(step.later, step.earlier):
                if not behind:
                    yield first, second

    def _apart(
        self, step: EventBetween | HostWaitsForEvent, first: CodePlace, second: CodePlace, waits: str
    ) -> Iterator[Variant]:
        """Yield an event declared in a block around both places. `waits`: the stream that waits, "" for the host.

        Two host threads have none: where the block ends, they may not have come to their calls.
        """
        if step.earlier.thread != step.later.thread:
            return
        language, layout = self._language, self._language.layout
        every = [place for site in (step.earlier.site, step.later.site) for place in language.places(site)]
        several = streams_awaited(self._trace, step) > 1
        around = [*islice(language.around_both(first, second, every, several), MOST_BLOCKS)]
        for runs in language.stream(step.earlier, first, step.earlier) if around else ():
            event = language.new_name(EVENT, first)
            for opening, closing in around:
                at_opening, at_first, at_second, at_closing = (
                    language.phrases(place, step.earlier, step.earlier) for place in (opening, first, second, closing)
                )
                calls = at_first.calls
                record = at_first.call(calls.record, event, runs)
                wait = at_second.call(calls.event_wait, event)
                if waits:
                    wait = at_second.call(calls.stream_wait, waits, event, "0")
                try:
                    edits = [
                        *layout.before(opening, next(at_opening.new_event(event)).lines),
                        *layout.behind(self._whole(first), record.lines),
                        *layout.before(second, wait.lines),
                        *layout.behind(closing, _destroyed(at_closing, event).lines),
                    ]
                except NoPlaceError:
                    continue
                words = self._words(first, record, behind=True), self._words(second, wait)
                yield Variant("; ".join(words), tuple(edits), declares=event)

    def _wait_for_recorded(self, step: WaitForRecorded) -> Iterator[Variant]:
        """Yield a wait for an event that the program records itself."""
        language = self._language
        for place, behind in language.places_before(step.later, step.record):
            for event in () if behind else language.event(step, place):
                for waits in language.stream(step.later, place, step.later) if step.on_device else ("",):
                    phrases = language.phrases(place, step.later, step.record)
                    if waits:
                        code = phrases.call(phrases.calls.stream_wait, waits, event, "0")
                    else:
                        code = phrases.call(phrases.calls.event_wait, event)
                    yield from self._put(place, code, phrases)

    # -- waits of the host ----------------------------------------------------------------------

    def _stream_wait(
        self, step: HostWaitsForStream | HostWaitsForEvent, place: CodePlace, behind: bool
    ) -> Iterator[Variant]:
        near = step.earlier if behind else step.later
        for texts in _choices(self._language.streams(step.earlier, step.later, place, near, step.earlier)):
            phrases = self._language.phrases(place, near, step.earlier)
            code = Code(())
            for text in dict.fromkeys(texts):
                code += phrases.call(phrases.calls.stream_sync, text)
            yield from self._put(place, code, phrases, behind)

    def _device_wait(self, step: HostWaitsForAll, case: Case) -> Iterator[Variant]:
        # The end of the program may have no place: the wait comes behind the last use then.
        use = step.later if step.later.site else case.first(RelatedRole.USE, RelatedRole.OTHER)
        if use is None:
            return
        for place, behind in self._language.places_before(step.later, use):
            phrases = self._language.phrases(place, use if behind else step.later, use)
            yield from self._put(place, phrases.call(phrases.calls.device_sync), phrases, behind)

    def _narrower(self, step: NarrowerWait) -> Iterator[Variant]:
        """Yield waits for the streams that are needed in the place of a wait for more."""
        language = self._language
        place = next(iter(language.places(step.wait.site)), None)
        if place is None or place.call is None or not step.exact:
            return
        found = [next(iter(language.stream(work, place, step.wait)), "") for work in step.needed]
        if not all(found):
            return
        *others, last = dict.fromkeys(found)
        phrases = language.phrases(place, step.wait, *step.needed)
        wait = phrases.calls.stream_sync
        try:
            edits = [language.layout.replaced(place.span, f"{phrases.function(wait)}({last})")]
            if others:
                code = [line for name in others for line in phrases.call(wait, name).lines]
                edits = [*language.layout.before(place, code), *edits]
        except NoPlaceError:
            return
        yield Variant(f"line {place.span.line}: {wait} of {', '.join((*others, last))}", (*phrases.imports, *edits))

    # -- graphs ---------------------------------------------------------------------------------

    def _dependency(self, step: EdgeBetween) -> Iterator[Variant]:
        """Yield the later node made to depend on the earlier one; or, where both are captured, an event between."""
        language = self._language
        found = False
        for second in language.places(step.later.site):
            for first in language.places(step.earlier.site):
                if first.body is second.body and first.span < second.span:
                    for name, edits in language.dependent(first, second, step):
                        found = True
                        yield Variant(f"line {second.span.line}: the node depends on `{name}`", tuple(edits))
        for runs, waits in product(language.stream_arguments(step.earlier), language.stream_arguments(step.later)):
            if runs.text and waits.text and runs.place.body is waits.place.body and runs.place.span < waits.place.span:
                phrases = language.phrases(waits.place, step.later, step.earlier)
                variants = list(self._events(waits.place, [(runs.text, waits.text)], phrases))
                found = found or bool(variants)
                yield from variants
        if not found:
            language.reasons.append(NO_NODES)

    # -- parts ----------------------------------------------------------------------------------

    def _put(self, place: CodePlace, code: Code, phrases: Phrases, behind: bool = False) -> Iterator[Variant]:
        layout = self._language.layout
        try:
            edits = layout.behind(self._whole(place), code.lines) if behind else layout.before(place, code.lines)
        except NoPlaceError:
            return
        yield Variant(self._words(place, code, behind), (*phrases.imports, *edits))

    def _whole(self, place: CodePlace) -> CodePlace:
        """Return a place at the last statement of what belongs to its call: the look at its status."""
        if place.block is None or place.statement is None or place.at_exit:
            return place
        last = self._language.unit(place.block, place.statement)[-1]
        return place if last is place.statement else place.at(place.block, last)

    def _words(self, place: CodePlace, code: Code, behind: bool = False) -> str:
        span = place.span if place.statement is None else self._language.layout.span(place.statement)
        where = f"after line {span.end_line}" if behind or place.at_exit else f"before line {span.line}"
        return f"{where}: {'; '.join(code.words)}"


def _choices(names: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """Yield one name for each of several streams; nothing where one has none."""
    if names and all(names):
        for number in range(min(MOST_NAMES, max(map(len, names)))):
            yield [each[min(number, len(each) - 1)] for each in names]


def _destroyed(phrases: Phrases, event: str) -> Code:
    return Code(phrases.call("cuEventDestroy" if phrases.calls.driver else "cudaEventDestroy", event).lines)


def _follows(first: CodePlace, second: CodePlace) -> bool:
    """Tell whether a place comes right behind another: an event between them would be of no use."""
    if second.statement is None:
        return second.block is first.block and first.following() is None
    return first.following() is second.statement
