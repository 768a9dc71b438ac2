"""Operands of instructions: which registers and which words of constant memory they name."""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

UNIFORM = 1 << 10
"""register UR4 has the number UNIFORM + 4"""

_REGISTER = re.compile(r"(U?)R(Z|\d+)(?:\.|$)")
_CONSTANT = re.compile(r"c\[(0x[0-9a-f]+)\]\[(.*)\]")
_HIGH_HALF = re.compile(r"32@hi\((?:fun@)?\(?([^()]+)\)?\)")
_PREDICATE = re.compile(r"!?U?P(?:T|R|\d+)(?:\.|$)")
_NUMBER = re.compile(r"-?0x[0-9a-f]+$|-?\d+$")


class Register(Struct, frozen=True):
    """A register of 32 bits; of a pair its lower one. `number` is None for RZ and URZ."""

    number: int | None
    narrow: bool = False
    """an offset of 32 bits in an address (`.U32`), where others are the lower one of a pair"""


class Constant(Struct, frozen=True):
    """A word of constant memory, at `offset`; where there is an `index`, what that register holds is added to it."""

    bank: int
    offset: int
    index: int | None = None


class Address(Struct, frozen=True):
    """What stands in brackets: the registers whose sum, with a constant, is an address."""

    registers: tuple[Register, ...]
    constant: int


class Symbol(Struct, frozen=True):
    """The upper half of a symbol's address, as an immediate number that the loader fills in."""

    name: str


Operand = Register | Constant | Address | Symbol | int | None


@lru_cache(maxsize=65536)
def operand(text: str) -> Operand:
    """Read one operand; None for what can hold no address (predicates, barriers, floating-point numbers)."""
    text = text.lstrip("-~!|+").rstrip("|")
    if text.startswith("desc["):
        # A descriptor of global memory, then the address.
        text = text[text.index("]") + 1 :]
    if text.startswith("["):
        return _address(text)
    if match := _CONSTANT.match(text):
        return _constant(int(match[1], 16), match[2])
    if match := _REGISTER.match(text):
        return _register(match, text)
    if match := _HIGH_HALF.search(text):
        return Symbol(match[1])
    if _NUMBER.match(text):
        return int(text, 0)
    return None


def is_predicate(text: str) -> bool:
    """`P0`, `!UP1`, `PT`: a predicate, which holds a bit."""
    return _PREDICATE.match(text) is not None


def _register(match: re.Match[str], text: str) -> Register:
    number = None if match[2] == "Z" else int(match[2]) + (UNIFORM if match[1] else 0)
    return Register(number, ".U32" in text)


def _constant(bank: int, inside: str) -> Constant:
    offset = 0
    index = None
    for term in inside.split("+"):
        if match := _REGISTER.match(term):
            index = _register(match, term).number
        elif _NUMBER.match(term):
            offset += int(term, 0)
    return Constant(bank, offset, index)


def _address(text: str) -> Address:
    registers = []
    constant = 0
    for term in text.strip("[]").replace("+-", "+~").split("+"):
        if match := _REGISTER.match(term):
            registers.append(_register(match, term))
        elif _NUMBER.match(term.replace("~", "-")):
            constant += int(term.replace("~", "-"), 0)
    return Address(tuple(registers), constant)
