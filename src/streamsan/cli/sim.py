"""`streamsan sim`: run a Python program on the simulated device, then check what it did."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click
from msgspec import Struct

from streamsan.analysis.checked import Checked, reason_of
from streamsan.analysis.suffixes import SOURCE_SUFFIXES, TRACE_SUFFIX
from streamsan.checking.request import Request
from streamsan.cli.checking import check_all
from streamsan.cli.device_options import DeviceOptions, device_options
from streamsan.cli.edit_options import EditOptions, edit_options
from streamsan.cli.option_groups import option_group
from streamsan.cli.output_place import require_place
from streamsan.cli.program import end_as
from streamsan.cli.report_options import ReportOptions, report_options, say_each
from streamsan.cli.sim_report import Reporter, checked_run, crashes, faults
from streamsan.cli.simulated import STDERR, STDOUT, Ran, SimulatedProgram, TooSlowError
from streamsan.cli.verdict_options import VerdictOptions, verdict_options
from streamsan.findings.reading_gaps import Unread
from streamsan.report import Problem
from streamsan.report.printable import printable
from streamsan.trace import Trace, TraceError
from streamsan.trace import writer as trace_writer
from streamsan.trace.symboliser.source_segments import SourceFiles, add_source_lines

EPILOG = """\b
Examples:
  streamsan sim pipeline.py --steps 10
  streamsan sim --schedule lazy pipeline.py
  streamsan sim --kernels bodies.py -m package.main
  streamsan sim --error-exitcode 1 -o run.sst pipeline.py
  streamsan sim --witness pipeline.cu
  streamsan sim --diff pipeline.py | git apply

