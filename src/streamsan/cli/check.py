"""`streamsan check`: check sources, traces and folders."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from streamsan.analysis.source_files import SourceOptions
from streamsan.analysis.source_roots import SourceRoots
from streamsan.checking.folders import expand
from streamsan.cli.checking import check_all
from streamsan.cli.pipes import silence_stdout
from streamsan.cli.program import require_place
from streamsan.cli.report_options import ReportOptions, deliver, has_findings, report_options, say_each, say_problems
from streamsan.report.printable import printable

EPILOG = """\b
Examples:
  streamsan check pipeline.cu
  streamsan check src/ -I include -D USE_POOL=1
  streamsan check run.sst --format json
  streamsan check . --select SS1,SS2 --notes
  streamsan check --diff src/ | git apply
  streamsan check --diff --format json pipeline.cu

Exit status: 0 nothing at warning or above, 1 findings, 2 bad usage or unreadable input.
"""


@click.command(epilog=EPILOG)
@click.argument("paths", nargs=-1, type=click.Path(path_type=str), metavar="PATH...")
@click.option("-D", "--define", "defines", multiple=True, metavar="NAME[=VALUE]", help="Define a macro for sources.")
@click.option(
    "-I", "include_dirs", multiple=True, type=click.Path(path_type=str), help="Search this folder for includes."
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
    help="Leave this out of folders; patterns are those of .gitignore files, which count, too.",
)
@click.option("--report", "report_file", default="", metavar="FILE", help="Write the report here.")
@report_options
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found.")
@click.option(
    "--diff",
    "diff",
    is_flag=True,
    help="Print a patch for what the report shows; exit with 1 if any. As JSON: the report, with each finding's edits.",
)
@click.option("--fix", "fix", is_flag=True, help="Write these fixes into the sources, then check them again.")
def check(
    paths: Sequence[str],
    defines: Sequence[str],
    include_dirs: Sequence[str],
    source_roots: Sequence[str],
    exclude: Sequence[str],
    report_file: str,
    reporting: ReportOptions,
    exit_zero: bool,
    diff: bool,
    fix: bool,
) -> int:
    """Check CUDA sources, recorded traces (.sst) and folders of them. Needs no GPU and no build."""
    paths = paths or click.get_current_context().lookup_default("paths") or ()
    if not paths:
        raise click.UsageError("give a source, a trace or a folder (or `paths` in streamsan.toml)")
    try:
        roots = SourceRoots.of(source_roots)
    except ValueError as error:
        raise click.UsageError(f"--source-root: {printable(str(error))}") from error
    options = SourceOptions(_macros(defines), include_dirs, roots)
    expanded = expand(paths, include_dirs, exclude)
    inputs, unreadable = expanded.inputs, expanded.unreadable
    if diff and fix:
        raise click.UsageError("--diff shows what --fix writes: give one of them")
    if (diff or fix) and not reporting.fixes:
        raise click.UsageError(f"--{'diff' if diff else 'fix'} is about fixes, and --no-fixes leaves them out")
    patch = diff and reporting.form == "text"
    if report_file:
        require_place(report_file)
    if diff or fix:
        # Imported late: only who wants edits waits for what makes them.
        from streamsan.cli import edited as edits
        from streamsan.cli import fixing
        from streamsan.cli.seeker import seeking
    if patch or fix:
        with seeking() as tell:
            edited = fixing.seek(inputs, options, reporting, tell)
        if patch:
            changes = edits.show(edited, reporting.notes)
            wrong = [*unreadable, *edited.unreadable, *edited.failed]
            say_each(wrong)
            return 2 if wrong else 1 if changes and not exit_zero else 0
        unreadable += [*edited.failed, *edits.write(edited, reporting.notes)]
        if edited.needs_source:
            say_each([*unreadable, *edited.unreadable])
            return 2
    results, failed, problems = check_all(inputs, options, reporting.proofs)
    unreadable += failed
    if diff:
        with seeking() as tell:
            results, failed = fixing.with_edits(results, options, reporting, tell)
        unreadable += failed
    report = reporting.report(results, [*unreadable, *problems, *expanded.remarks])
    say_problems(report)
    if report_file:
        if not deliver(report, reporting, report_file):
            return 2
    elif results or expanded.remarks or reporting.form != "text":
        _print(reporting.render(report, sys.stdout))
    if reporting.strict and report.unread:
        click.echo(f"streamsan: --strict: not everything was read: {printable(report.unread.places)}", err=True)
        return 2
    return 2 if unreadable else 1 if has_findings(report) and not exit_zero else 0


def _print(report: str) -> None:
    try:
        sys.stdout.write(report)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever reads has seen enough (`| head`): what was found, and the exit status, stay the same.
        silence_stdout()


def _macros(defines: Sequence[str]) -> dict[str, str]:
    macros = {}
    for define in defines:
        name, equals, value = define.partition("=")
        if not name.isidentifier():
            raise click.UsageError(f"--define: '{define}' does not name a macro")
        macros[name] = value if equals else "1"
    return macros
