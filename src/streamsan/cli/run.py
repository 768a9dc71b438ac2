"""`streamsan run`: start a program that uses CUDA or OpenCL, record what it asks of its devices, then check it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from streamsan.analysis.checked import Checked, UnreadableError
from streamsan.analysis.traces import analyse_trace
from streamsan.cli.edit_options import EditOptions, edit_options
from streamsan.cli.output_place import require_place
from streamsan.cli.program import end_as, say_not_started
from streamsan.cli.progress import Step, progress
from streamsan.cli.recording_options import RecordingOptions, recording_options
from streamsan.cli.report_options import ReportOptions, deliver, has_findings, report_options, say_each, say_problems
from streamsan.cli.verdict_options import VerdictOptions, verdict_options
from streamsan.evidence.proofs import Proofs
from streamsan.recorder.accesses import required_accesses
from streamsan.recorder.child_process import find_program, run_program
from streamsan.recorder.environment import own_environment
from streamsan.recorder.launch import Recording, recording
from streamsan.recorder.nothing_recorded import why_nothing
from streamsan.recorder.preconditions import RecordingError, obstacle, required_library
from streamsan.recorder.redaction import Redaction, redaction_of_this_run
from streamsan.report import Problem
from streamsan.report.printable import printable
from streamsan.trace import family
from streamsan.trace.errors import TraceError
from streamsan.trace.family import SUFFIX

if TYPE_CHECKING:
    from streamsan.recorder.completion import Completed

EPILOG = """\b
Examples:
  streamsan run -- ./pipeline --steps 10
  streamsan run -o run.sst --no-check -- python train.py
  streamsan run --error-exitcode 1 --report findings.txt -- ./tests
  streamsan run --diff -- python train.py | git apply
  streamsan run --poison --error-exitcode 1 -- pytest tests

