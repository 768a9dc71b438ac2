"""Witnesses of random programs: each is an execution of the program, and in each something goes wrong."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest
from execution_oracle.campaign import SHAPES
from execution_oracle.choices import MOST, NAMES, program_of
from execution_oracle.program import listing
from execution_oracle.traces import trace_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from streamsan.evidence.witness.known_order import Before, order_before
from streamsan.evidence.witness.witness import Witness, witnesses
from streamsan.findings.finding import Finding
from streamsan.order.engine import analyse
from streamsan.replay import replay
from streamsan.replay.replayed_program import read_program
from streamsan.replay.replayed_steps import Node, Step
from streamsan.rules.case import case_of
from streamsan.rules.every_rule import RULES
from streamsan.rules.pipeline import findings_of
from streamsan.trace import Trace
from streamsan.vocabulary import NodeKind, OperationKind

EXAMPLES = int(os.environ.get("STREAMSAN_PROPERTY_EXAMPLES", "150"))
NUMBERS = st.integers(0, MOST - 1)
STEPS = st.lists(st.tuples(st.integers(0, len(NAMES) - 1), NUMBERS, NUMBERS, NUMBERS, NUMBERS), min_size=3, max_size=25)
SEARCH = settings(max_examples=EXAMPLES, deadline=None, derandomize="STREAMSAN_PROPERTY_EXAMPLES" not in os.environ,
                  suppress_health_check=[HealthCheck.too_slow])  # fmt: skip


def found_in(trace: Trace) -> Iterator[tuple[Finding, Witness | str]]:
    findings = [f for f in findings_of(trace, analyse(trace).facts) if RULES[f.code].is_about_order]
    return zip(findings, witnesses(findings), strict=True)


def memory_of(finding: Finding) -> int:
    case = case_of(finding)
    allocation = case.fact.allocation if case is not None else None
    return 0 if allocation is None else allocation.address


def says_nothing_new(witness: Witness) -> bool:
    """Tell whether no word can differ: a copy onto itself, or back of what was copied from there, an atomic access,
    which other ones may come before or after, a graph that only allocates, a host function, of which nobody knows what
    it writes, or the end of a registration that the work does without: it was issued before."""
    plan = witness.plan
    last = max(plan.ahead.sequence, plan.behind.sequence)
    pieces: list[Step | Node] = []
    steps = read_program(witness.trace, last).steps
    if plan.behind.sequence < registered_at(plan.ahead.sequence, steps):
        return True
    for step in steps:
        pieces += [
            piece for piece in (step, *step.nodes) if piece.sequence in (plan.ahead.sequence, plan.behind.sequence)
        ]
    copies = [piece for piece in pieces if piece.kind in (OperationKind.COPY, NodeKind.COPY)]
    sources = {access.memory.number for copy in copies for access in copy.accesses if not access.writes}
    onto_itself = any(len({access.memory.number for access in copy.accesses}) < 2 for copy in copies)
    earlier = {_direction(step) for step in steps if step.sequence < plan.ahead.sequence}
    back = any(_direction(copy)[::-1] in earlier - {()} for copy in copies)
    return (
        onto_itself
        or back
        or (plan.behind.kind is OperationKind.GRAPH_LAUNCH and not touched(witness))
        or any(access.atomic for piece in pieces for access in piece.accesses)
        or (len(copies) == len(pieces) and len(sources) < 2)
        or any(piece.kind is OperationKind.HOST_FUNCTION for piece in pieces)
    )


def _direction(piece: Step | Node) -> tuple[int, ...]:
    """Return the numbers of the memory that a copy writes and reads, nothing for other work."""
    copies = piece.kind in (OperationKind.COPY, NodeKind.COPY) and len(piece.accesses) == 2
    return tuple(access.memory.number for access in piece.accesses) if copies else ()


def registered_at(number: int, steps: list[Step]) -> int:
    """Return where the host memory was registered whose registration an operation ends, 0 where it ends none."""
    memory = next((step.memory for step in steps if step.sequence == number and step.overlays), None)
    made = (step.sequence for step in steps if step.sequence < number and step.overlays and step.memory is memory)
    return max(made, default=0) if memory is not None else 0


def touched(witness: Witness) -> bool:
    """Tell whether a node of the launch that comes last accesses memory."""
    number = witness.plan.behind.sequence
    launches = [
        step for step in read_program(witness.trace, number).steps if step.kind is OperationKind.GRAPH_INSTANTIATE
    ]
    return any(
        node.accesses and node.kind not in (NodeKind.ALLOC, NodeKind.FREE) for step in launches for node in step.nodes
    )


def is_closed(witness: Witness) -> bool:
    """Tell whether the first part is the beginning of an execution: all that is before something in it is in it."""
    before = order_before(witness.trace, witness.ahead.works).before
    plan = witness.plan
    return all(
        each.works <= witness.ahead.works and (plan.inside or each.calls <= witness.ahead.calls)
        for each in before.values()
    )


def complaints(trace: Trace) -> list[str]:
    said = []
    found = list(found_in(trace))
    for finding, witness in found:
        where = f"{finding.code} at {finding.location.line}"
        if not isinstance(witness, Witness):
            said.append(f"{where}: {witness}")
            continue
        if not is_closed(witness):
            said.append(f"{where}: what comes first needs something that does not")
        assert witness.plan.certain or witness.plan.behind.sequence not in witness.ahead.works
        assert all(number < witness.plan.ahead.sequence for number in witness.ahead.works | witness.ahead.calls)
        shown = replay(witness)
        if witness.plan.behind.status > 0:
            assert shown.problem == "the call itself fails, and touches nothing"
            continue
        # Of several mistakes with one memory, each may hide what another does.
        alone = [memory_of(other) for other, _ in found].count(memory_of(finding)) == 1
        if shown.refused or (not shown.damage and alone and not says_nothing_new(witness)):
            said.append(f"{where}: {shown.problem}")
    return said


@SEARCH
@given(st.integers(0, SHAPES - 1), STEPS)
def test_each_witness_is_an_execution_that_goes_wrong(shape: int, steps: list[tuple[int, int, int, int, int]]) -> None:
    program = program_of(shape, steps)
    said = complaints(trace_of(program))
    assert not said, "\n".join([*said, *listing(program)])


@pytest.mark.deep
def test_random_programs_have_witnesses_of_most_rules() -> None:
    codes = set()
    chooser = random.Random(5)
    for _ in range(150):
        steps = [(chooser.randrange(len(NAMES)), *(chooser.randrange(MOST) for _ in range(4))) for _ in range(20)]
        trace = trace_of(program_of(chooser.randrange(SHAPES), steps))
        assert complaints(trace) == []
        codes |= {finding.code for finding, _ in found_in(trace)}
    assert codes >= {"SS101", "SS102", "SS103", "SS107", "SS109", "SS304"}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.deep) for seed in (1, 2))])
def test_a_witness_that_leaves_out_what_comes_first_is_refused(seed: int) -> None:
    """The device has an order of its own: it does not take the engine's word."""
    chooser = random.Random(seed)
    refused = tried = 0
    for _ in range(150):
        steps = [(chooser.randrange(len(NAMES)), *(chooser.randrange(MOST) for _ in range(4))) for _ in range(20)]
        for _, witness in found_in(trace_of(program_of(chooser.randrange(SHAPES), steps))):
            if isinstance(witness, Witness) and witness.ahead.works and not witness.plan.inside:
                bare = replace(witness, ahead=Before(witness.ahead.calls))
                tried += 1
                refused += replay(bare).refused
    assert tried > 20
    assert refused > tried // 2
