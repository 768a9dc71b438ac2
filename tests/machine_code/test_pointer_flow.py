"""Small pieces of machine code: what may be reached through which parameter."""

from __future__ import annotations

import pytest

from streamsan.machine_code import control_flow, pointer_flow
from streamsan.machine_code.cubin import KernelLayout, Parameter
from streamsan.machine_code.disassembler import Instruction, split_operands
from streamsan.machine_code.kernel_accesses import kernel_accesses
from streamsan.machine_code.kernel_code import KernelCode
from streamsan.machine_code.pointer_flow import PointerFlow

JUMPS = ("BRA", "EXIT", "CALL", "RET", "BSSY", "BSYNC", "BRX")
LAYOUT = KernelLayout("kernel", 0x210, (Parameter(0, 8), Parameter(8, 8), Parameter(16, 8)))


def instructions_of(text: str) -> list[Instruction]:
    """`@P0 STG.E desc[UR4][R2.64],R7` in each line."""
    instructions = []
    for line in text.strip().splitlines():
        words = line.split()
        predicate = words.pop(0) if words[0].startswith("@") else ""
        operands = split_operands(words[1]) if len(words) > 1 else ()
        instructions.append(Instruction(predicate, words[0], operands, words[0].startswith(JUMPS)))
    return instructions


def flow_of(text: str) -> PointerFlow:
    flow = PointerFlow(LAYOUT, {})
    flow.run(instructions_of(text), {})
    return flow


def touched(text: str) -> tuple[list, list, list, bool]:
    flow = flow_of(text)
    found = flow.touched
    return flow.named(found.reads), flow.named(found.writes), flow.named(found.unsure), found.anything


def test_a_write_under_a_predicate_keeps_what_was_there() -> None:
    program = """
    LDC.64 R2,c[0x0][0x210]
    @P0 LDC.64 R2,c[0x0][0x218]
    STG.E desc[UR4][R2.64],R7
    EXIT
    """
    assert touched(program) == ([], [0, 8], [], False)


def test_a_write_without_a_predicate_does_not() -> None:
    program = """
    LDC.64 R2,c[0x0][0x210]
    LDC.64 R2,c[0x0][0x218]
    STG.E desc[UR4][R2.64],R7
    EXIT
    """
    assert touched(program) == ([], [8], [], False)


def test_both_ways_of_a_branch_count() -> None:
    program = """
    LDC.64 R2,c[0x0][0x210]
    @P0 BRA 0x30
    LDC.64 R2,c[0x0][0x218]
    LDG.E R5,desc[UR4][R2.64]
    EXIT
    """
    assert touched(program) == ([0, 8], [], [], False)


def test_a_loop_carries_addresses_around() -> None:
    program = """
    LDC.64 R2,c[0x0][0x210]
    LDC.64 R4,c[0x0][0x218]
    STG.E desc[UR4][R2.64],R7
    MOV R2,R4
    MOV R3,R5
    @P0 BRA 0x20
    EXIT
    """
    assert touched(program) == ([], [0, 8], [], False)


def test_an_index_is_not_the_memory_that_it_was_loaded_from() -> None:
    program = """
    LDC.64 R2,c[0x0][0x210]
    LDG.E R6,desc[UR4][R2.64]
    LDC.64 R8,c[0x0][0x218]
    SHF.R.S32.HI R7,RZ,0x1f,R6
    LEA R4,P0,R6,R8,0x2
    LEA.HI.X R5,R6,R9,R7,0x2,P0
    STG.E desc[UR4][R4.64],RZ
    EXIT
    """
    assert touched(program) == ([0], [8], [], False)


def test_where_threads_meet_they_did_not_jump() -> None:
    """BSSY names the place where threads go on together; nobody goes there from it."""
    program = """
    BSSY B0,0x50
    LDC.64 R2,c[0x0][0x210]
    @P0 BRA 0x40
    LDG.E R5,desc[UR4][R2.64]
    BSYNC B0
    STG.E desc[UR4][R2.64],R5
    EXIT
    """
    assert touched(program) == ([0], [0], [], False)


def test_an_address_that_is_stored_may_be_used_by_anybody() -> None:
    program = """
    LDC.64 R2,c[0x0][0x210]
    LDC.64 R4,c[0x0][0x218]
    STG.E.64 desc[UR4][R2.64],R4
    EXIT
    """
    assert touched(program) == ([], [0], [8], False)


def test_an_address_from_nowhere_may_be_any() -> None:
    assert touched("MOV R3,0x7f\nSTG.E desc[UR4][R2.64],R5\nEXIT")[3]


def test_an_instruction_that_nobody_knows_may_pass_addresses_on() -> None:
    program = """
    LDC.64 R2,c[0x0][0x210]
    NEWMOVE R8,R2,R3
    STG.E desc[UR4][R8.64],R5
    EXIT
    """
    assert touched(program)[1] == [0]


def test_an_access_that_nobody_knows_may_be_any() -> None:
    program = """
    LDC.64 R2,c[0x0][0x210]
    NEWSTORE desc[UR4][R2.64],R5
    EXIT
    """
    assert touched(program) == ([], [], [0], True)


def test_spilled_registers_come_back() -> None:
    program = """
    LDC.64 R2,c[0x0][0x210]
    LDC.64 R4,c[0x0][0x218]
    STL [R1+0x8],R3
    STL [R1+0x10],R5
    LDL R7,[R1+0x10]
    LDG.E R9,desc[UR4][R6.64]
    EXIT
    """
    assert touched(program) == ([8], [], [], False)


def test_an_indirect_branch_may_go_anywhere() -> None:
    program = """
    LDC.64 R2,c[0x0][0x210]
    BRX R8
    LDC.64 R2,c[0x0][0x218]
    EXIT
    STG.E desc[UR4][R2.64],R5
    EXIT
    """
    assert touched(program)[1] == [0]


def test_code_that_takes_too_long_to_read_may_do_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    program = """
    LDC.64 R2,c[0x0][0x210]
    @P0 BRA 0x0
    STG.E desc[UR4][R2.64],R7
    EXIT
    """
    assert touched(program)[3] is False
    with monkeypatch.context() as few:
        few.setattr(control_flow, "MOST_WAYS", 1)
        assert touched(program)[3] is True
    with monkeypatch.context() as few:
        few.setattr(pointer_flow, "MOST_MERGES", 1)
        assert touched(program)[3] is True


def test_words_of_a_kernel_with_tensor_maps_may_be_used() -> None:
    program = """
    LDC.64 R2,c[0x0][0x210]
    LDG.E R4,desc[UR4][R2.64]
    UTMALDG.2D [UR8],[UR4]
    EXIT
    """
    modes = []
    for text in (program, program.replace("UTMALDG.2D [UR8],[UR4]", "UTMAPF.L2.2D [UR8],[UR4]")):
        code = KernelCode(LAYOUT, tuple(instructions_of(text)), {}, {})
        modes.append({word: use.mode.name for word, use in kernel_accesses(code).words.items()})
    assert modes == [{0: "READ", 8: "OPAQUE", 16: "OPAQUE"}, {0: "READ"}]
