"""Programs whose kernels exist as machine code only: what a cubin says of them, and what its code does."""

from __future__ import annotations

import struct
from functools import lru_cache

from msgspec.structs import replace

from streamsan.machine_code.cubin import WORD_BYTES, CubinError, KernelLayout, Parameter, read_cubin
from streamsan.machine_code.disassembler import DisassemblyError
from streamsan.machine_code.kernel_accesses import KernelAccesses, accesses_of
from streamsan.sim.device_program import DeviceVariable, KernelParameter, KernelType, Program
from streamsan.sim.mangling import base_name
from streamsan.vocabulary import AccessMode


def size_of(header: bytes) -> int:
    """How many bytes an ELF file has, by its header: one of its two tables comes last in a cubin."""
    programs, sections = struct.unpack_from("<QQ", header, 32)
    program_size, program_count, section_size, section_count = struct.unpack_from("<HHHH", header, 54)
    return int(max(sections + section_size * section_count, programs + program_size * program_count))


@lru_cache(maxsize=64)
def program_of_cubin(image: bytes) -> Program:
    """The kernels and variables of a cubin. Of one that cannot be read any name is a kernel, and nothing is known."""
    try:
        cubin = read_cubin(image)
    except CubinError:
        return Program(any_kernel=True)
    reason = ""
    accesses: dict[str, KernelAccesses] = {}
    try:
        accesses = accesses_of(image, cubin)
    except DisassemblyError as error:
        reason = f"machine code ({error})"
    kernels = tuple(_kernel(layout, accesses.get(symbol), reason) for symbol, layout in cubin.kernels.items())
    variables = tuple(
        DeviceVariable(_written(each.symbol), each.symbol, each.size, initial=each.initial)
        for each in cubin.variables.values()
    )
    return Program(kernels, variables)


def _written(symbol: str) -> str:
    return base_name(symbol) or symbol


def _kernel(layout: KernelLayout, accesses: KernelAccesses | None, reason: str) -> KernelType:
    parameters = tuple(_parameter(number, each, accesses) for number, each in enumerate(layout.parameters))
    if accesses is None:
        reason = reason or "machine code"
    elif not accesses.whole:
        reason = "machine code, which calls or does something that is not known"
    return KernelType(_written(layout.symbol), layout.symbol, parameters, unread=reason)


def _parameter(number: int, place: Parameter, accesses: KernelAccesses | None) -> KernelParameter:
    """A parameter of which only the words are known that may be addresses."""
    name = f"parameter {number}"
    if accesses is None or not accesses.whole:
        return KernelParameter(name, place.offset, place.size)
    pieces = tuple(_word(name, word, word - place.offset, accesses) for word in place.words)
    if place.size == WORD_BYTES and pieces and pieces[0].used:
        return replace(pieces[0], offset=place.offset)
    return KernelParameter(name, place.offset, place.size, fields=pieces)


def _word(name: str, word: int, offset: int, accesses: KernelAccesses) -> KernelParameter:
    use = accesses.use(word)
    if use is None:
        return KernelParameter(name, offset, WORD_BYTES, True, used=False)
    polled = word in accesses.polls and (use.mode is AccessMode.READ or bool(use.flags))
    return KernelParameter(name, offset, WORD_BYTES, True, mode=use.mode, flags=use.flags, polled=polled)
