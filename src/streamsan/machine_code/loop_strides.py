"""What an iteration of a loop adds to each register, and the state after many iterations at once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from streamsan.machine_code.lane_comparison import EITHER, Truth
from streamsan.machine_code.lane_state import State
from streamsan.machine_code.lane_values import (
    Counter,
    Half,
    Number,
    Sum,
    Value,
    Wide,
    bounds,
    difference,
    every,
    greatest,
    halves,
    is_number,
    least,
    low_word,
    product,
    same,
    total,
    wrapped,
)
from streamsan.machine_code.machine_operations import Key

Strides = Mapping[int, Number | None]
"""register -> what an iteration adds (None: nobody knows); one that is not here stays as it is"""

_MOST_ITERATIONS = 1 << 31


def strides(first: State, second: State, needed: frozenset[Key]) -> Strides | None:
    """What the iteration between two states at a loop's begin added; None: it did something else."""
    if not same_truths(first, second, needed) or not _same_threads(first, second):
        return None
    if first.barriers != second.barriers or not _same_cells(first, second):
        return None
    found: dict[int, Number | None] = {}
    for key in needed:
        if isinstance(key, str):
            continue
        one, two = first.registers.get(key), second.registers.get(key)
        if one is two or same(one, two):
            continue
        if _rests_on_memory(one) or _rests_on_memory(two):
            found[key] = None
            continue
        step: Wide = None
        if is_number(one) and is_number(two):
            step = wrapped(two - one)
        elif isinstance(one, Half) and isinstance(two, Half) and one.upper == two.upper:
            step = difference(two.whole, one.whole)
        if not is_number(step):
            return None
        found[key] = least(step) if least(step) == greatest(step) else step
    return found


def _rests_on_memory(value: Value) -> bool:
    return value is None or (isinstance(value, Half) and any(not counter.exact for counter, _ in value.whole.terms))


def same_strides(first: Strides, second: Strides) -> bool:
    """Whether two iterations added the same."""
    return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)


def iterations_at_most(state: State, steps: Strides) -> int:
    """After how many iterations the first register runs over."""
    most = _MOST_ITERATIONS
    for key, step in steps.items():
        value = state.registers.get(key)
        if step is None:
            continue
        limits = bounds(value) if is_number(value) else None
        if isinstance(value, Half) and not value.upper and value.whole.base is None:
            limits = bounds(value.whole)
        if limits is None:
            continue
        # A number that falls is like its complement, which rises. Signed it runs over at 2^31, unsigned at 0.
        for high, pace in ((limits[1], step), (-1 - limits[0], -step)):
            top = greatest(high)
            # What is beyond 32 bits already is the lower half of a pair.
            if greatest(pace) > 0 and top < 1 << 31:
                most = min(most, ((1 << 31) - 1 - top if top >= 0 else -1 - top) // greatest(pace))
    return most


def advanced(state: State, steps: Strides, count: int | Counter) -> State:
    """The state after a number of iterations, or after as many as a counter says."""
    times: Wide = Sum(None, 0, ((count, 1),)) if isinstance(count, Counter) else count
    later = state.copy(state.threads, state.share)
    # What else is known of a predicate was so in one iteration.
    later.predicates = {name: Truth(truth.true, truth.false) for name, truth in state.predicates.items()}
    for key, step in steps.items():
        later.registers[key] = None if step is None else _added(state.registers.get(key), product(times, step))
    return later


def _added(value: Value, more: Wide) -> Value:
    if isinstance(value, Half):
        whole = total(value.whole, more)
        if isinstance(whole, Sum):
            return Half(whole, value.upper)
        return halves(whole)[1 if value.upper else 0]
    return low_word(total(value, more)) if is_number(value) else None


def follows(state: State, later: State, steps: Strides, needed: frozenset[Key]) -> bool:
    """Whether `later` is `state` and one more iteration of `steps`."""
    if not same_truths(state, later, needed) or not _same_threads(state, later):
        return False
    if state.barriers != later.barriers or not _same_cells(state, later):
        return False
    for key in needed:
        if isinstance(key, str):
            continue
        before, after = state.registers.get(key), later.registers.get(key)
        step = steps.get(key, 0)
        if step is None:
            continue
        before = _added(before, step) if key in steps else before
        if before is not None and not same(before, after, 32 if is_number(before) else 64):
            return False
    return True


def same_truths(first: State, second: State, needed: frozenset[Key]) -> bool:
    """Whether the predicates that are needed are the same."""
    return all(
        same_truth(first.predicates.get(key, EITHER), second.predicates.get(key, EITHER))
        for key in needed
        if isinstance(key, str)
    )


def same_truth(one: Truth, two: Truth) -> bool:
    """Whether two predicates hold for the same threads."""
    return bool(np.all(one.true == two.true)) and bool(np.all(one.false == two.false))


def _same_threads(first: State, second: State) -> bool:
    return bool(np.all(first.threads == second.threads)) and every(first.share == second.share)


def _same_cells(first: State, second: State) -> bool:
    return first.cells.keys() == second.cells.keys() and all(
        value is second.cells[place] or same(value, second.cells[place]) for place, value in first.cells.items()
    )
