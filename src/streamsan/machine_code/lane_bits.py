"""Shifts, logic, bytes and signs."""

from __future__ import annotations

from typing import Final

import numpy as np

from streamsan.machine_code.lane_arithmetic import SIGNED, bytes_chosen, combined, quotient, shifted_right
from streamsan.machine_code.lane_comparison import EITHER, FALSE, Cutting, or_
from streamsan.machine_code.lane_state import Effect, State
from streamsan.machine_code.lane_values import (
    Sum,
    Value,
    Wide,
    bounds,
    every,
    fitted,
    halves,
    is_number,
    joined,
    low_word,
    number_of,
    product,
    select,
    some,
    wrapped,
)
from streamsan.machine_code.machine_operations import Operation

_WORD = 1 << 32


def _shift(state: State, operation: Operation, cutting: Cutting) -> None:
    sources, suffixes = operation.sources, operation.suffixes
    if len(sources) < 3:
        state.forget(operation)
        return
    amount = number_of(state.value(sources[1]))
    if is_number(amount) and not isinstance(amount, int) and amount.min() == amount.max():
        amount = int(amount.min())
    low, high = state.value(sources[0]), state.value(sources[2])
    if not isinstance(amount, int):
        state.write(operation, [_shift_each(amount, low, high, suffixes, cutting)])
        return
    wide = not suffixes.isdisjoint(("U64", "S64"))
    amount &= 0xFFFFFFFF
    amount = amount & (63 if wide else 31) if "W" in suffixes else min(amount, 63 if wide else 32)
    signed = not suffixes.isdisjoint(("S32", "S64"))
    found: Value
    if "L" in suffixes:
        if "HI" in suffixes:
            whole = product(joined(low, high), 1 << amount) if amount < 32 or is_number(joined(low, high)) else None
            found = halves(whole)[1]
        elif amount >= 32:
            found = 0
        else:
            found = low_word(product(number_of(low), 1 << amount))
    elif "HI" in suffixes:
        found = shifted_right(high, amount, cutting, signed=signed)
    else:
        whole = joined(low, high)
        if is_number(whole):
            found = wrapped(whole >> amount if signed or amount < 32 else (whole >> 32 & (_WORD - 1)) >> (amount - 32))
        else:
            found = _shifted_pair(whole, amount, cutting, signed=signed)
    state.write(operation, [found])


def _shifted_pair(whole: Wide, amount: int, cutting: Cutting, *, signed: bool) -> Value:
    limits = bounds(whole) if isinstance(whole, Sum) and whole.base is None else None
    if not signed and amount >= 32 and (limits is None or not every(limits[0] >= 0)):
        return None
    found = quotient(whole, amount)
    if found is None:
        cutting.spread(whole)
    return low_word(found)


def _shift_each(amount: Wide, low: Value, high: Value, suffixes: frozenset[str], cutting: Cutting) -> Value:
    """Each thread shifts by an amount of its own."""
    if amount is None or isinstance(amount, Sum):
        cutting.spread(amount)
        return None
    if not suffixes.isdisjoint(("U64", "S64", "W")) or not is_number(low) or not is_number(high):
        cutting.spread(low, high)
        return None
    bits = np.clip(amount & 0xFFFFFFFF, 0, 32)
    if "L" in suffixes and "HI" not in suffixes:
        return wrapped((low & (_WORD - 1)) << bits)
    if "R" in suffixes and "HI" in suffixes:
        return wrapped(high >> bits if "S32" in suffixes else (high & (_WORD - 1)) >> bits)
    return None


def _logic(state: State, operation: Operation, cutting: Cutting) -> None:
    sources = operation.sources
    if len(sources) != 4 or not isinstance(sources[3].operand, int):
        state.forget(operation)
        return
    found = combined(sources[3].operand & 0xFF, [state.value(each) for each in sources[:3]], cutting)
    truths = []
    if operation.outs:
        other = state.truth(*operation.ins[0]) if operation.ins else FALSE
        truths = [or_(cutting.compared("NE", number_of(found), 0, state.threads), other)] + [EITHER] * 2
    state.write(operation, [found])
    state.write_truth(operation, operation.outs, truths)


def _bytes(state: State, operation: Operation, cutting: Cutting) -> None:
    sources = operation.sources
    if len(sources) != 3 or not operation.suffixes.isdisjoint(("F4E", "B4E", "RC8", "ECL", "ECR", "RC16")):
        state.forget(operation)
        return
    first, selector, second = (number_of(state.value(each)) for each in sources)
    if isinstance(selector, int) and selector == 0x5410 and isinstance(second, int) and second == 0:
        # The lower 16 bits.
        state.write(operation, [combined(0xC0, [low_word(first), 0xFFFF, 0], cutting)])
    elif isinstance(selector, int) and is_number(first) and is_number(second):
        state.write(operation, [bytes_chosen(first, second, selector)])
    else:
        cutting.spread(first, second)
        state.write(operation, [])


def _sign_extend(state: State, operation: Operation, cutting: Cutting) -> None:
    value = number_of(state.value(operation.sources[0]))
    bits = operation.sources[1].operand if len(operation.sources) > 1 else None
    if not is_number(value) or not isinstance(bits, int) or not 0 < bits <= 32 or "W" in operation.suffixes:
        cutting.spread(value)
        state.write(operation, [])
        return
    low = value & ((1 << bits) - 1)
    if "U32" not in operation.suffixes:
        low = ((low + (1 << (bits - 1))) & ((1 << bits) - 1)) - (1 << (bits - 1))
    state.write(operation, [wrapped(low)])


def _absolute(state: State, operation: Operation, cutting: Cutting) -> None:
    number = fitted(state.value(operation.sources[0]), SIGNED)
    truth = cutting.compared("LT", number, 0, state.threads)
    if some(truth.true & truth.false & state.threads):
        state.write(operation, [])
    else:
        state.write(operation, [select(truth.true, low_word(product(number, -1)), low_word(number))])


EFFECTS: Final[dict[str, Effect]] = {
    **dict.fromkeys(("SHF", "USHF"), _shift),
    **dict.fromkeys(("LOP3", "ULOP3"), _logic),
    **dict.fromkeys(("PRMT", "UPRMT"), _bytes),
    **dict.fromkeys(("SGXT", "USGXT"), _sign_extend),
    **dict.fromkeys(("IABS", "UIABS"), _absolute),
}
"""by the name of the instruction"""
