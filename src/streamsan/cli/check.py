"""`streamsan check`: check sources, traces and folders."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from streamsan.analysis import TRACE_SUFFIX, Checked, SourceOptions, UnreadableError, analyse_path
from streamsan.cli import fixing
from streamsan.cli.defects import defect
from streamsan.cli.inputs import Input, expand
from streamsan.cli.pipes import silence_stdout
from streamsan.cli.progress import progress
from streamsan.cli.report_options import ReportOptions, has_findings, report_options, say_each, say_problems
from streamsan.report import Problem
from streamsan.report.excerpt import printable

EPILOG = """\b
Examples:
  streamsan check pipeline.cu
  streamsan check src/ -I include -D USE_POOL=1
  streamsan check run.sst --format json
  streamsan check . --select SS1,SS2 --notes
  streamsan check --diff src/ | git apply

Exit status: 0 nothing at warning or above, 1 findings, 2 bad usage or unreadable input.
"""


@click.command(epilog=EPILOG, no_args_is_help=True)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=str), metavar="PATH...")
@click.option("-D", "--define", "defines", multiple=True, metavar="NAME[=VALUE]", help="Define a macro for sources.")
@click.option(
    "-I", "include_dirs", multiple=True, type=click.Path(path_type=str), help="Search this folder for includes."
)
@report_options
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found.")
@click.option("--diff", "diff", is_flag=True, help="Print a patch that fixes what can be fixed; exit with 1 if any.")
@click.option("--fix", "fix", is_flag=True, help="Write these fixes into the sources, then check them again.")
def check(
    paths: Sequence[str],
    defines: Sequence[str],
    include_dirs: Sequence[str],
    reporting: ReportOptions,
    exit_zero: bool,
    diff: bool,
    fix: bool,
) -> int:
    """Check CUDA sources, recorded traces (.sst) and folders of them. Needs no GPU and no build."""
    options = SourceOptions(_macros(defines), include_dirs)
    inputs, unreadable = expand(paths)
    if diff and fix:
        raise click.UsageError("--diff shows what --fix writes: give one of them")
    if diff or fix:
        edited = _sought(inputs, options, reporting)
        if diff:
            changes = fixing.show(edited, reporting.notes)
            wrong = [*unreadable, *edited.unreadable, *edited.failed]
            say_each(wrong)
            return 2 if wrong else 1 if changes and not exit_zero else 0
        unreadable += [*edited.failed, *fixing.write(edited, reporting.notes)]
        if edited.needs_source:
            say_each([*unreadable, *edited.unreadable])
            return 2
    results, failed, problems = _check_all(inputs, options)
    unreadable += failed
    report = reporting.report(results, [*unreadable, *problems])
    say_problems(report)
    if results or reporting.form == "json":
        _print(reporting.render(report, sys.stdout))
    return 2 if unreadable else 1 if has_findings(report) and not exit_zero else 0


def _sought(inputs: Sequence[Input], options: SourceOptions, reporting: ReportOptions) -> fixing.Edited:
    with progress() as show:
        if show is not None:
            show("seeking edits", 0, len(inputs))
        return fixing.seek(inputs, options, reporting)


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


def _check_all(inputs: Sequence[Input], options: SourceOptions) -> tuple[list[Checked], list[Problem], list[Problem]]:
    """Check the inputs in order. Returns the results, what could not be read, and what limits the results."""
    results: list[Checked] = []
    unreadable: list[Problem] = []
    problems: list[Problem] = []
    included: set[str] = set()
    with _progress() as watch:
        for number, item in enumerate(inputs):
            if item.only_if_not_included and os.path.realpath(item.path) in included:
                continue
            try:
                result = analyse_path(item.path, options, watch(item.path, number, len(inputs)))
            except UnreadableError as error:
                unreadable.append(Problem(error.path, error.reason))
                continue
            except Exception as error:
                # A defect of ours must not take the other inputs with it; STREAMSAN_DEBUG shows where it is.
                if os.environ.get("STREAMSAN_DEBUG"):
                    raise
                unreadable.append(Problem(item.path, defect(error)))
                continue
            results.append(result)
            included.update(os.path.realpath(file) for file in result.sources)
            problems.extend(Problem(item.path, message) for message in result.problems)
    return results, unreadable, problems


Watch = Callable[[str, int, int], Callable[[int, int], None] | None]


@contextmanager
def _progress() -> Iterator[Watch]:
    """Give a function that shows what is being checked: on a terminal only, and gone when done."""
    with progress() as show:
        if show is None:
            yield lambda path, number, total: None
            return

        def watch(path: str, number: int, total: int) -> Callable[[int, int], None] | None:
            description = f"{number + 1}/{total} {printable(path)[-60:]}"
            show(description, number, total)
            if Path(path).suffix.lower() != TRACE_SUFFIX:
                return None
            return lambda done, operations: show(description, done, operations)

        yield watch
