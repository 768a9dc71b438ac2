"""The formats for other tools, against their schemas and escapes."""

from __future__ import annotations

import io
import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from msgspec.structs import replace
from programs import NOTE, VERIFIED, race, report

from streamsan.findings.finding import Location, Severity
from streamsan.report import Problem, Report
from streamsan.report.formats import FORMATS, renderer
from streamsan.rules.every_rule import RULES

EVIL = "a%0A::error::b\n::c,d:e\x1b[31m\u202e]]>&<\"'\udc80"
SARIF = json.loads((Path(__file__).parent / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
HOSTILE = race(message=EVIL, location=Location(f"x{EVIL}.cu", 7, 5, EVIL, 7, 9), properties={})
WITH_NOTES = report(
    race(), replace(NOTE, fix=VERIFIED), HOSTILE, shown_notes=("SS504",), problems=(Problem("x", EVIL),)
)


def printed(name: str, made: Report) -> str:
    return renderer(name)(made, io.StringIO())


def test_every_format_is_listed_and_says_what_it_is_for() -> None:
    assert (
        "text",
        *("concise", "github", "gitlab", "html", "json", "junit", "quiet", "sarif", "statistics"),
    ) == FORMATS


@pytest.mark.parametrize("name", FORMATS)
def test_a_report_is_text_that_can_be_written_and_is_the_same_each_time(name: str) -> None:
    text = printed(name, WITH_NOTES)
    assert text == printed(name, WITH_NOTES)
    assert "\x1b" not in text
    text.encode("utf-8")


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("text", "html", "json", "statistics")])
def test_notes_are_left_out_unless_asked_for(name: str) -> None:
    assert "SS504" not in printed(name, report(NOTE))
    assert "SS504" in printed(name, report(NOTE, shown_notes=("SS504",)))


@pytest.mark.parametrize("made", [WITH_NOTES, report(), report(race())])
def test_sarif_keeps_to_the_official_schema(made: Report) -> None:
    jsonschema.Draft4Validator(SARIF).validate(json.loads(printed("sarif", made)))


def test_sarif_tells_the_place_the_way_and_the_fix() -> None:
    (run,) = json.loads(printed("sarif", WITH_NOTES))["runs"]
    first, note, _ = run["results"]
    assert first["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "pipeline.cu", "uriBaseId": "SRCROOT"},
        "region": {"startLine": 7, "startColumn": 5, "endLine": 7, "endColumn": 26},
    }
    steps = first["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["location"]["physicalLocation"]["region"]["startLine"] for step in steps] == [3, 5, 7]
    assert note["fixes"][0]["artifactChanges"][0]["replacements"][0]["deletedRegion"]["startLine"] == 4
    rules = run["tool"]["driver"]["rules"]
    assert [rules[result["ruleIndex"]]["id"] for result in run["results"]] == ["SS102", "SS504", "SS102"]
    assert "# SS102" in rules[0]["help"]["markdown"]
    assert run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"] == EVIL


def test_github_commands_cannot_be_broken_out_of() -> None:
    lines = printed("github", report(HOSTILE)).splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("::error file=xa%250A%3A%3Aerror%3A%3Ab%0A")
    assert printed("github", report(race())) == (
        "::error file=pipeline.cu,title=SS102 use-races-free,line=7,endLine=7,col=5,endColumn=26"
        "::kernel `scale` may still be reading `d_x` when it is freed"
        "%0AFix: before line 7: cudaEventRecord(e, s2); cudaStreamWaitEvent(s1, e, 0);\n"
    )


def test_gitlab_reads_a_list_of_issues() -> None:
    (issue,) = json.loads(printed("gitlab", report(race())))
    assert issue["location"] == {"path": "pipeline.cu", "lines": {"begin": 7, "end": 7}}
    assert (issue["check_name"], issue["severity"], len(issue["fingerprint"])) == ("SS102", "critical", 20)


def test_junit_counts_failures_by_file() -> None:
    suites = ElementTree.fromstring(printed("junit", WITH_NOTES))
    assert (suites.get("tests"), suites.get("failures")) == ("3", "2")
    first, second = suites
    assert [case.get("name") for case in first] == ["SS102 line 7", "SS504 line 7"]
    assert [child.tag for case in first for child in case] == ["failure", "system-out"]
    assert second.get("failures") == "1"


def test_junit_of_nothing_is_a_test_that_passed() -> None:
    suites = ElementTree.fromstring(printed("junit", report()))
    assert (suites.get("tests"), suites.get("failures"), len(list(suites.iter("testcase")))) == ("1", "0", 1)


def test_concise_is_a_line_each() -> None:
    doubted = race().weakened(Severity.WARNING)
    assert printed("concise", report(race(), doubted, NOTE)) == (
        "pipeline.cu:7:5: error[SS102] kernel `scale` may still be reading `d_x` when it is freed\n"
        "pipeline.cu:7:5: warning[SS102] (possible) kernel `scale` may still be reading `d_x` when it is freed\n"
    )
    assert printed("concise", report(HOSTILE)).count("\n") == 1


def test_quiet_is_the_findings_alone() -> None:
    assert printed("quiet", report(NOTE)) == ""
    whole = printed("text", report(race()))
    assert whole.startswith(printed("quiet", report(race())))
    assert "1 error" not in printed("quiet", report(race()))


def test_statistics_count_by_rule_notes_too() -> None:
    assert printed("statistics", report(race(), NOTE, NOTE)).splitlines() == [
        "2  note     SS504  " + RULES["SS504"].definition,
        "1  error    SS102  " + RULES["SS102"].definition,
        "",
        "1 error, 0 warnings, 2 notes (--notes shows them) in 1 file, 12 operations",
    ]


def test_a_crowded_site_is_told_once_and_none_of_it_is_lost() -> None:
    crowd = [race(message=f"kernel `scale` may still be reading `p{number}`") for number in range(1_000)]
    made = report(*crowd)
    text = printed("text", made)
    assert text.count("error[SS102]") == 1
    assert "= and 999 more like it at this site (--format json has each)\n" in text
    assert text.endswith("1000 errors, 0 warnings, 0 notes in 1 file, 12 operations\n")
    assert printed("concise", made).count("\n") == 1
    assert printed("concise", made).endswith("`p0` (and 999 more like it at this site)\n")
    assert printed("github", made).count("::error ") == 1
    assert "%0Aand 999 more like it at this site" in printed("github", made)
    found = json.loads(printed("json", made))["findings"]
    assert [each["more_at_site"] for each in found] == [999] + [0] * 999
    assert len({each["message"] for each in found}) == 1_000
    few = report(*crowd[:4])
    assert printed("text", few).count("error[SS102]") == 4
    assert "at this site" not in printed("text", few)
