"""`streamsan export`: write what a trace holds, and what is wrong with it, for other tools."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from streamsan.analysis.checked import UnreadableError, reason_of
from streamsan.analysis.inputs import analyse_path
from streamsan.cli.output_place import require_place
from streamsan.cli.progress import progress
from streamsan.evidence.proofs import Proofs
from streamsan.exports.exported_run import ExportedRun, exported_runs
from streamsan.exports.targets import TARGETS, MissingLibraryError, target
from streamsan.report.printable import printable

EPILOG = """\b
Examples:
  streamsan export run.sst --to perfetto                 # run.pftrace, for ui.perfetto.dev
  streamsan export rank*.sst --to perfetto -o job.pftrace
  streamsan export run.sst --to parquet -o tables        # a folder with a file for each table
  duckdb -c "select name, count(*) from 'tables/operations.parquet' group by all"

Exit status: 0 written, 2 bad usage or unreadable input.
"""


@click.command(epilog=EPILOG, no_args_is_help=True)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=str), metavar="FILE...")
@click.option("--to", "to", required=True, type=click.Choice(TARGETS), help="What is written.")
@click.option(
    "-o",
    "--output",
    default="",
    type=click.Path(path_type=str),
    metavar="PLACE",
    help="Write there; without it beside the first input, under its name.",
)
def export(paths: Sequence[str], to: str, output: str) -> int:
    """Write traces (.sst) or CUDA sources, with their findings, for other tools: Perfetto, or tables in Parquet."""
    try:
        chosen = target(to)
    except MissingLibraryError as error:
        raise click.ClickException(str(error)) from error
    place = output or os.path.splitext(paths[0])[0] + chosen.suffix
    if chosen.place == "file":
        require_place(place)
    runs: list[ExportedRun] = []
    limits: list[tuple[str, str]] = []
    with progress() as shown:
        for path in paths:
            watched = None if shown is None else lambda done, total, path=path: shown(path, done, total)
            try:
                checked = analyse_path(path, progress=watched, proofs=Proofs(lambda _: False, fixes=False, drawn=True))
            except UnreadableError as error:
                raise click.ClickException(f"{printable(path)}: {printable(error.reason)}") from error
            own = list(exported_runs(checked))
            runs += own
            notes = [note for run in own for note in run.timeline.notes]
            limits += [(path, problem) for problem in (*checked.problems, *notes)]
        try:
            chosen.export(runs, place)
        except OSError as error:
            raise click.ClickException(f"{printable(place)}: {reason_of(error)}") from error
    for path, problem in limits:
        click.echo(f"streamsan: {printable(path)}: {printable(problem)}", err=True)
    operations = sum(run.timeline.operations for run in runs)
    findings = sum(len(run.findings) for run in runs)
    click.echo(f"{printable(place)}: {operations:,} operations, {findings:,} findings")
    return 0
