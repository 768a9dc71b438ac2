"""A step that was tried on a trace, written as edits of the program's text, in all the ways that its calls allow.

An operation stands at a chain of calls: the call of the API, the helper around it, the helper's caller. An edit goes
where the names it needs are visible, as near to the operation as possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from streamsan.cuda_syntax.tree import Call
from streamsan.edits.cpp.calls import Chains, Written, api_name, stream_argument
from streamsan.edits.cpp.insertion import Layout, NoPlaceError
from streamsan.edits.cpp.kernels import waiting_kernel
from streamsan.edits.cpp.moves import Moves
from streamsan.edits.cpp.names import HandleNames
from streamsan.edits.cpp.nodes import Dependencies
from streamsan.edits.cpp.puts import Puts
from streamsan.edits.variant import Variant
from streamsan.evidence.fix.change_steps import FreeBehindUses, FreeOnStream, KernelWaits, NarrowerWait, WaitsRemoved
from streamsan.evidence.fix.edited_trace import EditableTrace
from streamsan.evidence.fix.event_steps import RecordBehind, WaitBehindRecord, WaitForRecorded
from streamsan.evidence.fix.order_steps import (
    EdgeBetween,
    EventBetween,
    HostWaitsForAll,
    HostWaitsForEvent,
    HostWaitsForStream,
    Place,
)
from streamsan.evidence.fix.steps import Step
from streamsan.findings.finding import Edit
from streamsan.order.facts import Operation
from streamsan.rules.case import Case

__all__ = ["MOST_VARIANTS", "Variant", "Writer"]

MOST_VARIANTS = 12
_ASYNCHRONOUS = {"cudaFree": "cudaFreeAsync", "cuMemFree": "cuMemFreeAsync", "cuMemFree_v2": "cuMemFreeAsync"}


class Writer:
    """Writes steps for the findings of one trace."""

    def __init__(self, chains: Chains, layout: Layout, trace: EditableTrace) -> None:
        self._chains = chains
        self._layout = layout
        names = HandleNames(chains, layout, trace)
        self._names = names
        self._puts = Puts(chains, layout, names)
        self._moves = Moves(chains, layout, names)
        self._dependencies = Dependencies(chains, layout, names, trace, self._puts)

    @property
    def reasons(self) -> list[str]:
        """Why steps could not be written, in clauses, so far."""
        return [*self._moves.reasons, *self._dependencies.reasons]

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
        if isinstance(step, FreeOnStream):
            yield from self._free_on_stream(step, case)
        elif isinstance(step, WaitForRecorded):
            yield from self._puts.wait_for_recorded(step, case)
        elif isinstance(step, EventBetween):
            if step.place is Place.APART:
                yield from self._puts.event_apart(step, case)
            else:
                yield from self._puts.event_between(step, case)
        elif isinstance(step, HostWaitsForStream):
            yield from self._puts.stream_wait(step, case)
        elif isinstance(step, HostWaitsForEvent):
            yield from self._puts.event_wait(step, case)
        elif isinstance(step, HostWaitsForAll):
            yield from self._puts.device_wait(step, case)
        elif isinstance(step, NarrowerWait):
            yield from self._puts.narrower(step, case)
        elif isinstance(step, FreeBehindUses):
            yield from self._moves.behind(step.free, step.last)
        elif isinstance(step, RecordBehind):
            yield from self._moves.behind(step.record, step.work)
        elif isinstance(step, WaitBehindRecord):
            yield from self._moves.behind(step.wait, step.record)
        elif isinstance(step, WaitsRemoved):
            yield from self.removal(step.waits, case)
        elif isinstance(step, KernelWaits):
            yield from waiting_kernel(step, case, self._chains, self._layout)
        elif isinstance(step, EdgeBetween):
            yield from self._dependencies.of(step)

    def removal(self, waits: Sequence[Operation], case: Case) -> Iterator[Variant]:
        """Yield the removal of waits, each a statement of its own."""
        return self._moves.removal(waits)

    def _free_on_stream(self, step: FreeOnStream, case: Case) -> Iterator[Variant]:
        summary = f"line {case.line(step.free)}: free in the stream of the last use"
        for written in self._chains.streams(step.free.site):
            for text in self._names.of(step.use, written.spot):
                edit = self._try_replace(written, text)
                if edit is not None:
                    yield Variant(f"{summary}, `{text}`", (edit,))
        spots = self._chains.spots(step.free.site)
        innermost = spots[0] if spots else None
        call = innermost.call if innermost is not None else None
        if innermost is None or not isinstance(call, Call) or stream_argument(call)[0] or len(call.arguments) != 1:
            return
        asynchronous = _ASYNCHRONOUS.get(api_name(call) or "")
        if asynchronous is None:
            return
        for text in self._names.of(step.use, innermost):
            try:
                pointer = self._layout.text(call.arguments[0].span)
                edit = self._layout.replaced(call.span, f"{asynchronous}({pointer}, {text})")
            except NoPlaceError:
                continue
            yield Variant(f"{summary}, {asynchronous}({pointer}, {text})", (edit,))

    def _try_replace(self, written: Written, text: str) -> Edit | None:
        if written.expression is None:
            return None
        try:
            if self._layout.text(written.expression.span) == text:
                return None
            return self._layout.replaced(written.expression.span, text)
        except NoPlaceError:
            return None
