"""What launches touch, from machine code, against the same kernels run on the host."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from extent_launches import (
    HERE,
    Tried,
    buffer_of,
    compiled_host,
    launches,
    touched_on_host,
    verdict,
)

from host_compiler import COMPILER
from streamsan.machine_code.byte_ranges import NOTHING, Extent
from streamsan.machine_code.cubin import KernelLayout, Parameter, read_cubin
from streamsan.machine_code.disassembler import Instruction, disassemblers, split_operands
from streamsan.machine_code.kernel_code import KernelCode, kernels_of
from streamsan.machine_code.lane_values import Place, same, select
from streamsan.machine_code.launch_extents import Invocation, WordExtents, extents_of

ARCHITECTURES = [
    pytest.param(name, marks=() if name == "sm_90" else pytest.mark.deep) for name in ("sm_75", "sm_90", "sm_120")
]
needs_disassembler = pytest.mark.skipif(not disassemblers(), reason="no nvdisasm")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no compiler of the host")

DEPEND_ON_MEMORY = {
    ("gathered", 0, "r"),
    ("guarded_index", 8, "w"),
    ("histogram", 8, "u"),
    ("unless_flag", 8, "w"),
    ("where_mask", 8, "w"),
    ("either_value", 8, "w"),
    ("until_data", 0, "r"),
    ("until_data", 8, "w"),
    ("sparse", 8, "r"),
}
"""kernel, word, mode: nobody can say for sure without knowing what memory holds"""
ROUGH = {"triangle", "quotients", "quotient_wide", "powers", "stencil_plane"}
"""kernels whose bytes are no rows: only begin and end are said"""
ROUGH_HERE = {
    # The place of the sizes is a constant in bank 2, which is not read.
    "sm_75": {"item_of_thread", "item_of_block", "every_item"},
    "sm_90": {"item_of_thread"},
    "sm_120": {"item_of_thread"},
}
"""kernels whose threads have addresses of several words: these are not known"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled_host(tmp_path_factory.mktemp("host"))


@cache
def kernels(architecture: str) -> dict[str, KernelCode]:
    content = (HERE / f"extent_kernels.{architecture}.cubin").read_bytes()
    return kernels_of(content, read_cubin(content))


@needs_disassembler
@needs_compiler
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_extents_are_what_the_host_touches(architecture: str, host: Path) -> None:
    codes = kernels(architecture)
    tried = list(launches(5, 3))
    truths = [touched_on_host(host, tried, seed) for seed in (1, 2, 3)]
    unsure = Counter()
    for number, each in enumerate(tried):
        extents = extents_of(codes[each.kernel], each.shape)
        for word in sorted(each.shape.pointers):
            for mode in "rwu":
                found = verdict(extents, word, mode, [truth[number].get((word, mode), []) for truth in truths])
                assert not found.startswith("WRONG"), (each, word, mode, found)
                if found != "exact" and (each.kernel, word, mode) not in DEPEND_ON_MEMORY:
                    unsure[each.kernel, found] += 1
    assert {kernel for kernel, _ in unsure} <= ROUGH | ROUGH_HERE[architecture], unsure


def whole(extent: Extent | None) -> tuple[int, int]:
    assert extent is not None
    assert extent.sure
    assert extent.dense
    return extent.begin, extent.end


@needs_disassembler
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_large_launches_take_as_long_as_small_ones(architecture: str) -> None:
    codes = kernels(architecture)
    arguments, pointers = buffer_of("PPPi", (1_000_000_007,))
    found = extents_of(codes["vector_add"], Invocation((3_906_251, 1, 1), (256, 1, 1), 0, arguments, pointers))
    assert whole(found[0].reads) == whole(found[16].writes) == (0, 4_000_000_028)
    assert found[16].reads == found[0].updates == NOTHING

    arguments, pointers = buffer_of("PQiif", (1 << 20, 250_000, 30_000, 1.0))
    found = extents_of(codes["image"], Invocation((8000, 4000, 1), (32, 8, 1), 0, arguments, pointers))
    assert found[0].writes == Extent(0, 29_999 * (1 << 20) + 1_000_000, True, False, 1_000_000, 1 << 20, 30_000)

    arguments, pointers = buffer_of("PPqi", (1 << 30, 100_000))
    found = extents_of(codes["batch"], Invocation((400, 64, 1), (256, 1, 1), 0, arguments, pointers))
    assert found[0].reads == Extent(0, 63 * (1 << 32) + 400_000, True, False, 400_000, 1 << 32, 64)


