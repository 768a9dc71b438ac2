"""The ELF file around a kernel's code: where its parameters lie, and which names its constants stand for."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from msgspec import Struct

from streamsan.machine_code.constant_bank import ConstantVariable, sound_variables
from streamsan.machine_code.elf_tables import (
    FUNCTION,
    RELOCATIONS,
    RELOCATIONS_WITH_ADDENDS,
    SYMBOL_TABLE,
    ElfError,
    ElfTables,
)

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
_OF_CONSTANTS = ".nv.constant3"
_OF_VARIABLES = (".nv.global", _OF_CONSTANTS)
_LARGEST = 1 << 40
_MOST_ATTRIBUTES = 32 << 20
"""bytes, of all kernels together: of one they are some hundred"""
_MOST_INITIAL = 512 << 20
"""bytes, of all variables together: a file may say of each that it is the whole of it"""
_CUDA = 190
"""of the ELF header: the machine"""


class CubinError(ValueError):
    """The bytes are no ELF file with GPU code, or a damaged one."""


class Parameter(Struct, frozen=True):
    """One parameter of a kernel: `offset` in the argument buffer and `size`, in bytes."""

    offset: int
    size: int

    @property
    def words(self) -> range:
        """The offsets in the argument buffer of its aligned words, each of which may be an address."""
        first = -(-self.offset // WORD_BYTES) * WORD_BYTES
        return range(first, self.offset + self.size - WORD_BYTES + 1, WORD_BYTES)


class KernelLayout(Struct, frozen=True):
    """Where a kernel's parameters lie. `base`: offset of the argument buffer in constant bank 0."""

    symbol: str
    base: int
    parameters: tuple[Parameter, ...]


class Variable(Struct, frozen=True):
    """A variable in memory of the device: its `size` in bytes, and what it holds at first, without zeros at the end."""

    symbol: str
    size: int
    initial: bytes


class Cubin(Struct, frozen=True):
    """What a cubin says beside its code."""

    kernels: dict[str, KernelLayout]
    labels: dict[str, dict[str, int]]
    """section of a function -> label inside of it -> byte offset of its first instruction"""
    variables: dict[str, Variable]
    addresses: dict[int, str]
    """offset in constant bank 4 -> the symbol whose address the loader puts there"""
    numbers: dict[str, int]
    """function -> its number in the symbol table"""
    constants: tuple[ConstantVariable, ...] = ()
    """the variables in constant memory, in order"""


def read_cubin(content: bytes) -> Cubin:
    """Read the tables of a cubin. Raises `CubinError`."""
    try:
        return _read(ElfTables(content))
    except (ElfError, struct.error) as error:
        raise CubinError(f"not a cubin that can be read: {error}") from None


def _read(file: ElfTables) -> Cubin:
    if file.machine != _CUDA:
        raise CubinError("the ELF file has no GPU code")
    kernels = {}
    room = _MOST_ATTRIBUTES
    for section in file.sections:
        prefix, _, symbol = section.name.partition(".nv.info.")
        if not prefix and symbol:
            room -= len(section.data)
            if room < 0:
                raise CubinError(f"more than {_MOST_ATTRIBUTES >> 20} MiB of kernels' attributes")
            kernels[symbol] = _layout(symbol, section.data)
    labels: dict[str, dict[str, int]] = {}
    variables = {}
    constants: list[ConstantVariable] = []
    numbers: dict[str, int] = {}
    room = _MOST_INITIAL
    for index, table in enumerate(file.sections):
        if table.type != SYMBOL_TABLE:
            continue
        for entry in file.symbols(index):
            if not 0 < entry.section < len(file.sections):
                continue
            holder = file.sections[entry.section]
            if entry.type == FUNCTION:
                numbers.setdefault(entry.name, entry.number)
                labels.setdefault(holder.name.removeprefix(".text."), {})[entry.name] = entry.value
            elif holder.name.startswith(_OF_VARIABLES) and entry.size <= _LARGEST:
                initial = holder.data[entry.value : entry.value + entry.size]
                room -= len(initial)
                if room < 0:
                    raise CubinError(f"more than {_MOST_INITIAL >> 20} MiB in variables")
                variables[entry.name] = Variable(entry.name, entry.size, bytes(initial).rstrip(b"\0"))
                if holder.name == _OF_CONSTANTS:
                    constants.append(ConstantVariable(entry.value, entry.size, entry.name))
    return Cubin(kernels, labels, variables, dict(_addresses(file)), numbers, sound_variables(constants))


def _layout(symbol: str, info: memoryview) -> KernelLayout:
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


def _addresses(file: ElfTables) -> Iterator[tuple[int, str]]:
    for index, section in enumerate(file.sections):
        if section.type not in (RELOCATIONS, RELOCATIONS_WITH_ADDENDS) or section.info >= len(file.sections):
            continue
        if file.sections[section.info].name.split(".")[:3] == ["", "nv", f"constant{_ADDRESSES_BANK}"]:
            yield from file.relocations(index)
