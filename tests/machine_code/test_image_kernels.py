"""Which textures and surfaces kernels use, and which texels launches touch for sure, by their machine code."""

from __future__ import annotations

import struct
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from streamsan.kernels.uses import Use
from streamsan.machine_code.byte_ranges import NOTHING, Extent, reaches_zero
from streamsan.machine_code.cubin import read_cubin
from streamsan.machine_code.disassembler import disassemblers
from streamsan.machine_code.image_instructions import Coordinates, image_coordinates, image_handle
from streamsan.machine_code.instruction_operands import Constant, Register, operand
from streamsan.machine_code.kernel_accesses import kernel_accesses
from streamsan.machine_code.kernel_code import KernelCode, kernels_of
from streamsan.machine_code.launch_extents import Invocation, WordExtents, extents_of
from streamsan.vocabulary import AccessMode, SlotFlag

HERE = Path(__file__).parent
ARCHITECTURES = [
    pytest.param(name, marks=() if name == "sm_90" else pytest.mark.deep) for name in ("sm_75", "sm_90", "sm_120")
]
needs_disassembler = pytest.mark.skipif(not disassemblers(), reason="no nvdisasm")
READ, WRITE, BOTH = Use(AccessMode.READ), Use(AccessMode.WRITE), Use(AccessMode.READ_WRITE)
UPDATE = Use(AccessMode.READ_WRITE, int(SlotFlag.ATOMIC))
SAMPLES = "samples samples_corners samples_around samples_right_half samples_fractions samples_middle"
SAMPLES += " samples_first_row samples_volume samples_layers samples_levels gathers fetches fetches_by_memory calls"


@cache
def kernels(architecture: str) -> dict[str, KernelCode]:
    content = (HERE / f"image_kernels.{architecture}.cubin").read_bytes()
    return kernels_of(content, read_cubin(content))


@needs_disassembler
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_kernels_use_the_images_whose_numbers_they_are_given(architecture: str) -> None:
    found = {symbol: kernel_accesses(code) for symbol, code in kernels(architecture).items()}
    images = {symbol: accesses.images for symbol, accesses in found.items()}
    for kernel in SAMPLES.split():
        assert images.pop(kernel) == {0: READ}, kernel
        assert not found[kernel].chosen_images
    assert images.pop("blends").items() >= dict.fromkeys((0, 8, 16, 24), READ).items()
    assert images == {
        "draws": {8: WRITE},
        "draws_volume": {0: WRITE},
        "moves": {0: READ, 8: WRITE},
        "raises": {0: BOTH},
        "counts": {0: UPDATE},
        "chooses": {0: READ, 8: READ},
        "finds": {},  # their numbers are in memory
        "asks": {},  # only for its size
        "passes_by": {},
    }
    assert {symbol for symbol, accesses in found.items() if accesses.surfaces} == {
        *("draws", "draws_volume", "moves", "raises", "counts"),
    }
    assert {symbol for symbol, accesses in found.items() if accesses.chosen_images} == {"chooses", "blends"}
    assert [symbol for symbol, accesses in found.items() if accesses.follows_found] == ["finds"]
    assert all(accesses.whole for accesses in found.values())


NUMBER, POINTER = struct.pack("<Q", 7), bytes(8)
WIDE = struct.pack("<ii", 256, 16)
FIRST = {
    "samples": (NUMBER + POINTER + WIDE, "read"),
    "samples_corners": (NUMBER + POINTER + WIDE[:4], "read"),
    "samples_around": (NUMBER + POINTER + WIDE[:4], "read"),
    "samples_first_row": (NUMBER + POINTER, "read"),
    "samples_volume": (NUMBER + POINTER, "read"),
    "samples_layers": (NUMBER + POINTER, "read"),
    "draws": (struct.pack("<fxxxxQixxxx", 1.5, 9, 300), "write"),
    "draws_volume": (NUMBER, "write"),
    "counts": (NUMBER, "update"),
    # Those of which it is not known: another place, coordinates that are divided, the middle of what is 1 wide.
    "samples_right_half": (NUMBER + POINTER + WIDE[:4], ""),
    "samples_fractions": (NUMBER + POINTER + WIDE, ""),
    "samples_middle": (NUMBER + POINTER, ""),
    "samples_levels": (NUMBER + POINTER, ""),
    "gathers": (NUMBER + POINTER, ""),
}


def launched(architecture: str, kernel: str, arguments: bytes, grid: tuple[int, int, int] = (4, 16, 1)) -> dict:
    return extents_of(kernels(architecture)[kernel], Invocation(grid, (64, 1, 1), 0, arguments, frozenset()))


@needs_disassembler
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("kernel", FIRST)
def test_the_first_texel_is_touched_for_sure(architecture: str, kernel: str) -> None:
    arguments, way = FIRST[kernel]
    (found,) = launched(architecture, kernel, arguments).values()
    assert found.first == ({way} if way else set())
    assert [extent == NOTHING for extent in found.ways] == [
        each not in (way or "read") for each in ("read", "write", "update")
    ]


