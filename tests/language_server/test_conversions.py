"""From findings to what the protocol has: positions, diagnostics, hovers, edits, settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types
from msgspec.structs import replace
from pygls.workspace import PositionCodec

from language_server.editor import applied
from streamsan.cli.lsp import refusal
from streamsan.cli.patches import unified_diff
from streamsan.findings.finding import Confidence, Edit, Finding, Location, Related, Severity
from streamsan.language_server.checked_document import CheckedDocument
from streamsan.language_server.code_actions import FIX_ALL, is_wanted
from streamsan.language_server.editor_settings import EditorSettings, SettingError
from streamsan.language_server.finding_diagnostics import diagnostic_of
from streamsan.language_server.finding_hovers import hover_of_comment, hover_of_findings
from streamsan.language_server.patch_edits import edits_of_patch
from streamsan.language_server.suppressing_edits import suppressing_edit
from streamsan.language_server.text_positions import TextPositions
from streamsan.rules.rule_pages import page

UTF16 = PositionCodec()
FOUND = Finding("SS504", "redundant-sync", Severity.NOTE, Confidence.POSSIBLE, "not needed", Location("a.cu", 1, 1))


def at(*places: int) -> types.Range:
    line, column, end_line, end_column = places
    return types.Range(types.Position(line, column), types.Position(end_line, end_column))


@pytest.mark.parametrize(
    ("encoding", "column"),
    [
        (types.PositionEncodingKind.Utf16, 5),
        (types.PositionEncodingKind.Utf8, 8),
        (types.PositionEncodingKind.Utf32, 4),
    ],
)
def test_columns_count_the_units_that_were_agreed_on(encoding: types.PositionEncodingKind, column: int) -> None:
    lines = TextPositions("x\n é😀 f();\n", PositionCodec(encoding))
    assert lines.range_of(Location("a.cu", 2, 5, end_line=2, end_column=8)) == at(1, column, 1, column + 3)


def test_lines_end_as_the_protocol_says() -> None:
    lines = TextPositions("a\f\v\u2028b\r\nc\rd\n", UTF16)
    assert lines.lines == ["a\f\v\u2028b", "c", "d", ""]
    assert lines.position(3, 2) == types.Position(2, 1)
    assert lines.position(9, 9) == types.Position(3, 0)
    assert lines.position(2, 9) == types.Position(1, 1)


def test_what_a_location_does_not_know_is_the_rest_of_the_line() -> None:
    lines = TextPositions("  f(a);  \n\n", UTF16)
    assert lines.range_of(Location("a.cu", 1)) == at(0, 2, 0, 7)
    assert lines.range_of(Location("a.cu", 1, 4)) == at(0, 3, 0, 7)
    assert lines.range_of(Location("a.cu", 2)) == at(1, 0, 1, 0)
    assert lines.range_of(Location("a.cu", 0)) == at(0, 0, 0, 0)


def test_a_finding_is_a_diagnostic() -> None:
    lines = TextPositions("wait();\nuse();\n", UTF16)
    finding = replace(FOUND, related=(Related("sync", "b.h", 2, "waits here"),))
    told = diagnostic_of(finding, lambda file: (f"file:///{file}", lines))
    assert told.message == "not needed (possible)"
    assert told.severity == types.DiagnosticSeverity.Information
    assert told.tags == [types.DiagnosticTag.Unnecessary]
    assert told.code_description is not None
    assert Path(told.code_description.href.removeprefix("file://")).read_text() == page("SS504")
    (related,) = told.related_information or ()
    assert related == types.DiagnosticRelatedInformation(types.Location("file:///b.h", at(1, 0, 1, 6)), "waits here")
    proven = replace(FOUND, name="use-races-free", confidence=Confidence.PROVEN, severity=Severity.ERROR)
    told = diagnostic_of(proven, lambda file: (file, lines))
    assert (told.message, told.severity, told.tags) == ("not needed", types.DiagnosticSeverity.Error, None)


def test_a_hover_shows_the_words_of_a_program_as_they_are() -> None:
    finding = replace(FOUND, message="kernel `a_b<c>` may read *p [x](y) <img>", witness=("first", "`s_1` frees"))
    shown = hover_of_findings([finding])
    assert r"kernel `a_b<c>` may read \*p \[x\](y) \<img\>" in shown
    assert "1. first\n2. `s_1` frees" in shown
    assert hover_of_findings([replace(finding, message="odd ` one")]).count("odd ' one") == 1


def test_a_comment_names_rules() -> None:
    line = "f();  // streamsan: ignore[SS501, SS102, XX1] why"
    shown = hover_of_comment(line, line.index("ignore") + 1)
    assert "SS501 blocking-free" in shown
    assert "SS102 use-races-free" in shown
    assert "Contract" not in shown
    assert hover_of_comment(line, 2) == ""
    assert hover_of_comment(line, line.index("why") + 2) == ""


@given(
    st.lists(st.sampled_from(["a", "é😀", "", "b;\r"]), max_size=12),
    st.lists(st.sampled_from(["a", "é😀", "", "c"]), max_size=12),
    st.booleans(),
    st.booleans(),
)
def test_the_edits_of_a_patch_make_what_the_patch_makes(old: list[str], new: list[str], one: bool, two: bool) -> None:
    before, after = ("\n".join(lines) + "\n" * ends for lines, ends in ((old, one), (new, two)))
    if before.endswith("\r"):
        before += "\n"
    edits = edits_of_patch(unified_diff("a.cu", before.encode(), after.encode()), "a.cu", before)
    lines = TextPositions(before, UTF16)
    text_edits = []
    for edit in edits:
        place = lines.range_of_edit(edit)
        assert place is not None
        text_edits.append(types.TextEdit(place, edit.text))
    assert applied(before, text_edits) == after


def test_a_patch_of_more_than_the_text_gives_no_edits() -> None:
    patch = unified_diff("a.cu", b"a\n", b"b\n")
    assert edits_of_patch(patch, "a.cu", "a\n") == [Edit("a.cu", 1, 1, 2, 1, "b\n")]
    assert edits_of_patch(patch + unified_diff("b.h", b"a\n", b"c\n"), "a.cu", "a\n") == []
    assert edits_of_patch(patch, "a.cu", "x\ra\n") == []
    assert edits_of_patch(b"", "a.cu", "a\n") == []
    # A line that goes may look like the name of a file.
    odd = unified_diff("a.cu", b"-- a/x\n", b"b\n")
    assert edits_of_patch(odd, "a.cu", "-- a/x\n") == [Edit("a.cu", 1, 1, 2, 1, "b\n")]


@pytest.mark.parametrize("text", ["  wait(s);\n", "  wait(s);\r\n", "x;\n\twait(s);", "/* a */\n  wait(s);  // b\n"])
def test_a_comment_that_suppresses_stands_before_the_line(text: str) -> None:
    lines = TextPositions(text, UTF16)
    line = next(number for number, each in enumerate(lines.lines, 1) if "wait" in each)
    finding = replace(FOUND, location=Location("a.cu", line, 3, end_line=line, end_column=10))
    edit = suppressing_edit(finding, text, lines)
    assert edit is not None
    place = lines.range_of_edit(edit)
    assert place is not None
    new = applied(text, [types.TextEdit(place, edit.text)])
    indentation = lines.lines[line - 1][: -len(lines.lines[line - 1].lstrip())]
    added = TextPositions(new, UTF16).lines
    assert added[line - 1] == f"{indentation}// streamsan: ignore[SS504]"
    assert added[: line - 1] + added[line:] == lines.lines


@pytest.mark.parametrize(
    "text", ["#define W \\\n  wait(s);\n", "/* a\n wait(s); */\n", "x\n"], ids=["macro", "comment", "no such line"]
)
def test_no_comment_is_offered_where_it_would_be_something_else(text: str) -> None:
    line = 9 if text == "x\n" else 2
    finding = replace(FOUND, location=Location("a.cu", line, 3, end_line=line, end_column=9))
    assert suppressing_edit(finding, text, TextPositions(text, UTF16)) is None


def test_edits_are_of_the_texts_that_were_checked(tmp_path: Path) -> None:
    header = tmp_path / "b.h"
    header.write_bytes(b"y\r\n")
    finding = replace(FOUND, related=(Related("sync", "b.h", 1, ""),))
    uri = (tmp_path / "a.cu").as_uri()

    def checked(began: float) -> CheckedDocument:
        return CheckedDocument.of(uri, 1, "x\r\n", "a.cu", str(tmp_path), [finding], UTF16, {}, began)

    own, other = Edit("a.cu", 1, 1, 1, 2, "z\nz"), Edit("b.h", 1, 1, 1, 2, "z\n")
    now = {uri: "x\r\n", header.as_uri(): "y\n"}
    later = header.stat().st_mtime + 1
    edits = checked(later).text_edits([own, other], now.get)
    assert edits is not None
    assert edits[uri] == [types.TextEdit(at(0, 0, 0, 1), "z\r\nz")]
    assert edits[header.as_uri()] == [types.TextEdit(at(0, 0, 0, 1), "z\r\n")]
    assert checked(later).text_edits([own], {uri: "xx\r\n"}.get) is None
    assert checked(later).text_edits([replace(own, line=7)], now.get) is None
    # The header was written while the check ran: nobody knows which of its texts was read.
    assert checked(later - 2).text_edits([other], now.get) is None
    assert checked(later - 2).text_edits([own], now.get) is not None


def test_kinds_of_actions_are_prefixes() -> None:
    assert is_wanted(FIX_ALL, None)
    assert is_wanted(FIX_ALL, ["source"])
    assert is_wanted(FIX_ALL, ["quickfix", "source.fixAll"])
    assert is_wanted(FIX_ALL, [FIX_ALL])
    assert not is_wanted(FIX_ALL, ["source.fixAll.other", "source.fix"])
    assert not is_wanted(FIX_ALL, [])


def test_settings_are_held_against_the_command_line() -> None:
    words = ["-I", "include", "-DSIZE=4", "-p", "build", "--select", "SS1"]
    settings = EditorSettings.of({"arguments": words, "timeout": 5, "whileTyping": False}, refusal)
    assert settings == EditorSettings(tuple(words), 5.0, False)
    assert EditorSettings.of(None, refusal) == EditorSettings.of({"other": 1}, refusal) == EditorSettings()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([], "streamsan: the settings are no object"),
        ({"arguments": "-I x"}, "streamsan.arguments: no list of strings"),
        ({"arguments": ["-I"]}, "streamsan.arguments: Option '-I' requires an argument."),
        ({"arguments": ["--report", "x"]}, "streamsan.arguments: --report is not for editors"),
        ({"arguments": ["--fix"]}, "streamsan.arguments: --fix is not for editors"),
        ({"arguments": ["a.cu"]}, "streamsan.arguments: the editor says which files are checked: give options only"),
        ({"arguments": ["--", "-"]}, "streamsan.arguments: the editor says which files are checked: give options only"),
        ({"timeout": 0}, "streamsan.timeout: no number of seconds above 0"),
        ({"timeout": True}, "streamsan.timeout: no number of seconds above 0"),
        ({"whileTyping": 1}, "streamsan.whileTyping: neither true nor false"),
    ],
)
def test_a_wrong_setting_is_one_line(value: object, reason: str) -> None:
    with pytest.raises(SettingError) as caught:
        EditorSettings.of(value, refusal)
    assert str(caught.value) == reason
