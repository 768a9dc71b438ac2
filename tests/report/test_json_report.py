from __future__ import annotations

import io
import json as plain_json
from pathlib import Path

import jsonschema
import pytest
from programs import NOTE, UNUSED, race, report

from streamsan import __version__
from streamsan.findings.finding import Severity
from streamsan.report import Problem, Report
from streamsan.report.formats import json

SCHEMA = plain_json.loads(
    (Path(__file__).resolve().parents[2] / "docs" / "findings.schema.json").read_text(encoding="utf-8")
)

FULL = report(
    race(),
    NOTE,
    race(message="\x1b \ud800 \u202e").weakened(Severity.WARNING),
    suppressed=2,
    unused_suppressions=(UNUSED,),
    problems=(Problem("x.cu", "no such file"),),
)


def printed(made: Report) -> str:
    return json.render(made, io.StringIO())


def test_a_finding_as_the_design_has_it() -> None:
    document = plain_json.loads(printed(report(race())))
    assert document["version"] == 1
    assert document["tool"] == {"name": "streamsan", "version": __version__}
    assert document["findings"] == [
        {
            "code": "SS102",
            "name": "use-races-free",
            "severity": "error",
            "confidence": "proven",
            "message": "kernel `scale` may still be reading `d_x` when it is freed",
            "fingerprint": "0123456789abcdef0123",
            "location": {
                "file": "pipeline.cu",
                "line": 7,
                "column": 5,
                "end_line": 7,
                "end_column": 26,
                "function": "main",
            },
            "related": [
                {"role": "alloc", "file": "pipeline.cu", "line": 3, "message": "allocated here, in the order of s1"},
                {
                    "role": "free",
                    "file": "pipeline.cu",
                    "line": 7,
                    "message": "freed here, in the order of s1: nothing orders s1 after the kernel",
                },
                {"role": "use", "file": "pipeline.cu", "line": 5, "message": "used here, in the order of s2"},
            ],
            "accesses": [],
            "overlap": None,
            "contract": {
                "text": "memory must not be accessed once the stream reaches the free",
                "source": "cudaFreeAsync",
            },
            "observed": {"text": "the block is handed out again at once", "fact": "F-05", "on": "H200, driver 580"},
            "witness": ["s1 frees", "the next allocation gets the block"],
            "no_witness": "",
            "fix": {
                "summary": "before line 7: cudaEventRecord(e, s2); cudaStreamWaitEvent(s1, e, 0);",
                "verified": False,
                "edits": [],
            },
            "no_fix": "",
            "more_at_site": 0,
            "ranks": [],
            "traces": None,
            "properties": {"instances": 2},
        }
    ]


def test_the_summary_counts() -> None:
    assert json.document(FULL)["summary"] == {
        "errors": 1,
        "warnings": 1,
        "notes": 1,
        "files": 1,
        "operations": 12,
        "suppressed": 2,
        "in_baseline": 0,
        "unused_suppressions": [{"file": "pipeline.cu", "line": 2, "codes": ["SS501"]}],
        "problems": [{"file": "x.cu", "message": "no such file"}],
        "unread": {
            "includes_not_found": [],
            "macros_not_read": [],
            "files_stopped_early": [],
            "files_not_understood": [],
            "calls_reached": 0,
            "calls_not_reached": [],
            "recordings_not_whole": [],
            "sources_not_found": [],
            "inputs_not_checked": [],
        },
    }


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("made", [FULL, report(), report(race())])
def test_reports_keep_to_the_schema(made: Report) -> None:
    jsonschema.validate(plain_json.loads(printed(made)), SCHEMA)


def test_the_schema_refuses_what_is_not_in_it() -> None:
    document = json.document(FULL)
    document["findings"][0]["severity"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, SCHEMA)


def test_the_text_is_ascii_and_the_same_each_time() -> None:
    assert printed(FULL).isascii()
    assert printed(FULL) == printed(FULL)
