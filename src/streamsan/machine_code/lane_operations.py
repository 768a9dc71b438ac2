"""What instructions do to registers and predicates, for all threads at once.

Seen on code that nvcc makes, and tried against the same kernels run on the host (`tests/machine_code`).
An instruction that is not here leaves what it writes unknown.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from streamsan.machine_code.address_code import Operation, Source
from streamsan.machine_code.instruction_operands import Address, Register
from streamsan.machine_code.lane_arithmetic import (
    SIGNED,
    as_float,
    bytes_chosen,
    combined,
    float_bits,
    larger,
    quotient,
    rounded_up,
    shifted_right,
    smaller,
    upper_product,
)
from streamsan.machine_code.lane_comparison import EITHER, FALSE, TRUE, Cutting, Truth, and_, not_, or_, xor_
from streamsan.machine_code.lane_state import STACK, State, joint
from streamsan.machine_code.lane_values import (
    Half,
    Number,
    Sum,
    Value,
    Wide,
    bounded,
    bounds,
    chosen,
    every,
    fitted,
    halves,
    inverse,
    is_number,
    joined,
    low_word,
    mask_of,
    number_of,
    product,
    select,
    some,
    sum_of,
    total,
    upper_word,
    wrapped,
)

_WORD = 1 << 32
_RELATIONS = ("LT", "LE", "GT", "GE", "EQ", "NE")
_TURNED = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE"}
"""relations -> what they are when the two stand the other way round"""
Effect = Callable[[State, Operation, Cutting], None]


def run(state: State, operation: Operation, cutting: Cutting) -> None:
    """Do one instruction. Raises `Split` or `Spread` where the launch must be cut first."""
    state.begin(operation)
    for index in operation.indices:
        cutting.part(state.register(index))
    effect = _EFFECTS.get(operation.name)
    if effect is not None:
        effect(state, operation, cutting)
    else:
        _unknown(state, operation, cutting)


def _unknown(state: State, operation: Operation, cutting: Cutting) -> None:
    state.write(operation, [])
    state.registers.update(dict.fromkeys(operation.others))
    state.write_truth(operation, operation.outs, [EITHER] * len(operation.outs))
    if operation.name in ("R2P", "UR2UP"):
        for number in range(8):
            state.predicates[f"{'U' if operation.name == 'UR2UP' else ''}P{number}"] = EITHER


# Sums and products ----------------------------------------------------------------------------------------------------


def _move(state: State, operation: Operation, cutting: Cutting) -> None:
    source = operation.sources[0] if operation.sources else None
    if source is None:
        _unknown(state, operation, cutting)
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
        _unknown(state, operation, cutting)
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
    if not unsigned or addend != 0 or one is None or two is None:
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
        _unknown(state, operation, cutting)
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
        _unknown(state, operation, cutting)
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


# Shifts and bits ------------------------------------------------------------------------------------------------------


def _shift(state: State, operation: Operation, cutting: Cutting) -> None:
    sources, suffixes = operation.sources, operation.suffixes
    if len(sources) < 3:
        _unknown(state, operation, cutting)
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
        _unknown(state, operation, cutting)
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
        _unknown(state, operation, cutting)
        return
    first, selector, second = (number_of(state.value(each)) for each in sources)
    if selector == 0x5410 and isinstance(selector, int) and second == 0 and isinstance(second, int):
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


# Choices --------------------------------------------------------------------------------------------------------------


def _compare(state: State, operation: Operation, cutting: Cutting) -> None:
    sources = operation.sources
    relation = next((each for each in operation.opcode.split(".")[1:] if each in (*_RELATIONS, "T", "F")), "")
    if len(sources) < 2:
        _unknown(state, operation, cutting)
        return
    unsigned = not operation.suffixes.isdisjoint(("U32", "U64"))
    if not operation.suffixes.isdisjoint(("S64", "U64")):
        truth = _compared_wide(state, relation, state.pair(sources[0]), state.pair(sources[1]), unsigned, cutting)
    else:
        first, second = state.value(sources[0]), state.value(sources[1])
        if operation.low_compare:
            truth = EITHER
        elif "EX" in operation.suffixes:
            truth = _compared_halves(state, relation, first, second, operation.ins[-1], unsigned, cutting)
        else:
            low = 0 if unsigned else SIGNED
            truth = cutting.compared(relation, fitted(first, low), fitted(second, low), state.threads)
    other = state.truth(*operation.ins[0]) if operation.ins else TRUE
    combine = or_ if "OR" in operation.suffixes else xor_ if "XOR" in operation.suffixes else and_
    truths = [combine(truth, other), combine(not_(truth), other)]
    if operation.low_compare:
        truths = [Truth(True, True, lower=(relation, state.value(sources[0]), state.value(sources[1])))] * 2
    state.write_truth(operation, operation.outs, truths)


def _compared_halves(
    state: State, relation: str, first: Value, second: Value, lower: tuple[str, bool], unsigned: bool, cutting: Cutting
) -> Truth:
    """Compare numbers whose upper halves these are, and whose lower halves a predicate compares."""
    name, inverted = lower
    compared = state.truth(name, False).lower
    if compared is None or inverted:
        return EITHER
    of_lower, low_first, low_second = compared
    if of_lower == _TURNED.get(relation):
        # `n > i` above and `i < n` below: the lower halves stand the other way round.
        low_first, low_second = low_second, low_first
    elif of_lower != relation:
        return EITHER
    return _compared_wide(state, relation, joined(low_first, first), joined(low_second, second), unsigned, cutting)


def _compared_wide(state: State, relation: str, first: Wide, second: Wide, unsigned: bool, cutting: Cutting) -> Truth:
    if first is None or second is None:
        return EITHER
    if unsigned and relation not in ("EQ", "NE"):
        for each in (first, second):
            limits = bounds(each) if not isinstance(each, Sum) or each.base is None else None
            if limits is None or not every(limits[0] >= 0):
                break
        else:
            return cutting.compared(relation, first, second, state.threads)
        if is_number(first) and is_number(second):
            return _ordered(relation, first ^ -(1 << 63), second ^ -(1 << 63))
        if not (isinstance(first, Sum) and isinstance(second, Sum) and first.base == second.base):
            return EITHER
    elif is_number(first) and is_number(second):
        return _ordered(relation, first, second)
    return cutting.compared(relation, first, second, state.threads)


def _ordered(relation: str, first: Number, second: Number) -> Truth:
    tests: dict[str, Callable[[], bool | np.bool_ | NDArray[np.bool_]]] = {
        "LT": lambda: first < second,
        "LE": lambda: first <= second,
        "GT": lambda: first > second,
        "GE": lambda: first >= second,
        "EQ": lambda: first == second,
        "NE": lambda: first != second,
    }
    if relation not in tests:
        return EITHER
    found = tests[relation]()
    return Truth(mask_of(found), inverse(mask_of(found)))


def _predicates(state: State, operation: Operation, cutting: Cutting) -> None:
    tables = [each.operand for each in operation.sources if isinstance(each.operand, int)]
    if len(operation.ins) < 3 or not tables:
        _unknown(state, operation, cutting)
        return
    ins = [state.truth(*each) for each in operation.ins[:3]]
    truths = []
    for table in (*tables, 0)[:2]:
        true, false = FALSE.true, FALSE.true
        for row in range(8):
            here = True
            for each, bit in zip(ins, (4, 2, 1), strict=True):
                here = here & (each.true if row & bit else each.false)  # type: ignore[assignment]
            if table >> row & 1:
                true = true | here
            else:
                false = false | here
        truths.append(Truth(true, false))
    state.write_truth(operation, operation.outs, truths)


def _choose(state: State, operation: Operation, cutting: Cutting) -> None:
    truth = state.truth(*operation.ins[-1]) if operation.ins else EITHER
    sources = operation.sources
    if len(sources) < 2:
        _unknown(state, operation, cutting)
        return
    if "64" in operation.suffixes:
        one, two = halves(state.pair(sources[0])), halves(state.pair(sources[1]))
        state.write(operation, [_chosen(state, truth, first, second) for first, second in zip(one, two, strict=True)])
    else:
        state.write(operation, [_chosen(state, truth, state.value(sources[0]), state.value(sources[1]))])


def _chosen(state: State, truth: Truth, first: Value, second: Value) -> Value:
    if not some(truth.false & state.threads):
        return first
    if not some(truth.true & state.threads):
        return second
    if some(truth.true & truth.false & state.threads):
        return joint(first, second)
    return select(truth.true, first, second)


def _least(state: State, operation: Operation, cutting: Cutting) -> None:
    sources = operation.sources
    added = operation.name == "VIADDMNMX"
    if len(sources) != (3 if added else 2) or not operation.ins or "RELU" in operation.suffixes:
        _unknown(state, operation, cutting)
        return
    if not operation.suffixes.isdisjoint(("S64", "U64", "U16x2", "S16x2")):
        _unknown(state, operation, cutting)
        return
    values = [state.value(each) for each in sources]
    if added:
        values = [low_word(total(number_of(values[0]), number_of(values[1]))), values[2]]
    low = 0 if "U32" in operation.suffixes else SIGNED
    first, second = fitted(values[0], low), fitted(values[1], low)
    chooser = state.truth(*operation.ins[-1])
    if is_number(first) and is_number(second):
        lesser, greater = wrapped(smaller(first, second)), wrapped(larger(first, second))
        state.write(operation, [_chosen(state, chooser, lesser, greater)])
        return
    truth = cutting.compared("LT", first, second, state.threads)
    one, two = low_word(first), low_word(second)
    state.write(
        operation,
        [_chosen(state, chooser, _chosen(state, truth, one, two), _chosen(state, truth, two, one))],
    )


# Registers that others fill -------------------------------------------------------------------------------------------


def _special(state: State, operation: Operation, cutting: Cutting) -> None:
    name = operation.sources[0].text if operation.sources else ""
    if name == "SRZ":
        zeros: list[Value] = [0] * operation.targets
        state.write(operation, zeros)
    else:
        state.write(operation, [state.launch.specials.get(name)])


def _load_constant(state: State, operation: Operation, cutting: Cutting) -> None:
    if len(operation.sources) == 1:
        state.write(operation, state.constant_words(operation.sources[0], operation.suffixes, operation.targets))
    else:
        _unknown(state, operation, cutting)


def _stack_place(state: State, operation: Operation, cutting: Cutting) -> int | None:
    address = operation.address
    if address is None or len(address.registers) > 1:
        return None
    if not address.registers:
        return None
    whole = number_of(state.register(address.registers[0].number))
    if not isinstance(whole, Sum) or whole.base != STACK:
        return None
    cutting.part(whole)
    if whole.terms or not isinstance(whole.constant, int):
        return None
    return whole.constant + address.constant


def _store_local(state: State, operation: Operation, cutting: Cutting) -> None:
    place = _stack_place(state, operation, cutting)
    if place is None or operation.width < 4 or place % 4:
        state.cells.clear()
        return
    source = operation.sources[-1].operand
    for at in range(operation.width // 4):
        number = source.number if isinstance(source, Register) else None
        value: Value = None
        if isinstance(source, Register):
            value = 0 if number is None else state.register(number + at)
        if operation.guard is not None and some(state.truth(*operation.guard).false & state.threads):
            value = None
        state.cells[place + 4 * at] = value


def _load_local(state: State, operation: Operation, cutting: Cutting) -> None:
    place = _stack_place(state, operation, cutting)
    if place is None or operation.width < 4:
        state.write(operation, [])
    else:
        state.write(operation, [state.cells.get(place + 4 * at) for at in range(operation.width // 4)])


def _from_memory(state: State, operation: Operation, cutting: Cutting) -> None:
    """What memory holds is not known, but a number has bounds."""
    value: Value = None
    if operation.targets == 1:
        value = low_word(bounded(SIGNED, -SIGNED - 1))
    for suffix, low, high in (("U8", 0, 0xFF), ("S8", -0x80, 0x7F), ("U16", 0, 0xFFFF), ("S16", -0x8000, 0x7FFF)):
        if suffix in operation.suffixes:
            value = low_word(bounded(low, high))
    state.write(operation, [value])
    state.write_truth(operation, operation.outs, [EITHER] * len(operation.outs))


# Quotients: by way of floating-point numbers --------------------------------------------------------------------------


def _to_float(state: State, operation: Operation, cutting: Cutting) -> None:
    suffixes = operation.suffixes
    wide = not suffixes.isdisjoint(("U64", "S64"))
    if not suffixes.isdisjoint(("F64", "F16", "U8", "S8", "U16", "S16", "BF16")) or not operation.sources:
        _unknown(state, operation, cutting)
        return
    if wide:
        number = state.pair(operation.sources[0])
        number = number & ((1 << 64) - 1) if isinstance(number, int) and "U64" in suffixes else number
    else:
        number = fitted(state.value(operation.sources[0]), 0 if "U32" in suffixes else SIGNED)
    if not isinstance(number, int):
        state.write(operation, [])
    else:
        state.write(operation, [rounded_up(number) if "RP" in suffixes else float_bits(float(number))])


def _reciprocal(state: State, operation: Operation, cutting: Cutting) -> None:
    bits = state.value(operation.sources[0]) if operation.sources else None
    value = as_float(bits) if isinstance(bits, int) else 0.0
    if "RCP" not in operation.suffixes or value == 0 or value != value:
        state.write(operation, [])
    else:
        state.write(operation, [float_bits(1.0 / value)])


def _from_float(state: State, operation: Operation, cutting: Cutting) -> None:
    suffixes = operation.suffixes
    bits = state.value(operation.sources[0]) if operation.sources else None
    known = isinstance(bits, int) and "TRUNC" in suffixes and suffixes.isdisjoint(("F64", "F16", "U8", "U16", "S16"))
    value = as_float(bits) if known and isinstance(bits, int) else float("nan")
    if value != value or abs(value) >= 2.0**63:
        state.write(operation, [])
    elif not suffixes.isdisjoint(("U64", "S64")):
        state.write(operation, list(halves(max(0, int(value)) if "U64" in suffixes else int(value))))
    elif "U32" in suffixes:
        state.write(operation, [wrapped(min(max(0, int(value)), _WORD - 1))])
    else:
        state.write(operation, [min(max(-(1 << 31), int(value)), (1 << 31) - 1)])


_EFFECTS: dict[str, Effect] = {
    **dict.fromkeys(("MOV", "UMOV", "R2UR", "UR2R"), _move),
    **dict.fromkeys(("IADD3", "UIADD3", "IADD", "UIADD", "IADD2", "VIADD", "UVIADD"), _add),
    **dict.fromkeys(("IMAD", "UIMAD"), _multiply_add),
    **dict.fromkeys(("LEA", "ULEA"), _scaled_add),
    **dict.fromkeys(("SHF", "USHF"), _shift),
    **dict.fromkeys(("LOP3", "ULOP3"), _logic),
    **dict.fromkeys(("PRMT", "UPRMT"), _bytes),
    **dict.fromkeys(("SGXT", "USGXT"), _sign_extend),
    **dict.fromkeys(("IABS", "UIABS"), _absolute),
    **dict.fromkeys(("ISETP", "UISETP"), _compare),
    **dict.fromkeys(("PLOP3", "UPLOP3"), _predicates),
    **dict.fromkeys(("SEL", "USEL"), _choose),
    **dict.fromkeys(("IMNMX", "UIMNMX", "VIMNMX", "UVIMNMX", "VIADDMNMX"), _least),
    **dict.fromkeys(("S2R", "S2UR", "CS2R"), _special),
    **dict.fromkeys(("LDC", "ULDC", "LDCU"), _load_constant),
    **dict.fromkeys(("LDG", "LD", "LDS", "ULDS"), _from_memory),
    **dict.fromkeys(("I2F", "I2FP", "UI2F", "UI2FP"), _to_float),
    "MUFU": _reciprocal,
    **dict.fromkeys(("F2I", "UF2I"), _from_float),
    "STL": _store_local,
    "LDL": _load_local,
}


def address_of(state: State, address: Address) -> Wide:
    """The address of an access, 64 bits."""
    found: Wide = address.constant
    for register in address.registers:
        if register.number is None:
            continue
        if register.narrow:
            found = total(found, fitted(state.register(register.number), 0))
        else:
            found = total(found, state.wide(register.number))
    return found