The program is not rebuilt, and its output is its own; so is the exit status.
With --error-exitcode N it is N if there is a finding at warning or above.
--diff and --fix are for programs in Python, which are not run again: an edit is tried on the recording. With --diff
standard output is the patch, and the program's own goes to standard error.
"""


@click.command(epilog=EPILOG, no_args_is_help=True, context_settings={"allow_interspersed_args": False})
@click.option("-o", "--output", default="", metavar="F.sst", help="Keep the trace.")
@verdict_options
@recording_options
@report_options
@edit_options(
    diff="Print a patch of the Python sources that fixes what can be fixed.",
    fix="Write these fixes into the Python sources.",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="[--] COMMAND [ARGUMENTS]...")
def run(
    output: str,
    verdict: VerdictOptions,
    how: RecordingOptions,
    reporting: ReportOptions,
    edits: EditOptions,
    command: Sequence[str],
) -> int:
    """Run a program that uses CUDA or OpenCL, record it, then check what it did.

    CUDA needs its driver, and CUPTI; OpenCL a loader that takes layers (ocl-icd's, Khronos').
    """
    _require_sense(output, verdict, how, reporting, edits)
    try:
        library = required_library()
    except RecordingError as error:
        raise click.ClickException(str(error)) from error
    environment = own_environment()
    try:
        program = find_program(command[0], environment)
    except OSError as error:
        return say_not_started(command[0], error)
    try:
        seen = None
        if how.looks_at_kernels:
            seen = required_accesses(program, environment, how.accesses_of, how.accesses_first)
    except RecordingError as error:
        raise click.ClickException(str(error)) from error
    reason = obstacle(environment, library)
    unrecorded = f"nothing of CUDA is recorded: {reason}" if reason else ""
    if unrecorded:
        _say(unrecorded)
    redaction = None
    if how.redact:
        redaction = redaction_of_this_run(environment, [os.path.dirname(program), os.path.dirname(output)])
    with recording(str(library), output, program, environment, how.wanted(seen)) as run_:
        try:
            own = partial(run_.environment, environment)
            status = run_program(program, command, own, output=2 if edits.diff else 1)
        except OSError as error:
            return say_not_started(command[0], error)
        completing = partial(_complete, run_, source=not how.no_source, redaction=redaction)
        trace, missing = _completed(run_, completing, command[0], unrecorded)
        if trace and not how.no_check:
            name = output or os.path.basename(command[0])
            outcome = _reported(trace, name, missing, reporting, verdict.report_file, edits)
        else:
            outcome = _Outcome(missing=missing or _cut_short(trace))
    if not outcome.written:
        return 2
    if outcome.missing and (how.require_recording or reporting.strict):
        _say(f"the recording is required, and is not whole: {outcome.missing}")
        return 2
    return verdict.status(outcome.found, lambda: end_as(status))


def _require_sense(
    output: str, verdict: VerdictOptions, how: RecordingOptions, reporting: ReportOptions, edits: EditOptions
) -> None:
    if output and not output.endswith(SUFFIX):
        raise click.UsageError(f"-o: {printable(output)} does not end in {SUFFIX}")
    if how.no_check and not output:
        raise click.UsageError("--no-check leaves nothing without -o F.sst")
    if how.no_check and (verdict.report_file or verdict.error_exitcode is not None):
        raise click.UsageError("--no-check makes no report: --report and --error-exitcode need one")
    for path in filter(None, (output, verdict.report_file)):
        require_place(path)
    if output and not os.access(os.path.dirname(output) or ".", os.W_OK):
        # A trace is written under another name beside it, and so are those of further processes.
        raise click.ClickException(f"{printable(os.path.dirname(output) or '.')}: permission denied")
    how.require_sense()
    edits.require_one()
    edits.require_fixes("--no-check" if how.no_check else "" if reporting.fixes else "--no-fixes")


class _Outcome(Struct, frozen=True):
    """What came of a recording."""

    found: bool = False
    """a finding at warning or above"""
    written: bool = True
    """the report, and what was to be kept"""
    missing: str = ""
    """what was not recorded, or why; "" where all was"""


def _say(line: str) -> None:
    click.echo(f"streamsan: {printable(line)}", err=True)


def _completed(
    run_: Recording, completing: Callable[[Step | None], Completed], name: str, unrecorded: str
) -> tuple[str, str]:
    """Complete the trace. Returns its file, "" where nothing was recorded, and what is missing, "" where nothing is.

    `unrecorded`: why nothing can have been recorded, "" where it can.
    """
    omissions = run_.omissions()
    for line in omissions:
        _say(line)
    missing = omissions[0] if omissions else unrecorded
    # What there is to say is said when no bar is on the screen.
    with progress() as show:
        completed = completing(show)
    for line in completed.problems:
        _say(line)
    if completed.files:
        return completed.files[0], missing
    if not missing:
        missing = why_nothing(name, run_.settings.counter)
        _say(missing)
    return "", missing or "nothing was recorded"


def _reported(
    trace: str, name: str, missing: str, reporting: ReportOptions, report_file: str, edits: EditOptions
) -> _Outcome:
    """Check a trace, and report it under this name. `missing`: what was not recorded."""
    with progress() as show:
        results, problems = _check(trace, name, show, reporting.proofs)
    results, failed = _edited(results, reporting, edits) if results else (results, False)
    report = reporting.report(results, problems)
    say_problems(report)
    if edits.are_in_report(reporting.form) and not report_file:
        sys.stdout.write(reporting.render(report, sys.stdout))
        written = True
    else:
        is_patch = edits.are_patch(reporting.form)
        written = (is_patch and not report_file) or deliver(report, reporting, report_file)
    written = written and not failed
    if not missing and problems:
        missing = problems[0].message
    return _Outcome(has_findings(report), written and bool(results), missing)


def _edited(results: list[Checked], reporting: ReportOptions, edits: EditOptions) -> tuple[list[Checked], bool]:
    """Print edits, write them, or give them to the findings. Returns the results, and whether something went wrong."""
    if not edits.are_wanted:
        return results, False
    # Loaded late: only who wants edits waits for what makes them.
    from streamsan.cli import recorded_fixing
    from streamsan.cli.edited import Edited, show, write
    from streamsan.cli.seeker import seeking

    with seeking() as tell:
        if edits.are_in_report(reporting.form):
            return [recorded_fixing.with_edits(each, tell) or each for each in results], False
        edited = Edited()
        of_python = [recorded_fixing.add_edits(edited, each, reporting, tell) for each in results]
    if not all(of_python):
        _say("edits of recordings are written for programs in Python: `streamsan check` edits CUDA and OpenCL sources")
        return results, True
    if edits.are_patch(reporting.form):
        show(edited, reporting.notes)
        say_each(edited.failed)
        return results, bool(edited.failed)
    problems = [*edited.failed, *write(edited, reporting.notes)]
    say_each(problems)
    return results, bool(problems)


def _cut_short(path: str) -> str:
    """Return what is missing in a recording, "" where it is whole."""
    try:
        trace = family.read(path)
    except (TraceError, OSError) as error:
        return str(error)
    return "" if trace.complete else "partial result: the recording was cut off"


def _complete(run_: Recording, show: Step | None, *, source: bool, redaction: Redaction | None) -> Completed:
    """Complete the files that the run left."""
    # Loaded when the program has ended: it starts the sooner.
    from streamsan.recorder.completion import complete

    watch = None if show is None else partial(show, "looking up call sites")
    return complete(run_.files(), run_.started, source=source, redaction=redaction, watch=watch)


def _check(path: str, name: str, show: Step | None, proofs: Proofs) -> tuple[list[Checked], list[Problem]]:
    watch = None if show is None else partial(show, f"checking {printable(name)[-60:]}")
    try:
        checked = analyse_trace(path, watch, name, proofs=proofs)
    except UnreadableError as error:
        return [], [Problem(name, f"not checked: {error.reason}")]
    return [checked], [Problem(name, message) for message in checked.problems]
