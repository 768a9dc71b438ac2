"""The view: a screen of tables that follow a run (textual)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from msgspec import Struct
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Grid
from textual.widgets import DataTable, Footer, Static

from streamsan.report.printable import printable
from streamsan.watching.watched_run import Row, WatchedRun

EVERY = 0.5
"""seconds between looks"""
MOST_ROWS = 200
OUTPUT_LINES = 8


class _Table(Struct, frozen=True):
    """One table: its title, columns, and the orders that it has, the first one first."""

    id: str
    title: str
    columns: tuple[str, ...]
    orders: tuple[str, ...]
    rows: Callable[[WatchedRun], Sequence[Row]]


TABLES = (
    _Table(
        "streams",
        "Streams",
        ("stream", "operations", "not awaited", "last"),
        ("operations", "not awaited"),
        WatchedRun.stream_rows,
    ),
    _Table("memory", "Live memory", ("where", "live", "now", "peak"), ("now", "peak", "live"), WatchedRun.memory_rows),
    _Table("waits", "Waits of the host", ("where", "times", "in all"), ("in all", "times"), WatchedRun.wait_rows),
    _Table("findings", "Findings so far", ("finding", "where", "what"), ("severity",), WatchedRun.finding_rows),
)


class WatchApp(App[None]):
    """The screen. It closes when the run is over, or by `q`."""

    CSS = """
    #state { height: 1; background: $panel; }
    Grid { grid-size: 2 2; }
    DataTable { border: round $primary; }
    #output { border: round $secondary; height: 10; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Close the view"),
        Binding("s", "sort", "Sort by the next column"),
        Binding("p", "pause", "Pause"),
        Binding("ctrl+c", "interrupt", "Interrupt the program", priority=True),
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, run: WatchedRun, every: float = EVERY) -> None:
        super().__init__()
        self._run_watched = run
        self._every = every
        self._order = 0
        """presses of `s` so far"""
        self._paused = False
        self._shown: dict[str, list[tuple[str, ...]]] = {}

    def compose(self) -> ComposeResult:
        """Make the widgets."""
        yield Static(id="state", markup=False)
        with Grid():
            for table in TABLES:
                yield DataTable(id=table.id, cursor_type="row")
        if self._run_watched.program is not None:
            yield Static(id="output", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Begin to look."""
        for table in TABLES:
            self._widget(table.id).add_columns(*table.columns)
        if self._run_watched.program is not None:
            self.query_one("#output", Static).border_title = "Output of the program"
        self.tick()
        self.set_interval(self._every, self.tick)

    def tick(self) -> None:
        """Look at the run, and show what is new."""
        behind = self._run_watched.look()
        if not self._paused:
            self._show()
        if self._run_watched.is_over and not behind:
            self.exit()
        elif behind:
            self.call_later(self.tick)

    def action_sort(self) -> None:
        """Sort each table by its next order."""
        self._order += 1
        self._show()

    def action_pause(self) -> None:
        """Leave the screen as it is, or let it go on; the run is read meanwhile."""
        self._paused = not self._paused
        self._show()

    def action_interrupt(self) -> None:
        """Do what Ctrl-C does to the program; to a trace of another process it is `q`."""
        if self._run_watched.program is not None:
            self._run_watched.program.interrupt()
        else:
            self.exit()

    def _show(self) -> None:
        run = self._run_watched
        words = [run.state(), "paused" if self._paused else "", run.problem]
        self.query_one("#state", Static).update(printable("  |  ".join(filter(None, words))))
        for table in TABLES:
            self._show_table(table)
        if run.program is not None:
            lines = run.last_output().splitlines()[-OUTPUT_LINES:]
            self.query_one("#output", Static).update("\n".join(map(printable, lines)))

    def _show_table(self, table: _Table) -> None:
        widget, order = self._widget(table.id), self._order % len(table.orders)
        rows = sorted(table.rows(self._run_watched), key=lambda row: (-row.weight[order], row.cells))
        cells = [row.cells for row in rows[:MOST_ROWS]]
        more = f", {MOST_ROWS} of {len(rows)}" if len(rows) > MOST_ROWS else ""
        widget.border_title = f"{table.title}, by {table.orders[order]}{more}"
        if self._shown.get(table.id) == cells:
            return
        self._shown[table.id] = cells
        at = widget.cursor_row
        widget.clear()
        # As texts: words of the program are no markup.
        widget.add_rows([Text(printable(cell)) for cell in row] for row in cells)
        widget.move_cursor(row=min(at, max(0, len(cells) - 1)))

    def _widget(self, name: str) -> DataTable[Text]:
        return self.query_one(f"#{name}", DataTable)
