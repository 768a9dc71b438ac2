"""The engine against all executions that the contract allows, on random programs."""

from __future__ import annotations

import importlib.util
import os
import random
import sys
from functools import partial
from pathlib import Path

import pytest
from execution_oracle.campaign import SHAPES, numbered, run_part
from execution_oracle.choices import MOST, NAMES, Step, program_of, random_steps
from execution_oracle.comparison import compare
from execution_oracle.program import listing
from execution_oracle.search import StuckError, delayed, every_state
from execution_oracle.verdicts import Oracle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import streamsan.order.engine
from streamsan.order._engine import EDGE_KINDS, Engine

EXAMPLES = int(os.environ.get("STREAMSAN_PROPERTY_EXAMPLES", "150"))
NUMBERS = st.integers(0, MOST - 1)
STEPS = st.lists(st.tuples(st.integers(0, len(NAMES) - 1), NUMBERS, NUMBERS, NUMBERS, NUMBERS), min_size=3, max_size=22)

SEARCH = settings(max_examples=EXAMPLES, deadline=None, derandomize="STREAMSAN_PROPERTY_EXAMPLES" not in os.environ,
                  suppress_health_check=[HealthCheck.too_slow])  # fmt: skip


@SEARCH
@given(st.integers(0, SHAPES - 1), STEPS)
def test_engine_decides_as_all_executions_do(shape: int, steps: list[Step]) -> None:
    program = program_of(shape, steps)
    differences = compare(program).differences
    assert not differences, "\n".join([*differences, *listing(program)])


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.deep) for seed in (0, 1, 2)])
def test_engine_decides_as_all_executions_do_at_random(seed: int) -> None:
    tally = run_part(seed, 0, 1000, 20)
    assert tally.disagreements == []
    assert tally.programs == 1000
    assert tally.walked > 0
    assert set(tally.rules) >= {"SS101", "SS102", "SS103", "SS104", "SS107", "SS108", "SS109", "SS504"}
    assert 100 < tally.wrong < 900


OPEN = {15: ["program 51 of seed 15"]}
"""An event that only a failed record names: that a reset made it stale is not even doubted by the engine."""


@pytest.mark.parametrize("seed", [1, 2, *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(3, 25))])
def test_engine_is_sure_only_of_what_is_so_whatever_unknown_callers_do(seed: int) -> None:
    tally = run_part(seed, 0, 60, 0, unknown=True)
    found = [each.partition(":")[0] for each in tally.disagreements]
    assert found == OPEN.get(seed, [])


UNKNOWN_CALLERS = [(1, 167), (1, 178), (1, 210), (1, 288), (1, 316), (1, 606), (1, 880), (1, 1434), (7, 735), (7, 931)]


@pytest.mark.parametrize(("seed", "number"), UNKNOWN_CALLERS)
def test_a_program_with_unknown_callers_on_which_they_once_disagreed(seed: int, number: int) -> None:
    program = program_of(*numbered(seed, number, unknown=True))
    assert compare(program).differences == []


def test_a_copy_into_memory_that_a_host_function_may_have_freed_knows_nothing_by_its_own_wait() -> None:
    program = program_of(*numbered(2026, 193956))
    assert compare(program).differences == []


def test_the_fast_search_says_what_every_state_says() -> None:
    chooser = random.Random(1)
    for _ in range(200):
        count = chooser.randint(1, 9)
        guards = [sum(1 << other for other in range(step) if chooser.random() < 0.3) for step in range(count)]
        walked, states = every_state(guards, range(count), 10_000)
        assert walked == delayed(guards, range(count))
        assert states >= count


def test_a_step_that_never_happens_is_no_program() -> None:
    with pytest.raises(StuckError):
        delayed([0b10, 0b01], [0])


def test_too_many_states_are_not_walked() -> None:
    assert every_state([0] * 10, range(10), 100) == (None, 100)


def test_random_programs_are_the_same_for_the_same_seed() -> None:
    first, second = (random_steps(random.Random(7), 5, 20) for _ in range(2))
    assert list(listing(program_of(3, first))) == list(listing(program_of(3, second)))


def test_walking_every_state_of_a_program() -> None:
    program = program_of(0, [(0, 0, 0, 0, 0)] * 3)
    assert Oracle(program).walked(10_000)


def test_the_bench_says_how_many_programs_agree(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(__file__).parents[2] / "bench" / "oracle.py"
    specification = importlib.util.spec_from_file_location("bench_oracle", path)
    assert specification is not None
    assert specification.loader is not None
    bench = importlib.util.module_from_spec(specification)
    monkeypatch.setattr(sys, "path", list(sys.path))
    specification.loader.exec_module(bench)
    monkeypatch.setattr(sys, "argv", ["oracle.py", "--programs", "40", "--seed", "3", "--processes", "1"])
    assert bench.main() == 0
    output = capsys.readouterr()
    assert "disagreements  0" in output.out
    assert output.out.startswith("programs       40, ")
    assert output.err == ""  # no progress line where nobody watches


def test_a_disagreement_is_shrunk_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    without = 1 << EDGE_KINDS.index("stream_to_host")
    monkeypatch.setattr(streamsan.order.engine, "Engine", partial(Engine, without=without))
    tally = run_part(1, 0, 20, 0)
    assert tally.disagreements
    first = tally.disagreements[0]
    assert first.startswith("program ")
    assert "alone" in first
    assert len(first.splitlines()) < 20
