"""What a report says to do about the wrong programs for two devices, in words that their programs have."""

from __future__ import annotations

from pathlib import Path

import pytest

import streamsan

FOLDER = Path(__file__).parent / "pools"
FIXES = {
    # PyTorch's copies record events of their own, which no program has.
    "ss105_peer_group": "after line 22: <the tensor of line 27>.record_stream(<stream 1, made at {name}:15>)",
    "ss105_peer_send": "after line 24: <the tensor of line 37>.record_stream(<stream 1, made at {name}:17>)",
    "ss109_peer_gradient": "after line 41: event = <stream 1, made at {name}:15>.record_event(); "
    "before line 42: <stream 129, made at {name}:16>.wait_event(event)",
    # The stream of a process group has no name.
    "ss105_nccl_third_stream": "before line 30: wait() of the work that line 27 returns, "
    "with torch.cuda.default_stream() current",
    "ss109_nccl_parameters": "before line 28: wait() of the work that line 27 returns, "
    "with torch.cuda.default_stream() current",
    "ss109_nccl_hook_stream": "before line 29: torch.cuda.current_stream().wait_stream(<stream 15, made at {name}:39>)",
    # An event of the program's own, and a collective that returns no work.
    "ss109_nccl_buckets": "before line 45: torch.cuda.default_stream().wait_event(<the event of line 46>)",
}


@pytest.mark.parametrize("pair", FIXES)
def test_the_fix_is_in_words_that_the_program_has(pair: str) -> None:
    report = streamsan.check(FOLDER / f"{pair}.wrong.sst")
    (finding,) = (each for each in report.findings if each.severity is streamsan.Severity.ERROR)
    assert finding.fix.verified
    assert finding.fix.summary == FIXES[pair].format(name=f"{pair}.wrong.py")


def test_waits_that_pytorch_makes_for_itself_are_not_to_be_removed() -> None:
    """Its process groups wait as they are made and ended, its captures before they begin."""
    report = streamsan.check(FOLDER / "ss303_nccl_captured.right.sst")
    assert not [each for each in report.findings if each.code == "SS504"]


def test_two_copies_are_told_apart() -> None:
    report = streamsan.check(FOLDER / "ss109_peer_gradient.wrong.sst")
    (message,) = (each.message for each in report.findings if each.severity is streamsan.Severity.ERROR)
    assert message.startswith("the copy (`cuMemcpyDtoDAsync`) reads ")
    assert message.endswith("while an earlier copy (`cuMemcpyDtoDAsync`) may still be writing it")
