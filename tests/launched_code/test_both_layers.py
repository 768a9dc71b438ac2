"""One recording with both: machine code beside it, and what some launches touched as the device saw it."""

from __future__ import annotations

from pathlib import Path

import pytest
from launched_traces import SIZE, Recorded, codes, cubin

from streamsan.launched_code.resolution import resolve_kernels
from streamsan.launched_code.seen_accesses import SlotsWithSeenAccesses
from streamsan.machine_code.disassembler import disassemblers
from streamsan.trace import Reference, family
from streamsan.trace.view import iterate
from streamsan.vocabulary import AccessMode, OperationKind, SeenAccesses

pytestmark = pytest.mark.skipif(not disassemblers(), reason="no nvdisasm")

READ, WRITE, BOTH = AccessMode.READ, AccessMode.WRITE, AccessMode.READ_WRITE
HALF = SIZE // 2


def recorded(folder: Path, *seen: tuple[int, Reference], detail: SeenAccesses = SeenAccesses.ALL) -> Recorded:
    """Return a recording in which `axpy` updates y on a stream and `prints` reads y on another one.

    `seen`: the number of a launch, and the reference that was seen of it, whose address counts from y.
    """
    folder.mkdir()
    made = Recorded(folder, [cubin()], accesses=True)
    one, other = made.stream(1), made.stream(2)
    x, y = made.memory(), made.memory("d_y")
    launches = [made.launch(one, made.shape("axpy", 0, 8), y, x), made.launch(other, made.shape("prints", 0), y)]
    for number, reference in seen:
        told = Reference(y + reference.address, reference.size, 0, reference.mode)
        made.say(OperationKind.LAUNCH_ACCESSES, object=launches[number], detail=detail, references=[told])
    return made


def uses(made: Recorded) -> list[list[tuple[int, AccessMode]]]:
    """Return size and mode of what each launch uses, as the engine reads it."""
    path = made.write()
    trace = family.read(path)
    resolve_kernels(trace, path)
    trace.slots = SlotsWithSeenAccesses(trace.slots, 1000)
    launches = [view for view in iterate(trace) if view.kind is OperationKind.LAUNCH]
    return [[(each.size, each.mode) for each in view.references if each.address] for view in launches]


def test_what_was_seen_comes_before_what_machine_code_says(tmp_path: Path) -> None:
    seen = recorded(tmp_path / "one", (0, Reference(0, 64, mode=WRITE)))
    by_code = recorded(tmp_path / "none")
    assert uses(seen)[0] == [(64, WRITE)]
    # The other launch was not seen: it is as machine code says.
    assert uses(seen)[1] == uses(by_code)[1]
    assert {mode for _, mode in uses(by_code)[0]} == {BOTH, READ}
    assert [mode for _, mode in uses(by_code)[1]] == [READ]


def test_a_race_by_either(tmp_path: Path) -> None:
    by_code = recorded(tmp_path / "code").check()
    assert codes(by_code)
    lower, upper = (0, Reference(0, HALF, mode=WRITE)), (1, Reference(HALF, HALF, mode=READ))
    assert codes(recorded(tmp_path / "halves", lower, upper).check()) == []
    over = (1, Reference(HALF - 4, HALF, mode=READ))
    assert codes(recorded(tmp_path / "over", lower, over).check()) == ["SS109 proven"]
    trusted = recorded(tmp_path / "trusted", lower, over, detail=SeenAccesses.LEARNED)
    assert codes(trusted.check()) == ["SS109 proven"]


def test_one_was_seen_and_of_the_other_machine_code_tells(tmp_path: Path) -> None:
    # `prints` reads where its argument points: that is written by the one, and not by the other.
    assert codes(recorded(tmp_path / "begin", (0, Reference(0, 64, mode=WRITE))).check())
    assert codes(recorded(tmp_path / "reads", (0, Reference(0, 64, mode=READ))).check()) == []


def test_where_not_all_was_seen_both_count(tmp_path: Path) -> None:
    some = recorded(tmp_path / "some", (0, Reference(64, 64, mode=WRITE)), detail=SeenAccesses.SOME)
    by_code = recorded(tmp_path / "code")
    assert uses(some)[0] == [*uses(by_code)[0], (64, WRITE)]


def test_the_report_has_a_line_of_each(tmp_path: Path) -> None:
    remarks = recorded(tmp_path / "one", (0, Reference(0, 64, mode=WRITE))).check().remarks
    assert any("machine code" in line for line in remarks)
    assert any("seen on the device for 1 of 2 launches" in line for line in remarks)
