"""Findings as the page takes them: plain values, and the lines of source around what they name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

from streamsan.edits.source_text import EditError, SourceText
from streamsan.findings.finding import Edit, Finding
from streamsan.findings.fingerprint import shown_path
from streamsan.findings.scene import Scene
from streamsan.report import Report
from streamsan.report.excerpt import SourceLines
from streamsan.report.formats.json import document

AROUND = 3
"""lines of source before and behind each that a finding names"""


def findings_data(report: Report) -> list[dict[str, Any]]:
    """Return all findings of a report, in its order."""
    plain = document(report)["findings"]
    lines = SourceLines(report.sources)
    result = []
    for finding, values in zip(report.findings, plain, strict=True):
        values["headline"] = finding.headline
        values["shown"] = report.shows(finding)
        values["location"]["file"] = shown_path(finding.location.file)
        for part in (*values["related"], *values["accesses"]):
            part["file"] = shown_path(part["file"])
        values["overlap_words"] = finding.overlap.words if finding.overlap is not None else ""
        values["source"] = _source(finding, lines)
        values["diff"] = _diff(finding, report)
        values["scene"] = None if finding.scene is None else _scene(finding.scene)
        values["no_scene"] = finding.no_scene
        result.append(values)
    return result


def _scene(scene: Scene) -> dict[str, Any]:
    return {
        "lanes": [[lane.kind, lane.name] for lane in scene.lanes],
        "operations": [
            {
                "lane": each.lane,
                "issuer": each.issuer,
                "number": each.number,
                "place": each.place,
                "kind": each.kind,
                "name": each.name,
                "file": shown_path(each.file),
                "line": each.line,
                "role": each.role,
                "says": each.says,
                "access": each.access,
                "left_out": each.left_out,
            }
            for each in scene.operations
        ],
        "edges": [[each.source, each.target, each.reason, each.strength.value] for each in scene.edges],
        "bars": [[each.name, each.begin, each.end, list(each.uses), each.own] for each in scene.bars],
        "moves": [[each.text, each.act.value, each.sequence] for each in scene.moves],
        "run": scene.run,
    }


def _source(finding: Finding, lines: SourceLines) -> list[dict[str, Any]]:
    """Return the source around what a finding names, the finding's own file first."""
    named: dict[str, set[int]] = {finding.location.file: {finding.location.line}}
    says: dict[tuple[str, int], list[str]] = {}
    for related in finding.related:
        named.setdefault(related.file, set()).add(related.line)
        messages = says.setdefault((related.file, related.line), [])
        if related.message not in messages:
            messages.append(related.message)
    if finding.scene is not None:
        for operation in finding.scene.operations:
            # What only lies around the finding is quoted where the finding's own files have it.
            if operation.file in named:
                named[operation.file].add(operation.line)
    result = []
    for file, numbers in named.items():
        wanted = sorted({near for number in numbers if number for near in range(number - AROUND, number + AROUND + 1)})
        rows = [
            [number, text, "; ".join(says.get((file, number), []))]
            for number in wanted
            if (text := lines.get(file, number)) is not None
        ]
        if any(number in numbers for number, _, _ in rows):
            result.append({"file": shown_path(file), "rows": rows})
    return result


def _diff(finding: Finding, report: Report) -> list[str]:
    """Return a fix's edits as lines of a unified diff; none where it has none, or their files are not at hand."""
    if finding.fix is None:
        return []
    text: list[str] = []
    for file in dict.fromkeys(edit.file for edit in finding.fix.edits):
        before = report.sources.get(file)
        if before is None:
            return []
        own = [edit for edit in finding.fix.edits if edit.file == file]
        after = _edited(before, own)
        if after is None:
            return []
        name = shown_path(file)
        text += difflib.unified_diff(_split(before), _split(after), f"a/{name}", f"b/{name}", lineterm="")
    return text


def _split(text: str) -> list[str]:
    return text.split("\n")


def _edited(text: str, edits: Iterable[Edit]) -> str | None:
    """Return a text with its edits; None where one does not lie in it."""
    try:
        return (
            SourceText(text.encode("utf-8", "surrogateescape"), text).edited(edits).decode("utf-8", "surrogateescape")
        )
    except EditError:
        return None


def findings_by_place(findings: Sequence[Finding]) -> dict[tuple[str, int], list[int]]:
    """Return the numbers of the findings that are reported at each file and line."""
    found: dict[tuple[str, int], list[int]] = {}
    for number, finding in enumerate(findings):
        if finding.location.line:
            found.setdefault((finding.location.file, finding.location.line), []).append(number)
    return found
