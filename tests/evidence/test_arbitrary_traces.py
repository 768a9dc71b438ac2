"""The second pass on traces whose slots hold anything: a finding may lack its proofs, nothing ends in a traceback."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from streamsan.analysis.traces import check_trace
from streamsan.trace import family
from streamsan.trace.layout import SLOT
from streamsan.trace.store import MemorySlots

RECORDINGS = sorted((Path(__file__).resolve().parents[1] / "traces" / "h200").glob("ss[13]*.wrong.sst"))


@pytest.mark.parametrize("seed", range(30))
def test_damaged_slots_never_raise(seed: int) -> None:
    chance = random.Random(seed)
    trace = family.read(str(chance.choice(RECORDINGS)))
    slots = np.concatenate(list(trace.chunks())).copy()
    names = [name for name in SLOT.names or () if name not in ("sequence", "more", "thread", "site", "api")]
    for _ in range(chance.randrange(1, 12)):
        row, name = chance.randrange(len(slots)), chance.choice(names)
        other = slots[name][chance.randrange(len(slots))]
        size = SLOT[name].itemsize * 8
        # What another operation has there makes more sense, and leads deeper, than noise.
        slots[name][row] = other if chance.random() < 0.7 else chance.getrandbits(size - 1)
    trace.slots = MemorySlots(slots)
    trace.origin = chance.choice(["recording", "source", "simulation"])
    for finding in check_trace(trace, "damaged.sst").findings:
        assert bool(finding.witness) != bool(finding.no_witness)
        assert (finding.fix is not None and finding.fix.verified) != bool(finding.no_fix)
