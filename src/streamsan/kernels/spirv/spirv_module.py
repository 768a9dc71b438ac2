"""A module of SPIR-V, taken apart: its kernels, functions, types and constants. Raises `SpirvError`, nothing else."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct, field

from streamsan.kernels.spirv import spirv_instructions as op

MAGIC = 0x07230203
LARGEST_MODULE = 4 << 20
"""bytes: a module of a million words takes seconds"""
MOST_STEPS = 4_000_000
"""instructions of a module that are looked at, each time counted: some seconds"""
_HEADER = 5
_WORD = 4


class SpirvError(ValueError):
    """The bytes are no module that is read; the text says why."""


class Instruction(NamedTuple):
    """One instruction."""

    opcode: int
    words: tuple[int, ...]
    """what follows the first word; where it makes a value, a type and the value's id come first"""

    @property
    def result(self) -> int:
        """The id of the value that it makes; 0 where it makes none, or has too few words."""
        return 0 if self.opcode in op.WITHOUT_RESULT or len(self.words) < 2 else self.words[1]

    @property
    def operands(self) -> tuple[int, ...]:
        """What follows the result."""
        return self.words if self.opcode in op.WITHOUT_RESULT else self.words[2:]


class SpirvFunction(Struct):
    """A function; one that is imported has no body."""

    parameters: list[tuple[int, int]] = field(default_factory=list)
    """id and type of each"""
    body: list[Instruction] = field(default_factory=list)


class SpirvModule:
    """The parts of a module that say what kernels do."""

    def __init__(self, content: bytes) -> None:
        """`content`: the module's bytes, in either order of bytes."""
        self.kernels: dict[str, int] = {}
        """id of a kernel's function by its name"""
        self.functions: dict[int, SpirvFunction] = {}
        self.types: dict[int, Instruction] = {}
        self.constants: dict[int, int | tuple[int | None, ...]] = {}
        """numbers, and vectors of them, that are the same in every build of the module"""
        self.variables: dict[int, int] = {}
        """storage class of those outside of functions"""
        self.built_in: dict[int, int] = {}
        """what a built-in variable says"""
        self.instruction_sets: dict[int, str] = {}
        self._steps = MOST_STEPS
        self._read(content)

    def spend(self, steps: int) -> None:
        """Count the work that is done with the module: of any module there is an end. Raises `SpirvError`."""
        self._steps -= steps
        if self._steps < 0:
            raise SpirvError("it takes too long to follow")

    def storage(self, type_id: int) -> int | None:
        """Return the storage class of a pointer's type; None of other types."""
        kind = self.types.get(type_id)
        return kind.words[1] if kind is not None and kind.opcode == op.TYPE_POINTER and len(kind.words) > 2 else None

    def type_of(self, value: int) -> int:
        """Return the type of a parameter, or of what an instruction of a function makes; 0: not known."""
        return self._types_of_values.get(value, 0)

    @cached_property
    def _types_of_values(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for function in self.functions.values():
            self.spend(len(function.body))
            found.update(function.parameters)
            found.update((each.result, each.words[0]) for each in function.body if each.result)
        return found

    def _read(self, content: bytes) -> None:
        function: SpirvFunction | None = None
        for each in _instructions(content):
            opcode, words = each
            if opcode == op.FUNCTION and len(words) >= 4:
                function = self.functions[words[1]] = SpirvFunction()
            elif opcode == op.FUNCTION_END:
                function = None
            elif function is None:
                self._outside(each)
            elif opcode == op.FUNCTION_PARAMETER and len(words) >= 2:
                function.parameters.append((words[1], words[0]))
            else:
                function.body.append(each)

    def _outside(self, each: Instruction) -> None:
        opcode, words = each
        if opcode in op.TYPES and words:
            self.types[words[0]] = each
        elif opcode == op.ENTRY_POINT and len(words) >= 3 and words[0] == op.KERNEL_MODEL:
            self.kernels[_text(words[2:])] = words[1]
        elif opcode == op.EXT_INST_IMPORT and len(words) >= 2:
            self.instruction_sets[words[0]] = _text(words[1:])
        elif opcode == op.DECORATE and len(words) >= 3 and words[1] == op.BUILT_IN:
            self.built_in[words[0]] = words[2]
        elif opcode == op.VARIABLE and len(words) >= 3:
            self.variables[words[1]] = words[2]
        elif len(words) >= 2:
            self._constant(opcode, words)

    def _constant(self, opcode: int, words: tuple[int, ...]) -> None:
        kind = self.types.get(words[0])
        if opcode == op.CONSTANT and len(words) >= 3 and kind is not None and kind.opcode == op.TYPE_INT:
            bits = 64 if len(words) > 3 else 32
            value = words[2] | (words[3] << 32 if bits == 64 else 0)
            self.constants[words[1]] = value - (1 << bits) if value >> (bits - 1) else value
        elif opcode in (op.CONSTANT_NULL, op.CONSTANT_FALSE):
            self.constants[words[1]] = 0
        elif opcode == op.CONSTANT_TRUE:
            self.constants[words[1]] = 1
        elif opcode == op.CONSTANT_COMPOSITE and len(words) <= 2 + 16:
            parts = [self.constants.get(part) for part in words[2:]]
            self.constants[words[1]] = tuple(part if isinstance(part, int) else None for part in parts)


def _instructions(content: bytes) -> Iterator[Instruction]:
    if len(content) > LARGEST_MODULE:
        raise SpirvError(f"it has more than {LARGEST_MODULE >> 20} MiB")
    if len(content) % _WORD or len(content) < _HEADER * _WORD:
        raise SpirvError("it is cut off")
    words = array("I", content)
    if sys.byteorder == "big":
        words.byteswap()
    if words[0] != MAGIC:
        words.byteswap()
    if words[0] != MAGIC:
        raise SpirvError("it does not begin as a module does")
    place = _HEADER
    while place < len(words):
        count = words[place] >> 16
        if count == 0 or place + count > len(words):
            raise SpirvError("it is cut off")
        yield Instruction(words[place] & 0xFFFF, tuple(words[place + 1 : place + count]))
        place += count


def _text(words: tuple[int, ...]) -> str:
    """Return the text at the begin of some operands; it ends with a zero.

    >>> _text((0x636261, 7))
    'abc'
    """
    raw = b"".join(word.to_bytes(_WORD, "little") for word in words)
    return raw.partition(b"\0")[0].decode("utf-8", "replace")
