"""`streamsan sim`: run a Python program on the simulated device, then check what it did."""

from __future__ import annotations

import os
import site
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from streamsan.analysis import (
    SOURCE_SUFFIXES,
    TRACE_SUFFIX,
    Checked,
    UnreadableError,
    analyse_path,
    check_trace,
    reason_of,
)
from streamsan.cli.program import end_as, require_place, run_program
from streamsan.cli.report_options import ReportOptions, deliver, has_findings, report_options, say_problems
from streamsan.report import Problem
from streamsan.report.excerpt import printable
from streamsan.sim.family import collect
from streamsan.sim.options import Driver, SimulationOptions
from streamsan.sim.settings import CODE, FAILED, VARIABLE, Settings, schedule_of
from streamsan.sim.shim_path import SHIM
from streamsan.trace import Trace, TraceError
from streamsan.trace import writer as trace_writer

EPILOG = """\b
Examples:
  streamsan sim pipeline.py --steps 10
  streamsan sim --schedule lazy pipeline.py
  streamsan sim --kernels bodies.py -m package.main
  streamsan sim --error-exitcode 1 -o run.sst pipeline.py
  streamsan sim --witness pipeline.cu

The program needs no GPU and no CUDA: its cuda.bindings are simulated. Kernels compute what the script's
SIMULATED_KERNELS = {"name": function} says; without one they write words that depend on all they read.
--witness also takes a source (.cu) or a trace (.sst), which is checked, not run; then the exit status is 0.
Exit status: the program's own; with --error-exitcode N, N if there is a finding at warning or above.
"""

_DEFAULT_SCHEDULE = "0"


