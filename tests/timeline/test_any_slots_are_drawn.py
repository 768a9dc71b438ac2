"""Slots that no writer would write: the timeline and the scenes take them as they come."""

from __future__ import annotations

import numpy as np
import pytest

from streamsan.analysis.traces import check_trace
from streamsan.evidence.proofs import Proofs
from streamsan.report import Report
from streamsan.report.formats import render
from streamsan.timeline import timeline_of
from streamsan.trace import Site, Thread, Trace
from streamsan.trace.layout import SLOT
from streamsan.trace.store import MemorySlots
from streamsan.vocabulary import OperationKind

COUNT = 400


def arbitrary(seed: int, origin: str) -> Trace:
    """Slots with any kinds and fields, of few handles and addresses so that they meet."""
    generator = np.random.default_rng(seed)
    slots = np.zeros(COUNT, SLOT)
    slots["sequence"] = np.arange(1, COUNT + 1) * 3
    kinds = [kind for kind in OperationKind if kind < 240]
    slots["kind"] = generator.choice([*kinds, *[64] * 30, *[48] * 30, *[49] * 30, 200], COUNT)
    few = np.array([0, 1, 2, 3, 0x1000, 0x1000, 0x2000, 2**63, 2**64 - 1], np.uint64)
    for name in ("stream", "object", "address", "size", "time"):
        slots[name] = generator.choice(few, COUNT)
    for name, most in (("detail", 256), ("flags", 256), ("site", 5), ("api", 3), ("thread", 3), ("duration", 65536)):
        slots[name] = generator.integers(0, most, COUNT)
    slots["status"] = generator.choice([0, 0, 0, 1, 600, -32768], COUNT)
    return Trace(
        "any",
        MemorySlots(slots),
        threads=[Thread(0, "a"), Thread(0, "b"), Thread(1, "")],
        apis=["", "cudaMalloc", "x"],
        sites=[Site("", 0), *(Site("a.cu", line, label="l" * line) for line in range(1, 5))],
        origin=origin,
    )


@pytest.mark.parametrize("origin", ["source", "recording"])
@pytest.mark.parametrize("seed", range(12))
def test_any_slots_are_drawn(seed: int, origin: str) -> None:
    trace = arbitrary(seed, origin)
    timeline = timeline_of(trace)
    assert timeline.operations <= COUNT
    assert timeline.lane.max(initial=0) < len(timeline.lanes)
    assert timeline.issuer.max(initial=0) < len(timeline.lanes)
    assert timeline.call.max(initial=0) < len(timeline.calls)
    memory = timeline.memory
    assert ((memory.end == -1) | (memory.end > memory.begin)).all()
    assert (timeline.edges.source < timeline.edges.target).all()
    assert (np.diff(timeline.edges.target.astype(np.int64)) >= 0).all()
    checked = check_trace(trace, "any", proofs=Proofs(drawn=True, fixes=False))
    for finding in checked.findings:
        scene = finding.scene
        if scene is not None:
            ends = {end for edge in scene.edges for end in (edge.source, edge.target)}
            assert ends <= set(range(len(scene.operations)))
            assert {operation.lane for operation in scene.operations} <= set(range(len(scene.lanes)))
    assert render(Report(checked.findings, 1, COUNT, timelines=checked.timelines), "html").startswith("<!doctype html>")