@needs_disassembler
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_long_loops_take_as_long_as_short_ones(architecture: str) -> None:
    codes = kernels(architecture)

    def launched(kernel: str, form: str, values: tuple, grid: tuple, block: tuple) -> dict[int, WordExtents]:
        arguments, pointers = buffer_of(form, values)
        return extents_of(codes[kernel], Invocation(grid, block, 0, arguments, pointers))

    found = launched("grid_stride", "PPi", (500_000_000,), (1024, 1, 1), (256, 1, 1))
    assert whole(found[0].reads) == whole(found[8].writes) == (0, 2_000_000_000)
    found = launched("grid_stride_wide", "PPQ", (5_000_000_000,), (1024, 1, 1), (256, 1, 1))
    assert whole(found[0].reads) == whole(found[8].writes) == (0, 20_000_000_000)
    found = launched("row_sums", "PPii", (10_000, 20_000), (40, 1, 1), (256, 1, 1))
    assert whole(found[0].reads) == (0, 800_000_000)
    assert whole(found[8].writes) == (0, 40_000)
    found = launched("product", "PPPiii", (1000, 1001, 10_000), (63, 63, 1), (16, 16, 1))
    assert whole(found[0].reads) == (0, 40_000_000)
    assert whole(found[8].reads) == (0, 40_040_000)
    assert whole(found[16].writes) == (0, 4_004_000)
    found = launched("backwards", "Pi", (1 << 30,), (512, 1, 1), (256, 1, 1))
    assert whole(found[0].writes) == (0, 1 << 32)


@needs_disassembler
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_guard_bounds_an_index_that_memory_holds(architecture: str) -> None:
    arguments, pointers = buffer_of("PPii", (1000, 300))
    shape = Invocation((4, 1, 1), (256, 1, 1), 0, arguments, pointers)
    found = extents_of(kernels(architecture)["guarded_index"], shape)
    assert found[8].writes == Extent(8, 1200, False, False)


@needs_disassembler
def test_tiles_of_one_buffer_are_told_apart() -> None:
    code = kernels("sm_90")["tile"]
    rows = []
    for x in (0, 32):
        arguments, pointers = buffer_of("PPiiiii", (64, x, 0, 32, 64))
        found = extents_of(code, Invocation((2, 8, 1), (16, 8, 1), 0, arguments, pointers))
        rows.append(found[8].writes)
    assert rows == [Extent(4 * x, 4 * x + 63 * 256 + 128, True, False, 128, 256, 64) for x in (0, 32)]


@needs_disassembler
def test_how_far_a_launch_reaches_is_not_known_where_it_depends_on_bytes_that_are_not() -> None:
    code = kernels("sm_90")["tile"]
    arguments, pointers = buffer_of("PPiiiii", (64, 32, 0, 32, 64))
    grid, block = (2, 8, 1), (16, 8, 1)
    known = extents_of(code, Invocation(grid, block, 0, arguments, pointers))
    assert known[8].writes is not None
    for offset in (16, 20):  # the width, and the first column
        found = extents_of(code, Invocation(grid, block, 0, arguments, pointers, frozenset({offset})))
        assert 8 not in found or found[8].writes is None
    padding = frozenset({len(arguments) & ~3, 36})
    assert extents_of(code, Invocation(grid, block, 0, arguments, pointers, padding)) == known


@needs_disassembler
def test_kept_code_says_the_same() -> None:
    for name, code in kernels("sm_90").items():
        kept = KernelCode.from_json(json.loads(json.dumps(code.as_json())))
        assert kept == code, name


@pytest.mark.parametrize("kept", [None, {}, {"form": 0}, [], {"form": 1, "texts": [], "code": [[0, 0, 0]]}])
def test_what_is_no_kept_code_is_refused(kept: object) -> None:
    with pytest.raises(ValueError, match="kept code"):
        KernelCode.from_json(kept)


