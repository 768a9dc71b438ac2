"""What kernels in SPIR-V do with their parameters: modules that a compiler made, and small ones written here."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from streamsan.kernels.spirv import spirv_module
from streamsan.kernels.spirv.spirv_kernels import SpirvKernel, spirv_kernel
from streamsan.kernels.spirv.spirv_module import SpirvError, SpirvModule
from streamsan.vocabulary import AccessMode, SlotFlag

FOLDER = Path(__file__).with_name("spirv")
READ, WRITE, BOTH, ANY = AccessMode.READ, AccessMode.WRITE, AccessMode.READ_WRITE, AccessMode.OPAQUE
SURE, ATOMIC = int(SlotFlag.TOUCHES), int(SlotFlag.ATOMIC)
LEVELS = ("O0", "O2")


def content(level: str) -> bytes:
    return (FOLDER / f"kernels.{level}.spv").read_bytes()


def kernel(name: str, code: bytes) -> SpirvKernel:
    found = spirv_kernel(SpirvModule(code), name)
    assert found is not None
    return found


def uses(name: str, code: bytes) -> dict[int, tuple[AccessMode, int]]:
    return {position: (use.mode, use.flags) for position, use in kernel(name, code).uses.items()}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("add", {0: (BOTH, SURE)}),
        ("sum", {0: (READ, SURE), 1: (BOTH, SURE)}),
        ("copy_vectors", {0: (READ, SURE), 1: (WRITE, SURE)}),
        ("histogram", {0: (READ, SURE), 1: (BOTH, ATOMIC), 2: (BOTH, SURE)}),
        ("choose", {0: (WRITE, 0), 1: (WRITE, 0)}),
        ("only_compares", {1: (WRITE, SURE)}),
        ("keeps_an_address", {0: (ANY, 0), 1: (WRITE, SURE)}),
        ("draws", {0: (READ, SURE), 1: (WRITE, SURE)}),
        ("angles", {0: (BOTH, SURE), 1: (WRITE, SURE)}),
        ("of_any_space", {0: (READ, SURE), 1: (WRITE, SURE), 2: (BOTH, SURE)}),
        ("waits_for_a_flag", {0: (READ, SURE), 1: (WRITE, 0)}),
        ("row", {0: (WRITE, SURE)}),
        ("behind_the_first", {0: (WRITE, 0)}),
        ("one_or_the_other", {0: (WRITE, 0), 1: (WRITE, 0)}),
    ],
)
def test_a_kernel_uses_its_parameters(name: str, expected: dict[int, tuple[AccessMode, int]], level: str) -> None:
    assert uses(name, content(level)) == expected


def test_pointers_in_structures_are_told_apart_where_the_compiler_did() -> None:
    assert uses("by_a_structure", content("O0")) == {0: (BOTH, 0), 1: (BOTH, 0)}
    assert uses("by_a_structure", content("O2")) == {0: (READ, SURE), 1: (WRITE, SURE)}


@pytest.mark.parametrize("level", LEVELS)
def test_what_kernels_find_and_what_they_tell(level: str) -> None:
    found = {name: kernel(name, content(level)) for name in SpirvModule(content(level)).kernels}
    assert {name for name, each in found.items() if each.follows_found} == {"follows"}
    assert {name for name, each in found.items() if each.talks} == {"waits_for_a_flag", "tells_all"}


def test_a_kernel_that_is_not_there() -> None:
    assert spirv_kernel(SpirvModule(content("O2")), "nobody") is None


# -- modules that are written here ---------------------------------------------------------------------------

VOID, FLOAT, POINTER, KERNEL_TYPE, KERNEL, TO, FROM, OTHER, ONE, BLOCK = range(1, 11)


def instruction(opcode: int, *words: int) -> list[int]:
    return [len(words) + 1 << 16 | opcode, *words]


def text(letters: str) -> list[int]:
    raw = letters.encode() + bytes(4 - len(letters) % 4)
    return list(struct.unpack(f"<{len(raw) // 4}I", raw))


def module(*body: list[int], order: str = "<", before: list[int] | None = None) -> bytes:
    """A module with a kernel `k` of two pointers, TO and FROM."""
    words = [spirv_module.MAGIC, 0x10000, 0, 100, 0]
    words += instruction(15, 6, KERNEL, *text("k"))
    words += instruction(19, VOID) + instruction(22, FLOAT, 32) + instruction(32, POINTER, 5, FLOAT)
    words += instruction(33, KERNEL_TYPE, VOID, POINTER, POINTER) + (before or [])
    words += instruction(54, VOID, KERNEL, 0, KERNEL_TYPE)
    words += instruction(55, POINTER, TO) + instruction(55, POINTER, FROM) + instruction(248, BLOCK)
    for each in body:
        words += each
    words += instruction(253) + instruction(56)
    return struct.pack(f"{order}{len(words)}I", *words)


COPY = (instruction(61, FLOAT, 20, FROM), instruction(62, TO, 20))


@pytest.mark.parametrize("order", ["<", ">"])
def test_words_come_in_either_order_of_bytes(order: str) -> None:
    assert uses("k", module(*COPY, order=order)) == {0: (WRITE, SURE), 1: (READ, SURE)}


def test_an_instruction_that_nobody_knows_may_do_anything() -> None:
    assert uses("k", module(instruction(9999, FLOAT, 20, FROM), instruction(62, TO, 20))) == {
        0: (WRITE, SURE),
        1: (ANY, 0),
    }


def test_a_function_without_a_body_may_do_anything() -> None:
    imported = instruction(54, VOID, OTHER, 0, KERNEL_TYPE) + instruction(55, POINTER, 30) + instruction(56)
    code = module(instruction(57, VOID, 20, OTHER, FROM), before=imported)
    assert (uses("k", code), kernel("k", code).talks) == ({1: (ANY, 0)}, True)


def test_functions_that_call_each_other_end() -> None:
    other = instruction(54, VOID, OTHER, 0, KERNEL_TYPE) + instruction(55, POINTER, 30) + instruction(248, 31)
    other += instruction(57, VOID, 32, OTHER, 30) + instruction(62, 30, 30) + instruction(253) + instruction(56)
    assert uses("k", module(instruction(57, VOID, 20, OTHER, TO), before=other)) == {0: (ANY, 0)}


def test_a_pointer_goes_through_values_in_any_order() -> None:
    chain = [instruction(83, POINTER, name, name + 1) for name in range(20, 60)]
    assert uses("k", module(*chain, instruction(83, POINTER, 60, TO), instruction(62, 20, FLOAT))) == {0: (WRITE, 0)}


def test_what_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spirv_module, "MOST_STEPS", 100)
    chain = [instruction(83, POINTER, name, name + 1) for name in range(20, 60)]
    with pytest.raises(SpirvError, match="too long"):
        spirv_kernel(SpirvModule(module(*chain, instruction(83, POINTER, 60, TO))), "k")


@pytest.mark.parametrize("cut", [0, 3, 20, 41, 60])
def test_a_module_that_is_cut_off(cut: int) -> None:
    with pytest.raises(SpirvError):
        spirv_kernel(SpirvModule(content("O2")[:cut] if cut % 4 else content("O2")[:cut] + b"\7\0\0\0"), "add")


def test_hostile_modules_are_read_or_refused() -> None:
    chance = random.Random(7)
    for _ in range(100):
        code = bytearray(content(chance.choice(LEVELS)))
        for _ in range(chance.randrange(1, 12)):
            place = chance.randrange(5, len(code) // 4)
            word = chance.choice((0, 0xFFFFFFFF, chance.randrange(200), chance.randrange(1 << 32)))
            struct.pack_into("<I", code, 4 * place, word)
        try:
            read = SpirvModule(bytes(code))
            for name in list(read.kernels):
                spirv_kernel(read, name)
        except SpirvError:
            continue
