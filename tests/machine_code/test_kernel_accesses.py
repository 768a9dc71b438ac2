"""What kernels do with their parameters, read from machine code of three generations of devices."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest

from streamsan.machine_code.cubin import CubinError, read_cubin
from streamsan.machine_code.disassembler import disassemblers
from streamsan.machine_code.kernel_accesses import accesses_of
from streamsan.vocabulary import SlotFlag

HERE = Path(__file__).parent
CUBINS = [HERE / f"kernels.{architecture}.cubin" for architecture in ("sm_75", "sm_90", "sm_120")]
needs_disassembler = pytest.mark.skipif(not disassemblers(), reason="no nvdisasm")

# Offset of the word in the argument buffer -> how it is used; a = by atomic operations only.
USES = {
    "axpy": {0: "READ_WRITE", 8: "READ"},
    "fields": {0: "READ", 8: "WRITE", 24: "READ_WRITE a"},
    "only_compared": {16: "WRITE"},
    "pointers_in_memory": {0: "READ"},
    "keeps_pointer": {0: "OPAQUE"},
    "uses_kept_pointer": {},
    "counts": {},
    # A row of the table is chosen by a number: any of its words, the sizes too.
    "chosen_row": dict.fromkeys(range(0, 96, 8), "WRITE"),
    "gathered": {0: "WRITE", 8: "READ", 16: "READ", 24: "READ"},
    "histogram": {0: "READ_WRITE a", 8: "READ"},
    "through_shared": {0: "WRITE", 8: "READ"},
    "pointer_in_shared": {0: "WRITE", 8: "WRITE"},
    "swaps": {0: "READ_WRITE", 8: "READ_WRITE"},
    "prints": {0: "READ"},
    "calls": {0: "WRITE", 8: "READ"},
    "calls_anything": {8: "WRITE"},
    "copies_structures": {0: "WRITE", 8: "READ", 16: "READ"},
    "switches": {0: "WRITE", 8: "WRITE", 16: "READ_WRITE a", 24: "READ"},
    "local_array": {0: "WRITE", 8: "WRITE", 16: "WRITE"},
    "repeats": {0: "READ_WRITE"},
}
VARIABLES = {
    "counts": {"counter": "READ_WRITE a"},
    "keeps_pointer": {"stored_pointer": "WRITE"},
    "uses_kept_pointer": {"stored_pointer": "READ"},
    "calls_anything": {"operation": "READ"},
}


@needs_disassembler
@pytest.mark.parametrize("path", CUBINS, ids=lambda path: path.suffixes[0])
def test_uses_of_parameters(path: Path) -> None:
    content = path.read_bytes()
    found = accesses_of(content, read_cubin(content))

    def words(uses: dict) -> dict:
        return {key: use.mode.name + (" a" if use.flags & SlotFlag.ATOMIC else "") for key, use in uses.items()}

    assert {name: words(each.words) for name, each in found.items()} == USES
    assert {name: words(each.variables) for name, each in found.items() if each.variables} == VARIABLES
    assert {name for name, each in found.items() if not each.whole} == {"calls_anything"}
    follows = {name for name, each in found.items() if each.follows_found}
    assert {"pointers_in_memory", "uses_kept_pointer"} <= follows
    assert not follows & {"axpy", "fields", "gathered", "copies_structures", "through_shared"}


@needs_disassembler
def test_only_what_is_asked_for_is_read() -> None:
    content = CUBINS[1].read_bytes()
    assert set(accesses_of(content, read_cubin(content), ["axpy", "no_such_kernel"])) == {"axpy"}


@pytest.mark.parametrize("path", CUBINS, ids=lambda path: path.suffixes[0])
def test_layout_of_parameters(path: Path) -> None:
    layout = read_cubin(path.read_bytes()).kernels["fields"]
    assert [(parameter.offset, parameter.size) for parameter in layout.parameters] == [(0, 24), (24, 8)]
    assert layout.base > 0


def told_otherwise(content: bytes, attribute: int) -> bytes:
    """A cubin whose parameters' places are told by another attribute, in the form of those of large parameters."""
    changed = bytearray(content)
    at = content.find(b"\x04\x17\x0c\x00")
    while at >= 0:
        changed[at + 1] = attribute
        changed[at + 12 : at + 16] = (int.from_bytes(content[at + 12 : at + 16], "little") >> 18).to_bytes(4, "little")
        at = content.find(b"\x04\x17\x0c\x00", at + 1)
    return bytes(changed)


@pytest.mark.parametrize("path", CUBINS, ids=lambda path: path.suffixes[0])
def test_layout_of_large_parameters(path: Path) -> None:
    content = path.read_bytes()
    assert read_cubin(told_otherwise(content, 0x45)).kernels == read_cubin(content).kernels


@pytest.mark.parametrize("path", CUBINS, ids=lambda path: path.suffixes[0])
def test_where_parameters_are_told_in_an_unknown_way_each_word_may_be_one(path: Path) -> None:
    layout = read_cubin(told_otherwise(path.read_bytes(), 0x7E)).kernels["fields"]
    assert [(parameter.offset, parameter.size) for parameter in layout.parameters] == [(0, 32)]


def test_damaged_cubins_are_read_or_refused() -> None:
    content = CUBINS[0].read_bytes()
    chance = random.Random(7)
    for _ in range(150):
        damaged = bytearray(content[: chance.randrange(len(content))] if chance.random() < 0.3 else content)
        for _ in range(chance.randrange(1, 8)):
            if damaged:
                damaged[chance.randrange(min(len(damaged), 4096))] = chance.randrange(256)
        with suppress(CubinError):
            read_cubin(bytes(damaged))


def test_what_is_no_cubin_says_so() -> None:
    for content in (b"", b"\x7fELF", b"int main() {}", Path("/proc/self/exe").read_bytes()[:4096]):
        with pytest.raises(CubinError):
            read_cubin(content)
