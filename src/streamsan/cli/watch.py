"""`streamsan watch`: a run on a terminal while it goes on, then its report."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from streamsan.cli.check import check
from streamsan.cli.program import end_as
from streamsan.cli.run import run
from streamsan.report.printable import printable
from streamsan.trace.family import SUFFIX, members

if TYPE_CHECKING:
    from streamsan.watching.watched_program import WatchedProgram

EPILOG = """\b
Examples:
  streamsan watch -- ./pipeline --steps 1000
  streamsan watch -o run.sst --error-exitcode 1 -- python train.py
  streamsan watch run.sst                      # a trace that another process is writing

The options before -- are those of `streamsan run`. Keys: q closes the view (the program goes on, and its report
follows), s sorts by the next column, p pauses the view, Ctrl-C goes to the program. What the program prints is shown
in the view, and printed when it closes. Where there is no terminal it is `streamsan run`.
"""
_WORDS = "words as they were given"
PAUSE = 0.5
"""seconds between looks at a trace, where nobody looks on"""


class _Command(click.Command):
    """Keeps the words: click drops the `--` that `run` needs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_WORDS] = list(args)
        return super().parse_args(ctx, args)


@click.command(
    cls=_Command,
    epilog=EPILOG,
    no_args_is_help=True,
    options_metavar="",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF RUN] -- COMMAND... | F.sst")
@click.pass_context
def watch(context: click.Context, words: Sequence[str]) -> int:
    """Show a run while it goes on: streams, live memory, waits, findings; then its report, as `run` gives it.

    Needs the extra `watch`.
    """
    given: list[str] = context.meta[_WORDS]
    traced = given[0] if len(given) == 1 and given[0].endswith(SUFFIX) else ""
    if traced and not os.path.isfile(traced):
        raise click.ClickException(f"{printable(traced)}: no such file")
    # What `run` refuses, it refuses before there is a view.
    command = check.make_context("check", [traced], context.parent) if traced else None
    command = command or run.make_context("run", list(given), context.parent)
    on_terminal = _is_on_terminal()
    if traced:
        _follow(traced, on_terminal)
    elif on_terminal:
        return _watch(given, command.params, _options_of(context.parent))
    status: int = command.command.invoke(command)
    return status


def _is_on_terminal() -> bool:
    """Tell whether there is a screen, which is standard error, and a keyboard; standard output may be a file."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def _options_of(group: click.Context | None) -> list[str]:
    """Return the options before the verb, for another process."""
    given = group.params if group is not None else {}
    return [
        *(["--config", given["config"]] if given.get("config") else []),
        *(["--no-config"] if given.get("no_config") else []),
    ]


def _selected(run_parameters: Mapping[str, Any]) -> list[str]:
    """Return the options that select codes, as another process takes them."""
    return [
        *(f"--select={codes}" for codes in run_parameters["select"]),
        *(f"--ignore={codes}" for codes in run_parameters["ignore"]),
    ]


def _watch(given: Sequence[str], run_parameters: Mapping[str, Any], options: Sequence[str]) -> int:
    """Have a program recorded, show it, then give on what was printed. Returns the exit status."""
    show = _view(_selected(run_parameters))
    output: str = run_parameters["output"]
    # Imported late: it reads traces.
    from streamsan.recorder.child_process import PASSED_ON
    from streamsan.recorder.run_files import run_files
    from streamsan.watching.watched_program import WatchedProgram

    started = time.time_ns()
    with tempfile.TemporaryDirectory(prefix="streamsan-", ignore_cleanup_errors=True) as folder:
        trace = output or os.path.join(folder, f"trace{SUFFIX}")
        kept = [] if output else ["-o", trace]
        program = WatchedProgram([*options, "run", *kept, *given], folder)
        # Ctrl-C is a key as long as there is a view, and a signal afterwards: it is for the program.
        handlers = {number: lambda which, _: program.pass_on(which) for number in PASSED_ON}
        handlers[signal.SIGINT] = lambda *_: program.interrupt()
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            show(program, lambda: [file.path for file in run_files(trace) if file.began >= started])
            if not program.is_over:
                click.echo("streamsan: the program goes on; what it prints, and the report, follow", err=True)
            status = program.forward(sys.stdout.buffer, sys.stderr.buffer)
        finally:
            program.end()
            for number, handler in before.items():
                signal.signal(number, handler)
    return end_as(status)


def _follow(trace: str, on_terminal: bool) -> None:
    """Wait until a trace is closed by who writes it, or the view by who looks on."""
    if on_terminal:
        _view([])(None, lambda: members(trace))
        return
    from streamsan.watching.growing_trace import GrowingTrace

    growing = GrowingTrace(trace)
    while len(growing.look()) or growing.behind or not growing.ended:
        if not growing.behind:
            time.sleep(PAUSE)


def _view(selected: Sequence[str]) -> Callable[[WatchedProgram | None, Callable[[], Sequence[str]]], None]:
    """Return what shows a run until it is over, with the findings of these options of `check`.

    Raises click.ClickException where the extra is missing.
    """
    try:
        from streamsan.watching.watch_app import WatchApp
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "streamsan":
            raise
        raise click.ClickException(f"watch needs the package `{error.name}`: pip install 'streamsan[watch]'") from error
    from streamsan.watching.rechecks import Rechecks, start_check
    from streamsan.watching.watched_run import WatchedRun

    def show(program: WatchedProgram | None, files: Callable[[], Sequence[str]]) -> None:
        rechecks = Rechecks(time.monotonic, partial(start_check, selected))
        try:
            WatchApp(WatchedRun(program, files, rechecks)).run()
        finally:
            rechecks.stop()

    return show
