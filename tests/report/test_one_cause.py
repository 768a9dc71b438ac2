"""Of many findings with one cause a report has one, with the first places of the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from streamsan.cli import main
from streamsan.findings.finding import Confidence, Edit, Finding, Fix, Location, Severity
from streamsan.findings.one_cause import ALIKE, by_cause


def _finding(code: str, message: str, file: str = "a.cu", line: int = 1, function: str = "main") -> Finding:
    return Finding(
        code,
        "name",
        Severity.NOTE,
        Confidence.PROVEN,
        message,
        Location(file, line, 1, function),
        properties={"instances": 1},
        fingerprint=f"{code}-{line}",
    )


def _unseen(name: str, file: str = "a.cu", line: int = 1) -> Finding:
    return _finding("SS603", f"not understood: `{name}` is not visible here", file, line)


def test_what_was_not_understood_is_told_once_for_each_sort() -> None:
    found = [
        _unseen("f"),
        _finding("SS603", "not understood: a.h was not found", line=2),
        _unseen("g", line=3),
        replace(_unseen("f", line=4), properties={"instances": 7}),
        _finding("SS603", "not understood: TEST(a, b)", line=5),
        *(_unseen(name, "b.cu", line) for line, name in enumerate("hijk", 6)),
        _finding("SS603", "not understood: b.h was not found", "b.cu", line=20),
    ]
    told = by_cause(found)
    assert [each.location.line for each in told] == [1, 2, 5, 20]  # two of a sort stay two
    assert told[0].message == (
        "not understood: `f` is not visible here, and 6 more like it in 2 files: `g`, `h`, `i`, ..."
    )
    assert told[0].properties == {"instances": 13, ALIKE: "SS603-3 SS603-4 SS603-6 SS603-7 SS603-8 SS603-9"}
    assert [(each.file, each.line) for each in told[0].related] == [("a.cu", 3), ("a.cu", 4), ("b.cu", 6)]
    assert told[1:] == [found[1], found[4], found[-1]]


def test_text_that_was_not_parsed_is_one_sort() -> None:
    found = [_finding("SS603", f"not understood: {text}", line=line) for line, text in enumerate(("A {", "B(1)", "C;"))]
    (told,) = by_cause(found)
    assert told.message == "not understood: A {, and 2 more like it: B(1), C;"


def test_a_spent_budget_is_a_sort_of_its_own() -> None:
    reasons = [
        *(f"more paths through {name} than the budget allows" for name in ("main", "f", "g")),
        *["the path is longer than the budget of steps"] * 3,
        *("SECTION(a)", "SECTION(b)", "SECTION(c)"),
    ]
    told = by_cause(_finding("SS603", f"not understood: {each}", line=line) for line, each in enumerate(reasons))
    assert [each.message for each in told] == [
        "not understood: more paths through main than the budget allows, and 2 more like it",
        "not understood: the path is longer than the budget of steps, and 2 more like it",
        "not understood: SECTION(a), and 2 more like it: SECTION(b), SECTION(c)",
    ]


@pytest.mark.parametrize("code", ["SS401", "SS207", "SS107"])
def test_a_function_tells_its_cause_once(code: str) -> None:
    found = [_finding(code, f"`{name}` is never freed", line=line) for line, name in enumerate("abcd", 1)]
    (told,) = by_cause(found)
    assert told.message == "`a` is never freed, and 3 more like it: `b`, `c`, `d`"


def test_other_causes_are_told_each() -> None:
    messages = [f"`{name}` is never freed" for name in "abc"]
    apart = [
        [_finding("SS401", each, function=each) for each in messages],
        [_finding("SS401", each, file=each) for each in messages],
        [_finding("SS102", each) for each in messages],
        [replace(_finding("SS401", each), severity=Severity.ERROR) for each in messages],
        [replace(_finding("SS401", each), fix=Fix("", edits=(Edit("a.cu", 1, 1, 1, 1, "x"),))) for each in messages],
        [replace(_finding("SS401", each), ranks=(rank,)) for rank, each in enumerate(messages)],
        [_finding("SS401", f"{each}, {'again ' * turn}") for turn, each in enumerate(messages)],
    ]
    for found in apart:
        assert by_cause(found) == found


def test_a_baseline_has_all_of_a_cause(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, baseline = tmp_path / "a.cu", tmp_path / "baseline.json"

    def check(leaks: str) -> str:
        lines = (f"  float* {name};\n  cudaMalloc(&{name}, 64);\n" for name in leaks)
        source.write_text(f"int main() {{\n{''.join(lines)}}}\n")
        arguments = ["--baseline", str(baseline)] if baseline.exists() else ["--format", "json"]
        main(["check", str(source), "--select", "SS401", *arguments])
        return capsys.readouterr().out

    report = check("abcd")
    baseline.write_text(report)
    assert report.count('"code": "SS401"') == 1
    assert "never freed" not in check("abcd")
    assert "`e` is never freed" in check("abcde")
