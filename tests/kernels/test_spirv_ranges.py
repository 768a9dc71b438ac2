"""Which bytes a launch of a kernel in SPIR-V touches: as its text says, whatever a compiler has made of that."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from streamsan.kernels.opencl_texts import OpenclText
from streamsan.kernels.spirv.spirv_module import SpirvError, SpirvModule
from streamsan.kernels.spirv.spirv_ranges import SpirvRanges
from streamsan.model.opencl.work_items import WorkItems
from streamsan.vocabulary import AccessMode

FOLDER = Path(__file__).with_name("spirv")
LEVELS = ("O0", "O2")
MODULES = {level: SpirvModule((FOLDER / f"ranges.{level}.spv").read_bytes()) for level in LEVELS}
READ = {level: SpirvRanges(module) for level, module in MODULES.items()}
TEXT = OpenclText((FOLDER / "ranges.cl").read_text(encoding="utf-8"))
R, W = AccessMode.READ, AccessMode.WRITE
LAUNCHES = (
    ("plain", (), {}),
    ("plain", (), {"first": 32}),
    ("guarded", (20,), {}),
    ("guarded", (20,), {"first": 32}),
    ("guarded", (), {}),
    ("nested", (20,), {}),
    ("clamped", (), {}),
    ("clamped", (), {"first": 32}),
    ("edges", (), {}),
    ("rows", (32,), {"rows": 4}),
    ("rows", (64,), {"rows": 4}),
    ("loop", (0, 20, 3), {}),
    ("maybe", (), {}),
    ("scatter", (), {}),
    ("called", (), {}),
    ("even", (), {}),
    ("cut_late", (20,), {}),
    ("count", (), {}),
    ("grouped", (), {"group": 8}),
    ("grouped", (), {}),
    ("turns", (100,), {}),
    ("moved", (2,), {}),
    ("moved", (), {}),
    ("masked", (), {}),
    ("mirrored", (32,), {}),
    ("same", (), {}),
    ("overwritten", (8,), {}),
    ("either_way", (4,), {}),
    ("either_way", (3,), {}),
    ("either_way", (), {}),
)


def reached(
    reader: SpirvRanges | OpenclText,
    name: str,
    *numbers: int,
    first: int = 0,
    count: int = 32,
    group: int = 0,
    rows: int = 1,
) -> dict[int, list[tuple[AccessMode, int, int | None, bool]]]:
    items = WorkItems((first, 0, 0), (count, rows, 1), (group, 1, 1) if group else None)
    found = reader.reach(name, items, dict(enumerate(numbers, 1)))
    return {at: [(each.mode, each.begin, each.end, each.sure) for each in pieces] for at, pieces in found.items()}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("name", "numbers", "given"), LAUNCHES)
def test_a_module_says_what_its_text_says(
    name: str, numbers: tuple[int, ...], given: dict[str, int], level: str
) -> None:
    assert reached(READ[level], name, *numbers, **given) == reached(TEXT, name, *numbers, **given)


@pytest.mark.parametrize(
    ("name", "numbers", "level", "expected"),
    [
        # Compilers make a part of a vector what they like: its own words, or all of the vector.
        ("member", (), "O0", {0: [(R, 0, 4, True)], 1: [(W, 0, 512, True), (R, 0, 512, True)]}),
        ("member", (), "O2", {0: [(R, 0, 4, True)], 1: [(W, 0, 500, False)]}),
        # A pointer keeps its place through a cast.
        ("cast_away", (3,), "O0", {0: [(W, 0, 4, True)]}),
        ("cast_away", (3,), "O2", {0: [(W, 0, 4, True)]}),
        ("by_threes", (8,), "O0", {0: [(W, 0, 32, False)]}),
        # Nobody knows how often these turn, or which pointer it is.
        ("first_found", (), "O2", {0: [(R, 0, None, False)], 1: [(W, 0, 4, True)]}),
        ("chosen", (), "O0", {}),
        ("chosen", (), "O2", {}),
        ("chosen", (0, 2), "O0", {1: [(W, 0, 128, True)]}),
        ("chosen", (0, 3), "O2", {0: [(W, 0, 128, True)]}),
        ("nobody", (), "O0", {}),
    ],
)
def test_what_a_compiler_has_made_of_it(
    name: str, numbers: tuple[int, ...], level: str, expected: dict[int, object]
) -> None:
    assert reached(READ[level], name, *numbers) == expected


def test_numbers_have_the_size_of_their_parameter() -> None:
    reader = READ["O2"]
    assert reader.numbers("guarded", {1: (4, 20), 0: (8, 7)}) == {1: 20}
    assert reader.numbers("guarded", {1: (4, 0xFFFFFFFF)}) == {1: -1}
    assert reader.numbers("guarded", {1: (8, 20), 5: (4, 1)}) == {}
    assert reader.numbers("nobody", {1: (4, 20)}) == {}


@pytest.mark.parametrize("level", LEVELS)
def test_a_module_with_wrong_words_is_survived(level: str) -> None:
    content = (FOLDER / f"ranges.{level}.spv").read_bytes()
    chooser = random.Random(level)
    for _ in range(60):
        changed = bytearray(content)
        for _ in range(chooser.randrange(1, 5)):
            changed[chooser.randrange(20, len(changed))] = chooser.randrange(256)
        try:
            module = SpirvModule(bytes(changed))
        except SpirvError:
            continue
        reader = SpirvRanges(module)
        for name in list(module.kernels)[:12]:
            reader.reach(name, WorkItems((0, 0, 0), (32, 1, 1), None), {1: 8, 2: 3})
