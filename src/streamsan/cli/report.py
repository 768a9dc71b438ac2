"""`streamsan report`: a page to look at, of traces, sources, and findings that were written as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from msgspec.structs import replace

from streamsan.analysis.checked import Checked, UnreadableError
from streamsan.checking.every_input import Workers, together
from streamsan.checking.json_findings import read_json_findings
from streamsan.checking.request import Request
from streamsan.checking.source_programs import in_programs
from streamsan.cli.checking import check_all
from streamsan.cli.checking_options import jobs_option
from streamsan.cli.output_place import require_place
from streamsan.cli.reading_options import source_root_option
from streamsan.cli.report_options import ReportOptions, deliver, fails_strictly, report_options, say_problems
from streamsan.report import Problem
from streamsan.report.printable import printable

EPILOG = """\b
Examples:
  streamsan report run.sst -o out.html
  streamsan report findings.json -o out.html
  streamsan report traces/ --notes -o out.html

Exit status: 0, whatever is found; 2 bad usage or unreadable input.
"""
JSON_SUFFIX = ".json"


@click.command(epilog=EPILOG)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=str), metavar="F...")
@click.option("-o", "output", required=True, type=click.Path(path_type=str), metavar="FILE", help="Write it here.")
@source_root_option
@jobs_option("Check up to N inputs at a time; without it as many as there are cores.")
@report_options
def report(paths: Sequence[str], output: str, source_roots: Sequence[str], jobs: int, reporting: ReportOptions) -> int:
    """Write a page with findings, the time around them, the run, memory and waits, in one file (--format html).

    F is a recorded trace (.sst), a source, a folder of them, or a JSON report (which has no lanes to draw).
    """
    if reporting.form == "text":
        reporting = replace(reporting, form="html")
    require_place(output)
    written = [path for path in paths if Path(path).suffix.lower() == JSON_SUFFIX]
    results, unreadable = _read_again(written)
    others = [path for path in paths if path not in written]
    request = in_programs(Request.of(others, source_roots=source_roots), jobs)
    collected = together(request.expanded.inputs)
    checked = check_all(request, reporting.proofs, Workers(jobs), results=collected).whole()
    checked = replace(checked, results=[*results, *checked.results], unreadable=[*unreadable, *checked.unreadable])
    made = request.report(reporting, checked)
    say_problems(made)
    if not checked.results or not deliver(made, reporting, output):
        return 2
    count = len(made.findings)
    click.echo(f"{printable(output)}: {count:,} {'finding' if count == 1 else 'findings'}")
    incomplete = fails_strictly(made, reporting)
    return 2 if incomplete or request.expanded.unreadable or checked.unreadable else 0


def _read_again(paths: Sequence[str]) -> tuple[list[Checked], list[Problem]]:
    """Return what JSON reports say, and which cannot be read."""
    results, unreadable = [], []
    for path in paths:
        try:
            results.append(read_json_findings(path))
        except UnreadableError as error:
            unreadable.append(Problem(path, error.reason))
    return results, unreadable
