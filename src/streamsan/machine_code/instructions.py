"""The instructions of a block with their operands read once, and with the numbers in registers that name constants."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from streamsan.machine_code import opcodes
from streamsan.machine_code.disassembler import Instruction
from streamsan.machine_code.instruction_operands import Address, Constant, Operand, Register, is_predicate, operand

_WIDTHS = {"64": 2, "96": 3, "128": 4, "256": 8}
_WINDOWS = ("SR_SWINHI", "SR_LWINHI", "SR_SWINLO", "SR_LWINLO")


class Step(Struct, frozen=True):
    """One instruction."""

    name: str
    suffixes: tuple[str, ...]
    operands: tuple[Operand, ...]
    """but predicates"""
    memory: tuple[Address, ...]
    values: tuple[Register, ...]
    width: int
    """registers in a row that it loads or stores"""
    maybe: bool
    """under a predicate"""
    window: bool
    """it gets where the memory of the thread or the block lies"""


def steps_of(instructions: Sequence[Instruction]) -> Iterator[Step]:
    """The instructions of one block, in order.

    The compiler puts the place of a constant into a register first (`MOV R0, 0x20` and `LDC.64 R8, c[0x4][R0]`): such a
    place is made a number again.
    """
    numbers: dict[int, int] = {}
    for instruction in instructions:
        step = _step(instruction, numbers)
        target = step.operands[0] if step.operands else None
        if isinstance(target, Register) and target.number is not None and step.name not in opcodes.NO_RESULT:
            for at in range(step.width):
                numbers.pop(target.number + at, None)
            number = _number(step, instruction)
            if number is not None and not step.maybe:
                numbers[target.number] = number
        yield step


def _step(instruction: Instruction, numbers: dict[int, int]) -> Step:
    name, *suffixes = instruction.opcode.split(".")
    operands = tuple(_placed(operand(text), numbers) for text in instruction.operands if not is_predicate(text))
    return Step(
        name,
        tuple(suffixes),
        operands,
        tuple(each for each in operands if isinstance(each, Address)),
        tuple(each for each in operands if isinstance(each, Register)),
        max((_WIDTHS.get(suffix, 1) for suffix in suffixes), default=1),
        instruction.predicate != "",
        any(window in text for text in instruction.operands for window in _WINDOWS),
    )


def _placed(source: Operand, numbers: dict[int, int]) -> Operand:
    if isinstance(source, Constant) and source.index in numbers and source.index is not None:
        return replace(source, offset=source.offset + numbers[source.index], index=None)
    return source


def _number(step: Step, instruction: Instruction) -> int | None:
    """What the instruction puts into its register, where that is a number."""
    last = step.operands[-1]
    if step.name in ("MOV", "UMOV") or (step.name == "IMAD" and "MOV" in step.suffixes):
        return last if isinstance(last, int) and len(step.operands) in (2, 4) else None
    return half_floats(step.name, instruction.operands)


def half_floats(name: str, operands: Sequence[str]) -> int | None:
    """The number that an addition of constants makes: two numbers of 16 bits, printed as floating-point numbers."""
    if name != "HFMA2" or len(operands) != 5 or tuple(operands[1:3]) != ("-RZ", "RZ"):
        return None
    try:
        high, low = (struct.pack("<e", float(text)) for text in operands[3:])
    except (ValueError, OverflowError):
        return None
    return int.from_bytes(low + high, "little")
