"""Values of registers in every thread of a launch at once: numbers, or sums over what counts blocks and iterations.

A value is a number (the same in all threads), an array (one number for each thread; its four axes are blocks, and the
threads' z, y and x; an axis of length 1 stands for all), or a `Sum`: a number or array, plus multiples of `Counter`s
(the block's index, a loop's iteration), plus the address that stands in a word of the parameters. `None` is a value
that is not known.

Numbers of 32 bits lie from -2^31 to 2^31-1, those of 64 bits from -2^63. All arithmetic is modulo their width, so a
`Sum` stands for what it says modulo 2^32 or 2^64.
"""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Array = NDArray[np.int64]
Number = int | Array
Mask = bool | NDArray[np.bool_]
"""of threads"""
Base = int | str
"""what an address counts from: a word of the parameters, the thread's own memory, or a variable by its symbol"""

WHOLE, PARTS = -2, -3
"""the bases of what stands for floating-point numbers: as much as the sum without its base, and a fraction more"""

_WORD = 1 << 32
_HALF_WORD = 1 << 31
_LARGEST = 1 << 61
"""beyond this, sums are not computed: an array's numbers would wrap"""


class Counter(Struct, frozen=True, eq=False):
    """A number from `low` to `high`, both included.

    `exact`: it takes all of them, in every thread, whatever others do (a block's index, an iteration). Else it is some
    of them, nobody knows which.
    """

    low: int
    high: int
    exact: bool = True
    axis: int = -1
    """0, 1, 2: the block's index in x, y, z; -1: none of these"""


class Sum(Struct, frozen=True, eq=False):
    """The address that `base` stands for (None: no address), plus `constant`, plus counters times numbers."""

    base: Base | None
    constant: Number
    terms: tuple[tuple[Counter, Number], ...] = ()


class Half(Struct, frozen=True, eq=False):
    """The lower or the upper 32 bits of a sum."""

    whole: Sum
    upper: bool


class Place(Struct, frozen=True):
    """Where the threads of a barrier go on (`BMOV` puts that into a register)."""

    block: int


class Guarded(Struct, frozen=True, eq=False):
    """A value where a predicate holds (`inverted`: does not hold), and what the register held before elsewhere."""

    predicate: object
    inverted: bool
    holds: Mask
    """the threads for which it holds for sure"""
    may_hold: Mask
    value: Value
    before: Value


Wide = int | Array | Sum | None
"""64 bits, in a pair of registers; or 32 bits as a number"""
Value = int | Array | Half | Place | Guarded | None
"""of one register"""


def is_number(value: object) -> TypeGuard[Number]:
    """Whether it is a number or an array."""
    return isinstance(value, (int, np.ndarray))


def wrapped(number: Number) -> Number:
    """The number modulo 2^32, from -2^31."""
    if isinstance(number, int):
        return ((number + _HALF_WORD) & (_WORD - 1)) - _HALF_WORD
    return ((number + _HALF_WORD) & (_WORD - 1)) - _HALF_WORD