LAYOUT = KernelLayout("kernel", 0x210, (Parameter(0, 8), Parameter(8, 8), Parameter(16, 8)))
JUMPS = ("BRA", "EXIT", "CALL", "RET", "BSSY", "BSYNC", "BRX")


def extents(text: str, number: int = 0) -> dict[int, WordExtents]:
    """Of code in lines, launched with 2 blocks of 32 threads, two pointers and a number."""
    instructions = []
    for line in text.strip().splitlines():
        words = line.split()
        predicate = words.pop(0) if words[0].startswith("@") else ""
        operands = split_operands(words[1]) if len(words) > 1 else ()
        instructions.append(Instruction(predicate, words[0], operands, words[0].startswith(JUMPS)))
    arguments, pointers = buffer_of("PPq", (number,))
    shape = Invocation((2, 1, 1), (32, 1, 1), 0, arguments, pointers)
    return extents_of(KernelCode(LAYOUT, tuple(instructions), {}, {}), shape)


def test_an_instruction_that_is_not_known_makes_the_address_unknown() -> None:
    program = """
    S2R R4,SR_TID.X
    LDC.64 R2,c[0x0][0x210]
    {}
    IMAD.WIDE R2,R4,0x4,R2
    STG.E desc[UR4][R2.64],R7
    LDC.64 R2,c[0x0][0x218]
    STG.E desc[UR4][R2.64],R7
    EXIT
    """
    known = extents(program.format("IADD3 R4,R4,0x1,RZ"))
    assert whole(known[0].writes) == (4, 132)
    unknown = extents(program.format("WHATEVER R4,R4"))
    assert unknown[0].writes is None
    assert whole(unknown[8].writes) == (0, 4)


def test_bytes_of_numbers_that_differ_from_thread_to_thread_are_put_together() -> None:
    program = """
    S2R R4,SR_TID.X
    PRMT R4,R4,0x5410,R4
    LOP3.LUT R4,R4,0xff0000,RZ,0xc0,!PT
    LDC.64 R2,c[0x0][0x210]
    IMAD.WIDE R2,R4,0x4,R2
    STG.E desc[UR4][R2.64],R7
    EXIT
    """
    assert extents(program)[0].writes == Extent(0, (31 << 18) + 4, True, False, 4, 1 << 18, 32)


def test_an_addend_that_differs_from_thread_to_thread_leaves_a_product_unknown() -> None:
    program = """
    S2R R4,SR_TID.X
    LDC.64 R2,c[0x0][0x218]
    LDG.E R6,desc[UR4][R2.64]
    LOP3.LUT R6,R6,0xff,RZ,0xc0,!PT
    MOV R5,RZ
    IMAD.HI.U32 R4,R6,0x7,R4
    LDC.64 R2,c[0x0][0x210]
    IMAD.WIDE R2,R4,0x4,R2
    STG.E desc[UR4][R2.64],R7
    EXIT
    """
    assert extents(program)[0].writes is None


def test_a_predicate_that_is_not_known_makes_the_access_unsure() -> None:
    program = """
    LDC.64 R2,c[0x0][0x210]
    FSETP.GT.AND P0,PT,R9,R8,PT
    @P0 STG.E desc[UR4][R2.64],R7
    EXIT
    """
    assert extents(program)[0].writes == Extent(0, 4, False, False)


@pytest.mark.parametrize(
    ("lower", "upper", "end"),
    [
        ("ISETP.LT.U32.AND P0,PT,R4,UR6,PT", "ISETP.LT.U32.AND.EX P0,PT,R5,UR7,PT,P0", 40),
        ("ISETP.LT.U32.AND P0,PT,R4,UR6,PT", "ISETP.GT.U32.AND.EX P0,PT,UR7,R5,PT,P0", 40),
        ("ISETP.LE.U32.AND P0,PT,R4,UR6,PT", "ISETP.GE.AND.EX P0,PT,UR7,R5,PT,P0", 44),
        ("ISETP.GT.U32.AND P0,PT,UR6,R4,PT", "ISETP.LT.AND.EX P0,PT,R5,UR7,PT,P0", 40),
        ("ISETP.LE.U32.AND P0,PT,R4,UR6,PT", "ISETP.LT.AND.EX P0,PT,R5,UR7,PT,P0", None),
    ],
)
def test_numbers_of_64_bits_are_compared_however_the_halves_stand(lower: str, upper: str, end: int | None) -> None:
    program = f"""
    S2R R4,SR_TID.X
    MOV R5,RZ
    ULDC.64 UR6,c[0x0][0x220]
    {lower}
    {upper}
    @!P0 EXIT
    LDC.64 R2,c[0x0][0x210]
    IMAD.WIDE R2,R4,0x4,R2
    STG.E desc[UR4][R2.64],R7
    EXIT
    """
    found = extents(program, 10)[0].writes
    assert found is not None
    assert found.sure == (end is not None)
    if found.sure:
        assert whole(found) == (0, end)