class _Command(click.Command):
    """Everything behind `-m MODULE` is the module's, as it is for python."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        takes_value = {
            option
            for parameter in self.params
            if isinstance(parameter, click.Option) and not parameter.is_flag
            for option in parameter.opts
        }
        position = 0
        while position < len(args) and args[position].startswith("-") and args[position] != "--":
            word = args[position]
            position += 2 if word in takes_value else 1
            if word == "-m" or (word.startswith("-m") and not word.startswith("--")):
                args = [*args[:position], "--", *args[position:]]
                break
        return super().parse_args(ctx, args)


def _schedule(context: click.Context, parameter: click.Parameter, value: str) -> str:
    try:
        schedule_of(value)
    except ValueError:
        raise click.BadParameter("eager, lazy, or the seed of a random schedule (0, 1, 2, ...)") from None
    return value


@click.command(cls=_Command, epilog=EPILOG, no_args_is_help=True, context_settings={"allow_interspersed_args": False})
@click.option(
    "--schedule",
    default=_DEFAULT_SCHEDULE,
    show_default=True,
    metavar="SEED|eager|lazy",
    callback=_schedule,
    help="When issued work runs: in a random order of what is ready, as soon, or as late as the contract allows.",
)
@click.option(
    "--driver",
    type=click.Choice([driver.value for driver in Driver]),
    default=Driver.CONTRACT.value,
    show_default=True,
    help="What is promised and no more, or what was measured on an H200.",
)
@click.option("--devices", type=click.IntRange(1, 64), default=1, show_default=True, help="Number of devices.")
@click.option("--kernels", default="", metavar="FILE", help="Take SIMULATED_KERNELS from this Python file.")
@click.option("-o", "--output", default="", metavar="F.sst", help="Keep the trace.")
@click.option("--report", "report_file", default="", metavar="FILE", help="Write the report here, not to stderr.")
@click.option(
    "--error-exitcode", type=click.IntRange(0, 255), default=None, metavar="N", help="Exit with N on findings."
)
@click.option(
    "--witness",
    is_flag=True,
    help="Replay the witness of each finding about order as the contract allows it, and say which words go wrong.",
)
@click.option("-m", "module", default="", metavar="MODULE", help="Run a module, as `python -m` does.")
@report_options
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="SCRIPT.py [ARGUMENTS]...")
def sim(
    schedule: str,
    driver: str,
    devices: int,
    kernels: str,
    output: str,
    report_file: str,
    error_exitcode: int | None,
    witness: bool,
    module: str,
    reporting: ReportOptions,
    command: Sequence[str],
) -> int:
    """Run a Python program on the simulated device, then check it. Needs no GPU."""
    if not module and not command:
        raise click.UsageError("give a script, or -m MODULE")
    target, arguments = (module, list(command)) if module else (command[0], list(command[1:]))
    if not module:
        _require_script(target)
    if kernels:
        _require_script(kernels)
    for path in filter(None, (output, report_file)):
        require_place(path)
    reporter = Reporter(reporting, report_file, witness)
    if witness and not module and Path(target).suffix.lower() in (*SOURCE_SUFFIXES, TRACE_SUFFIX):
        if arguments or output:
            raise click.UsageError(f"{printable(target)} is not run: it takes no arguments, and leaves no trace")
        return _check_file(target, reporter, error_exitcode)
    options = SimulationOptions(schedule_of(schedule), Driver(driver), devices)
    with tempfile.TemporaryDirectory(prefix="streamsan-") as folder:
        settings = Settings(options, folder, target, os.path.abspath(kernels) if kernels else "")
        status = _run(settings, "module" if module else "script", [target, *arguments])
        if os.path.exists(os.path.join(folder, FAILED)):
            return 2
        trace = collect(folder)
    found, unsaved = _report(trace, target, reporter, output)
    if unsaved:
        return 2
    if found and error_exitcode is not None:
        return error_exitcode
    return end_as(status)


def _require_script(path: str) -> None:
    try:
        with open(path, "rb"):
            pass
    except (OSError, ValueError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else "no such file"
        raise click.ClickException(f"{printable(path)}: {reason}") from error


def _run(settings: Settings, kind: str, arguments: Sequence[str]) -> int:
    """Run the program in a process of its own; return its exit status, below 0 for the signal that ended it."""
    python_path = os.pathsep.join([SHIM, *_import_path(os.environ.get("PYTHONPATH", ""))])
    environment = {
        **os.environb,
        VARIABLE.encode(): os.fsencode(settings.packed()),
        b"PYTHONPATH": os.fsencode(python_path),
    }
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    command = [sys.executable, *flags, "-P", "-c", CODE, kind, *arguments]
    return run_program(sys.executable, command, lambda process: environment)


def _import_path(given: str) -> list[str]:
    """Return what is to stand in PYTHONPATH behind the shim: what was there, and streamsan where nothing finds it."""
    entries = [entry for entry in given.split(os.pathsep) if entry]
    package = str(Path(__file__).resolve().parents[2])
    installed = [*site.getsitepackages(), site.getusersitepackages()]
    if package not in {os.path.realpath(entry) for entry in (*entries, *installed)}:
        entries.append(package)
    return entries


@dataclass(frozen=True, slots=True)
class Reporter:
    """How the report is made, and where it goes."""

    options: ReportOptions
    file: str
    witness: bool
    """whether witnesses are replayed"""

    def deliver(self, results: Sequence[Checked], problems: Sequence[Problem]) -> tuple[bool, bool]:
        """Write the report. Returns whether there are findings, and whether it was not written."""
        report = self.options.report(results, problems)
        if self.witness:
            # Imported late: only a replay waits for what performs it.
            from streamsan.sim.replay.findings import with_replays

            report = replace(report, findings=tuple(with_replays(report.findings)))
        say_problems(report)
        return has_findings(report), not deliver(report, self.options, self.file)


def _check_file(path: str, reporter: Reporter, error_exitcode: int | None) -> int:
    """Check a source or a trace, and replay its witnesses; return the exit status."""
    try:
        checked = analyse_path(path)
    except UnreadableError as error:
        raise click.ClickException(f"{printable(error.path)}: {error.reason}") from error
    found, unsaved = reporter.deliver([checked], [Problem(path, message) for message in checked.problems])
    if unsaved:
        return 2
    return error_exitcode if found and error_exitcode is not None else 0


def _report(trace: Trace | None, target: str, reporter: Reporter, output: str) -> tuple[bool, bool]:
    """Check a trace and write the report. Returns whether there are findings, and whether something was not written."""
    problems: list[Problem] = []
    unsaved = False
    results: list[Checked] = []
    if trace is None:
        problems.append(Problem(target, "not checked: the program was ended before its first call was recorded"))
    else:
        try:
            if output:
                trace_writer.write(trace, output)
        except TraceError as error:
            problems.append(Problem(output, error.reason))
            unsaved = True
        try:
            checked = check_trace(trace, target)
        except (TraceError, UnreadableError) as error:
            problems.append(Problem(target, f"not checked: {error}"))
        else:
            problems.extend(Problem(target, message) for message in checked.problems)
            results.append(checked)
    found, unwritten = reporter.deliver(results, problems)
    return found, unsaved or unwritten
