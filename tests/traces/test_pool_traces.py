"""The programs on pools, streams, graphs and pinned memory, recorded on H200s: judged by the marks of the program.

`python bench/recorded_litmus.py --pools --traces tests/traces/pools` records them anew; NAME.host.sst was recorded with
`--host-accesses`, those for RMM on an H100, and those for two devices on two H100s: of two ranks both are in the file.
PyTorch's own machine code is not kept, so what its kernels read and write is not known here: a program that needs it is
left out.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from expectations import Expectations
from streamsan.analysis.inputs import analyse_path
from streamsan.findings.finding import Finding, Severity

FOLDER = Path(__file__).parent / "pools"
PROGRAMS = Path(__file__).parents[1] / "litmus" / "pools"
RECORDINGS = sorted(FOLDER.glob("*.sst"))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_recording_shows_the_marks_of_its_program_and_nothing_else(path: Path) -> None:
    expected = Expectations.of((PROGRAMS / f"{program(path)}.py").read_text(encoding="utf-8"))
    findings = [each for each in analyse_path(str(path)).findings if each.severity is not Severity.NOTE]
    loud = {(finding.location.line, finding.code) for finding in findings}
    assert loud == expected.loud
    assert bool(loud) == (".wrong" in path.stem)
    ranks = (0, 1) if "_nccl_" in path.stem else ()
    assert all(finding.ranks == ranks for finding in findings)


def program(recording: Path) -> str:
    """Return the name of the program that was recorded."""
    return recording.stem.removesuffix(".host")


def test_each_wrong_program_is_here_beside_its_right_one() -> None:
    names = {program(path) for path in RECORDINGS}
    assert len(names) >= 89
    assert len([name for name in names if "_nccl_" in name]) == 11
    assert {name.replace(".wrong", ".right") for name in names} <= names


NOTES = {
    "ss105_diffusers_disk.right": {
        ("SS504", 46, "`torch.cuda.synchronize()` adds nothing"),
        ("SS401", 47, "PyTorch keeps"),
    },
    "ss109_deepspeed_default_stream.wrong": {("SS504", 18, "`Stream.wait_stream()` adds nothing")},
    # What `torch.cuda.graph` waits for before it captures is no wait of the program.
    "ss303_shared_pool.right": {("SS401", 23, "PyTorch keeps"), ("SS106", 18, "kernel `at::native::vectorized")},
    "ss303_trtllm_piecewise.right": {("SS401", 35, "PyTorch keeps")},
    "ss105_train_step.right": {("SS401", 13, "PyTorch keeps"), ("SS106", 6682, "the fill")},
}
"""of some programs: code, line and begin of every note"""


@pytest.mark.parametrize("name", NOTES)
def test_notes_are_few_and_in_the_words_of_the_framework(name: str) -> None:
    found = [each for each in analyse_path(str(FOLDER / f"{name}.sst")).findings if each.severity is Severity.NOTE]
    left = {note for note in NOTES[name] if not any(is_note(each, *note) for each in found)}
    assert (left, len(found)) == (set(), len(NOTES[name])), [each.message for each in found]


def is_note(finding: Finding, code: str, line: int, begin: str) -> bool:
    return (finding.code, finding.location.line) == (code, line) and finding.message.startswith(begin)


def test_fixes_of_pytorch_programs_are_in_its_words() -> None:
    summaries = {
        name: {each.fix.summary for each in analyse_path(str(FOLDER / f"{name}.sst")).findings if each.fix is not None}
        for name in ("ss108_trtllm_offsets.wrong.host", "ss109_megatron_reload.wrong", "ss303_vllm_arena.wrong")
    }
    assert "before line 18: torch.cuda.default_stream().synchronize()" in summaries["ss108_trtllm_offsets.wrong.host"]
    event = "torch.cuda.default_stream().wait_event(<the event of line 35>)"
    assert f"before line 36: {event}" in summaries["ss109_megatron_reload.wrong"]
    kept = "keep the tensor of line 11 until line 41 (`cudaStreamSynchronize`) is over; now line 36 drops it"
    assert kept in summaries["ss303_vllm_arena.wrong"]
    for found in summaries.values():
        assert not any("cuStream" in each or "cudaFree" in each for each in found), found
