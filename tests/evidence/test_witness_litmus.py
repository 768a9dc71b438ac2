"""Every finding about order in the wrong litmus programs has a witness, and its replay goes wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from expectations import check_unchanged, pair_name
from streamsan import cuda_source
from streamsan.analysis.traces import analyse_trace
from streamsan.cli import main
from streamsan.rules.every_rule import RULES
from streamsan.trace import reader
from witness_replays import about_order, complaints, wrong_words

pytestmark = pytest.mark.usefixtures("forked_programs")

LITMUS = Path(__file__).resolve().parents[1] / "litmus"
WRONG, RIGHT = sorted(LITMUS.glob("*.wrong.cu")), sorted(LITMUS.glob("*.right.cu"))
CODES = tuple(rule.id.lower() for rule in RULES.values() if rule.is_about_order)
WRONG_SCRIPTS = [path for path in sorted(LITMUS.glob("*.wrong.py")) if path.name.startswith(CODES)]
RIGHT_SCRIPTS = [path for path in sorted(LITMUS.glob("*.right.py")) if path.name.startswith(CODES)]
THE_SAME_WORDS = {
    # Nothing writes the staging buffer: every upload brings the same words, and the launch reads them in any order.
    "ss109_upload_under_graph": ["SS109 at line 54: no word of what the trace shows goes wrong by it"],
}
"""wrong programs whose data are the same in both orders -> what the replay says of them"""
UNSEEN = {
    # The pool says that the stream uses the rows; which of its work does is not in the trace.
    "ss105_told_stream": ["SS105 at line 57: no witness: nobody sees which work of the stream uses the block"],
}
"""wrong scripts of which the trace does not show the use"""
UNKNOWN_TO_A_REPLAY = {
    # The host reads a flag until a kernel has set it: a replay has one read of it, and nobody who waits.
    "ss108_mapped_flag": ["the host (line 55)", "the host (line 60)"],
    # A table says where the kernel writes: a replay has it write all of the memory.
    "ss109_scatter_beside_readback": ["the copy (line 20)"],
}
"""right programs that wait by reading, or write where a table says -> the accesses that see other words in a replay,
which knows neither"""


def recorded(path: Path, folder: Path, schedule: str) -> str:
    """Run a script on the simulated device, and return where its trace is."""
    output = folder / "run.sst"
    main(["sim", "--schedule", schedule, "-o", str(output), "--report", str(folder / "report"), str(path)])
    return str(output)


@pytest.mark.parametrize("path", WRONG, ids=pair_name)
def test_findings_of_sources_have_a_witness_that_goes_wrong(path: Path) -> None:
    findings = check_unchanged(path)
    assert complaints(findings) == THE_SAME_WORDS.get(pair_name(path), [])
    if path.name.startswith(CODES):
        assert about_order(findings)
    for finding in findings:
        assert bool(finding.witness) != bool(finding.no_witness), finding
        assert not finding.no_witness.endswith(".")


@pytest.mark.parametrize("path", WRONG_SCRIPTS, ids=pair_name)
def test_findings_of_scripts_have_a_witness_that_goes_wrong(path: Path, tmp_path: Path) -> None:
    findings = list(analyse_trace(recorded(path, tmp_path, "lazy")).findings)
    assert about_order(findings)
    assert complaints(findings) == UNSEEN.get(pair_name(path), [])


@pytest.mark.parametrize("path", RIGHT, ids=pair_name)
def test_right_sources_see_the_same_words_under_every_schedule(path: Path) -> None:
    worlds = cuda_source.read(path).worlds
    assert worlds
    for world in worlds:
        assert wrong_words(world.trace) == UNKNOWN_TO_A_REPLAY.get(pair_name(path), [])


@pytest.mark.parametrize("path", RIGHT_SCRIPTS, ids=pair_name)
def test_right_scripts_see_the_same_words_under_every_schedule(path: Path, tmp_path: Path) -> None:
    assert wrong_words(reader.read(recorded(path, tmp_path, "1"))) == []


def test_schedules_show_wrong_words_of_wrong_programs() -> None:
    """Else the tests above could not fail."""
    shown = [path for path in WRONG if path.name.startswith(("ss102", "ss109"))][::4]
    different = [any(wrong_words(world.trace) for world in cuda_source.read(path).worlds) for path in shown]
    assert len(different) > 20
    assert sum(different) > len(different) // 2


def test_there_are_programs() -> None:
    assert len(WRONG) >= 60
    assert len(WRONG_SCRIPTS) >= 14
    assert len(RIGHT_SCRIPTS) == len(WRONG_SCRIPTS)
