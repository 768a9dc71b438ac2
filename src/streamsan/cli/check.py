"""`streamsan check`: check sources, traces and folders."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from streamsan.checking.every_input import CheckedInputs, together
from streamsan.checking.macros import in_order
from streamsan.checking.remembered.results import remembered_results
from streamsan.checking.request import Request
from streamsan.checking.source_programs import in_programs
from streamsan.cli import INTERRUPTED
from streamsan.cli.checking import available_cores, check_all, workers_at
from streamsan.cli.output_place import require_place
from streamsan.cli.pipes import silence_stdout
from streamsan.cli.report_options import (
    ReportOptions,
    deliver,
    has_findings,
    report_options,
    say_each,
    say_problems,
    say_unread,
)
from streamsan.cli.standard_input import DASH, StandardInput
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


_ORDER = "order of -D and -U"


class _Command(click.Command):
    """Of `-D` and `-U` the last word counts, as in a compiler: the parser alone knows in which order they stand."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        ctx.meta[_ORDER] = [
            parameter.name == "defines" for parameter in order if parameter.name in ("defines", "undefines")
        ]
        return super().parse_args(ctx, args)


_FILE = click.Path(path_type=str)


@click.command(cls=_Command, epilog=EPILOG)
@click.argument("paths", nargs=-1, type=_FILE, metavar="PATH...")
@click.option(
    "-p",
    "--compile-commands",
    default="",
    type=_FILE,
    metavar="BUILD",
    help="Read sources as this compile_commands.json, or that of this folder, compiles them; without PATH all of them.",
)
@click.option("-D", "--define", "defines", multiple=True, metavar="NAME[=VALUE]", help="Define a macro for sources.")
@click.option(
    "-U", "--undefine", "undefines", multiple=True, metavar="NAME", help="Undefine a macro, also a built-in one."
)
@click.option(
    "-I", "include_dirs", multiple=True, type=_FILE, metavar="FOLDER", help="Search this folder for includes."
)
@click.option(
    "-isystem",
    "system_dirs",
    multiple=True,
    type=_FILE,
    metavar="FOLDER",
    help="Search this folder for includes, after the others; do not report findings in its headers.",
)
@click.option(
    "-iquote",
    "quote_dirs",
    multiple=True,
    type=_FILE,
    metavar="FOLDER",
    help='Search this folder for `#include "..."`.',
)
@click.option(
    "-include", "forced_includes", multiple=True, type=_FILE, metavar="FILE", help="Read this file before each source."
)
@click.option(
    "--source-root",
    "source_roots",
    multiple=True,
    metavar="OLD=NEW|FOLDER",
    help="Find the sources that traces name below NEW instead of OLD, or anywhere below FOLDER.",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="PATTERN",
    help="Leave out files and folders that match this pattern, as in .gitignore. What git ignores is left out, too.",
)
@click.option("--stdin-name", default="", metavar="FILE", help="Name of the file that standard input (`-`) stands for.")
@click.option("--report", "report_file", default="", metavar="FILE", help="Write the report here.")
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(1),
    default=None,
    metavar="N",
    help="Check up to N inputs at a time, each in a process of its own; without it as many as there are cores.",
)
@click.option(
    "--on",
    "on",
    default="",
    metavar="ADDRESS",
    help="Let a cluster check the inputs: dask://HOST:PORT, ray://HOST:PORT, ray://auto; dask:// and ray:// begin one "
    "of --jobs processes here.",
)
@click.option("--no-cache", is_flag=True, help="Read every source, also one that has not changed since it was checked.")
@click.option(
    "--cache-dir",
    default="",
    type=_FILE,
    metavar="FOLDER",
    help="Remember results here; without it in the user's cache folder (XDG_CACHE_HOME, ~/.cache).",
)
@report_options
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found.")
@click.option(
    "--diff",
    "diff",
    is_flag=True,
    help="Print a patch for what the report shows; exit with 1 if any. As JSON: the report, with each finding's edits.",
)
@click.option(
    "--fix",
    "fix",
    is_flag=True,
    help="Write these fixes into the sources, then check them again (not a recording: record again).",
)
def check(
    paths: Sequence[str],
    compile_commands: str,
    defines: Sequence[str],
    undefines: Sequence[str],
    include_dirs: Sequence[str],
    system_dirs: Sequence[str],
    quote_dirs: Sequence[str],
    forced_includes: Sequence[str],
    source_roots: Sequence[str],
    exclude: Sequence[str],
    stdin_name: str,
    report_file: str,
    jobs: int | None,
    on: str,
    no_cache: bool,
    cache_dir: str,
    reporting: ReportOptions,
    exit_zero: bool,
    diff: bool,
    fix: bool,
) -> int:
    """Check CUDA sources, recorded traces (.sst) and folders of them; `-` is a source on standard input.

    Needs no GPU and no build.
    """
    context = click.get_current_context()
    paths = paths or context.lookup_default("paths") or ()
    if not paths and not compile_commands:
        raise click.UsageError("give a source, a trace or a folder, or -p BUILD (or `paths` in streamsan.toml)")
    if fix and DASH in paths:
        raise click.UsageError("--fix writes files, and standard input is none: --diff prints a patch")
    if on and (diff or fix):
        raise click.UsageError("--on lets others check; edits are sought here: leave it out with --diff and --fix")
    given = StandardInput.read(paths, stdin_name)
    request = Request.of(
        given.among(paths) if given else paths,
        macros=in_order(defines, undefines, context.meta[_ORDER]),
        include_dirs=include_dirs,
        system_dirs=system_dirs,
        quote_dirs=quote_dirs,
        forced_includes=forced_includes,
        source_roots=source_roots,
        compile_commands=compile_commands,
        exclude=exclude,
        contents=given.contents if given else None,
    )
    unremembered = no_cache or diff or reporting.proofs.drawn
    remembered = None if unremembered else remembered_results(cache_dir, request.options, reporting.proofs)
    request = in_programs(request, jobs or available_cores(), remembered)
    if diff and fix:
        raise click.UsageError("--diff shows what --fix writes: give one of them")
    if (diff or fix) and not reporting.fixes:
        raise click.UsageError(f"--{'diff' if diff else 'fix'} is about fixes, and --no-fixes leaves them out")
    if report_file:
        require_place(report_file)
    if diff and reporting.form == "text":
        return _patched(request, reporting, exit_zero)
    unfixed: list[Problem] = []
    if fix:
        edited, unfixed = _fixed(request, reporting)
        if edited.recordings:
            return _not_checked_again(request, edited, unfixed, exit_zero)
        if remembered is not None:  # the files are others now
            remembered = remembered_results(cache_dir, request.options, reporting.proofs)
    elif remembered is not None:
        remembered = remembered.of_programs(request.options)
    if diff:
        checked = _with_edits(request, reporting)
    else:
        with workers_at(on, jobs or available_cores()) as workers:
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
    if reporting.strict and report.unread:
        say_unread(report.unread)
        return 2
    if request.expanded.unreadable or checked.unreadable:
        return 2
    return 1 if has_findings(report) and not exit_zero else 0


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
