"""Arithmetic of registers that is no sum: shifts, masks, minima, quotients."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from streamsan.machine_code.lane_comparison import Cutting
from streamsan.machine_code.lane_values import (
    Half,
    Number,
    Sum,
    Value,
    Wide,
    bounded,
    bounds,
    every,
    fitted,
    greatest,
    is_number,
    least,
    low_word,
    number_of,
    product,
    some,
    total,
    wrapped,
)

SIGNED = -(1 << 31)
_ALL = (1 << 32) - 1
_A, _B, _C = 0xF0, 0xCC, 0xAA


def remainder(value: Wide, bits: int) -> Wide:
    """The value modulo 2^`bits`; None where that is no sum."""
    if value is None:
        return None
    if not isinstance(value, Sum):
        return value & ((1 << bits) - 1)
    if value.base is not None or bits >= 32:
        return None
    mask = (1 << bits) - 1
    if all(every(factor & mask == 0) for _, factor in value.terms):
        return value.constant & mask
    limits = bounds(value)
    if limits is None:
        return None
    turns = limits[0] >> bits
    if some(turns != limits[1] >> bits):
        return None
    return value if every(turns == 0) else total(value, -(turns << bits))


def quotient(value: Wide, bits: int) -> Wide:
    """The value divided by 2^`bits`, rounded down; None where that is no sum."""
    if value is None:
        return None
    if not isinstance(value, Sum):
        return value >> bits
    if value.base is not None:
        return None
    mask = (1 << bits) - 1
    if all(every(factor & mask == 0) for _, factor in value.terms):
        return Sum(None, value.constant >> bits, tuple((counter, factor >> bits) for counter, factor in value.terms))
    limits = bounds(value)
    if limits is None or some(limits[0] >> bits != limits[1] >> bits):
        return None
    return limits[0] >> bits


def shifted_right(value: Value, bits: int, cutting: Cutting, *, signed: bool) -> Value:
    """A register shifted by a number of bits."""
    number = fitted(value, SIGNED if signed else 0)
    if number is None:
        return None
    if isinstance(number, Sum) and signed and bits >= 31:
        limits = bounds(number)
        if limits is not None and every(limits[0] >= 0):
            return 0
        if limits is not None and every(limits[1] < 0):
            return -1
        return Half(number, upper=True)
    found = quotient(number, bits)
    if found is None:
        cutting.spread(number)
        limits = bounds(number) if isinstance(number, Sum) and number.base is None else None
        if limits is not None:
            found = bounded(least(limits[0]) >> bits, greatest(limits[1]) >> bits)
    return low_word(found)


def combined(table: int, values: list[Value], cutting: Cutting) -> Value:
    """`LOP3`: each bit of three registers by a table of 8 bits."""
    numbers = [number_of(value) for value in values]
    used = [place for place in range(3) if _depends(table, place)]
    if all(is_number(numbers[place]) for place in used):
        whole: list[Number] = [number if is_number(number) else 0 for number in numbers]
        return _by_table(table, *whole)
    if len(used) == 1:
        place = used[0]
        one = numbers[place]
        if one is None:
            return None
        return low_word(one if table == (_A, _B, _C)[place] else total(product(one, -1), -1))
    for form in _forms(table):
        found = _evaluated(form, numbers)
        if found is not None:
            return low_word(found)
    # Below the largest number that a mask leaves.
    cutting.spread(*values)
    ceiling = _ceiling(table, numbers)
    return None if ceiling is None else low_word(bounded(0, ceiling))


def _depends(table: int, place: int) -> bool:
    mask, shift = ((0x0F, 4), (0x33, 2), (0x55, 1))[place]
    return (table & mask) != ((table >> shift) & mask)


def _by_table(table: int, a: Number, b: Number, c: Number) -> Number:
    found: Any = 0
    simple = {_A & _B: a & b, _A | _B: a | b, _A ^ _B: a ^ b}
    if table in simple:
        return simple[table]
    for row in range(8):
        if table >> row & 1:
            found = found | ((a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c))
    return wrapped(found)


Form = tuple[str, Any, Any]


@cache
def _forms(table: int) -> tuple[Form, ...]:
    """The table as one or two operations on the operands 0, 1 and 2."""
    columns = (_A, _B, _C)
    operations: dict[str, Callable[[int, int], int]] = {
        "and": lambda x, y: x & y,
        "or": lambda x, y: x | y,
        "xor": lambda x, y: x ^ y,
        "without": lambda x, y: x & ~y & 0xFF,
    }
    found: list[Form] = []
    for name, operation in operations.items():
        for x, y in itertools.permutations(range(3), 2):
            if operation(columns[x], columns[y]) == table:
                found.append((name, x, y))
    for outer, apply_outer in operations.items():
        for inner, apply_inner in operations.items():
            for x, y, z in itertools.permutations(range(3)):
                middle = apply_inner(columns[x], columns[y])
                if apply_outer(middle, columns[z]) == table:
                    found.append((outer, (inner, x, y), z))
                if apply_outer(columns[z], middle) == table:
                    found.append((outer, z, (inner, x, y)))
    return tuple(found)


def _evaluated(form: Form | int, numbers: list[Wide]) -> Wide:
    if isinstance(form, int):
        return numbers[form]
    name, one, two = form
    first, second = _evaluated(one, numbers), _evaluated(two, numbers)
    if first is None or second is None:
        return None
    if is_number(first) and is_number(second):
        values: dict[str, Number] = {
            "and": first & second,
            "or": first | second,
            "xor": first ^ second,
            "without": first & ~second,
        }
        return wrapped(values[name])
    if name == "and":
        return _masked(first, second) if isinstance(second, int) else _masked(second, first)
    if name == "without":
        return _masked(first, ~second) if isinstance(second, int) else None
    if isinstance(first, int) and first == 0:
        return second
    if isinstance(second, int) and second == 0:
        return first
    # No bit is in both: the sum is what `or` and `xor` make.
    for low, high in ((first, second), (second, first)):
        limits = None if isinstance(low, Sum) and low.base is not None else bounds(low)
        if limits is None or some(limits[0] < 0):
            continue
        rest = remainder(high, min(31, greatest(limits[1]).bit_length()))
        if is_number(rest) and every(rest == 0):
            return total(low, high)
    return None


def _masked(value: Wide, mask: Wide) -> Wide:
    """`value & mask`, for a mask whose bits are all in a row."""
    if not isinstance(mask, int):
        return None
    bits = mask & _ALL
    if bits == 0:
        return 0
    first = (bits & -bits).bit_length() - 1
    after = bits.bit_length()
    if bits != (1 << after) - (1 << first):
        return None
    whole = value if after == 32 else remainder(value, after)
    below = remainder(value, first) if first else 0
    if whole is None or below is None:
        return None
    return total(whole, product(below, -1))


def _ceiling(table: int, numbers: list[Wide]) -> int | None:
    """The largest result, where a mask that is not negative bounds it."""
    limits = []
    for number in numbers:
        found = (
            bounds(number) if number is not None and not (isinstance(number, Sum) and number.base is not None) else None
        )
        known = found is not None and least(found[0]) >= 0 and greatest(found[1]) < 1 << 31
        limits.append((1 << greatest(found[1]).bit_length()) - 1 if known and found is not None else None)
    # A bit may be set where a row of the table says so and none of its operands' limits forbids it.
    reach = 0
    for row in range(8):
        if table >> row & 1:
            least_reach = _ALL
            for place, bit in enumerate((4, 2, 1)):
                limit = limits[place]
                if row & bit and limit is not None:
                    least_reach &= limit
            reach |= least_reach
    return reach if reach < 1 << 31 else None


def smaller(first: Number, second: Number) -> Number:
    """The lesser of two numbers."""
    return min(first, second) if isinstance(first, int) and isinstance(second, int) else np.minimum(first, second)


def larger(first: Number, second: Number) -> Number:
    """The greater of two numbers."""
    return max(first, second) if isinstance(first, int) and isinstance(second, int) else np.maximum(first, second)


def upper_product(first: Number, second: Number, addend: Number, *, signed: bool) -> Number:
    """The upper 32 bits of a product plus a number of 64 bits."""
    if not signed:
        first, second = first & _ALL, second & _ALL
    if isinstance(first, int) and isinstance(second, int) and isinstance(addend, int):
        return wrapped((first * second + addend) >> 32)
    # Products of 64 bits wrap in arrays; the upper bits are the same.
    one, two = np.asarray(first, np.int64), np.asarray(second, np.int64)
    return wrapped((one * two + addend) >> 32)


def as_float(number: int) -> float:
    """The floating-point number whose bits these are."""
    value: float = struct.unpack("<f", struct.pack("<I", number & _ALL))[0]
    return value


def float_bits(value: float) -> int | None:
    """The bits of a floating-point number of 32 bits."""
    try:
        return wrapped_int(struct.unpack("<I", struct.pack("<f", value))[0])
    except OverflowError:
        return None


def wrapped_int(number: int) -> int:
    """The number modulo 2^32, from -2^31."""
    return ((number + (1 << 31)) & _ALL) - (1 << 31)


def rounded_up(number: int) -> int | None:
    """The bits of the least floating-point number that is not below `number`."""
    bits = float_bits(float(number))
    if bits is None:
        return None
    return bits + 1 if as_float(bits) < number else bits


def bytes_chosen(first: Number, second: Number, selector: int) -> Number:
    """`PRMT`: four of the eight bytes of two registers."""
    found: Any = 0
    for place in range(4):
        code = selector >> (4 * place) & 0xF
        source = first if code & 7 < 4 else second
        byte = (source >> (8 * (code & 3))) & 0xFF
        if code & 8:
            byte = (byte >> 7) * 0xFF
        found = found | (byte << (8 * place))
    return wrapped(found)