@needs_disassembler
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_threads_that_all_leave_touch_nothing(architecture: str) -> None:
    (found,) = launched(architecture, "samples", NUMBER + POINTER + struct.pack("<ii", 0, 16)).values()
    assert found == WordExtents(NOTHING, NOTHING, NOTHING)


@needs_disassembler
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_an_image_is_read_and_written(architecture: str) -> None:
    (found,) = launched(architecture, "raises", NUMBER).values()
    assert found.first == {"read", "write"}
    moved = launched(architecture, "moves", NUMBER + struct.pack("<Q", 8))
    assert {word: sorted(each.first) for word, each in moved.items()} == {0: ["read"], 8: ["write"]}


@needs_disassembler
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_texels_of_a_line_are_counted(architecture: str) -> None:
    (found,) = launched(architecture, "fetches", NUMBER + POINTER + struct.pack("<ii", 100, 250)).values()
    assert found == WordExtents(Extent(100, 350, True, True), NOTHING, NOTHING)
    (found,) = launched(architecture, "calls", NUMBER + POINTER).values()
    assert (found.reads, found.first) == (Extent(0, 321, True, True), {"read"})
    (found,) = launched(architecture, "fetches_by_memory", NUMBER + POINTER + POINTER).values()
    assert (found.reads, found.first) == (None, frozenset())


@needs_disassembler
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("which", [0, 1])
def test_one_of_two_is_chosen(architecture: str, which: int) -> None:
    arguments = struct.pack("<QQQi", 7, 8, 0, which)
    found = launched(architecture, "chooses", arguments)
    read = Extent(0, 256, True, True)
    assert {word: each.reads for word, each in found.items()} == (
        {0: read, 8: NOTHING} if which else {0: NOTHING, 8: read}
    )


@needs_disassembler
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_of_an_array_those_are_known_that_a_launch_names(architecture: str) -> None:
    found = launched(architecture, "blends", struct.pack("<QQQQixxxxQ", 3, 4, 5, 6, 2, 0))
    sure = {word for word, each in found.items() if each.first}
    assert sure <= {0, 8}
    if architecture != "sm_120":  # there the loop's numbers come by a way that is not followed
        assert sure == {0, 8}


@pytest.mark.parametrize(
    ("operands", "handle"),
    [
        ("RZ,R7,R6,R4,UR4,0x0,2D,0x1", Register(1028)),
        ("RZ,R7,R6,UR4,2D,0x1", Register(1028)),
        ("RZ,R5,R4,R6,0x0,0x58,2D,0x1", Constant(0, 0x160)),
        ("RZ,R9,R7,R2,1D,0x1", Register(2)),
        ("R0,[R2],0x0,0x5a", Constant(0, 0x168)),
        ("[R4],R7,R2", Register(2)),
        ("[R2],R4,UR4,0x0", Register(1028)),
        ("[R2]", None),
        ("", None),
    ],
)
def test_where_the_number_stands(operands: str, handle: object) -> None:
    assert image_handle([operand(text) for text in operands.split(",")]) == handle


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("TLD.LZ RZ,R7,R5,UR4,0x0,1D,0x1", Coordinates((5,), (False,))),
        ("TEX.LL RZ,R7,R6,R4,UR4,0x0,3D,0x1", Coordinates((6, 7, 8), (True, True, True))),
        ("TEX.SCR.LL RZ,R5,R4,R6,0x0,0x58,3D,0x1", Coordinates((4, 5, 6), (True, True, True))),
        ("TEX.LL RZ,R5,R4,R7,UR4,0x0,ARRAY_2D,0x1", Coordinates((5, 6, 4), (True, True, False))),
        ("TEX.SCR.LL RZ,R5,R6,R4,0x0,0x58,ARRAY_2D,0x1", Coordinates((7, 4, 6), (True, True, False))),
        ("TEX.LL RZ,R8,R8,R11,UR4,0x0,CUBE,0x1", None),
        ("TXD RZ,R7,R6,R8,UR4,2D,0x1", None),
        ("SUST.D.BA.2D.STRONG.SM.TRAP [R2],R4,UR4,0x0", Coordinates((2, 3), (False, False))),
        ("SUST.D.BA.2D_ARRAY.STRONG.SM.TRAP [R4],R3,UR4,0x0", Coordinates((4, 5, 6), (False,) * 3)),
        ("SULD.D.BA.1D.STRONG.SM.TRAP R2,[RZ],UR4,0x0", Coordinates((None,), (False,))),
        ("SULD.D.BA.2D.STRONG.SM.TRAP R2,[R4+0x4],UR4,0x0", None),
    ],
)
def test_where_the_coordinates_stand(instruction: str, expected: Coordinates | None) -> None:
    opcode, _, operands = instruction.partition(" ")
    assert image_coordinates(opcode, operands.split(",")) == expected


def test_steps_that_lead_to_zero() -> None:
    one = np.array([0], np.int64)
    assert reaches_zero(one, [])
    assert reaches_zero(one - 70, [(64, 4), (1, 8)])
    assert not reaches_zero(one - 70, [(64, 1), (1, 8)])
    assert reaches_zero(one + 128, [(-64, 3)])
    assert not reaches_zero(one + 3, [(1, 100)])
