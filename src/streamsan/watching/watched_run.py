"""A run that is watched: its files, what they say so far, what was found, and the program's state and output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from streamsan.findings.finding import Finding
from streamsan.timeline.lanes import LEGACY, PER_THREAD
from streamsan.trace.errors import TraceError
from streamsan.watching.growing_trace import GrowingTrace
from streamsan.watching.live_run import LiveRun, Place
from streamsan.watching.rechecks import Rechecks

MOST_FILES = 64
"""files of a run that are followed; the report at the end is of all"""


class Program(Protocol):
    """What writes the trace."""

    @property
    def is_over(self) -> bool:
        """Tell whether nothing more is to come."""

    def last_output(self) -> str:
        """Return the end of what it printed."""

    def interrupt(self) -> None:
        """Ask it to end, as Ctrl-C does."""


class Row(Struct, frozen=True):
    """A row of a table: what sorts it, and its cells."""

    weight: tuple[int, ...]
    """a number for each order that the table has"""
    cells: tuple[str, ...]


class WatchedRun:
    """The model behind a view."""

    def __init__(self, program: Program | None, files: Callable[[], Sequence[str]], rechecks: Rechecks) -> None:
        self.program = program
        """None: another process writes the trace, and this one only follows"""
        self.live = LiveRun()
        self.rechecks = rechecks
        self.problem = ""
        self._files = files
        self._traces: list[GrowingTrace] = []

    def look(self) -> bool:
        """Read what is new. Returns whether there is more to read at once."""
        known = {trace.path for trace in self._traces}
        new = [path for path in self._files() if path not in known]
        self._traces += [GrowingTrace(path) for path in new[: MOST_FILES - len(self._traces)]]
        before = self.live.operations
        for number, trace in enumerate(self._traces):
            try:
                self.live.take(number, trace.look())
            except TraceError as error:
                self.problem = str(error)
        behind = any(trace.behind for trace in self._traces)
        if self._traces and not behind:
            self.rechecks.look(self._traces[0].path, self.live.operations, self.live.operations == before)
        return behind

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to come."""
        return self.program.is_over if self.program is not None else self._closed

    @property
    def _closed(self) -> bool:
        """Whether every file that is there was closed by its writer."""
        return bool(self._traces) and all(trace.ended for trace in self._traces)

    def last_output(self) -> str:
        """Return the end of what the program printed."""
        return self.program.last_output() if self.program is not None else ""

    @property
    def findings(self) -> Sequence[Finding]:
        """What the last check found, the worst first."""
        return sorted(self.rechecks.findings, key=lambda each: (each.strength, each.order))

    def state(self) -> str:
        """Return one line on the program."""
        count = len(self._traces)
        files = f", {count} processes" if count > 1 else ""
        waiting = [self._at(place) for place in self._waiting()]
        inside = f"; in {', '.join(waiting[:3])}" if waiting else ""
        checking = ", checking" if self.rechecks.running else ""
        state = "the program has ended" if self._closed or self.is_over else "running"
        return f"{state}: {self.live.operations:,} operations{files}{checking}{inside}"

    def _waiting(self) -> list[Place]:
        return [(number, site, api) for number, each in enumerate(self._traces) for api, site in each.waiting]

    # -- tables: their rows, in no order ------------------------------------------------------------

    def stream_rows(self) -> list[Row]:
        """Return a row for each stream: name, operations, pending ones, the last one."""
        return [
            Row(
                (row.operations, row.pending),
                (self._stream(row.file, row.handle), f"{row.operations:,}", f"{row.pending:,}", self._at(row.last)),
            )
            for row in self.live.streams.values()
        ]

    def memory_rows(self) -> list[Row]:
        """Return a row for each kind and each call site: live allocations, bytes, most bytes."""
        named = [(f"all {kind}", row) for kind, row in self.live.kinds.items()]
        named += [(self._at(place), row) for place, row in self.live.sites.items() if row.peak]
        return [
            Row((row.bytes, row.peak, row.count), (name, f"{row.count:,}", size_words(row.bytes), size_words(row.peak)))
            for name, row in named
        ]

    def wait_rows(self) -> list[Row]:
        """Return a row for each place that waits: how often, how long in all."""
        return [
            Row((row.nanoseconds, row.count), (self._at(place), f"{row.count:,}", f"{row.nanoseconds / 1e6:,.2f} ms"))
            for place, row in self.live.waits.items()
        ]

    def finding_rows(self) -> list[Row]:
        """Return a row for each finding: severity and code, place, message."""
        return [
            Row(
                (-number,),
                (f"{each.severity} {each.code}", f"{each.location.file}:{each.location.line}", each.headline),
            )
            for number, each in enumerate(self.findings)
        ]

    def _stream(self, file: int, handle: int) -> str:
        trace = self._traces[file]
        noun = "queue" if trace.platform == "opencl" else "stream"
        named = {LEGACY: "default stream", PER_THREAD: "per-thread default stream"}
        name = (noun == "stream" and named.get(handle)) or f"{noun} {handle:#x}"
        return f"{name} ({file + 1})" if len(self._traces) > 1 else name

    def _at(self, place: Place) -> str:
        file, number, api = place
        site = self._traces[file].site(number)
        where = f"{site.file.rpartition('/')[2]}:{site.line}" if site.line else site.function or f"site {number}"
        called = site.runtime or self._traces[file].api(api)
        return f"{where} {called}".strip()


def size_words(count: int) -> str:
    """Return a number of bytes in the unit that suits it."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"
