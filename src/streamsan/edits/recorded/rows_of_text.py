"""Where code of the text stands among the operations of a trace, and the edits of the trace that it stands for."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from msgspec import Struct

from streamsan.edits.recorded.recorded_text import Frame
from streamsan.evidence.fix.edited_trace import EditableTrace, Edits
from streamsan.vocabulary import OperationKind

Outer = tuple[tuple[str, int, int, str], ...]
"""calls around a statement: file, line, column and function of each"""


class CodePut(Struct, frozen=True):
    """Code that is put in before, or behind, a statement: it is run whenever the statement is."""

    frame: Frame
    """a call in the statement"""
    behind: bool = False

    def rows(self, trace: EditableTrace) -> list[int]:
        """Return the rows before (behind) which the code is run: of each run of the statement the first (last).

        Rounds of a loop that does nothing else are one run: what is found on the trace then holds for fewer places
        than the text has.
        """
        sites, threads = trace.slots["site"], trace.slots["thread"]
        known: dict[int, Outer | None] = {}
        last: dict[int, Outer | None] = {}
        found: dict[int, list[int]] = {}
        """thread -> first and last rows of runs"""
        result: list[list[int]] = []
        for row in np.flatnonzero(trace.starts).tolist():
            site, thread = int(sites[row]), int(threads[row])
            if site not in known:
                known[site] = self._outer(trace, site)
            outer = known[site]
            if outer is not None and last.get(thread) == outer:
                found[thread][1] = row
            elif outer is not None:
                found[thread] = [row, row]
                result.append(found[thread])
            last[thread] = outer
        return [run[1 if self.behind else 0] for run in result]

    def does_only(self, trace: EditableTrace, kinds: Collection[int]) -> bool:
        """Tell whether all operations of the statement are of some kinds."""
        slots = trace.slots[trace.starts]
        done = np.unique(slots[["site", "kind"]]).tolist()
        return all(int(kind) in kinds for site, kind in done if self._outer(trace, int(site)) is not None)

    def put(self, edits: Edits, row: int, calls: list[tuple[OperationKind, int, dict[str, int]]]) -> None:
        """Put calls in at one of the rows: each is a kind, a site, and values."""
        slots = [edits.call(row, kind, site, **values) for kind, site, values in calls]
        (edits.put_behind if self.behind else edits.put_before)(row, slots)

    def _outer(self, trace: EditableTrace, number: int) -> Outer | None:
        """Return the calls around the statement in a site's chain, None where that does not come through it."""
        chain = []
        while number:
            site = trace.trace.site(number)
            chain.append((site.file, site.line, site.column, site.function))
            number = site.caller
        statement, own = self.frame.place.statement, self.frame.site
        if statement is None:
            return None
        span = self.frame.place.text.span(statement)
        for level in reversed(range(len(chain))):
            file, line, _, function = chain[level]
            if (file, function) == (own.file, own.function) and span.line <= line <= span.end_line:
                return tuple(chain[level + 1 :])
        return None


class StreamWaits(Struct, frozen=True):
    """One stream waits for what another one has so far."""

    place: CodePut
    runs: int
    waits: int

    def apply(self, edits: Edits) -> bool:
        """Put an event in at each row."""
        record_site, wait_site = edits.site(), edits.site()
        rows = self.place.rows(edits.trace)
        for row in rows:
            event = edits.event()
            calls: list[tuple[OperationKind, int, dict[str, int]]] = [
                (OperationKind.EVENT_CREATE, record_site, {"object": event}),
                (OperationKind.EVENT_RECORD, record_site, {"object": event, "stream": self.runs}),
                (OperationKind.STREAM_WAIT_EVENT, wait_site, {"object": event, "stream": self.waits}),
                (OperationKind.EVENT_DESTROY, wait_site, {"object": event}),
            ]
            self.place.put(edits, row, calls)
        return bool(rows)


class HostWaits(Struct, frozen=True):
    """The host waits for a stream, or with 0 for all work of the context."""

    place: CodePut
    stream: int

    def apply(self, edits: Edits) -> bool:
        """Put the wait in at each row."""
        site, trace = edits.site(), edits.trace
        rows = self.place.rows(trace)
        for row in rows:
            if self.stream:
                self.place.put(edits, row, [(OperationKind.STREAM_SYNCHRONIZE, site, {"stream": self.stream})])
                continue
            context = trace.context(row)
            if not context:
                return False
            self.place.put(edits, row, [(OperationKind.CONTEXT_SYNCHRONIZE, site, {"object": context})])
        return bool(rows)


class EventAwaited(Struct, frozen=True):
    """A stream, or with 0 the host, waits for the latest record of an event of the program."""

    place: CodePut
    event: int
    waits: int

    def apply(self, edits: Edits) -> bool:
        """Put the wait in at each row."""
        site, rows = edits.site(), self.place.rows(edits.trace)
        for row in rows:
            if self.waits:
                values = {"object": self.event, "stream": self.waits}
                self.place.put(edits, row, [(OperationKind.STREAM_WAIT_EVENT, site, values)])
            else:
                self.place.put(edits, row, [(OperationKind.EVENT_SYNCHRONIZE, site, {"object": self.event})])
        return bool(rows)