The program needs no GPU and no CUDA: its cuda.bindings are simulated. Kernels compute what the script's
SIMULATED_KERNELS = {"name": function} says; without one they write words that depend on all they read.
--diff and --fix run the program again for each edit that is tried, with the same arguments; what it prints
then is not shown. With --diff standard output is the patch, and the program's own goes to standard error.
--witness also takes a source (.cu), a trace (.sst) or a folder of them: checked, not run; the exit status is 0.
Exit status: the program's own; with --error-exitcode N, N if there is a finding at warning or above.
"""


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


class KeptTrace(Struct, frozen=True):
    """Whether the trace of a run is kept, and with what."""

    output: str
    """its file, "" for none"""
    no_source: bool

    def keep(self, trace: Trace | None, started: float) -> list[Problem]:
        """Keep a trace of a run that started then, with lines of its sources. Returns why that was not possible."""
        if not self.output or trace is None:
            return []
        try:
            trace_writer.write(trace, self.output)
            if not self.no_source:
                add_source_lines(self.output, SourceFiles(started))
        except TraceError as error:
            return [Problem(self.output, error.reason)]
        return []


trace_options = option_group(
    "kept",
    KeptTrace,
    click.option("-o", "--output", default="", metavar="F.sst", help="Keep the trace."),
    click.option("--no-source", is_flag=True, help="Do not store the source lines that call sites name."),
)
"""one argument `kept: KeptTrace`"""


@click.command(cls=_Command, epilog=EPILOG, no_args_is_help=True, context_settings={"allow_interspersed_args": False})
@device_options
@trace_options
@verdict_options
@click.option(
    "--witness",
    is_flag=True,
    help="Replay the witness of each finding about order as the contract allows it, and say which words go wrong.",
)
@edit_options(
    diff="Print a patch that fixes what can be fixed; runs the program again.",
    fix="Write these fixes into the program's files; runs it again, too.",
)
@click.option("-m", "module", default="", metavar="MODULE", help="Run a module, as `python -m` does.")
@report_options
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="SCRIPT.py [ARGUMENTS]...")
def sim(
    device: DeviceOptions,
    kept: KeptTrace,
    verdict: VerdictOptions,
    witness: bool,
    edits: EditOptions,
    module: str,
    reporting: ReportOptions,
    command: Sequence[str],
) -> int:
    """Run a Python program on the simulated device, then check it. Needs no GPU."""
    edits.require_one()
    if not module and not command:
        raise click.UsageError("give a script, or -m MODULE")
    target, arguments = (module, list(command)) if module else (command[0], list(command[1:]))
    if not module and not witness and Path(target).suffix.lower() in {*SOURCE_SUFFIXES, TRACE_SUFFIX}:
        raise click.UsageError(f"{printable(target)} is no Python program: `streamsan check {printable(target)}`")
    if kept.output and not kept.output.endswith(TRACE_SUFFIX):
        raise click.UsageError(f"-o: {printable(kept.output)} does not end in {TRACE_SUFFIX}")
    for path in filter(None, (kept.output, verdict.report_file)):
        require_place(path)
    # A patch takes the place of the report, and standard output is free for it.
    stream = sys.stderr if not edits.diff else sys.stdout if reporting.form == "json" else None
    reporter = Reporter(reporting, verdict.report_file, witness, stream)
    if witness and not module and _is_checked(target):
        if arguments or kept.output:
            raise click.UsageError(f"{printable(target)} is not run: it takes no arguments, and leaves no trace")
        if edits.are_wanted:
            raise click.UsageError(f"{printable(target)} is not run: `streamsan check` has its own --diff and --fix")
        return _check_files(target, reporter, verdict)
    for script in filter(None, ("" if module else target, device.kernels)):
        _require_script(script)
    kind = "module" if module else "script"
    kernels = os.path.abspath(device.kernels) if device.kernels else ""
    program = SimulatedProgram(kind, [target, *arguments], device.simulation, kernels)
    started = time.time()
    ran = program.run(looked_at=edits.are_wanted, output=STDERR if edits.diff else STDOUT)
    if ran.failed:
        return 2
    wrong = kept.keep(ran.trace, started)
    if edits.fix:
        ran, unfixed = _fixed(program, ran, reporting)
        wrong += unfixed
    found, failed = _reported(program, ran, reporter, edits, wrong)
    if failed:
        return 2
    return verdict.status(found, lambda: end_as(ran.status))


def _reported(
    program: SimulatedProgram, ran: Ran, reporter: Reporter, edits: EditOptions, wrong: list[Problem]
) -> tuple[bool, bool]:
    """Report what a run did, with `--diff` what would mend it; returns whether that is anything, and what failed."""
    patch = edits.are_patch(reporter.options.form)
    results, limits = checked_run(
        ran.trace, program.name, reporter.options.proofs if not patch or reporter.file else None
    )
    limits += [*crashes(ran.status, ran.trace, program.name), *faults(ran, program.name)]
    if patch:
        wrong += _patch(program, ran, reporter.options)
    elif edits.diff and results:
        results[0], unedited = _with_edits(results[0], program, ran, reporter.options)
        wrong += unedited
    say_each(wrong)
    unseen = Unread(recordings=frozenset(each.file for each in limits if not each.remark))
    found, failed = reporter.deliver(reporter.options.report(results, limits, unseen))
    return found, bool(wrong) or failed


# Imported late here: only who wants edits waits for what makes them.


def _patch(program: SimulatedProgram, ran: Ran, reporting: ReportOptions) -> list[Problem]:
    """Print a patch for what was found in a run. Returns what went wrong."""
    from streamsan.cli import sim_fixing
    from streamsan.cli.edited import show
    from streamsan.cli.seeker import seeking

    with seeking() as tell:
        edited = sim_fixing.seek(program, ran, reporting, tell)
    show(edited, reporting.notes)
    return edited.failed


def _fixed(program: SimulatedProgram, ran: Ran, reporting: ReportOptions) -> tuple[Ran, list[Problem]]:
    """Write edits for what was found in a run. Returns a run of what was written, and what went wrong."""
    from streamsan.cli import sim_fixing
    from streamsan.cli.edited import write
    from streamsan.cli.seeker import seeking

    with seeking() as tell:
        edited = sim_fixing.seek(program, ran, reporting, tell)
    wrong = [*edited.failed, *write(edited, reporting.notes)]
    if edited.after and not wrong:
        try:
            ran = program.run_again({})
        except TooSlowError:
            wrong.append(Problem(program.name, "what was written was not checked: the program takes too long now"))
    return ran, wrong


def _with_edits(
    checked: Checked, program: SimulatedProgram, ran: Ran, reporting: ReportOptions
) -> tuple[Checked, list[Problem]]:
    from streamsan.cli import sim_fixing
    from streamsan.cli.seeker import seeking

    with seeking() as tell:
        return sim_fixing.with_edits(checked, program, ran, reporting, tell)


def _is_checked(path: str) -> bool:
    """Tell whether a target is checked and not run: a source, a trace, or a folder of them."""
    return os.path.isdir(path) or Path(path).suffix.lower() in (*SOURCE_SUFFIXES, TRACE_SUFFIX)


def _require_script(path: str) -> None:
    try:
        with open(path, "rb"):
            pass
    except (OSError, ValueError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else "no such file"
        raise click.ClickException(f"{printable(path)}: {reason}") from error


def _check_files(path: str, reporter: Reporter, verdict: VerdictOptions) -> int:
    """Check a source, a trace or a folder of them, and replay the witnesses; return the exit status."""
    if not os.path.isdir(path):
        _require_script(path)
    request = Request.of([path])
    checked = check_all(request, reporter.options.proofs).whole()
    unreadable = [*request.expanded.unreadable, *checked.unreadable]
    if not checked.results:
        say_each(unreadable)
        return 2
    found, incomplete = reporter.deliver(request.report(reporter.options, checked))
    if unreadable or incomplete:
        return 2
    return verdict.status(found, lambda: 0)
