"""Replays of random OpenCL programs: a second opinion on the engine, which knows nothing of it."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
from random_opencl_programs import Writer

from streamsan.evidence.witness import known_order
from streamsan.evidence.witness.witness import Witness, witnesses
from streamsan.order import _engine, engine
from streamsan.replay import Replay, replay
from streamsan.rules.every_rule import RULES
from streamsan.rules.pipeline import findings_of
from streamsan.trace.layout import SLOT
from streamsan.trace.store import MemorySlots

PROGRAMS = range(40)
STEPS = 18
FORBIDDEN = "the contract forbids the command itself: what it reads or writes there is not defined"
CONTRADICTED = (
    "issue",
    "stream_to_host",
    "barrier_to_command",
    "queue_to_marker",
    "command_to_queue",
    "command_to_callback",
)
"""edges that these programs often rest on"""


def replays() -> Iterator[Replay | str]:
    """Yield what each finding about order comes to, or why it has no witness."""
    for seed in PROGRAMS:
        trace = Writer(random.Random(seed)).write(STEPS).builder.finish()
        findings = [f for f in findings_of(trace, engine.analyse(trace).facts) if RULES[f.code].is_about_order]
        for answer in witnesses(findings):
            yield replay(answer) if isinstance(answer, Witness) else answer


def test_none_is_refused_and_almost_all_go_wrong() -> None:
    said = list(replays())
    done = [each for each in said if isinstance(each, Replay)]
    assert {each for each in said if isinstance(each, str)} <= {FORBIDDEN}
    assert [each.problem for each in done if each.refused or not each.ran] == []
    # The others are copies of one place to another: the same words in either order.
    assert sum(bool(each.damage) for each in done) > 0.9 * len(done) > 130


@pytest.mark.parametrize("seed", range(15))
def test_damaged_slots_never_raise(seed: int) -> None:
    chance = random.Random(seed)
    trace = Writer(chance).write(STEPS).builder.finish()
    slots = np.concatenate(list(trace.chunks())).copy()
    names = [name for name in SLOT.names or () if name not in ("sequence", "more", "thread", "site", "api")]
    for _ in range(chance.randrange(1, 12)):
        row, name = chance.randrange(len(slots)), chance.choice(names)
        other = slots[name][chance.randrange(len(slots))]
        slots[name][row] = other if chance.random() < 0.7 else chance.getrandbits(SLOT[name].itemsize * 8 - 1)
    trace.slots = MemorySlots(slots)
    trace.origin = chance.choice(["recording", "source"])
    for answer in witnesses(findings_of(trace, engine.analyse(trace).facts)):
        assert isinstance(answer, str) or replay(answer) is not None


@pytest.mark.parametrize("edge", CONTRADICTED)
def test_an_engine_without_an_edge_is_contradicted(edge: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bit = 1 << _engine.EDGE_KINDS.index(edge)
    make = _engine.Engine

    def without_it(*arguments: object, **keywords: object) -> _engine.Engine:
        return make(*arguments, **keywords, without=bit)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "Engine", without_it)
    monkeypatch.setattr(known_order, "Engine", without_it)
    assert any(isinstance(each, Replay) and each.refused for each in replays())
