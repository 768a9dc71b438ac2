"""The ELF file around a kernel's code: where its parameters lie, and which names its constants stand for."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import Section, SymbolTableSection

WORD_BYTES = 8
"""of an address"""
_KERNEL_PARAMETER = 0x17
"""attribute of `.nv.info.KERNEL`: one parameter's place"""
_LARGE_KERNEL_PARAMETER = 0x45
"""the same of kernels with more than 4096 bytes of parameters"""
_PARAMETER_BANK = 0x0A
"""attribute of `.nv.info.KERNEL`: where in constant bank 0 the parameters begin, and how many bytes they are"""
_WITH_SIZE = 4
"""format of an attribute that has a payload of its own; the payload of others is in the same word"""
_ADDRESSES_BANK = 4
_OF_VARIABLES = (".nv.global", ".nv.constant3")
_LARGEST = 1 << 40


class CubinError(ValueError):
    """The bytes are no ELF file with GPU code, or a damaged one."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel: `offset` in the argument buffer and `size`, in bytes."""

    offset: int
    size: int

    @property
    def words(self) -> range:
        """The offsets in the argument buffer of its aligned words, each of which may be an address."""
        first = -(-self.offset // WORD_BYTES) * WORD_BYTES
        return range(first, self.offset + self.size - WORD_BYTES + 1, WORD_BYTES)


@dataclass(frozen=True, slots=True)
class KernelLayout:
    """Where a kernel's parameters lie. `base`: offset of the argument buffer in constant bank 0."""

    symbol: str
    base: int
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable in memory of the device: its `size` in bytes, and what it holds at first, without zeros at the end."""

    symbol: str
    size: int
    initial: bytes


@dataclass(frozen=True, slots=True)
class Cubin:
    """What a cubin says beside its code."""

    kernels: dict[str, KernelLayout]
    labels: dict[str, dict[str, int]]
    """section of a function -> label inside of it -> byte offset of its first instruction"""
    variables: dict[str, Variable]
    addresses: dict[int, str]
    """offset in constant bank 4 -> the symbol whose address the loader puts there"""
    numbers: dict[str, int]
    """function -> its number in the symbol table"""


def read_cubin(content: bytes) -> Cubin:
    """Read the tables of a cubin. Raises `CubinError`."""
    try:
        return _read(ELFFile(io.BytesIO(content)))
    except (
        ELFError,
        struct.error,
        UnicodeDecodeError,
        ValueError,
        KeyError,
        IndexError,
        AttributeError,
        TypeError,
    ) as error:
        raise CubinError(f"not a cubin that can be read: {error or type(error).__name__}") from None


def _read(file: ELFFile) -> Cubin:
    if file["e_machine"] != "EM_CUDA":
        raise CubinError("the ELF file has no GPU code")
    sections = list(file.iter_sections())
    kernels = {}
    for section in sections:
        prefix, _, symbol = section.name.partition(".nv.info.")
        if not prefix and symbol:
            kernels[symbol] = _layout(symbol, section.data())
    labels: dict[str, dict[str, int]] = {}
    variables = {}
    numbers: dict[str, int] = {}
    for table in sections:
        if not isinstance(table, SymbolTableSection):
            continue
        for number, entry in enumerate(table.iter_symbols()):
            index = entry["st_shndx"]
            if not isinstance(index, int) or index >= len(sections):
                continue
            kind, place, holder = entry["st_info"]["type"], entry["st_value"], sections[index]
            if kind == "STT_FUNC":
                numbers.setdefault(entry.name, number)
                labels.setdefault(holder.name.removeprefix(".text."), {})[entry.name] = place
            elif kind == "STT_OBJECT" and holder.name.startswith(_OF_VARIABLES) and entry["st_size"] <= _LARGEST:
                content = b"" if holder["sh_type"] == "SHT_NOBITS" else holder.data()
                variables[entry.name] = Variable(
                    entry.name, entry["st_size"], content[place : place + entry["st_size"]].rstrip(b"\0")
                )
    return Cubin(kernels, labels, variables, dict(_addresses(file, sections)), numbers)


def _layout(symbol: str, info: bytes) -> KernelLayout:
    parameters = []
    base = total = 0
    at = 0
    while at + 4 <= len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        at += 4
        if form != _WITH_SIZE:
            continue
        if attribute == _KERNEL_PARAMETER and size >= 12:
            _, _, offset, packed = struct.unpack_from("<IHHI", info, at)
            # The size is in the upper 14 bits.
            parameters.append(Parameter(offset, packed >> 18))
        elif attribute == _LARGE_KERNEL_PARAMETER and size >= 12:
            _, _, offset, length, _ = struct.unpack_from("<IHHHH", info, at)
            parameters.append(Parameter(offset, length))
        elif attribute == _PARAMETER_BANK and size >= 8:
            _, base, total = struct.unpack_from("<IHH", info, at)
        at += size
    if total >= WORD_BYTES + max((each.offset + each.size for each in parameters), default=0):
        # Some are told in a way that is not known: any word may be one.
        parameters = [Parameter(0, total)]
    return KernelLayout(symbol, base, tuple(sorted(parameters, key=lambda parameter: parameter.offset)))


def _addresses(file: ELFFile, sections: list[Section]) -> Iterator[tuple[int, str]]:
    for section in sections:
        if not isinstance(section, RelocationSection):
            continue
        target: Section = file.get_section(section["sh_info"])
        if target.name.split(".")[:3] != ["", "nv", f"constant{_ADDRESSES_BANK}"]:
            continue
        symbols = file.get_section(section["sh_link"])
        if not isinstance(symbols, SymbolTableSection):
            continue
        for relocation in section.iter_relocations():
            yield relocation["r_offset"], symbols.get_symbol(relocation["r_info_sym"]).name
