from __future__ import annotations

import pytest

from streamsan.findings.finding import Confidence, Finding, Location, Severity
from streamsan.findings.suppressions import Suppressions, comments

KNOWN = ("SS102", "SS501", "SS504")


def read(text: str) -> Suppressions:
    suppressions = Suppressions(KNOWN)
    suppressions.add({"a.cu": text})
    return suppressions


def finding(code: str, line: int, end_line: int = 0) -> Finding:
    return Finding(code, "x", Severity.NOTE, Confidence.PROVEN, "m", Location("a.cu", line, 1, "", end_line))


def hides(text: str, code: str, line: int, end_line: int = 0) -> bool:
    return read(text).keep([finding(code, line, end_line)]) == []


@pytest.mark.parametrize(
    "text",
    [
        "cudaFree(p); // streamsan: ignore[SS501] kept simple",
        "cudaFree(p); //streamsan:ignore[SS501]",
        "cudaFree(p); /* streamsan: ignore[SS504, SS501] reason */",
        "cudaFree(p); // first // streamsan: ignore[SS501]",
    ],
)
def test_on_the_line_itself(text: str) -> None:
    assert hides(text, "SS501", 1)
    assert not hides(text, "SS102", 1)
    assert not hides(text, "SS501", 2)


@pytest.mark.parametrize(
    "text",
    [
        "// streamsan: ignore[SS501]\ncudaFree(p);",
        "/* streamsan: ignore[SS501]\n   for a reason */\n\n// more\ncudaFree(p);",
        "  // streamsan: ignore[SS501]\r\n  cudaFree(p);\r\n",
    ],
)
def test_alone_on_the_line_before(text: str) -> None:
    line = 1 + next(i for i, source in enumerate(text.split("\n")) if "cudaFree" in source)
    assert hides(text, "SS501", line)


def test_at_the_end_of_a_call_of_several_lines() -> None:
    assert hides("cudaFree(\n  p); // streamsan: ignore[SS501]", "SS501", 1, end_line=2)
    assert not hides("cudaFree(\n  p); // streamsan: ignore[SS501]", "SS501", 1)


@pytest.mark.parametrize(
    "text",
    [
        'const char* s = "// streamsan: ignore[SS501]";',
        'auto s = R"x(" // streamsan: ignore[SS501]\n)x";',
        'char c = \'"\'; const char* s = "// streamsan: ignore[SS501]";',
        'const char* s = "\\"// streamsan: ignore[SS501]";',
    ],
)
def test_text_in_strings_is_no_suppression(text: str) -> None:
    assert not hides(text, "SS501", 1)
    assert not hides(text, "SS501", 2)


def test_a_digit_separator_opens_no_character() -> None:
    assert hides("int n = 1'000; // streamsan: ignore[SS501]", "SS501", 1)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("// streamsan: ignore", "names no code"),
        ("// streamsan: ignore[]", "names no code"),
        ("// streamsan: ignore[SS501", "no closing bracket"),
        ("// streamsan: ignore[SS999]", "unknown code: SS999"),
        ("// streamsan: ignore[all]", "unknown code: all"),
    ],
)
def test_rejected(text: str, reason: str) -> None:
    suppressions = read(f"\n{text}\ncudaFree(p);")
    (rejected,) = suppressions.rejected
    assert (rejected.file, rejected.line) == ("a.cu", 2)
    assert reason in rejected.reason
    assert suppressions.keep([finding("SS501", 3)])


def test_known_codes_beside_an_unknown_one_still_count() -> None:
    suppressions = read("f(); // streamsan: ignore[SS999,SS501]")
    assert suppressions.rejected
    assert suppressions.keep([finding("SS501", 1)]) == []


def test_unused_codes_are_known() -> None:
    suppressions = read("f(); // streamsan: ignore[SS501,SS504]\ng(); // streamsan: ignore[SS102]\n")
    suppressions.keep([finding("SS501", 1)])
    assert [(entry.line, entry.unused) for entry in suppressions.unused()] == [(1, ("SS504",)), (2, ("SS102",))]


def test_a_file_counts_once() -> None:
    suppressions = read("f(); // streamsan: ignore[SS501]")
    suppressions.add({"a.cu": "f(); // streamsan: ignore[SS501]"})
    assert len(suppressions.unused()) == 1


@pytest.mark.parametrize("text", ["/* no end", '"no end', "'no end", 'R"(no end', "//", "\\", '"\\', "/*", 'R"'])
def test_unfinished_text_is_no_trouble(text: str) -> None:
    list(comments(text))
    read("streamsan: " + text)


def test_time_grows_with_the_text_only() -> None:
    # Unclosed quotes and openings by the thousand: each is passed once.
    for piece in ('"\\', "'", "/*/", 'R"a(', "//\\\n", "1'"):
        list(comments(piece * 5_000))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("cudart.cudaFree(p)  # streamsan: ignore[SS501] once", 1),
        ("# streamsan: ignore[SS501]\n\ncudart.cudaFree(p)", 3),
        ("cudart.cudaFree(\n    p)  # streamsan: ignore[SS501]", 2),
        ("if x:\n    # streamsan: ignore[SS501]\n    # why\n    cudart.cudaFree(p)", 4),
    ],
)
def test_comments_of_python(text: str, line: int) -> None:
    suppressions = Suppressions(KNOWN)
    suppressions.add({"a.py": text})
    found = Finding("SS501", "x", Severity.NOTE, Confidence.PROVEN, "m", Location("a.py", line, 1))
    assert suppressions.keep([found]) == []


@pytest.mark.parametrize(
    "text", ['s = "# streamsan: ignore[SS501]"\nf(s)', "f(s) // streamsan", 'def (:\n"""\n# streamsan: ignore[SS501]']
)
def test_what_is_no_comment_of_python(text: str) -> None:
    suppressions = Suppressions(KNOWN)
    suppressions.add({"a.py": text})
    assert suppressions.unused() == []
