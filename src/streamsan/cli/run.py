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
from streamsan.cli.output_place import require_place
from streamsan.cli.pattern import pattern
from streamsan.cli.program import end_as, say_not_started
from streamsan.cli.progress import Step, progress
from streamsan.cli.report_options import ReportOptions, deliver, has_findings, report_options, say_each, say_problems
from streamsan.cli.size import size
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
@click.option("--report", "report_file", default="", metavar="FILE", help="Write the report here, not to stderr.")
@click.option(
    "--error-exitcode", type=click.IntRange(0, 255), default=None, metavar="N", help="Exit with N on findings."
)
@click.option(
    "--accesses", is_flag=True, help="See on the device which memory each kernel touches: exact, but much slower."
)
@click.option(
    "--accesses-of",
    default="",
    metavar="REGEX",
    callback=pattern,
    help="The same, only of kernels in whose name this is found.",
)
@click.option(
    "--accesses-first",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="The same, only of the first N launches of a kernel with the same arguments; later ones are trusted.",
)
@click.option("--no-check", is_flag=True, help="Record only; `streamsan check F.sst` checks later, anywhere.")
@click.option(
    "--require-recording", is_flag=True, help="Exit with 2 unless all that the program asked of its GPU was recorded."
)
@click.option(
    "--host-accesses",
    is_flag=True,
    help="Record when the host reads or writes pinned, registered and managed memory that GPU work uses.",
)
@click.option(
    "--pools",
    type=click.Choice(["own", "driver"]),
    default="own",
    show_default=True,
    help="Whether PyTorch, JAX, TensorFlow and CuPy take blocks from pools of their own or from the driver's.",
)
@click.option(
    "--poison",
    is_flag=True,
    help="Overwrite memory that was given back, so that a silent race becomes a wrong number.",
)
@click.option(
    "--times", is_flag=True, help="Record when the device did each kernel, copy, fill and graph launch (CUDA)."
)
@click.option("--no-sites", is_flag=True, help="Do not record where calls come from: a little faster.")
@click.option("--no-source", is_flag=True, help="Do not store the source lines that call sites name.")
@click.option("--no-code", is_flag=True, help="Do not keep the kernels' machine code, which tells what they touch.")
@click.option(
    "--redact",
    is_flag=True,
    help="Leave out arguments, folders, names of user and host, source lines, and machine code.",
)
@click.option(
    "--max-size",
    default="",
    metavar="SIZE",
    callback=size,
    help="Bound the trace (500M, 2G, ...): of a long run the end is kept.",
)
@report_options
@click.option("--diff", "diff", is_flag=True, help="Print a patch of the Python sources that fixes what can be fixed.")
@click.option("--fix", "fix", is_flag=True, help="Write these fixes into the Python sources.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="[--] COMMAND [ARGUMENTS]...")
def run(
    output: str,
    report_file: str,
    error_exitcode: int | None,
    accesses: bool,
    accesses_of: str,
    accesses_first: int,
    no_check: bool,
    require_recording: bool,
    host_accesses: bool,
    pools: str,
    poison: bool,
    times: bool,
    no_sites: bool,
    no_source: bool,
    no_code: bool,
    redact: bool,
    max_size: int,
    reporting: ReportOptions,
    diff: bool,
    fix: bool,
    command: Sequence[str],
) -> int:
    """Run a program that uses CUDA or OpenCL, record it, then check what it did.

    CUDA needs its driver, and CUPTI; OpenCL a loader that takes layers (ocl-icd's, Khronos').
    """
    _require_sense(output, report_file, error_exitcode, no_check)
    if poison and (accesses or accesses_of or accesses_first):
        raise click.UsageError("--poison and --accesses are two runs: each would be seen by the other")
    if times and (accesses or accesses_of or accesses_first):
        raise click.UsageError("--times and --accesses are two runs: kernels that are looked at take longer")
    wish = _wish(diff, fix, no_check, reporting)
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
        if accesses or accesses_of or accesses_first:
            seen = required_accesses(program, environment, accesses_of, accesses_first)
    except RecordingError as error:
        raise click.ClickException(str(error)) from error
    reason = obstacle(environment, library)
    unrecorded = f"nothing of CUDA is recorded: {reason}" if reason else ""
    if unrecorded:
        _say(unrecorded)
    redaction = None
    if redact:
        redaction = redaction_of_this_run(environment, [os.path.dirname(program), os.path.dirname(output)])
    with recording(
        str(library),
        output,
        program,
        environment,
        max_size,
        not no_sites,
        redact,
        code=not no_code,
        host_accesses=host_accesses,
        accesses=seen,
        driver_pools=pools == "driver",
        poison=poison,
        times=times,
    ) as run_:
        try:
            own = partial(run_.environment, environment)
            status = run_program(program, command, own, output=2 if wish.takes_output else 1)
        except OSError as error:
            return say_not_started(command[0], error)
        completing = partial(_complete, run_, source=not no_source, redaction=redaction)
        outcome = _finish(run_, completing, command[0], unrecorded, output, reporting, report_file, no_check, wish)
    if not outcome.written:
        return 2
    if outcome.missing and (require_recording or reporting.strict):
        _say(f"the recording is required, and is not whole: {outcome.missing}")
        return 2
    if outcome.found and error_exitcode is not None:
        return error_exitcode
    return end_as(status)


class _Wish(Struct, frozen=True):
    """What is to come of edits."""

    patch: bool = False
    """they are printed as a patch"""
    report: bool = False
    """they are printed with the report"""
    fix: bool = False
    """they are written"""

    @property
    def takes_output(self) -> bool:
        """Whether standard output is not the program's."""
        return self.patch or self.report


def _wish(diff: bool, fix: bool, no_check: bool, reporting: ReportOptions) -> _Wish:
    if diff and fix:
        raise click.UsageError("--diff shows what --fix writes: give one of them")
    if (diff or fix) and (no_check or not reporting.fixes):
        other = "--no-check" if no_check else "--no-fixes"
        raise click.UsageError(f"--{'diff' if diff else 'fix'} is about fixes, and {other} leaves them out")
    return _Wish(diff and reporting.form == "text", diff and reporting.form != "text", fix)


class _Outcome(Struct, frozen=True):
    """What came of a recording."""

    found: bool = False
    """a finding at warning or above"""
    written: bool = True
    """the report, and what was to be kept"""
    missing: str = ""
    """what was not recorded, or why; "" where all was"""


def _require_sense(output: str, report_file: str, error_exitcode: int | None, no_check: bool) -> None:
    if output and not output.endswith(SUFFIX):
        raise click.UsageError(f"-o: {printable(output)} does not end in {SUFFIX}")
    if no_check and not output:
        raise click.UsageError("--no-check leaves nothing without -o F.sst")
    if no_check and (report_file or error_exitcode is not None):
        raise click.UsageError("--no-check makes no report: --report and --error-exitcode need one")
    for path in filter(None, (output, report_file)):
        require_place(path)
    if output and not os.access(os.path.dirname(output) or ".", os.W_OK):
        # A trace is written under another name beside it, and so are those of further processes.
        raise click.ClickException(f"{printable(os.path.dirname(output) or '.')}: permission denied")


def _say(line: str) -> None:
    click.echo(f"streamsan: {printable(line)}", err=True)


def _finish(
    run_: Recording,
    completing: Callable[[Step | None], Completed],
    name: str,
    unrecorded: str,
    output: str,
    reporting: ReportOptions,
    report_file: str,
    no_check: bool,
    wish: _Wish,
) -> _Outcome:
    """Complete the trace, check it, report. `unrecorded`: why nothing can have been recorded, "" where it can."""
    omissions = run_.omissions()
    for line in omissions:
        _say(line)
    missing = omissions[0] if omissions else unrecorded
    # What there is to say is said when no bar is on the screen.
    with progress() as show:
        completed = completing(show)
    for line in completed.problems:
        _say(line)
    files = completed.files
    if not files:
        if not missing:
            missing = why_nothing(name, run_.settings.counter)
            _say(missing)
        return _Outcome(missing=missing or "nothing was recorded")
    if no_check:
        return _Outcome(missing=missing or _cut_short(files[0]))
    with progress() as show:
        results, problems = _check(files[0], output or os.path.basename(name), show, reporting.proofs)
    results, failed = _edited(results, reporting, wish) if results else (results, False)
    report = reporting.report(results, problems)
    say_problems(report)
    if wish.report and not report_file:
        sys.stdout.write(reporting.render(report, sys.stdout))
        written = True
    else:
        written = (wish.patch and not report_file) or deliver(report, reporting, report_file)
    written = written and not failed
    if not missing and problems:
        missing = problems[0].message
    return _Outcome(has_findings(report), written and bool(results), missing)


def _edited(results: list[Checked], reporting: ReportOptions, wish: _Wish) -> tuple[list[Checked], bool]:
    """Print edits, write them, or give them to the findings. Returns the results, and whether something went wrong."""
    if not (wish.takes_output or wish.fix):
        return results, False
    # Loaded late: only who wants edits waits for what makes them.
    from streamsan.cli import edited as edits
    from streamsan.cli import recorded_fixing
    from streamsan.cli.seeker import seeking

    with seeking() as tell:
        if wish.report:
            return [recorded_fixing.with_edits(each, tell) or each for each in results], False
        edited = edits.Edited()
        of_python = [recorded_fixing.add_edits(edited, each, reporting, tell) for each in results]
    if not all(of_python):
        _say("edits of recordings are written for programs in Python: `streamsan check` edits CUDA and OpenCL sources")
        return results, True
    if wish.patch:
        edits.show(edited, reporting.notes)
        say_each(edited.failed)
        return results, bool(edited.failed)
    problems = [*edited.failed, *edits.write(edited, reporting.notes)]
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
