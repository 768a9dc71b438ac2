"""Which bytes of the device's variables kernels use, in constant memory (bank 3) and by address (bank 4)."""

from __future__ import annotations

import struct
from functools import cache
from pathlib import Path

import pytest

from streamsan.machine_code.byte_ranges import NOTHING, Extent
from streamsan.machine_code.constant_bank import SIZE, ConstantBank, ConstantVariable, sound_variables
from streamsan.machine_code.cubin import KernelLayout, Parameter, read_cubin
from streamsan.machine_code.disassembler import Instruction, disassemblers, split_operands
from streamsan.machine_code.kernel_accesses import kernel_accesses
from streamsan.machine_code.kernel_code import KernelCode, kernels_of
from streamsan.machine_code.launch_extents import Invocation, extents_of
from streamsan.vocabulary import AccessMode

HERE = Path(__file__).parent
ARCHITECTURES = [
    pytest.param(name, marks=() if name == "sm_90" else pytest.mark.deep) for name in ("sm_75", "sm_90", "sm_120")
]
needs_disassembler = pytest.mark.skipif(not disassemblers(), reason="no nvdisasm")
THREADS = 32

# Kernel -> what it is given behind its pointer; which bytes it reads of which variables ("may": at most these).
READS = {
    "all_taps": (b"", {"taps": (0, 256)}),
    "tap_of_each_thread": (b"", {"taps": (0, 4 * THREADS)}),
    "tap_of_memory": (b"", {"taps": (0, 256, "may")}),
    "one_tap": (struct.pack("<i", 5), {"taps": (20, 24)}),
    "scales": (struct.pack("<i", 40), {"gain": (0, 4)}),
    "follows_constant": (b"", {"table": (0, 8)}),
    "part_of_structure": (b"", {"table": (8, 24)}),
    "in_a_function": (b"", {"taps": (0, 256, "may")}),
    "no_constant": (struct.pack("<d", 1.0), {}),
}


@cache
def kernels(architecture: str) -> dict[str, KernelCode]:
    content = (HERE / f"constant_kernels.{architecture}.cubin").read_bytes()
    return kernels_of(content, read_cubin(content))


def launched(code: KernelCode, arguments: bytes, pointers: frozenset[int] = frozenset({0})) -> dict:
    return extents_of(code, Invocation((2, 1, 1), (THREADS, 1, 1), 0, arguments, pointers))


@needs_disassembler
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_reads_of_constant_memory(architecture: str) -> None:
    for kernel, (values, expected) in READS.items():
        code = kernels(architecture)[kernel]
        accesses = kernel_accesses(code)
        assert expected.keys() <= accesses.constants <= {"taps", "gain", "table"}
        assert all(accesses.variables[name].mode in (AccessMode.READ, AccessMode.OPAQUE) for name in accesses.constants)
        found = {}
        for name, extents in launched(code, bytes(8) + values).items():
            if isinstance(name, str) and extents.reads != NOTHING:
                assert extents.writes == extents.updates == NOTHING
                each = extents.reads
                found[name] = (each.begin, each.end) if each.sure and each.dense else (each.begin, each.end, "may")
        assert found == expected, kernel


@needs_disassembler
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_launch_whose_threads_all_leave_reads_nothing(architecture: str) -> None:
    found = launched(kernels(architecture)["scales"], bytes(8) + struct.pack("<i", 0))
    assert found["gain"].reads == NOTHING


@needs_disassembler
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_variables_by_address(architecture: str) -> None:
    codes = kernels(architecture)
    (levels,) = launched(codes["fills_half"], struct.pack("<i", 1), frozenset()).values()
    assert levels.writes == Extent(512, 512 + 4 * THREADS, True, True)
    # It writes as well as it adds: no one mode, but each is known.
    residual = launched(codes["resets_and_adds"], bytes(8) + struct.pack("<i", 64))["residual"]
    assert (residual.writes.sure, residual.writes.begin, residual.writes.end) == (True, 0, 8)
    assert (residual.updates.begin, residual.updates.end) == (0, 8)
    assert residual.reads == NOTHING
    assert not any("__cudart" in str(name) for name in launched(codes["no_constant"], bytes(16)))


