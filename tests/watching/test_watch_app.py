"""The view, pressed by textual's own pilot, over a trace that grows under the test's hand."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, BinaryIO

from textual.widgets import DataTable, Static

from streamsan.watching.rechecks import Rechecks
from streamsan.watching.watch_app import TABLES, WatchApp
from streamsan.watching.watched_run import WatchedRun
from watching.growing import steps, writer

NEVER = 1e9


class Program:
    """A program that does what the test says."""

    def __init__(self) -> None:
        self.is_over = False
        self.printed = ""
        self.interrupted = 0

    def last_output(self) -> str:
        return self.printed

    def interrupt(self) -> None:
        self.interrupted += 1


def no_check(path: str, output: BinaryIO) -> Any:
    class Process:
        def poll(self) -> None:
            return None

    return Process()


def table(app: WatchApp, name: str) -> list[list[str]]:
    widget = app.query_one(f"#{name}", DataTable)
    return [[str(cell) for cell in widget.get_row_at(row)] for row in range(widget.row_count)]


def title(app: WatchApp, name: str) -> str:
    return str(app.query_one(f"#{name}").border_title)


def run(session: Coroutine[None, None, None]) -> None:
    asyncio.run(asyncio.wait_for(session, 60))


def test_a_run_is_shown_sorted_paused_and_closed(tmp_path: Path) -> None:
    async def session() -> None:
        path, program = tmp_path / "a.sst", Program()
        app = WatchApp(WatchedRun(program, lambda: [str(path)], Rechecks(lambda: 0.0, no_check)), every=NEVER)
        with writer(path) as file:
            file.append_slots(steps(3, kept=1))
            async with app.run_test(size=(160, 40)) as pilot:
                assert table(app, "streams") == [["stream 0x5000", "8", "0", "pipeline.cu:20 kernel"]]
                assert table(app, "memory") == [
                    ["all stream-ordered", "1", "256 B", "256 B"],
                    ["pipeline.cu:10 cudaMallocAsync", "1", "256 B", "256 B"],
                ]
                assert table(app, "waits") == [["pipeline.cu:40 cudaStreamSynchronize", "3", "0.00 ms"]]
                assert str(app.query_one("#state", Static).content).startswith("running: 11 operations, checking")
                assert [title(app, each.id) for each in TABLES] == [
                    "Streams, by operations",
                    "Live memory, by now",
                    "Waits of the host, by in all",
                    "Findings so far, by severity",
                ]
                await pilot.press("s")
                assert title(app, "streams") == "Streams, by not awaited"
                await pilot.press("p")
                file.append_slots(steps(2, 20))
                program.printed = "[bold]step 1\x1b[2J\nstep 2"
                app.tick()
                assert "paused" in str(app.query_one("#state", Static).content)
                assert table(app, "waits")[0][1] == "3"
                await pilot.press("p")
                assert table(app, "waits")[0][1] == "5"
                shown = str(app.query_one("#output", Static).content)
                assert shown.startswith("[bold]step 1")
                assert "\x1b" not in shown
                await pilot.press("ctrl+c")
                assert program.interrupted == 1
                assert app.is_running
                program.is_over = True
                app.tick()
                await pilot.pause()
            assert not app.is_running

    run(session())


def test_a_followed_trace_closes_the_view_when_its_writer_closes_it(tmp_path: Path) -> None:
    async def session() -> None:
        path = tmp_path / "a.sst"
        app = WatchApp(WatchedRun(None, lambda: [str(path)], Rechecks(lambda: 0.0, no_check)), every=NEVER)
        with writer(path) as file:
            async with app.run_test(size=(100, 30)) as pilot:
                assert not app.query("#output")
                file.append_slots(steps(1))
                app.tick()
                assert table(app, "streams")[0][1] == "3"
                file.close()
                app.tick()
                await pilot.pause()
            assert not app.is_running

    run(session())


def test_what_cannot_be_read_is_said_and_q_closes(tmp_path: Path) -> None:
    async def session() -> None:
        path = tmp_path / "a.sst"
        path.write_bytes(b"nothing of the sort")
        app = WatchApp(WatchedRun(Program(), lambda: [str(path)], Rechecks(lambda: 0.0, no_check)), every=NEVER)
        async with app.run_test(size=(160, 30)) as pilot:
            assert "a.sst" in str(app.query_one("#state", Static).content)
            await pilot.press("q")
        assert not app.is_running

    run(session())
