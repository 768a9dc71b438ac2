"""What `check` tells of a fix is what `--diff` writes: the same step, in the same words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from expectations import pair_name
from streamsan.cli import main

LITMUS = Path(__file__).parents[1] / "litmus"
WRONG = sorted(LITMUS.glob("*.wrong.cu"))
QUICK = {
    "ss101_cleanup_helper",
    "ss102_fan_out_one_event",  # no event of its own for each stream behind a loop
    "ss102_tensor_pool_release",  # the stream of the last use has no name at the free
    "ss106_reset_with_kernel_pending",
    "ss108_read_before_sync",
    "ss109_column_tiles",  # the event of a loop's last turn is declared around the loop
    "ss109_denoiser_recapture",  # a stream is a member of its own class only
    "ss304_missing_dependency",
}
"""the others are deep"""
TAKEN_FROM_THE_TEXT = {
    "ss102_aliasing_shared_ptr": "a member of what a smart pointer holds: the text takes no name that is written so",
    "ss102_optional_scratch": "a member of what an optional holds: the text takes no name that is written so",
    "ss108_halves_of_host_functions": "three findings in one line: the second edit is made on top of the first",
    "ss108_video_upload_ring": "the text with the event between two turns of the loop still has the finding",
    "ss109_array_of_streams": "the event that is told is that of the lane itself, not of its neighbour",
    "ss109_crtp_stages": "in the method, the event's name is that of another object",
    "ss109_peer_exchange": "in the method, the event's name is that of another object",
    "ss109_scratch_by_size": "in the function, the stream's name is that of another call",
    "ss109_singleton_workspace": "in the method, the stream's name is that of another object",
    "ss109_tree_reduction": "what waits for the lanes runs in several of them: one event is not enough",
    "ss109_two_instances": "in the method, the stream's name is that of another object",
    "ss109_variadic_stages": "in the function, the stream's name is that of another call",
}
"""what the trace does not show is found out by a check of the edited text, which takes the next step"""


def reported(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> list[dict[str, Any]]:
    """Return the findings of the JSON report."""
    main(["check", "--format", "json", *options, str(path)])
    findings: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["findings"]
    return findings


def step_of(finding: dict[str, Any]) -> str:
    """Return what a finding's fix says, without the waits that nothing needs then, and the name of what goes."""
    return str(finding["fix"]["summary"]).partition(" (")[0]


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=pair_name(path), marks=() if pair_name(path) in QUICK else pytest.mark.deep)
        for path in WRONG
        if pair_name(path) not in TAKEN_FROM_THE_TEXT
    ],
)
def test_the_step_that_is_told_is_the_step_that_is_written(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told, written = reported(path, capsys), reported(path, capsys, "--diff")
    pairs = [(told, made) for told, made in zip(told, written, strict=True) if (made.get("fix") or {}).get("edits")]
    assert [step_of(one) for one, _ in pairs] == [step_of(made) for _, made in pairs]


def test_a_step_that_cannot_be_written_is_told_where_no_other_can(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = LITMUS / "ss101_opaque_handle.wrong.cu"
    (told,), (made,) = (
        [each for each in reported(path, capsys, *options) if each["code"] == "SS101"] for options in ((), ("--diff",))
    )
    assert told["fix"]["verified"]
    assert step_of(told) == step_of(made)
    assert "edits" not in made["fix"] or not made["fix"]["edits"]
    assert made["properties"]["no_edit"]