def wrapped_wide(number: Number) -> Number:
    """The number modulo 2^64, from -2^63. Arrays wrap by themselves."""
    if isinstance(number, int):
        return ((number + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)
    return number


def inverse(mask: Mask) -> Mask:
    """The threads that are not in it."""
    return not mask if isinstance(mask, bool) else ~mask


def mask_of(test: Any) -> Mask:
    """The threads where a comparison of numbers holds."""
    return test if isinstance(test, np.ndarray) else bool(test)


def some(mask: Any) -> bool:
    """Whether any thread is in it."""
    return mask if isinstance(mask, bool) else bool(np.any(mask))


def every(mask: Any) -> bool:
    """Whether all threads are in it."""
    return mask if isinstance(mask, bool) else bool(np.all(mask))


def least(number: Number) -> int:
    """The smallest one."""
    return number if isinstance(number, int) else int(number.min())


def greatest(number: Number) -> int:
    """The largest one."""
    return number if isinstance(number, int) else int(number.max())


def chosen(mask: Mask, first: Number, second: Number) -> Number:
    """`first` for the threads in `mask`, `second` for the others."""
    if isinstance(mask, bool):
        return first if mask else second
    if isinstance(first, int) and isinstance(second, int) and first == second:
        return first
    result: Array = np.where(mask, first, second).astype(np.int64, copy=False)
    return result


def among(number: Number, mask: Mask) -> Number:
    """The number's values in the threads of `mask`, in a row."""
    if isinstance(number, int) or isinstance(mask, bool):
        return number
    values, threads = np.broadcast_arrays(number, mask)
    found: Array = values[threads]
    return found


def bounded(low: int, high: int) -> Wide:
    """A number between the two, nobody knows which."""
    return low if low == high else Sum(None, 0, ((Counter(low, high, exact=False), 1),))


def total(first: Wide, second: Wide) -> Wide:
    """Their sum."""
    if first is None or second is None:
        return None
    if isinstance(first, Sum) or isinstance(second, Sum):
        one = first if isinstance(first, Sum) else Sum(None, first)
        two = second if isinstance(second, Sum) else Sum(None, second)
        if one.base is not None and two.base is not None:
            return None
        base = two.base if one.base is None else one.base
        return _sum(base, wrapped_wide(one.constant + two.constant), (*one.terms, *two.terms))
    return wrapped_wide(first + second)


def _sum(base: Base | None, constant: Number, terms: tuple[tuple[Counter, Number], ...]) -> Wide:
    factors: dict[int, tuple[Counter, Number]] = {}
    for counter, factor in terms:
        known = factors.get(id(counter))
        factors[id(counter)] = (counter, factor if known is None else known[1] + factor)
    kept = []
    for counter, factor in factors.values():
        if isinstance(factor, np.ndarray) and not factor.any():
            continue
        if not isinstance(factor, np.ndarray) and factor == 0:
            continue
        if abs(least(factor)) > _LARGEST or abs(greatest(factor)) > _LARGEST:
            return None
        kept.append((counter, factor))
    return Sum(base, constant, tuple(kept)) if kept or base is not None else constant


def difference(first: Wide, second: Wide) -> Wide:
    """`first` - `second`; two addresses from the same word have one too."""
    based = isinstance(first, Sum) and first.base is not None and first.base not in (WHOLE, PARTS)
    if based and isinstance(first, Sum) and isinstance(second, Sum) and first.base == second.base:
        first = _sum(None, first.constant, first.terms)
        second = _sum(None, second.constant, second.terms)
    return total(first, negative(second))


def negative(value: Wide) -> Wide:
    """`-value`. That of an address is not known."""
    if value is None or (isinstance(value, Sum) and value.base is not None):
        return None
    return product(value, -1)


def product(first: Wide, second: Wide) -> Wide:
    """Their product, where one of them is a number."""
    if first is None or second is None:
        return 0 if (isinstance(first, int) and first == 0) or (isinstance(second, int) and second == 0) else None
    if isinstance(first, Sum) and isinstance(second, Sum):
        return None
    if not isinstance(first, Sum):
        first, second = second, first
    if isinstance(second, Sum):
        return None
    if not isinstance(first, Sum):
        return wrapped_wide(first * second)
    if isinstance(second, int) and second == 1:
        return first
    if isinstance(second, int) and second == 0:
        return 0
    if first.base is not None:
        return None
    largest = max(abs(least(second)), abs(greatest(second)))
    for _, factor in first.terms:
        if max(abs(least(factor)), abs(greatest(factor))) * largest > _LARGEST:
            return None
    return _sum(
        None,
        wrapped_wide(first.constant * second),
        tuple((counter, factor * second) for counter, factor in first.terms),
    )


def bounds(value: Number | Sum) -> tuple[Number, Number] | None:
    """Its least and its greatest value in each thread, without its base. None: too large."""
    if not isinstance(value, Sum):
        return value, value
    low = high = value.constant
    reach = max(abs(least(low)), abs(greatest(low)))
    for counter, factor in value.terms:
        reach += max(abs(least(factor)), abs(greatest(factor))) * max(abs(counter.low), abs(counter.high))
        if reach > _LARGEST:
            return None
        one, two = factor * counter.low, factor * counter.high
        if isinstance(one, int) and isinstance(two, int):
            low, high = low + min(one, two), high + max(one, two)
        else:
            low, high = low + np.minimum(one, two), high + np.maximum(one, two)
    return None if reach > _LARGEST else (low, high)


def same(first: Any, second: Any, bits: int = 64) -> bool:
    """Whether two values are the same in all threads, modulo 2^`bits`."""
    if first is second:
        return True
    if isinstance(first, Half) and isinstance(second, Half):
        return first.upper == second.upper and same(first.whole, second.whole, 64 if first.upper else 32)
    if isinstance(first, Sum) and isinstance(second, Sum):
        if first.base != second.base or len(first.terms) != len(second.terms):
            return False
        factors = {id(counter): factor for counter, factor in second.terms}
        return all(
            id(counter) in factors and same(factor, factors[id(counter)], bits) for counter, factor in first.terms
        ) and same(first.constant, second.constant, bits)
    if is_number(first) and is_number(second):
        if bits == 64:
            return bool(np.all(first == second))
        return bool(np.all((first - second) & ((1 << bits) - 1) == 0))
    return isinstance(first, Place) and isinstance(second, Place) and first == second  # an array compares by element


def select(mask: Mask, first: Value, second: Value) -> Value:
    """`first` for the threads in `mask`, `second` for the others; None where that is no value."""
    if first is second:
        return first
    if isinstance(mask, bool):
        return first if mask else second
    if is_number(first) and is_number(second):
        return chosen(mask, first, second)
    if not isinstance(first, (int, np.ndarray, Half)) or not isinstance(second, (int, np.ndarray, Half)):
        return first if same(first, second) and first is not None else None
    one, two = _whole(first), _whole(second)
    upper = [each.upper for each in (first, second) if isinstance(each, Half)]
    if any(upper) and (not all(upper) or len(upper) < 2):
        return None
    merged = select_wide(mask, one, two)
    return Half(merged, upper[0]) if isinstance(merged, Sum) else None


def _whole(value: Value) -> Wide:
    if isinstance(value, Half):
        return value.whole
    return value if is_number(value) else None


def select_wide(mask: Mask, first: Wide, second: Wide) -> Wide:
    """`first` for the threads in `mask`, `second` for the others."""
    if first is None or second is None:
        return None
    if isinstance(mask, bool):
        return first if mask else second
    one = first if isinstance(first, Sum) else Sum(None, first)
    two = second if isinstance(second, Sum) else Sum(None, second)
    if one.base != two.base:
        return None
    factors_one = {id(counter): factor for counter, factor in one.terms}
    factors_two = {id(counter): factor for counter, factor in two.terms}
    terms = tuple(
        (counter, chosen(mask, factors_one.get(id(counter), 0), factors_two.get(id(counter), 0)))
        for counter in {id(each): each for each, _ in (*one.terms, *two.terms)}.values()
    )
    return _sum(one.base, chosen(mask, one.constant, two.constant), terms)


def halves(value: Wide) -> tuple[Value, Value]:
    """The two registers that hold a number of 64 bits."""
    if value is None:
        return None, None
    if isinstance(value, Sum):
        return Half(value, upper=False), Half(value, upper=True)
    return wrapped(value), wrapped(value >> 32)


def low_word(value: Wide) -> Value:
    """The register that holds the lower 32 bits."""
    if value is None or isinstance(value, Sum):
        return None if value is None else Half(value, upper=False)
    return wrapped(value)


def number_of(value: Value) -> Wide:
    """What a register holds, modulo 2^32: right for sums and products of 32 bits."""
    if not isinstance(value, Half):
        return value if is_number(value) else None
    return upper_word(value.whole) if value.upper else value.whole


def upper_word(value: Sum) -> Wide:
    """The upper 32 bits of a sum as a number, where each thread has the same whatever the counters are."""
    if value.base is not None:
        return None
    limits = bounds(value)
    if limits is None:
        return None
    low, high = limits[0] >> 32, limits[1] >> 32
    return wrapped(low) if every(low == high) else None


def replaced(value: Sum, counter: Counter, by: Counter) -> Sum:
    """The sum with another counter in the place of one."""
    if not any(each is counter for each, _ in value.terms):
        return value
    terms = tuple((by if each is counter else each, factor) for each, factor in value.terms)
    return Sum(value.base, value.constant, terms)


def sum_of(values: list[Value]) -> Value:
    """The sum of registers, modulo 2^32. A number added to the upper half of a pair gives the upper half of another."""
    uppers = [each for each in values if isinstance(each, Half) and each.upper and upper_word(each.whole) is None]
    if len(uppers) > 1:
        return None
    found: Wide = 0
    for each in values:
        if not (uppers and each is uppers[0]):
            found = total(found, number_of(each))
    if not uppers:
        return low_word(found)
    whole = total(uppers[0].whole, product(found, _WORD))
    return Half(whole, upper=True) if isinstance(whole, Sum) else None


def fitted(value: Value, low: int) -> Wide:
    """The register's number between `low` (-2^31: signed, 0: unsigned) and `low` + 2^32. None: not known."""
    number = number_of(value)
    if number is None:
        return None
    if not isinstance(number, Sum):
        return number & (_WORD - 1) if low == 0 else number
    limits = None if number.base is not None else bounds(number)
    if limits is None:
        return None
    turns = (limits[0] - low) >> 32
    if some(turns != (limits[1] - low) >> 32):
        return None
    return number if every(turns == 0) else total(number, -(turns << 32))


def joined(low: Value, high: Value) -> Wide:
    """The number of 64 bits that two registers hold."""
    if not isinstance(low, (int, np.ndarray, Half)) or not isinstance(high, (int, np.ndarray, Half)):
        return None
    if isinstance(high, Half) and high.upper:
        if isinstance(low, Half):
            if not low.upper and (low.whole is high.whole or same(low.whole, high.whole, 32)):
                return high.whole
        elif upper_word(high.whole) is None:
            return None
    upper = number_of(high)
    if isinstance(upper, Sum):
        limits = bounds(upper) if upper.base is None else None
        if limits is None or some(limits[0] < -_HALF_WORD) or some(limits[1] >= _HALF_WORD):
            return None
    lower = fitted(low, 0)
    return total(lower, product(upper, 1 << 31 << 1) if is_number(upper) else None)
