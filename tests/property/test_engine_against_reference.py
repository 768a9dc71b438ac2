"""The engine against the plain reference, on random programs."""

from __future__ import annotations

import os

from closure_reference import Reference, differences
from hypothesis import HealthCheck, given, settings
from random_programs import PROGRAMS, THREADS, Op, with_unseen_bodies
from reference_traces import trace_of

from streamsan.order.engine import analyse
from streamsan.trace import Trace

EXAMPLES = int(os.environ.get("STREAMSAN_PROPERTY_EXAMPLES", "200"))


def agrees(expected: Reference, trace: Trace) -> None:
    """Assert that the engine finds in the trace what the reference found in the program."""
    assert differences(expected, analyse(trace)) == []


SEARCH = settings(max_examples=EXAMPLES, deadline=None, derandomize="STREAMSAN_PROPERTY_EXAMPLES" not in os.environ,
                  suppress_health_check=[HealthCheck.too_slow])  # fmt: skip


@SEARCH
@given(PROGRAMS)
def test_engine_agrees_with_the_closure(program: list[Op]) -> None:
    agrees(Reference(program, THREADS), trace_of(program))


@SEARCH
@given(PROGRAMS)
def test_engine_agrees_with_the_closure_of_a_recording(program: list[Op]) -> None:
    unseen = with_unseen_bodies(program)
    agrees(Reference(unseen, THREADS, recording=True), trace_of(unseen, "recording"))
