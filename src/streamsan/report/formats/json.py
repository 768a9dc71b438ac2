"""All that is known of each finding, notes too; docs/findings.schema.json is its schema.

The same input gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import IO, Any

from streamsan.findings.access import Access, Bytes
from streamsan.findings.finding import Finding, Fix, Place, Severity
from streamsan.findings.reading_gaps import Unread
from streamsan.findings.same_site import by_site
from streamsan.findings.spread import Spread
from streamsan.findings.wait_cost import RunCosts
from streamsan.report import Report
from streamsan.vocabulary.version import VERSION as STREAMSAN

VERSION = 1
HAS_HIDDEN_NOTES = True


def render(report: Report, stream: IO[str]) -> str:
    """Return the report as JSON text. Only ASCII: names may hold anything."""
    return json.dumps(document(report), indent=1, ensure_ascii=True) + "\n"


def document(report: Report) -> dict[str, Any]:
    """Return the report as plain values."""
    more = {id(site.first): site.more for site in by_site(report.findings)}
    return {
        "version": VERSION,
        "tool": {"name": "streamsan", "version": STREAMSAN},
        "findings": [_finding(finding, more.get(id(finding), 0)) for finding in report.findings],
        "run_costs": [_run_costs(costs) for costs in report.run_costs],
        "summary": {
            "errors": report.count(Severity.ERROR),
            "warnings": report.count(Severity.WARNING),
            "notes": report.count(Severity.NOTE),
            "files": report.files,
            "operations": report.operations,
            "suppressed": report.suppressed,
            "in_baseline": report.in_baseline,
            "unused_suppressions": [
                {"file": entry.file, "line": entry.line, "codes": list(entry.unused)}
                for entry in report.unused_suppressions
            ],
            "problems": [{"file": problem.file, "message": problem.message} for problem in report.problems],
            "unread": _unread(report.unread),
        },
    }


def _finding(finding: Finding, more: int) -> dict[str, Any]:
    location, contract, observed = finding.location, finding.contract, finding.observed
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": str(finding.severity),
        "confidence": str(finding.confidence),
        "message": finding.message,
        "fingerprint": finding.fingerprint,
        "location": {
            "file": location.file,
            "line": location.line,
            "column": location.column,
            "end_line": location.end_line,
            "end_column": location.end_column,
            "function": location.function,
        },
        "related": [
            {"role": related.role, "file": related.file, "line": related.line, "message": related.message}
            for related in finding.related
        ],
        "accesses": [_access(access) for access in finding.accesses],
        "overlap": None if finding.overlap is None else _bytes(finding.overlap.bytes),
        "contract": None if contract is None else {"text": contract.text, "source": contract.source},
        "observed": None if observed is None else {"text": observed.text, "fact": observed.fact, "on": observed.on},
        "witness": list(finding.witness),
        "no_witness": finding.no_witness,
        "fix": None if finding.fix is None else _fix(finding.fix),
        "no_fix": finding.no_fix,
        "more_at_site": more,
        "ranks": list(finding.ranks),
        "traces": None if finding.spread is None else _spread(finding.spread),
        "properties": dict(finding.properties),
    }


def _run_costs(costs: RunCosts) -> dict[str, Any]:
    return {
        "file": costs.path,
        "recorded_ns": costs.recorded_ns,
        "saves_ns": costs.together_ns,
        "saves_spread_ns": costs.together_spread_ns,
        "waits": [
            {
                "file": cost.location.file,
                "line": cost.location.line,
                "column": cost.location.column,
                "call": cost.call,
                "count": cost.count,
                "waited_ns": cost.waited_ns,
                "saves_ns": cost.saves_ns,
                "saves_spread_ns": cost.spread_ns,
                "adds_order": cost.adds_order,
                "code": cost.code,
            }
            for cost in costs.waits
        ],
    }


def _spread(spread: Spread) -> dict[str, Any]:
    return {
        "found": spread.found,
        "checked": spread.checked,
        "shown": spread.shown,
        "runs": [
            {"run": each.run, "traces": each.traces, "ranks": [list(pair) for pair in each.ranks]}
            for each in spread.runs
        ],
    }


def _access(access: Access) -> dict[str, Any]:
    return {
        "file": access.file,
        "line": access.line,
        "work": access.work,
        "does": str(access.deed),
        "certain": access.certain,
        "bytes": None if access.bytes is None else _bytes(access.bytes),
        "known_from": str(access.known_from),
    }


def _bytes(touched: Bytes) -> dict[str, Any]:
    rows = {
        "width": touched.width,
        "pitch": touched.pitch,
        "count": touched.count,
        "slice_pitch": touched.slice_pitch,
        "slices": touched.slices,
    }
    within = None if touched.within is None else {"first": touched.within[0], "last": touched.within[1]}
    return {"first": touched.first, "last": touched.last, "rows": rows if touched.count else None, "within": within}


def _unread(unread: Unread) -> dict[str, Any]:
    def places(found: Iterable[Place]) -> list[dict[str, Any]]:
        return [{"file": place.file, "line": place.line, "column": place.column} for place in sorted(found)]

    return {
        "includes_not_found": places(unread.includes),
        "macros_not_read": places(unread.macros),
        "files_stopped_early": sorted(unread.stopped),
        "files_not_understood": sorted(unread.without_functions),
        "calls_reached": len(unread.reached),
        "calls_not_reached": [
            {"file": place.file, "line": place.line, "column": place.column, "reason": why.reason}
            for place, why in sorted(unread.missed.items())
        ],
        "recordings_not_whole": sorted(unread.recordings),
        "sources_not_found": sorted(unread.absent),
        "inputs_not_checked": sorted(unread.unchecked),
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "summary": fix.summary,
        "verified": fix.verified,
        "edits": [
            {
                "file": edit.file,
                "line": edit.line,
                "column": edit.column,
                "end_line": edit.end_line,
                "end_column": edit.end_column,
                "text": edit.text,
            }
            for edit in fix.edits
        ],
    }
