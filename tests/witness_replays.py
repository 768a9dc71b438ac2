"""What is wrong with witnesses and their replays, and which words a whole trace leaves open: for tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streamsan.evidence.witness.witness import Witness, witnesses
from streamsan.findings.finding import Finding
from streamsan.replay import replay
from streamsan.replay.execution import layouts_of
from streamsan.replay.naming import names_of
from streamsan.replay.replayed_machine import ReplayedMachine
from streamsan.replay.replayed_program import read_program
from streamsan.replay.replayed_steps import Step
from streamsan.replay.replayed_work import Name
from streamsan.replay.word_layout import Layout
from streamsan.replay.words import Seen
from streamsan.rules.every_rule import RULES
from streamsan.sim.executor.scheduler import Policy
from streamsan.sim.executor.schedules import Eager, Random
from streamsan.trace import Trace

SEEDS = range(20)
MOST_STEPS = 6


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
        steps = tuple(map(witness.case.in_own_words, witness.steps))
        if not 2 <= len(steps) <= MOST_STEPS or finding.witness[: len(steps)] != steps:
            found.append(f"{where}: {finding.witness}")
        if shown.problem:
            found.append(f"{where}: {shown.problem}")
        if not all(damage.wrong or not damage.of for damage in shown.damage):
            found.append(f"{where}: {shown.damage}")
    return found


def run_all(steps: Sequence[Step], layouts: dict[int, Layout], policy: Policy, name: Name) -> Seen:
    machine = ReplayedMachine(layouts, policy, name)
    for step in steps:
        machine.issue(step)
    machine.runner.drain()
    return machine.runner.seen


def wrong_words(trace: Trace, seeds: range = SEEDS) -> list[str]:
    """Return which accesses of a whole trace see other words under some schedule than in order."""
    steps = read_program(trace, 1 << 63).steps
    layouts, name = layouts_of(steps), names_of(trace, steps)
    expected = run_all(steps, layouts, Eager(), name)
    different = set()
    for seed in seeds:
        seen = run_all(steps, layouts, Random(seed), name)
        both = seen.reads.keys() & expected.reads.keys()
        different |= {name(place[0]) for place in seen.reads.keys() ^ expected.reads.keys()}
        different |= {name(place[0]) for place in both if not np.array_equal(seen.reads[place], expected.reads[place])}
        different |= {
            f"{name(place[0])}: {seen.faults[place]}" for place in seen.faults.keys() - expected.faults.keys()
        }
    return sorted(different)
