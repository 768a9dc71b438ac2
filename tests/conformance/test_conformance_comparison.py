"""Files of results, and what the comparison says of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conformance.__main__ import main
from conformance.comparison import Known, compare, known_differences
from conformance.registry import Observations, all_cases
from conformance.results import Results, ResultsError, read

CASE = "free/plain/cudaFree/unrelated"
RECORDED: dict[str, Observations] = {CASE: {"status": "cudaSuccess", "waited": True}}


def recorded(tmp_path: Path, cases: dict[str, Observations]) -> str:
    path = tmp_path / "results.json"
    Results("gpu", "a device", "580.0", "2026-01-01", 13000, 1, cases).write(str(path))
    return str(path)


def test_results_come_back_as_they_were_written(tmp_path: Path) -> None:
    cases: dict[str, Observations] = {"a/b": {"status": "cudaSuccess", "many": [1, 2], "names": ["x"], "is": False}}
    assert read(recorded(tmp_path, cases)).cases == cases


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"version": 1, "cases": []}',
        '{"version": 2, "cases": {}}',
        '{"version": 1, "cases": {"a/b": 1}}',
        '{"version": 1, "cases": {"a/b": {"x": {"y": 1}}}}',
        '{"version": 1, "cases": {}}',
        "\xff\xfe",
    ],
)
def test_a_foreign_file_is_refused_with_one_line(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "foreign.json"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(ResultsError):
        read(str(path))
    assert main(["--on", "sim", "--against", str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert str(path) in said.err


def test_a_truncated_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(recorded(tmp_path, RECORDED))
    path.write_text(path.read_text()[:-20])
    assert main(["--on", "sim", "--against", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert main(["--on", "sim", "--against", str(tmp_path / "none.json")]) == 2


def test_a_name_of_no_case_is_refused() -> None:
    assert main(["--list", "--only", "no/such"]) == 2


def test_the_same_observations_agree() -> None:
    found = compare(RECORDED, RECORDED, "h200", [])
    assert (found.compared, found.agreeing, found.differences) == (1, 1, ())


@pytest.mark.parametrize(
    "here",
    [{"status": "cudaSuccess", "waited": False}, {"status": "cudaSuccess"}, {"status": "cudaSuccess", "waited": 1}],
)
def test_what_differs_is_said(here: Observations) -> None:
    found = compare(RECORDED, {CASE: here}, "h200", [])
    assert (found.compared, found.agreeing) == (1, 0)
    assert [difference.observation for difference in found.unexplained] == ["waited"]
    assert str(found.unexplained[0]).startswith(f"{CASE}: waited: recorded True, simulated ")


def test_a_known_difference_has_its_reason() -> None:
    known = [Known("contract", ("free/plain/*",), ("waited",), "promised by nobody")]
    here: dict[str, Observations] = {CASE: {"status": "cudaSuccess", "waited": False}}
    assert compare(RECORDED, here, "contract", known).unexplained == ()
    assert "promised by nobody" in str(compare(RECORDED, here, "contract", known).differences[0])
    assert len(compare(RECORDED, here, "h200", known).unexplained) == 1
    other: dict[str, Observations] = {CASE: {"status": "cudaErrorInvalidValue", "waited": True}}
    assert len(compare(RECORDED, other, "contract", known).unexplained) == 1


def test_a_known_difference_is_known_for_what_it_says_only() -> None:
    known = [Known("contract", ("free/plain/*",), ("waited",), "promised by nobody", ("False", "nothing"))]
    for waited, is_known in ((False, True), (2, False)):
        here: dict[str, Observations] = {CASE: {"status": "cudaSuccess", "waited": waited}}
        assert (compare(RECORDED, here, "contract", known).unexplained == ()) is is_known
    assert compare(RECORDED, {CASE: {"status": "cudaSuccess"}}, "contract", known).unexplained == ()


def test_a_known_difference_that_nothing_needs_is_said() -> None:
    known = [Known("contract", ("free/plain/*", "free/pinned/*"), ("waited",), "promised by nobody")]
    recorded: dict[str, Observations] = {**RECORDED, "free/plain/b": {"waited": True}}
    assert compare(recorded, recorded, "contract", known).needless == ("free/plain/*",)
    assert compare(recorded, recorded, "h200", known).needless == ()
    assert compare(recorded, RECORDED, "contract", known).needless == ()  # not all were run
    differs: dict[str, Observations] = {**RECORDED, "free/plain/b": {"waited": False}}
    assert compare(recorded, differs, "contract", known).needless == ()


def test_what_was_not_recorded_clearly_is_not_compared() -> None:
    here: dict[str, Observations] = {"a/b": {"x": 1}, "a/c": {"x": 1}}
    found = compare({"a/b": {"unclear": True}}, here, "h200", [])
    assert (found.compared, found.not_compared) == (0, ("a/b", "a/c"))


def test_every_known_difference_has_a_reason_and_is_about_a_case() -> None:
    from fnmatch import fnmatchcase

    for known in known_differences():
        assert known.driver in ("contract", "h200", "any")
        assert len(known.reason) > 20
        for pattern in known.cases:
            assert any(fnmatchcase(name, pattern) for name in all_cases()), pattern


def test_a_tampered_file_is_told_from_the_true_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = recorded(tmp_path, RECORDED)
    words = ["--on", "sim", "--only", CASE, "--against", path, "--jobs", "1"]
    assert main(words) == 0
    assert "1 of 1 agree" in capsys.readouterr().out
    content = json.loads(Path(path).read_text())
    content["cases"][CASE]["waited"] = False
    Path(path).write_text(json.dumps(content))
    assert main(words) == 1
    said = capsys.readouterr().out
    assert f"{CASE}: waited: recorded False, simulated True" in said
    assert "0 of 1 agree" in said
