from __future__ import annotations

from pathlib import Path

import pytest

from streamsan.findings import suppression_file
from streamsan.findings.finding import Confidence, Finding, Location, Severity
from streamsan.findings.suppression_file import UnknownCodeError

KNOWN = ("SS102", "SS501", "SS504")


def finding(code: str, file: str = "src/a.cu", line: int = 7, function: str = "main", end_line: int = 0) -> Finding:
    return Finding(code, "x", Severity.NOTE, Confidence.PROVEN, "m", Location(file, line, 1, function, end_line))


def hides(tmp_path: Path, text: str, one: Finding) -> bool:
    path = tmp_path / "known.txt"
    path.write_text(text, encoding="utf-8")
    entries, rejected = suppression_file.read(str(path), KNOWN)
    assert not rejected
    return suppression_file.keep(entries, [one]) == []


@pytest.mark.parametrize(
    ("line", "hidden"),
    [
        ("SS501 a.cu", True),
        ("SS504, SS501 a.cu  known", True),
        ("SS504 a.cu", False),
        ("SS5 a.cu  all of them", True),
        ("SS1,SS50 a.cu", True),
        ("SS1 a.cu", False),
        ("SS501 src/*.cu:7 only this one", True),
        ("SS501 src/*.cu:8", False),
        ("SS501 ** function=main a reason", True),
        ("SS501 ** function=other", False),
        ('SS501 "src/a.cu":7 reason', True),
        ("# a comment\n\n  SS501 a.cu  # why not\r\n", True),
    ],
)
def test_lines(tmp_path: Path, line: str, hidden: bool) -> None:
    assert hides(tmp_path, line, finding("SS501")) is hidden


def test_function_with_its_class_or_without(tmp_path: Path) -> None:
    for name in ("Pool::grow", "grow", "Pool::*"):
        assert hides(tmp_path, f"SS501 ** function={name}", finding("SS501", function="Pool::grow"))
    assert hides(tmp_path, "SS501 ** function=grow", finding("SS501", function="Pool.grow"))
    assert not hides(tmp_path, "SS501 ** function=shrink", finding("SS501", function="Pool.grow"))


def test_any_line_of_a_call(tmp_path: Path) -> None:
    assert hides(tmp_path, "SS501 a.cu:9", finding("SS501", line=7, end_line=9))
    assert not hides(tmp_path, "SS501 a.cu:10", finding("SS501", line=7, end_line=9))


def test_what_hid_nothing_is_unused(tmp_path: Path) -> None:
    path = tmp_path / "known.txt"
    path.write_text("SS501,SS504 a.cu\nSS102 b.cu\n", encoding="utf-8")
    entries, _ = suppression_file.read(str(path), KNOWN)
    suppression_file.keep(entries, [finding("SS501")])
    assert [(entry.line, entry.unused) for entry in entries] == [(1, ("SS504",)), (2, ("SS102",))]


def test_of_a_beginning_nothing_is_unused_where_one_code_hid_something(tmp_path: Path) -> None:
    path = tmp_path / "known.txt"
    path.write_text("SS5,SS1 a.cu", encoding="utf-8")
    entries, _ = suppression_file.read(str(path), KNOWN)
    suppression_file.keep(entries, [finding("SS501")])
    assert entries[0].unused == ("SS1",)


def test_a_line_that_is_none_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "known.txt"
    path.write_text("hello\nSS501\nSS501 a.cu\nSS501 'a b.cu\n", encoding="utf-8")
    entries, rejected = suppression_file.read(str(path), KNOWN)
    assert [entry.line for entry in entries] == [3, 4]
    assert [(one.file, one.line) for one in rejected] == [(str(path), 1), (str(path), 2)]
    assert all("not a suppression" in one.reason for one in rejected)


@pytest.mark.parametrize("line", ["SS999 a.cu", "SS501,SS9 a.cu", "SSX a.cu"])
def test_an_unknown_code(tmp_path: Path, line: str) -> None:
    path = tmp_path / "known.txt"
    path.write_text(f"SS501 a.cu\n{line}\n", encoding="utf-8")
    with pytest.raises(UnknownCodeError, match=r"known\.txt:2: unknown code"):
        suppression_file.read(str(path), KNOWN)


def test_what_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "known.txt"
    path.write_bytes(b"SS501 a.cu \xff\n")
    with pytest.raises(ValueError, match="UTF-8"):
        suppression_file.read(str(path), KNOWN)
