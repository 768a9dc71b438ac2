"""The replay against an engine with a defect: it refuses the witnesses of findings that are none."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from execution_oracle.campaign import SHAPES
from execution_oracle.choices import MOST, NAMES, program_of
from execution_oracle.traces import trace_of

from streamsan.evidence.witness import known_order as witness_order
from streamsan.evidence.witness.witness import Witness, witnesses
from streamsan.order import _engine, engine
from streamsan.replay import replay
from streamsan.rules.pipeline import findings_of

PROGRAMS = 100
CONTRADICTED = (
    "issue",
    "legacy_after_blocking",
    "blocking_after_legacy",
    "stream_to_host",
    "context_to_host",
    "destroyed_to_host",
    "release",
    "launch_to_launch",
    "node_to_node",
)
"""edges that random programs often rest on"""


def refusals() -> Iterator[bool]:
    """Tell of each witness of random programs whether the device refuses it."""
    for seed in range(PROGRAMS):
        chooser = random.Random(seed)
        steps = [(chooser.randrange(len(NAMES)), *(chooser.randrange(MOST) for _ in range(4))) for _ in range(20)]
        trace = trace_of(program_of(chooser.randrange(SHAPES), steps))
        for answer in witnesses(findings_of(trace, engine.analyse(trace).facts)):
            if isinstance(answer, Witness):
                yield replay(answer).refused


def test_nothing_of_the_engine_as_it_is_is_refused() -> None:
    assert not any(refusals())


@pytest.mark.parametrize("edge", CONTRADICTED)
def test_an_engine_without_an_edge_is_contradicted(edge: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bit = 1 << _engine.EDGE_KINDS.index(edge)
    make = _engine.Engine

    def without_it(*arguments: object, **keywords: object) -> _engine.Engine:
        return make(*arguments, **keywords, without=bit)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "Engine", without_it)
    monkeypatch.setattr(witness_order, "Engine", without_it)
    assert any(refusals())
