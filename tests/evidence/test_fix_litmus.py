"""The wrong litmus programs, put right by `--fix`; and what every finding says of its fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from expectations import Expectations, check_file, check_unchanged, pair_name
from streamsan.cli import main
from streamsan.findings.finding import Finding, Severity
from streamsan.rules.every_rule import RULES
from streamsan.rules.rule import Rule

LITMUS = Path(__file__).parents[1] / "litmus"
WRONG = sorted(LITMUS.glob("*.wrong.cu"))
PUT_RIGHT = ("ss101", "ss102", "ss103", "ss104", "ss107", "ss108", "ss109", "ss303", "ss304", "ss503")
DOMINATED = ("ss504_between_replays", "ss504_event_in_one_stream", "ss504_sync_twice")
BY_THE_PROGRAM = {
    "ss101_lane_of_each_thread",
    "ss106_detached_worker",
    "ss106_reset_before_join",
    "ss108_future_of_a_promise",
    "ss108_packaged_task",
    "ss108_read_before_join",
    "ss109_atomic_ticket",
    "ss109_queue_of_tasks",
    "ss109_recorded_by_a_thread",
    "ss109_worker_scratch",
}
"""which host thread comes first, or how it comes to its end, is the program's decision"""
ORDERING = [path for path in WRONG if path.name.startswith(PUT_RIGHT) and pair_name(path) not in BY_THE_PROGRAM]
WITHOUT_PLACE = {
    "ss101_batch_changed_early": "the function that frees the memory also sets the size that the next step takes",
    "ss101_opaque_handle": "the function that frees the memory also destroys the stream and the handle",
    "ss303_captured_by_class": "the function that frees the memory also makes the larger one",
    "ss109_beside_child_graph": "the fill is the child graph's: what the copy could name is the node that embeds it",
    "ss109_beside_conditional": "the kernel is captured into the body: what the copy could name is the node around it",
    "ss109_overlapping_tiles": "one call in a loop adds both nodes: the earlier turn's node has no name of its own",
    "ss303_lane_clones": "the function that frees the table also makes and fills the new one",
    "ss303_resized_input": "the function that frees the memory makes it larger, for what follows at once",
    "ss303_stage_enabled_again": "the function that frees the memory also disables the node",
    "ss303_solver_loop": "the pointer that the free names is given other memory before the launch",
}
"""the fix is verified on the trace, but no edit of the text makes it"""
EDITED = [path for path in ORDERING if pair_name(path) not in WITHOUT_PLACE]
QUICK = {path for code in PUT_RIGHT for path in [each for each in EDITED if each.name.startswith(code)][:5]}
"""each is checked some eight times until it is right: the others are deep"""


def codes_of(findings: list[Finding]) -> list[str]:
    return sorted(finding.code for finding in findings)


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=pair_name(path), marks=() if path in QUICK else pytest.mark.deep) for path in EDITED],
)
def test_fixed_program_passes_the_check(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    expected = {code for _, code in Expectations.of(path.read_text(encoding="utf-8")).loud}
    before = check_unchanged(path)
    # What is a note is edited where it is asked for.
    options = [] if expected else ["--select", path.name[:5].upper()]
    assert main(["check", "--fix", *options, str(copy)]) == 0, capsys.readouterr()
    after = check_file(copy)
    assert len(codes_of(after)) <= len(codes_of(before)) + 1
    assert copy.read_bytes() != path.read_bytes()
    assert not [finding for finding in after if finding.severity is not Severity.NOTE]
    assert expected.isdisjoint(finding.code for finding in after)
    # Nothing new came up, not even a note, but for waits that a free further down made needless: the fix says so.
    said = capsys.readouterr().err
    left = codes_of(before)
    for code in codes_of(after):
        if code in left:
            left.remove(code)
        else:
            assert (code, "not needed any more" in said) == ("SS504", True)
    fixed = copy.read_bytes()
    main(["check", "--fix", str(copy)])
    assert copy.read_bytes() == fixed


@pytest.mark.parametrize("path", ORDERING, ids=pair_name)
def test_fix_is_verified_on_the_trace(path: Path) -> None:
    code = path.name[:5].upper()
    findings = [finding for finding in check_unchanged(path) if finding.code == code]
    assert findings
    for finding in findings:
        assert finding.fix is not None
        assert finding.fix.verified, (finding.message, finding.no_fix)
        assert finding.no_fix == ""


@pytest.mark.parametrize("name", DOMINATED)
def test_dominated_waits_are_removed(name: str, tmp_path: Path) -> None:
    copy = tmp_path / "a.cu"
    copy.write_bytes((LITMUS / f"{name}.wrong.cu").read_bytes())
    lines = len(copy.read_text(encoding="utf-8").split("\n"))
    removed = [finding for finding in check_unchanged(LITMUS / f"{name}.wrong.cu") if finding.code == "SS504"]
    assert all(finding.fix is not None and finding.fix.verified for finding in removed)
    assert main(["check", "--fix", "--notes", str(copy)]) == 0
    assert "SS504" not in codes_of(check_file(copy))
    assert len(copy.read_text(encoding="utf-8").split("\n")) == lines - len(removed)


@pytest.mark.parametrize("path", WRONG, ids=pair_name)
def test_every_finding_has_a_verified_fix_or_says_why_not(path: Path) -> None:
    for finding in check_unchanged(path):
        verified = finding.fix is not None and finding.fix.verified
        assert verified == (finding.no_fix == ""), (finding.code, finding.fix, finding.no_fix)


def test_every_rule_tries_an_edit_or_has_a_reason() -> None:
    for rule in RULES.values():
        assert (type(rule).fix_steps is not Rule.fix_steps) != bool(rule.without_fix), rule.id


@pytest.mark.parametrize("name", sorted(WITHOUT_PLACE))
def test_what_has_no_place_for_an_edit_stays_and_is_told(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "a.cu"
    text = (LITMUS / f"{name}.wrong.cu").read_bytes()
    copy.write_bytes(text)
    assert main(["check", "--fix", str(copy)]) == 1
    assert copy.read_bytes() == text
    said = capsys.readouterr()
    assert "no automatic edit: " in said.err
    assert "fix (verified on this trace)" in said.out


@pytest.mark.parametrize("name", sorted(BY_THE_PROGRAM))
def test_what_only_the_program_can_decide_stays(name: str, tmp_path: Path) -> None:
    copy = tmp_path / "a.cu"
    text = (LITMUS / f"{name}.wrong.cu").read_bytes()
    copy.write_bytes(text)
    assert main(["check", "--fix", str(copy)]) == 1
    assert copy.read_bytes() == text