def code_of(text: str, *variables: ConstantVariable) -> KernelCode:
    lines = (line.split(None, 1) for line in text.strip().splitlines())
    code = [Instruction("", name, split_operands(rest[0] if rest else ""), name == "EXIT") for name, *rest in lines]
    return KernelCode(KernelLayout("k", 0x210, (Parameter(0, 8),)), tuple(code), {}, {}, sound_variables(variables))


FIRST, SECOND = ConstantVariable(0, 16, "first"), ConstantVariable(16, 64, "second")


@pytest.mark.parametrize(
    ("text", "variables", "expected"),
    [
        # A pair that is loaded at once may be two variables.
        ("LDC.64 R2, c[0x3][0xc]", (FIRST, SECOND), {"first": (12, 16), "second": (0, 4)}),
        # What begins at 0 may be all that the register says, so nobody knows which it is.
        ("LDG.E R4, [R2.64]\nLDC R0, c[0x3][R4]", (FIRST, SECOND), {}),
        ("LDG.E R4, [R2.64]\nLDC R0, c[0x3][R4]", (FIRST,), {"first": (0, 16, "may")}),
        ("LDG.E R4, [R2.64]\nLDC R0, c[0x3][R4+0x10]", (FIRST, SECOND), {"second": (0, 64, "may")}),
        # One in front of the second variable, and behind all of them.
        ("MOV R4, 0x4\nLDC R0, c[0x3][R4+0xc]", (FIRST, SECOND), {"second": (0, 4)}),
        ("MOV R4, 0x100\nLDC R0, c[0x3][R4]", (FIRST, SECOND), {}),
        ("MOV R4, -0x4\nLDC R0, c[0x3][R4]", (FIRST, SECOND), {}),
        ("S2R R4, SR_TID.X\nLDC.U8 R0, c[0x3][R4]", (FIRST, SECOND), {"first": (0, 16), "second": (0, 16)}),
        ("DADD R2, R2, c[0x3][0x10]", (FIRST, SECOND), {"second": (0, 8)}),
        ("FFMA R2, R2, c[0x2][0x10], R3", (FIRST, SECOND), {}),
    ],
)
def test_which_variable_it_is(text: str, variables: tuple[ConstantVariable, ...], expected: dict) -> None:
    code = code_of(f"LDC.64 R2, c[0x0][0x210]\n{text}\nEXIT", *variables)
    found = {}
    for name, extents in launched(code, bytes(8)).items():
        if isinstance(name, str) and extents.reads != NOTHING:
            each = extents.reads
            found[name] = (each.begin, each.end) if each.sure else (each.begin, each.end, "may")
    assert found == expected


def test_variables_that_cannot_be_are_passed_over() -> None:
    behind, over = ConstantVariable(SIZE - 4, 8, "behind"), ConstantVariable(8, 16, "over")
    assert sound_variables([SECOND, behind, FIRST, over, ConstantVariable(90, 0, "empty")]) == (FIRST, SECOND)
    assert sound_variables(ConstantVariable(at, 1, f"v{at}") for at in range(10_000)) == ()
    bank = ConstantBank((FIRST, SECOND))
    assert [bank.among(-8, 0), bank.among(0, 1), bank.among(15, 17), bank.among(80, 99)] == [
        [],
        [FIRST],
        [FIRST, SECOND],
        [],
    ]
    assert ConstantBank(()).among(0, 8) == []


@needs_disassembler
def test_code_that_is_kept_has_the_variables() -> None:
    for code in kernels("sm_90").values():
        assert KernelCode.from_json(code.as_json()) == code
    kept = kernels("sm_90")["scales"].as_json()
    for wrong in ([["0", 4]], [[0, 4, 4, 4]], None):
        with pytest.raises(ValueError, match=r"kept code|unpack|invalid"):
            KernelCode.from_json({**kept, "constants": wrong})
