"""`streamsan check`: check sources, traces and folders."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from streamsan.checking.every_input import CheckedInputs, together
from streamsan.checking.request import Request
from streamsan.checking.source_programs import in_programs
from streamsan.cli import INTERRUPTED
from streamsan.cli.checking import check_all
from streamsan.cli.checking_options import CheckingOptions, checking_options
from streamsan.cli.edit_options import EditOptions, edit_options
from streamsan.cli.output_place import require_place
from streamsan.cli.pipes import silence_stdout
from streamsan.cli.reading_options import MacrosInOrder, ReadingOptions, reading_options
from streamsan.cli.report_options import (
    ReportOptions,
    deliver,
    fails_strictly,
    has_findings,
    report_options,
    say_each,
    say_problems,
)
from streamsan.cli.standard_input import DASH
from streamsan.report import Problem

if TYPE_CHECKING:
    from streamsan.cli.edited import Edited

EPILOG = """\b
Examples:
  streamsan check pipeline.cu
  streamsan check src/ -I include -isystem third_party -D USE_POOL=1
  streamsan check -p build
  streamsan check run.sst --format json
  streamsan check . --select SS1,SS2 --notes
  streamsan check traces/ --jobs 8
  streamsan check /shared/traces --on dask://scheduler:8786
  streamsan check --diff src/ | git apply
  streamsan check --diff --format json pipeline.cu
  git show :src/pipeline.cu | streamsan check - --stdin-name src/pipeline.cu

Exit status: 0 nothing at warning or above, 1 findings, 2 bad usage or unreadable input.
"""


@click.command(cls=MacrosInOrder, epilog=EPILOG)
@reading_options
@click.option("--report", "report_file", default="", metavar="FILE", help="Write the report here.")
@checking_options
@report_options
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found.")
@edit_options(
    diff="Print a patch for what the report shows; exit with 1 if any. As JSON: the report, with each finding's edits.",
    fix="Write these fixes into the sources, then check them again (not a recording: record again).",
)
def check(
    reading: ReadingOptions,
    report_file: str,
    checking: CheckingOptions,
    reporting: ReportOptions,
    exit_zero: bool,
    edits: EditOptions,
) -> int:
    """Check CUDA sources, recorded traces (.sst) and folders of them; `-` is a source on standard input.

    Needs no GPU and no build.
    """
    _require_sense(reading, checking, reporting, edits)
    if report_file:
        require_place(report_file)
    request = reading.request()
    remembered = None if edits.diff else checking.remembered(request.options, reporting.proofs)
    request = in_programs(request, checking.jobs, remembered)
    if edits.are_patch(reporting.form):
        return _patched(request, reporting, exit_zero)
    unfixed: list[Problem] = []
    if edits.fix:
        edited, unfixed = _fixed(request, reporting)
        if edited.recordings:
            return _not_checked_again(request, edited, unfixed, exit_zero)
        remembered = checking.remembered(request.options, reporting.proofs)  # the files are others now
    elif remembered is not None:
        remembered = remembered.of_programs(request.options)
    if edits.diff:
        checked = _with_edits(request, reporting)
    else:
        with checking.workers() as workers:
            collected = together(request.expanded.inputs)
            checked = check_all(request, reporting.proofs, workers, remembered, collected)
    checked = replace(checked, unreadable=[*unfixed, *checked.unreadable])
    report = request.report(reporting, checked)
    say_problems(report)
    if report_file:
        if not deliver(report, reporting, report_file):
            return 2
    elif checked.results or request.expanded.remarks or reporting.form != "text":
        _print(reporting.render(report, sys.stdout))
    if checked.interrupted:
        return INTERRUPTED
    if fails_strictly(report, reporting) or request.expanded.unreadable or checked.unreadable:
        return 2
    return 1 if has_findings(report) and not exit_zero else 0


def _require_sense(
    reading: ReadingOptions, checking: CheckingOptions, reporting: ReportOptions, edits: EditOptions
) -> None:
    if not reading.paths and not reading.compile_commands:
        raise click.UsageError("give a source, a trace or a folder, or -p BUILD (or `paths` in streamsan.toml)")
    if edits.fix and DASH in reading.paths:
        raise click.UsageError("--fix writes files, and standard input is none: --diff prints a patch")
    if checking.on and edits.are_wanted:
        raise click.UsageError("--on lets others check; edits are sought here: leave it out with --diff and --fix")
    edits.require_one()
    edits.require_fixes("" if reporting.fixes else "--no-fixes")


# Imported late here: only who wants edits waits for what makes them.


def _patched(request: Request, reporting: ReportOptions, exit_zero: bool) -> int:
    """Print a patch for what the report shows. Returns the exit status."""
    from streamsan.cli import fixing
    from streamsan.cli.edited import show
    from streamsan.cli.seeker import seeking

    with seeking() as tell:
        edited = fixing.seek(request.expanded.inputs, request.options, reporting, tell)
    changes = show(edited, reporting.notes)
    wrong = [*request.expanded.unreadable, *edited.unreadable, *edited.failed]
    say_each(wrong)
    return 2 if wrong else 1 if changes and not exit_zero else 0


def _fixed(request: Request, reporting: ReportOptions) -> tuple[Edited, list[Problem]]:
    """Write edits for what the report shows. Returns them, and what went wrong."""
    from streamsan.cli import fixing
    from streamsan.cli.edited import write
    from streamsan.cli.seeker import seeking

    with seeking() as tell:
        edited = fixing.seek(request.expanded.inputs, request.options, reporting, tell)
    return edited, [*edited.failed, *write(edited, reporting.notes)]


def _not_checked_again(request: Request, edited: Edited, unfixed: Sequence[Problem], exit_zero: bool) -> int:
    """Say why recordings are not checked again when what they were made of is fixed. Returns the exit status."""
    from streamsan.cli.edited import say_record_again

    wrong = [*request.expanded.unreadable, *unfixed, *edited.unreadable]
    say_each(wrong)
    if edited.needs_source:
        return 2
    say_record_again(edited)
    return 2 if wrong else 1 if edited.left and not exit_zero else 0


def _with_edits(request: Request, reporting: ReportOptions) -> CheckedInputs:
    """Check the inputs, and seek an edit for each finding."""
    from streamsan.checking.gathered import gathered
    from streamsan.cli import fixing
    from streamsan.cli.seeker import seeking

    # Edits are sought in the traces that findings come from, which stay in the processes that read them.
    checked = check_all(request, reporting.proofs).whole()
    with seeking() as tell:
        found, failed = fixing.with_edits(checked.results, request.options, reporting, tell)
    results = gathered(request.expanded.inputs, found)
    return replace(checked, results=results, unreadable=[*failed, *checked.unreadable])


def _print(report: str) -> None:
    try:
        sys.stdout.write(report)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever reads has seen enough (`| head`): what was found, and the exit status, stay the same.
        silence_stdout()
