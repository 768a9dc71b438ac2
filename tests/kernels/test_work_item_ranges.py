"""Which bytes a launch of a kernel in OpenCL C touches, as far as its indices can be followed."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsan.kernels.opencl_texts import OpenclText
from streamsan.model.opencl.work_items import WorkItems
from streamsan.vocabulary import AccessMode

TEXT = (Path(__file__).with_name("spirv") / "ranges.cl").read_text(encoding="utf-8")
READ_TEXT = OpenclText(TEXT)
R, W = AccessMode.READ, AccessMode.WRITE


def reached(name: str, *numbers: int, first: int = 0, count: int = 32, group: int = 0, rows: int = 1) -> object:
    """Return what each argument is used for: (mode, begin, end, sure). `numbers`: arguments from the second on."""
    items = WorkItems((first, 0, 0), (count, rows, 1), (group, 1, 1) if group else None)
    found = READ_TEXT.reach(name, items, dict(enumerate(numbers, 1)))
    return {at: [tuple(each) for each in pieces] for at, pieces in found.items()}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (reached("plain"), {0: [(R, 0, 136, True)], 1: [(W, 0, 128, True)]}),
        (reached("plain", first=32), {0: [(R, 128, 264, True)], 1: [(W, 128, 256, True)]}),
        (reached("member"), {0: [(R, 0, 4, True)], 1: [(W, 0, 512, False)]}),
        (reached("guarded", 20), {0: [(W, 0, 80, True), (R, 0, 80, True)]}),
        (reached("guarded", 20, first=32), {}),
        (reached("guarded"), {0: [(W, 0, 128, False), (R, 0, 128, False)]}),
        (reached("nested", 20), {0: [(W, 4, 80, True)]}),
        (reached("clamped"), {0: [(R, 0, 132, True)], 1: [(W, 0, 128, True)]}),
        (reached("clamped", first=32), {0: [(R, 124, 256, True)], 1: [(W, 128, 256, True)]}),
        (reached("edges"), {0: [(R, 0, 128, True)], 1: [(W, 0, 128, True)]}),
        (reached("rows", 32, rows=4), {0: [(W, 0, 128, True)]}),
        (reached("rows", 64, rows=4), {0: [(W, 0, 224, False)]}),
        (reached("loop", 0, 20, 3), {0: [(R, 0, 80, True)], 1: [(W, 12, 16, True)]}),
        (reached("loop"), {0: [(R, 0, None, False)], 1: [(W, 0, None, False)]}),
        (reached("maybe"), {0: [(R, 0, 128, True)], 1: [(W, 0, 128, False)]}),
        (reached("scatter"), {0: [(R, 0, 128, True)], 1: [(W, 0, None, False)]}),
        (reached("called"), {0: [(R, 4, 132, True)], 1: [(W, 0, 128, True)]}),
        (reached("broken"), {0: [(R, 0, 32, False)], 1: [(W, 0, 40, False), (W, 36, 40, True)]}),
        (reached("even"), {0: [(W, 0, 252, False)]}),
        (reached("cut_late", 20), {0: [(W, 0, 124, False)]}),
        (reached("count"), {0: [(R, 0, 32, True)]}),
        (reached("grouped", group=8), {0: [(R, 0, 128, True)], 1: [(W, 0, 16, True)]}),
        (reached("grouped"), {}),
        (reached("turns", 100), {0: [(W, 0, None, False)]}),
        (reached("moved", 2), {0: [(W, 0, 512, False)]}),
        (reached("moved"), {0: [(W, 0, None, False)]}),
        (reached("masked"), {0: [(W, 0, 32, False)]}),
        (reached("mirrored", 32), {0: [(W, 0, 128, True)]}),
        (reached("same"), {0: [(W, 0, 248, False)]}),
        (reached("cast_away", 3), {}),
        (reached("overwritten", 8), {0: [(W, 0, None, False), (R, 0, 32, True)]}),
    ],
)
def test_what_a_launch_touches(found: object, expected: object) -> None:
    assert found == expected
