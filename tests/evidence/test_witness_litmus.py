"""Every finding about order in the wrong litmus programs has a witness, and its replay goes wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from expectations import check_unchanged, pair_name
from streamsan import cuda_source
from streamsan.analysis.traces import analyse_trace
from streamsan.cli import main
from streamsan.evidence.witness.witness import Witness, witnesses
from streamsan.findings.finding import Finding
from streamsan.replay import replay
from streamsan.replay.execution import layouts_of
from streamsan.replay.naming import names_of
from streamsan.replay.replayed_machine import ReplayedMachine
from streamsan.replay.replayed_steps import Step, read_program
from streamsan.replay.replayed_work import Name
from streamsan.replay.word_layout import Layout
from streamsan.replay.words import Seen
from streamsan.rules.catalogue import RULES
from streamsan.sim.executor.scheduler import Policy
from streamsan.sim.executor.schedules import Eager, Random
from streamsan.trace import Trace, reader

pytestmark = pytest.mark.usefixtures("forked_programs")

LITMUS = Path(__file__).resolve().parents[1] / "litmus"
WRONG, RIGHT = sorted(LITMUS.glob("*.wrong.cu")), sorted(LITMUS.glob("*.right.cu"))
CODES = tuple(rule.id.lower() for rule in RULES.values() if rule.is_about_order)
WRONG_SCRIPTS = [path for path in sorted(LITMUS.glob("*.wrong.py")) if path.name.startswith(CODES)]
RIGHT_SCRIPTS = [path for path in sorted(LITMUS.glob("*.right.py")) if path.name.startswith(CODES)]
SEEDS = range(20)
MOST_STEPS = 6
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
POLLS = {
    # The host reads a flag until a kernel has set it: a replay has one read of it, and nobody who waits.
    "ss108_mapped_flag": ["the host (line 55)", "the host (line 60)"],
}
"""right programs that wait by reading -> the accesses that see other words in a replay, which knows no such wait"""


def about_order(findings: list[Finding]) -> list[Finding]:
    return [f for f in findings if RULES[f.code].is_about_order]


def complaints(findings: list[Finding]) -> list[str]:
    """Return what is wrong with the witnesses of findings, or with their replays."""
    found = []
    chosen = about_order(findings)
    for finding, witness in zip(chosen, witnesses(chosen), strict=True):
        where = f"{finding.code} at line {finding.location.line}"
        if not isinstance(witness, Witness):
            found.append(f"{where}: no witness: {witness}")
            continue
        shown = replay(witness)
        if not 2 <= len(witness.steps) <= MOST_STEPS or finding.witness[: len(witness.steps)] != witness.steps:
            found.append(f"{where}: {finding.witness}")
        if shown.problem:
            found.append(f"{where}: {shown.problem}")
        if not all(damage.wrong or not damage.of for damage in shown.damage):
            found.append(f"{where}: {shown.damage}")
    return found


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


def run_all(steps: Sequence[Step], layouts: dict[int, Layout], policy: Policy, name: Name) -> Seen:
    machine = ReplayedMachine(layouts, policy, name)
    for step in steps:
        machine.issue(step)
    machine.runner.drain()
    return machine.runner.seen


def wrong_words(trace: Trace) -> list[str]:
    """Return which accesses of a whole trace see other words under some schedule than in order."""
    steps = read_program(trace, 1 << 63).steps
    layouts, name = layouts_of(steps), names_of(trace, steps)
    expected = run_all(steps, layouts, Eager(), name)
    different = set()
    for seed in SEEDS:
        seen = run_all(steps, layouts, Random(seed), name)
        both = seen.reads.keys() & expected.reads.keys()
        different |= {name(place[0]) for place in seen.reads.keys() ^ expected.reads.keys()}
        different |= {name(place[0]) for place in both if not np.array_equal(seen.reads[place], expected.reads[place])}
        different |= {
            f"{name(place[0])}: {seen.faults[place]}" for place in seen.faults.keys() - expected.faults.keys()
        }
    return sorted(different)


@pytest.mark.parametrize("path", RIGHT, ids=pair_name)
def test_right_sources_see_the_same_words_under_every_schedule(path: Path) -> None:
    worlds = cuda_source.read(path).worlds
    assert worlds
    for world in worlds:
        assert wrong_words(world.trace) == POLLS.get(pair_name(path), [])


@pytest.mark.parametrize("path", RIGHT_SCRIPTS, ids=pair_name)
def test_right_scripts_see_the_same_words_under_every_schedule(path: Path, tmp_path: Path) -> None:
    assert wrong_words(reader.read(recorded(path, tmp_path, "1"))) == []


def test_schedules_show_wrong_words_of_wrong_programs() -> None:
    """Else the tests above could not fail."""
    shown = [path for path in WRONG if path.name.startswith(("ss102", "ss109"))]
    different = [any(wrong_words(world.trace) for world in cuda_source.read(path).worlds) for path in shown]
    assert sum(different) > len(different) // 2


def test_there_are_programs() -> None:
    assert len(WRONG) >= 60
    assert len(WRONG_SCRIPTS) >= 14
    assert len(RIGHT_SCRIPTS) == len(WRONG_SCRIPTS)
