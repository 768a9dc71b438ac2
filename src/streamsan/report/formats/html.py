"""A page to look at, in one file: findings with the time around them, the whole run, memory, waits."""

from __future__ import annotations

import io
from typing import IO

from streamsan.findings.finding import Severity
from streamsan.report import Report
from streamsan.report.formats import text
from streamsan.report.html.embedding import Arrays, json_in_script
from streamsan.report.html.finding_data import findings_by_place, findings_data
from streamsan.report.html.page_text import page_text
from streamsan.report.html.run_data import run_data
from streamsan.vocabulary.version import VERSION

HAS_HIDDEN_NOTES = True
DRAWS = True


def render(report: Report, stream: IO[str]) -> str:
    """Return the report as one HTML file. Everything that comes from inputs is data in it."""
    arrays = Arrays()
    places = findings_by_place(report.findings)
    costs = {each.path: each for each in report.run_costs}
    data = {
        "tool": f"streamsan {VERSION}",
        "summary": text.summary(report),
        "counts": {severity.value: report.count(severity) for severity in Severity},
        "files": report.files,
        "operations": report.operations,
        "problems": [f"{each.file}: {each.message}" for each in report.problems if not each.remark],
        "remarks": list(dict.fromkeys(each.message for each in report.problems if each.remark)),
        "findings": findings_data(report),
        "runs": [run_data(each, arrays, places, costs.get(each.title)) for each in report.timelines],
    }
    plain = text.render(report, io.StringIO())
    return page_text("streamsan report", json_in_script(data), arrays.packed, plain)
