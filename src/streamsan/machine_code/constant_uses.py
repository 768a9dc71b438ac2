"""What threads read of the variables in constant memory at one instruction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from streamsan.machine_code.constant_bank import SIZE, ConstantBank, ConstantVariable
from streamsan.machine_code.instruction_operands import Constant
from streamsan.machine_code.lane_arithmetic import SIGNED
from streamsan.machine_code.lane_comparison import Truth
from streamsan.machine_code.lane_state import Impossible, State
from streamsan.machine_code.lane_values import (
    Mask,
    Sum,
    Wide,
    among,
    bounds,
    fitted,
    greatest,
    is_number,
    least,
    some,
    total,
)
from streamsan.machine_code.machine_operations import Operation


class ConstantUse(NamedTuple):
    """Some threads' read of one variable: `width` bytes at `address`, which counts from where the variable begins."""

    symbol: str
    address: Sum
    width: int
    threads: Mask
    sure: bool
    """those that do it read these bytes; else some of them, or none"""


def constant_uses(
    state: State, operation: Operation, bank: ConstantBank, guard: Truth, threads: Mask
) -> Iterator[ConstantUse]:
    """Yield what an instruction of `threads` reads. Where a place may be in several variables, it is the one named."""
    named = operation.sources[0].operand
    if not isinstance(named, Constant):
        return
    place = _place(state, named)
    if guard.if_true and some(guard.false & threads):
        seen = state.under(guard.if_true, place)
        if isinstance(seen, Impossible):
            return
        place = seen
    limits = None if place is None or (isinstance(place, Sum) and place.base is not None) else bounds(place)
    low = high = 0
    if limits is not None:
        # What is read is aligned.
        step = operation.width & -operation.width
        low, last = least(among(limits[0], threads)), greatest(among(limits[1], threads))
        low, high = -(-low // step) * step, last // step * step + operation.width
    if limits is None or low < -SIZE or high > 2 * SIZE:
        # Nothing bounds it.
        low, high, place = 0, SIZE, None
    found = bank.among(low, high)
    only = len(found) == 1 and found[0].begin <= low and high <= found[0].end
    exact = is_number(place) or (isinstance(place, Sum) and all(counter.exact for counter, _ in place.terms))
    if only and exact:
        yield ConstantUse(found[0].symbol, _within(found[0], place), operation.width, threads, True)
    elif isinstance(place, int):
        for variable in found:
            begin = max(low, variable.begin)
            yield ConstantUse(variable.symbol, _within(variable, begin), min(high, variable.end) - begin, threads, True)
    elif is_number(place):
        for variable in found:
            here = threads & (place >= variable.begin) & (place + operation.width <= variable.end)
            here = here if not isinstance(here, bool) else bool(here)
            if some(here):
                yield ConstantUse(variable.symbol, _within(variable, place), operation.width, here, True)
    else:
        meant = found[0] if only else bank.named(named.offset)
        if meant is not None and meant in found:
            begin = max(low, meant.begin)
            yield ConstantUse(meant.symbol, _within(meant, begin), min(high, meant.end) - begin, threads, False)


def _place(state: State, named: Constant) -> Wide:
    """Return where in the bank it is, in each thread."""
    if named.index is None:
        return named.offset
    return total(fitted(state.register(named.index), SIGNED), named.offset)


def _within(variable: ConstantVariable, place: Wide) -> Sum:
    found = total(place, Sum(variable.symbol, -variable.begin))
    assert isinstance(found, Sum)
    return found
