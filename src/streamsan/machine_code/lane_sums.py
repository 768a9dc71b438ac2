"""Sums and products, with the carries between halves of 64 bits."""

from __future__ import annotations

import itertools
from typing import Final

import numpy as np

from streamsan.machine_code.instruction_operands import Register
from streamsan.machine_code.lane_arithmetic import SIGNED, upper_product
from streamsan.machine_code.lane_comparison import EITHER, FALSE, TRUE, Cutting, Truth
from streamsan.machine_code.lane_state import Effect, State
from streamsan.machine_code.lane_values import (
    Half,
    Number,
    Sum,
    Value,
    Wide,
    bounded,
    bounds,
    chosen,
    fitted,
    halves,
    is_number,
    joined,
    low_word,
    mask_of,
    number_of,
    product,
    some,
    sum_of,
    total,
    upper_word,
)
from streamsan.machine_code.machine_operations import Operation, Source

_WORD = 1 << 32


def _move(state: State, operation: Operation, cutting: Cutting) -> None:
    source = operation.sources[0] if operation.sources else None
    if source is None:
        state.forget(operation)
    elif "64" in operation.suffixes:
        state.write(operation, list(halves(state.pair(source))))
    else:
        state.write(operation, [state.value(source)])


def _add(state: State, operation: Operation, cutting: Cutting) -> None:
    sources = operation.sources
    if "64" in operation.suffixes:
        wide: Wide = 0
        for source in sources:
            wide = total(wide, state.pair(source))
        state.write(operation, list(halves(wide)))
        state.write_truth(operation, operation.outs, [EITHER] * len(operation.outs))
        return
    if "X" in operation.suffixes:
        _add_upper(
            state,
            operation,
            [state.value(source) for source in sources],
            [(state.plain(source), source.inverted) for source in sources],
        )
        return
    values = [state.value(source) for source in sources]
    truths = []
    if any(name not in ("PT", "UPT") for name in operation.outs):
        addends = tuple((state.plain(source), source.negative) for source in sources)
        truths = _carries(operation, values, addends)
    state.write(operation, [sum_of(values)])
    state.write_truth(operation, operation.outs, truths)


def _carries(operation: Operation, values: list[Value], addends: tuple[tuple[Value, bool], ...]) -> list[Truth]:
    """The carries of a sum of 32 bits: the first is of the first one, the second of a second one."""
    carried: Number = 0
    for source, value in zip(operation.sources, values, strict=False):
        if not is_number(value):
            return [Truth(True, True, addends)] * len(operation.outs)
        carried = carried + (value & (_WORD - 1))
        if source.negative and not _is_zero(source):
            # `-R` is the complement plus one, which carries where R is 0. That of RZ does not count.
            carried = carried + (value == 0) * _WORD
    count = carried >> 32
    return [Truth(mask_of(count > place), mask_of(count <= place), addends) for place in range(len(operation.outs))]


def _is_zero(source: Source) -> bool:
    return isinstance(source.operand, Register) and source.operand.number is None


def _add_upper(state: State, operation: Operation, values: list[Value], addends: list[tuple[Value, bool]]) -> None:
    """The upper half of a sum: its addends with the carries of the lower one."""
    truths = [state.truth(*each) for each in operation.ins]
    decided = not any(some(truth.true & truth.false & state.threads) for truth in truths)
    if decided and all(is_number(value) for value in values):
        found: Wide = 0
        for value in values:
            found = total(found, number_of(value))
        for truth in truths:
            found = total(found, chosen(truth.true, 1, 0))
        state.write(operation, [low_word(found)])
    else:
        lowers = next((truth.addends for truth in truths if truth.addends), ())
        # Carries of another sum, or that are not known, are not in it.
        of_this = all(truth.addends is lowers or not some(truth.true & state.threads) for truth in truths)
        state.write(operation, [halves(_paired(lowers, addends))[1] if of_this else None])
    state.write_truth(operation, operation.outs, [EITHER] * len(operation.outs))


def _paired(lowers: tuple[tuple[Value, bool], ...], uppers: list[tuple[Value, bool]]) -> Wide:
    """The sum of the numbers whose lower and upper halves these are, in whatever order they stand."""
    if not lowers:
        return None
    size = max(len(lowers), len(uppers))
    low = [*lowers, *[(0, False)] * (size - len(lowers))]
    high = [*uppers, *[(0, False)] * (size - len(uppers))]
    for order in itertools.permutations(range(size)):
        found: Wide = 0
        for (lower, subtracted), place in zip(low, order, strict=True):
            upper, inverted = high[place]
            whole = joined(lower, upper) if subtracted == inverted else None
            found = total(found, product(whole, -1) if subtracted else whole)
            if found is None:
                break
        if found is not None:
            return found
    return None


