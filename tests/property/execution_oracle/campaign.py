"""Many random programs, over several processes: how often engine and oracle agree."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field

from execution_oracle.choices import Step, program_of, random_steps
from execution_oracle.comparison import Comparison, compare
from execution_oracle.instances import instances
from execution_oracle.program import Program, listing
from execution_oracle.shrinking import shrink
from execution_oracle.verdicts import Oracle

SHAPES = 960
UNKNOWN_SHAPES = 2880
"""with this much more, a shape's program has objects of unknown callers"""
LEAST_STEPS, MOST_STEPS = 4, 24
IN_ONE_GO = 250
MOST_STATES = 2000
"""Programs with more states are not walked through state by state."""
MOST_SHRUNK = 5


@dataclass
class Tally:
    """What came of a number of programs."""

    programs: int = 0
    operations: int = 0
    wrong: int = 0
    redundant: int = 0
    walked: int = 0
    """programs of which every state was visited ..."""
    states: int = 0
    """... and how many those were"""
    rules: Counter[str] = field(default_factory=Counter)
    """how often each rule is broken"""
    disagreements: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.programs += other.programs
        self.operations += other.operations
        self.wrong += other.wrong
        self.redundant += other.redundant
        self.walked += other.walked
        self.states += other.states
        self.rules.update(other.rules)
        self.disagreements += other.disagreements


def numbered(seed: int, number: int, *, unknown: bool = False) -> tuple[int, list[Step]]:
    """Return the shape and the steps of one of a seed's programs; `unknown`: with objects of unknown callers."""
    chooser = random.Random(f"{seed}:{number}")
    shape = chooser.randrange(SHAPES) + (UNKNOWN_SHAPES if unknown else 0)
    return shape, random_steps(chooser, LEAST_STEPS, MOST_STEPS)


def run_part(seed: int, first: int, count: int, walk_every: int, *, unknown: bool = False) -> Tally:
    """Compare some of a seed's programs; one of `walk_every` is walked through state by state as well."""
    tally = Tally()
    for number in range(first, first + count):
        shape, steps = numbered(seed, number, unknown=unknown)
        program = program_of(shape, steps)
        comparison = compare(program)
        tally.programs += 1
        tally.operations += len(program.ops)
        tally.wrong += bool(comparison.oracle.wrong)
        tally.redundant += bool(comparison.oracle.idle)
        tally.rules.update(comparison.kinds)
        differences = list(comparison.differences)
        if walk_every and number % walk_every == 0:
            differences += _walk(program, tally)
        if differences:
            tally.disagreements.append(_told(seed, number, comparison, unknown, len(tally.disagreements) < MOST_SHRUNK))
    return tally


def _walk(program: Program, tally: Tally) -> list[str]:
    states = Oracle(next(instances(program))).walked(MOST_STATES)
    if states is None:
        return []
    tally.walked += 1
    tally.states += states
    return [] if states else ["the oracle's two searches differ"]


def _told(seed: int, number: int, comparison: Comparison, unknown: bool, small: bool) -> str:
    shape, steps = numbered(seed, number, unknown=unknown)
    differences = comparison.differences
    if small and differences:
        shape, steps = shrink(shape, steps, lambda at, of: bool(compare(program_of(at, of)).differences))
        differences = compare(program_of(shape, steps)).differences
    lines = [f"program {number} of seed {seed}: {'; '.join(differences or ['the searches differ'])}"]
    return "\n".join([*lines, *listing(program_of(shape, steps))])


def campaign(programs: int, seed: int, processes: int, walk_every: int, *, unknown: bool = False) -> Iterator[Tally]:
    """Compare programs, and yield the tally so far now and then; the last one is of all."""
    tally = Tally()
    parts = [(first, min(IN_ONE_GO, programs - first)) for first in range(0, programs, IN_ONE_GO)]
    if processes == 1:
        for first, count in parts:
            tally.add(run_part(seed, first, count, walk_every, unknown=unknown))
            yield tally
        return
    with ProcessPoolExecutor(processes) as pool:
        asked = [pool.submit(run_part, seed, first, count, walk_every, unknown=unknown) for first, count in parts]
        for part in as_completed(asked):
            tally.add(part.result())
            yield tally
