"""SARIF 2.1.0, for code scanning: rules with their pages, places, the way to the error, fixes, fingerprints."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any
from urllib.parse import quote

from streamsan.findings.finding import Edit, Finding, Fix, Related
from streamsan.findings.fingerprint import reported_path
from streamsan.report import Problem, Report
from streamsan.rules.every_rule import RULES
from streamsan.rules.rule import Rule
from streamsan.rules.rule_pages import page
from streamsan.vocabulary.version import VERSION

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "streamsan/v1"
_ROOT = "SRCROOT"


def render(report: Report, stream: IO[str]) -> str:
    """Return the log as JSON text."""
    return json.dumps(log(report), indent=1) + "\n"


def log(report: Report) -> dict[str, Any]:
    """Return the log as plain values: one run of one tool."""
    used = sorted({finding.code for finding in report.shown})
    problems = [problem for problem in report.problems if not problem.remark]
    run = {
        "tool": {
            "driver": {
                "name": "streamsan",
                "semanticVersion": VERSION,
                "rules": [_rule(RULES[code]) for code in used],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The folder that streamsan was started in."}}},
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [_notification(problem) for problem in problems],
            }
        ],
        "results": [_result(finding, used.index(finding.code)) for finding in report.shown],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> dict[str, Any]:
    text = page(rule.id)
    help_ = {"text": rule.definition, "markdown": text} if text else {"text": rule.definition}
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.definition},
        "fullDescription": {"text": rule.definition},
        "help": help_,
        "defaultConfiguration": {"level": str(rule.severity)},
        "properties": {"tags": ["performance" if rule.is_on_cost else "correctness", "gpu"]},
    }


def _notification(problem: Problem) -> dict[str, Any]:
    return {"level": "warning", "message": {"text": problem.message}, "locations": [_location(problem.file)]}


def _result(finding: Finding, rule: int) -> dict[str, Any]:
    place = finding.location
    location = _location(place.file, place.line, place.column, place.end_line, place.end_column)
    if place.function:
        location["logicalLocations"] = [{"name": place.function, "kind": "function"}]
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": str(finding.severity),
        "message": {"text": _message(finding)},
        "locations": [location],
        "partialFingerprints": {FINGERPRINT: finding.fingerprint},
        "properties": {"confidence": str(finding.confidence), **finding.properties},
    }
    if finding.related:
        result["relatedLocations"] = [_related(number, each) for number, each in enumerate(finding.related, 1)]
        if finding.witness:
            result["codeFlows"] = [_code_flow(finding)]
    if finding.fix is not None and finding.fix.edits:
        result["fixes"] = [_fix(finding.fix)]
    return result


def _message(finding: Finding) -> str:
    sentences = [finding.headline]
    if finding.contract is not None:
        sentences.append(f"Contract: {finding.contract.text} ({finding.contract.source}).")
    if finding.fix is not None:
        sentences.append(f"Fix: {finding.fix.summary}.")
    return "\n".join(sentences)


def _related(number: int, related: Related) -> dict[str, Any]:
    return {"id": number, **_location(related.file, related.line), "message": {"text": related.message}}


def _code_flow(finding: Finding) -> dict[str, Any]:
    """Return the way to the error: the operations that take part, that of the finding's place last."""
    place = finding.location
    told = sorted(finding.related, key=lambda each: (each.file, each.line) == (place.file, place.line))
    steps = [{"location": {**_location(each.file, each.line), "message": {"text": each.message}}} for each in told]
    return {"message": {"text": "\n".join(finding.witness)}, "threadFlows": [{"locations": steps}]}


def _fix(fix: Fix) -> dict[str, Any]:
    by_file: dict[str, list[Edit]] = {}
    for edit in fix.edits:
        by_file.setdefault(edit.file, []).append(edit)
    return {
        "description": {"text": fix.summary},
        "artifactChanges": [
            {"artifactLocation": _artifact(file), "replacements": [_replacement(edit) for edit in edits]}
            for file, edits in by_file.items()
        ],
    }


def _replacement(edit: Edit) -> dict[str, Any]:
    region = _region(edit.line, edit.column, edit.end_line, edit.end_column)
    return {"deletedRegion": region, "insertedContent": {"text": edit.text}}


def _location(file: str, line: int = 0, column: int = 0, end_line: int = 0, end_column: int = 0) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _artifact(file)}
    if line:
        place["region"] = _region(line, column, end_line, end_column)
    return {"physicalLocation": place}


def _artifact(file: str) -> Mapping[str, str]:
    path = reported_path(file)
    uri = quote(path.encode("utf-8", "surrogateescape"), safe="/~")
    return {"uri": f"file://{uri}"} if path.startswith("/") else {"uri": uri, "uriBaseId": _ROOT}


def _region(line: int, column: int, end_line: int, end_column: int) -> dict[str, int]:
    """Return a region; SARIF's columns count from 1 and the end column is the first one behind, as ours."""
    region = {"startLine": line}
    if column:
        region["startColumn"] = column
    if end_column and end_line >= line:
        region |= {"endLine": end_line, "endColumn": end_column}
    return region
