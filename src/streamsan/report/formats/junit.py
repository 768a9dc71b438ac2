"""JUnit XML, as CI systems show test results: each finding is a failed test of its file."""

from __future__ import annotations

import re
from typing import IO
from xml.etree import ElementTree

from streamsan.findings.finding import Finding, Severity
from streamsan.findings.fingerprint import reported_path
from streamsan.report import Report
from streamsan.report.formats.concise import line

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report, stream: IO[str]) -> str:
    """Return the XML text. Notes, where they are shown, are tests that passed with words in their output."""
    suites = ElementTree.Element("testsuites", name="streamsan")
    by_file: dict[str, list[Finding]] = {}
    for finding in report.shown:
        by_file.setdefault(reported_path(finding.location.file), []).append(finding)
    failures = 0
    for file, findings in by_file.items():
        failed = sum(1 for finding in findings if finding.severity is not Severity.NOTE)
        failures += failed
        suite = _element(suites, "testsuite", name=file, tests=str(len(findings)), failures=str(failed), errors="0")
        for finding in findings:
            _case(suite, file, finding)
    if not by_file:
        # Some readers take a report without a test for a run that broke.
        suite = _element(suites, "testsuite", name="streamsan", tests="1", failures="0", errors="0")
        _element(suite, "testcase", name="no findings", classname="streamsan")
    suites.set("tests", str(max(1, len(report.shown))))
    suites.set("failures", str(failures))
    ElementTree.indent(suites)
    text = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _case(suite: ElementTree.Element, file: str, finding: Finding) -> None:
    name = f"{finding.code} line {finding.location.line}" if finding.location.line else finding.code
    case = _element(suite, "testcase", name=name, classname=file, file=file, line=str(finding.location.line))
    words = [line(finding)]
    words += [f"{related.file}:{related.line}: {related.message}" for related in finding.related]
    if finding.fix is not None:
        words.append(f"fix: {finding.fix.summary}")
    if finding.severity is Severity.NOTE:
        told = _element(case, "system-out")
    else:
        told = _element(case, "failure", type=finding.name, message=f"{finding.severity}: {finding.headline}")
    told.text = _xml_text("\n".join(words))


def _element(parent: ElementTree.Element, tag: str, **attributes: str) -> ElementTree.Element:
    return ElementTree.SubElement(parent, tag, {name: _xml_text(value) for name, value in attributes.items()})


def _xml_text(text: str) -> str:
    """Return text without the characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)
