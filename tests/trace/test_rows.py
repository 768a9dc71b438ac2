"""Rows of references: in slots, in views, and in files."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from streamsan.trace import Reference, Trace, TraceBuilder
from streamsan.trace.layout import ROWS, SLOT
from streamsan.trace.reader import read
from streamsan.trace.rows import Rows, unpacked_rows
from streamsan.trace.store import MemorySlots, Slots
from streamsan.trace.trace import Thread
from streamsan.trace.view import OperationView, iterate
from streamsan.trace.writer import write
from streamsan.vocabulary import AccessMode, OperationKind, SlotFlag

TILE = Rows(width=16, pitch=64, count=4)
BLOCKS = Rows(width=16, pitch=64, count=4, slice_pitch=1024, slices=3)


def tile(address: int, rows: Rows = TILE) -> Reference:
    return Reference(address, rows.extent, 0, AccessMode.READ, SlotFlag.STRIDED, rows)


def trace_of(kind: OperationKind, references: list[Reference]) -> Trace:
    made = TraceBuilder("a.cu")
    made.append(kind, thread=made.thread(0, "main"), stream=3, references=references)
    return made.finish()


def views(trace: Trace) -> list[OperationView]:
    return list(iterate(trace))


def bytes_of(rows: Rows) -> set[int]:
    starts = (s * rows.slice_pitch + r * rows.pitch for s, r in product(range(rows.slices), range(rows.count)))
    return {start + byte for start in starts for byte in range(rows.width)}


def test_the_simplest_form_is_of_the_same_bytes() -> None:
    for width, pitch, count, slice_pitch, slices in product((1, 2, 3), (2, 3, 4), (1, 2, 3), (4, 6, 9, 12), (1, 2, 3)):
        rows = Rows(width, pitch, count, slice_pitch, slices)
        if not rows.sensible:
            continue
        simple = rows.simplest
        assert (bytes_of(simple), simple.extent) == (bytes_of(rows), rows.extent)
        assert simple.simplest == simple
        assert rows.dense == (len(bytes_of(rows)) == rows.extent)


@pytest.mark.parametrize("kind", [OperationKind.COPY, OperationKind.GRAPH_NODE])
def test_every_reference_may_have_rows(kind: OperationKind, tmp_path: Path) -> None:
    references = [Reference(64, 128), tile(0x1000), Reference(0x5000, 8), tile(0x9000, BLOCKS)]
    made = trace_of(kind, references)
    write(made, tmp_path / "a.sst")
    for trace in (made, read(tmp_path / "a.sst")):
        (view,) = views(trace)
        assert [each.rows for each in view.references] == [None, TILE, None, BLOCKS]
        assert [each.address for each in view.references] == [64, 0x1000, 0x5000, 0x9000]


def test_a_copy_from_rows_to_nowhere() -> None:
    (view,) = views(trace_of(OperationKind.COPY, [Reference(0), tile(0x1000)]))
    assert [(each.address, each.rows) for each in view.references] == [(0x1000, TILE)]


def test_the_slot_says_what_its_type_does() -> None:
    slot = np.frombuffer(BLOCKS.packed(7), ROWS)[0]
    names = ("width", "pitch", "rows", "slice_pitch", "slices", "reference", "kind")
    assert [int(slot[name]) for name in names] == [16, 64, 4, 1024, 3, 7, OperationKind.ROWS]
    assert unpacked_rows(slot.tobytes()) == (7, BLOCKS)


def test_references_with_rows_share_out_what_one_operation_holds() -> None:
    references = [tile(0x1000 * index) for index in range(1, 401)]
    found = views(trace_of(OperationKind.LAUNCH, references))
    assert [each.address for view in found for each in view.references] == [each.address for each in references]
    assert all(each.rows == TILE for view in found for each in view.references)
    assert [len(view.references) for view in found] == [170, 170, 60]


@pytest.mark.parametrize(
    "wrong",
    [
        Rows(0, 64, 4),
        Rows(16, 64, 0),
        Rows(16, 64, 4, 1024, 0),
        Rows(16, 8, 4),  # rows over each other
        Rows(16, 64, 4, 100, 3),  # slices over each other
        Rows(16, 64, 5),  # past the end of the reference
        Rows(8, 64, 4),  # short of it
        Rows((1 << 64) - 1, (1 << 64) - 1, (1 << 64) - 1, (1 << 64) - 1, (1 << 64) - 1),
    ],
)
def test_rows_without_sense_are_passed_over(wrong: Rows) -> None:
    slots = np.concatenate(list(trace_of(OperationKind.COPY, [tile(0x1000), Reference(0x5000, 8)]).chunks())).copy()
    assert [int(kind) for kind in slots["kind"]] == [OperationKind.COPY, OperationKind.REFERENCES, OperationKind.ROWS]
    slots[2] = np.frombuffer(wrong.packed(0), SLOT)[0]
    assert [each.rows for each in view_of(slots).references] == [None, None]
    slots[2] = np.frombuffer(TILE.packed(9), SLOT)[0]  # of a reference that is not there
    assert [each.rows for each in view_of(slots).references] == [None, None]


def view_of(slots: Slots) -> OperationView:
    (view,) = iterate(Trace("a.cu", MemorySlots(slots), threads=[Thread(0, "main")], apis=[""], sites=()))
    return view
