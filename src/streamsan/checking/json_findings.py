"""Findings from a JSON report that was written earlier: its findings again, for a report in another format.

What such a file does not have (the trace, and so lanes and the run) is not made up.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any, TypeVar

from streamsan.analysis.checked import Checked, UnreadableError, reason_of
from streamsan.findings.finding import (
    Confidence,
    Contract,
    Edit,
    Finding,
    Fix,
    Location,
    Observed,
    Related,
    Severity,
)
from streamsan.findings.spread import InRun, Spread

LARGEST = 1 << 30
"""bytes of a JSON report"""
VERSION = 1
Value = TypeVar("Value")


def read_json_findings(path: str) -> Checked:
    """Return what a JSON report (`--format json`) says was found. Raises UnreadableError.

    Findings that stand for more at their site, and overlaps in bytes, keep their words only.
    """
    try:
        if os.path.getsize(path) > LARGEST:
            raise UnreadableError(path, "too large for a JSON report")
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise UnreadableError(path, reason_of(error)) from error
    except ValueError as error:
        raise UnreadableError(path, f"not JSON: {error}") from error
    return json_findings(path, text)


def json_findings(path: str, text: str | bytes) -> Checked:
    """Return what the text of a JSON report says was found; `path` names it. Raises UnreadableError."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(path, f"not JSON: {error}") from error
    try:
        if document["version"] != VERSION:
            raise UnreadableError(path, f"a report of version {document['version']!r}, not {VERSION}")
        findings = tuple(_finding(each) for each in document["findings"])
        summary = document["summary"]
        problems = tuple(_text(problem["message"]) for problem in summary["problems"])
        return Checked(path, findings, _number(summary["operations"]), problems=(), remarks=problems)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnreadableError(path, "not a JSON report of streamsan (`--format json`)") from error


def _finding(value: dict[str, Any]) -> Finding:
    location = value["location"]
    return Finding(
        code=_text(value["code"]),
        name=_text(value["name"]),
        severity=Severity(value["severity"]),
        confidence=Confidence(value["confidence"]),
        message=_text(value["message"]),
        location=Location(
            _text(location["file"]),
            _number(location["line"]),
            _number(location["column"]),
            _text(location["function"]),
            _number(location.get("end_line", 0)),
            _number(location.get("end_column", 0)),
        ),
        related=tuple(
            Related(_text(each["role"]), _text(each["file"]), _number(each["line"]), _text(each["message"]))
            for each in value["related"]
        ),
        contract=_optional(value["contract"], lambda each: Contract(_text(each["text"]), _text(each["source"]))),
        observed=_optional(
            value["observed"], lambda each: Observed(_text(each["text"]), _text(each["fact"]), _text(each["on"]))
        ),
        witness=tuple(_text(step) for step in value["witness"]),
        no_witness=_text(value.get("no_witness", "")),
        fix=_optional(value["fix"], _fix),
        no_fix=_text(value.get("no_fix", "")),
        properties={
            _text(name): each for name, each in value.get("properties", {}).items() if isinstance(each, int | str)
        },
        ranks=tuple(_number(rank) for rank in value.get("ranks", ())),
        spread=_optional(value.get("traces"), _spread),
    )


def _spread(value: dict[str, Any]) -> Spread:
    runs = [
        InRun(_text(each["run"]), _number(each["traces"]), tuple(_pair(pair) for pair in each["ranks"]))
        for each in value["runs"]
    ]
    return Spread(_number(value["found"]), _number(value["checked"]), _text(value["shown"]), tuple(runs))


def _pair(value: list[Any]) -> tuple[int, int]:
    first, last = map(_number, value)
    return first, last


def _fix(value: dict[str, Any]) -> Fix:
    edits = (
        Edit(
            _text(each["file"]),
            _number(each["line"]),
            _number(each["column"]),
            _number(each["end_line"]),
            _number(each["end_column"]),
            _text(each["text"]),
        )
        for each in value["edits"]
    )
    return Fix(_text(value["summary"]), value["verified"] is True, tuple(edits))


def _optional(value: Any, read: Callable[[Any], Value]) -> Value | None:
    return None if value is None else read(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError
    return value