def _multiply_add(state: State, operation: Operation, cutting: Cutting) -> None:
    sources, suffixes = operation.sources, operation.suffixes
    if len(sources) < 3:
        state.forget(operation)
        return
    first, second = state.value(sources[0]), state.value(sources[1])
    unsigned = "U32" in suffixes
    if "WIDE" in suffixes:
        low = 0 if unsigned else SIGNED
        one, two = fitted(first, low), fitted(second, low)
        if isinstance(one, Sum) and isinstance(two, Sum):
            cutting.spread(one, two)
        found = total(product(one, two), state.pair(sources[2]))
        state.write(operation, list(halves(found)))
        truths = [_wide_carry(one, two, state.pair(sources[2]))] * len(operation.outs)
        state.write_truth(operation, operation.outs, truths)
    elif "HI" in suffixes:
        addend = state.pair(sources[2])
        if is_number(first) and is_number(second) and is_number(addend):
            state.write(operation, [upper_product(first, second, addend, signed=not unsigned)])
        else:
            cutting.spread(first, second, addend)
            state.write(operation, [_upper_bound(first, second, addend, unsigned)])
        state.write_truth(operation, operation.outs, [EITHER] * len(operation.outs))
    elif "X" in suffixes:
        factor = product(number_of(first), number_of(second))
        if sources[1].operand == 1:
            product_value: Value = first
        elif sources[0].operand == 1:
            product_value = second
        else:
            product_value = low_word(factor)
        _add_upper(
            state,
            operation,
            [product_value, state.value(sources[2])],
            [(product_value, False), (state.plain(sources[2]), sources[2].inverted)],
        )
    else:
        third = state.value(sources[2])
        plain = _moved(sources, first, second, third)
        if plain is not None:
            state.write(operation, [plain])
            return
        one, two = number_of(first), number_of(second)
        if isinstance(one, Sum) and isinstance(two, Sum):
            cutting.spread(one, two)
        state.write(operation, [sum_of([low_word(product(one, two)), third])])
        state.write_truth(operation, operation.outs, [EITHER] * len(operation.outs))


def _moved(sources: tuple[Source, ...], first: Value, second: Value, third: Value) -> Value:
    """A copy that is written as a product: an upper half stays one."""
    if is_number(first) and is_number(second) and isinstance(first, int) and isinstance(second, int):
        return third if first * second == 0 and isinstance(third, Half) else None
    if isinstance(second, int) and second == 1 and isinstance(third, int) and third == 0:
        return first
    return None


def _wide_carry(first: Wide, second: Wide, addend: Wide) -> Truth:
    if is_number(first) and is_number(second) and is_number(addend):
        if isinstance(first, int) and isinstance(second, int) and isinstance(addend, int):
            carries = first * second + (addend & ((1 << 64) - 1)) >= 1 << 64
            return TRUE if carries else FALSE
        whole = np.asarray(first, np.int64) * np.asarray(second, np.int64)
        carried = (whole + addend).astype(np.uint64) < np.asarray(whole, np.int64).astype(np.uint64)
        return Truth(carried, ~carried)
    return EITHER


def _upper_bound(first: Value, second: Value, addend: Wide, unsigned: bool) -> Value:
    """Bounds of the upper half of a product without an addend."""
    one, two = fitted(first, 0), fitted(second, 0)
    if not unsigned or not isinstance(addend, int) or addend != 0 or one is None or two is None:
        return None
    limits = [bounds(one), bounds(two)]
    if limits[0] is None or limits[1] is None:
        return None
    top = 1
    for found in limits:
        if found is not None:
            top *= int(found[1]) if isinstance(found[1], int) else int(found[1].max())
    return low_word(bounded(0, top >> 32)) if top >> 32 < 1 << 31 else None


def _scaled_add(state: State, operation: Operation, cutting: Cutting) -> None:
    """`LEA`: a register shifted to the left, plus another one."""
    sources, suffixes = operation.sources, operation.suffixes
    if "64" in suffixes or len(sources) < 3 or not isinstance(sources[-1].operand, int):
        state.forget(operation)
        return
    bits = sources[-1].operand
    first, second = state.value(sources[0]), state.value(sources[1])
    if "HI" not in suffixes:
        shifted = low_word(product(number_of(first), 1 << bits))
        truths = []
        if any(name not in ("PT", "UPT") for name in operation.outs):
            # What is shifted out counts for the upper half, which is told the whole number again.
            addends = ((shifted, False), (state.plain(sources[1]), sources[1].negative))
            truths = [EITHER] if sources[0].negative else _carries(operation, [shifted, second], addends)
        state.write(operation, [low_word(total(number_of(shifted), number_of(second)))])
        state.write_truth(operation, operation.outs, truths)
        return
    if "SX32" in suffixes:
        whole = fitted(first, SIGNED)
    elif len(sources) < 4:
        state.forget(operation)
        return
    else:
        whole = joined(first, state.value(sources[2]))
    shifted_wide = product(whole, 1 << bits)
    if "X" not in suffixes:
        upper = upper_word(shifted_wide) if isinstance(shifted_wide, Sum) else halves(shifted_wide)[1]
        if upper is None:
            cutting.spread(shifted_wide)
        state.write(operation, [low_word(total(number_of(upper), number_of(second)))])  # type: ignore[arg-type]
        return
    truth = state.truth(*operation.ins[0]) if operation.ins else FALSE
    upper_number = halves(shifted_wide)[1]
    if is_number(upper_number) and is_number(second) and not some(truth.true & truth.false & state.threads):
        state.write(operation, [low_word(total(total(upper_number, second), chosen(truth.true, 1, 0)))])
        return
    # The upper half of the shifted number; or, where the lower one was not shifted, what its sign is: bit 31 and up.
    candidates: list[Value] = [upper_number]
    if isinstance(shifted_wide, Sum):
        candidates.append(low_word(upper_word(shifted_wide)))
    if "SX32" in suffixes and bits == 1:
        candidates.append(halves(whole)[1])
    found: Wide = None
    for candidate in candidates:
        if found is None:
            found = _paired(truth.addends, [(candidate, False), (state.plain(sources[1]), sources[1].inverted)])
    state.write(operation, [halves(found)[1]])


EFFECTS: Final[dict[str, Effect]] = {
    **dict.fromkeys(("MOV", "UMOV", "R2UR", "UR2R"), _move),
    **dict.fromkeys(("IADD3", "UIADD3", "IADD", "UIADD", "IADD2", "VIADD", "UVIADD"), _add),
    **dict.fromkeys(("IMAD", "UIMAD"), _multiply_add),
    **dict.fromkeys(("LEA", "ULEA"), _scaled_add),
}
"""by the name of the instruction"""
