"""The tables of a run: right at each moment, and the same however the operations are cut into looks."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamsan.trace.layout import SLOT
from streamsan.trace.store import Slots
from streamsan.vocabulary import MemoryKind, OperationKind
from streamsan.watching.live_run import LiveRun, MemoryRow, WaitRow
from watching.growing import STREAM, steps

ALLOCATED, FREED, WAITED = (0, 1, 1), (0, 3, 3), (0, 4, 4)


def owners(slots: Slots) -> Slots:
    return slots[slots["kind"] < 240]


def operation(kind: OperationKind, sequence: int, address: int = 0x1000, **fields: int) -> Slots:
    slots = np.zeros(1, SLOT)
    slots["kind"], slots["sequence"], slots["address"], slots["size"] = kind, sequence, address, 64
    slots["detail"] = MemoryKind.PLAIN if kind == OperationKind.ALLOC else 0
    for name, value in fields.items():
        slots[name] = value
    return slots


def test_a_loop_is_counted() -> None:
    run = LiveRun()
    run.take(0, owners(steps(5, kept=2)))
    assert run.operations == 18
    assert run.sites == {ALLOCATED: MemoryRow(2, 512, 512)}
    assert run.kinds == {"stream-ordered": MemoryRow(2, 512, 512)}
    assert run.waits[WAITED].count == 5
    assert 5000 <= run.waits[WAITED].nanoseconds <= 5010
    row = run.streams[0, STREAM]
    assert (row.operations, row.pending) == (13, 0)
    run.take(0, owners(steps(1, 100))[:2])
    assert (row.operations, row.pending, row.last) == (15, 2, (0, 2, 2))


@given(st.lists(st.integers(0, 40), max_size=6), st.integers(0, 3))
def test_looks_do_not_matter(cuts: list[int], kept: int) -> None:
    slots = owners(steps(10, kept=kept))
    whole, parts = LiveRun(), LiveRun()
    whole.take(0, slots)
    for first, last in zip([0, *sorted(cuts)], [*sorted(cuts), len(slots)], strict=True):
        parts.take(0, slots[first:last])
    assert parts == whole


def test_a_free_that_is_read_before_its_allocation_ends_it() -> None:
    run = LiveRun()
    run.take(0, operation(OperationKind.FREE, 5))
    run.take(0, operation(OperationKind.ALLOC, 4))
    assert run.sites == {}
    run.take(0, operation(OperationKind.FREE, 6))
    run.take(0, operation(OperationKind.ALLOC, 7))  # the address again
    assert run.sites == {(0, 0, 0): MemoryRow(1, 64, 64)}


def test_what_did_not_happen_is_not_counted() -> None:
    run = LiveRun()
    run.take(0, operation(OperationKind.ALLOC, 1, status=2))
    run.take(0, operation(OperationKind.ALLOC, 2, detail=int(MemoryKind.GRAPH)))
    assert run.sites == {}
    run.take(0, operation(OperationKind.ALLOC, 3))
    run.take(0, operation(OperationKind.FREE, 4, status=1))
    run.take(1, operation(OperationKind.FREE, 5))  # another process's address
    assert run.kinds == {"plain": MemoryRow(1, 64, 64)}
    run.take(0, operation(OperationKind.DEVICE_RESET, 6))
    assert run.kinds == {"plain": MemoryRow(0, 0, 64)}


def test_a_wait_for_the_context_empties_all_streams_of_the_process() -> None:
    run = LiveRun()
    for file, stream in ((0, 8), (0, 9), (1, 8)):
        run.take(file, operation(OperationKind.LAUNCH, 1, 0, stream=stream))
    run.take(0, operation(OperationKind.CONTEXT_SYNCHRONIZE, 2, 0))
    assert {key: row.pending for key, row in run.streams.items()} == {(0, 8): 0, (0, 9): 0, (1, 8): 1}
    assert run.waits == {(0, 0, 0): WaitRow(1, 0)}