def test_both_ways_of_an_unknown_branch_together_are_sure_again() -> None:
    program = """
    LDC.64 R2,c[0x0][0x210]
    FSETP.GT.AND P0,PT,R9,R8,PT
    @P0 BRA 0x40
    STG.E desc[UR4][R2.64],R7
    STG.E desc[UR4][R2.64+0x10],R7
    EXIT
    """
    assert extents(program)[0].writes == Extent(0, 20, False, False)
    sure = program.replace("STG.E desc[UR4][R2.64],R7", "FADD R7,R7,R8")
    assert whole(extents(sure)[0].writes) == (16, 20)


def test_a_branch_with_its_condition_among_the_operands_is_followed_both_ways() -> None:
    program = """
    LDC.64 R2,c[0x0][0x210]
    LDCU UR5,c[0x0][0x220]
    UISETP.GE.AND UP0,UPT,UR5,0x1,UPT
    BRA.U !UP0,0x60
    STG.E desc[UR4][R2.64],R7
    EXIT
    STG.E desc[UR4][R2.64+0x100],R7
    EXIT
    """
    assert whole(extents(program, 1)[0].writes) == (0, 4)
    assert whole(extents(program, 0)[0].writes) == (256, 260)


def test_of_a_loop_without_an_end_it_is_known_what_it_touches_first() -> None:
    program = """
    LDC.64 R2,c[0x0][0x210]
    STG.E desc[UR4][R2.64],R7
    IADD3 R2,P0,R2,0x4,RZ
    IADD3.X R3,RZ,R3,RZ,P0,!PT
    BRA 0x10
    """
    found = extents(program)
    assert found.keys() == {0}
    assert (found[0].writes.begin, found[0].writes.sure, found[0].writes.whole) == (0, True, False)
    assert found[0].reads is found[0].updates is None


def test_words_that_are_stored_are_not_known() -> None:
    program = """
    LDC.64 R2,c[0x0][0x210]
    LDC.64 R4,c[0x0][0x218]
    STG.E.64 desc[UR4][R2.64],R4
    STG.E desc[UR4][R4.64],R7
    EXIT
    """
    found = extents(program)
    assert whole(found[0].writes) == (0, 8)
    assert 8 not in found


def test_sizes_that_no_launch_has_are_refused() -> None:
    code = KernelCode(LAYOUT, (Instruction("", "EXIT", (), True),), {}, {})
    for grid, block in (((0, 1, 1), (1, 1, 1)), ((1, 1, 1), (2048, 1, 1)), ((1, 1, 1), (0, 1, 1))):
        assert extents_of(code, Invocation(grid, block, 0, bytes(24), frozenset({0}))) == {}
    shape = Invocation((1, 1, 1), (1, 1, 1), 0, b"", frozenset({0}))
    assert extents_of(code, shape)[0] == WordExtents(NOTHING, NOTHING, NOTHING)


def test_launches_are_the_same_each_time() -> None:
    assert list(launches(2, 5)) == list(launches(2, 5))
    assert all(isinstance(each, Tried) for each in launches(1, 1))


def test_a_place_is_the_same_as_no_number() -> None:
    numbers = np.array([3, 3])
    assert not same(Place(3), numbers)
    assert select(np.array([True, False]), Place(3), numbers) is None
    assert select(np.array([True, False]), Place(3), Place(3)) == Place(3)
